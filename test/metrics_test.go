package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// metricsScene has what brings series of its own: two farms, steering, a server
// that is down.
func metricsScene(t *testing.T) rig.Config {
	t.Helper()
	dead := rig.NewOrigin(t, "n2", "")
	dead.Stop()
	return rig.Config{
		"core": trusting(), "log": rig.Config{"decisions": false},
		"steering": rig.Config{"public_url": "http://tv.example", "level": "server"},
		"redirection": redirection(
			[]rig.Config{
				probed("north", "content_id", "n1 "+liveOrigin(t, "n1").URL(), "n2 "+dead.URL()),
				assumed("core", "weight", "c1 "+liveOrigin(t, "c1").URL()),
			},
			[]rig.Config{
				{"name": "asked", "farms": []string{"north"}, "uri_regex": "^/?asked", "ip_mask": everywhere},
				place("everybody", "core", everywhere...),
			}),
	}
}

// families reads /metrics.
func families(t *testing.T, p *rig.Pointsman) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, err := parser.TextToMetricFamilies(strings.NewReader(p.Operator("GET", "/metrics", "").Body))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMetricNames: by Prometheus' own rules, by the library's and the tool's; each
// metric is in the documentation, and nothing there is made up.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	p := rig.Start(t, metricsScene(t))
	text := p.Operator("GET", "/metrics", "").Body
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range problems {
		t.Errorf("%s: %s", x.Metric, x.Text)
	}
	check := exec.Command(rig.Tool(t, "promtool"), "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}

	doc, err := os.ReadFile(filepath.Join(rig.Root(), "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile("`(pointsman_[a-z0-9_]+)").FindAllStringSubmatch(string(doc), -1) {
		documented[name[1]] = true
	}
	have := families(t, p)
	for name := range have {
		if strings.HasPrefix(name, "pointsman_") && !documented[name] {
			t.Errorf("%s is not in docs/metrics.md", name)
		}
	}
	for name := range documented {
		if have[name] == nil {
			t.Errorf("docs/metrics.md has %s, which there is not", name)
		}
	}
}

// TestMetricSeriesStayTheSame: whatever viewers send, the series are those that a
// fresh instance has. `make bench-series` sends a million.
func TestMetricSeriesStayTheSame(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 10_000
	}
	if text := os.Getenv("POINTSMAN_SERIES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	p := rig.Start(t, metricsScene(t))
	before := p.Series()
	start := time.Now()
	statuses := map[int]int{}
	const batch = 20_000 // answers are kept
	for done := 0; done < n; done += batch {
		random := rand.New(rand.NewPCG(1, uint64(done)))
		asks := make([]rig.Ask, min(batch, n-done))
		for i := range asks {
			asks[i] = strangeAsk(random)
		}
		for _, a := range p.Load(t.Context(), rig.Load{Connections: 32, Count: len(asks)}, func(i int) rig.Ask { return asks[i] }) {
			if a.Err != nil {
				t.Fatal(a)
			}
			statuses[a.Status]++
		}
	}
	t.Logf("%d random channels, addresses and user agents in %v: %d series; answers by status %v", n, time.Since(start).Round(time.Second), len(before), statuses)
	if len(statuses) < 4 {
		t.Errorf("the answers were of the statuses %v alone", statuses)
	}
	after := p.Series()
	for series := range after {
		if !before[series] {
			t.Errorf("the series %s is new", series)
		}
	}
	for series := range before {
		if !after[series] {
			t.Errorf("the series %s is gone", series)
		}
	}
	if sum, _ := p.Metric("pointsman_decisions_total"); sum != float64(n) {
		t.Errorf("%v decisions are counted, want %d", sum, n)
	}
}

// strangeAsk is a request for a channel that nobody has heard of, from an address
// and a player of its own: in one of fifty the servers have to be asked, and some
// are refused.
func strangeAsk(random *rand.Rand) rig.Ask {
	addr := fmt.Sprintf("%d.%d.%d.%d", 1+random.IntN(222), random.IntN(256), random.IntN(256), random.IntN(256))
	if random.IntN(3) == 0 {
		addr = fmt.Sprintf("2001:db8:%x:%x::%x", random.IntN(1<<16), random.IntN(1<<16), random.IntN(1<<16))
	}
	channel := fmt.Sprintf("/channel-%x", random.Uint64())
	target := channel + "/index.m3u8"
	switch random.IntN(100) {
	case 0:
		target = channel + "/../index.m3u8"
	case 1, 2:
		target = "/asked" + target
	case 3:
		target = "/steering" + target
	case 4:
		target = channel + "/manifest.mpd?start=99999999999999999999&end=1"
	}
	return rig.Ask{Target: target, Header: []string{"X-Forwarded-For", addr, "User-Agent", fmt.Sprintf("player/%x (%s)", random.Uint64(), addr)}}
}

// query is one expression of the alerts or of the dashboard.
type query struct{ where, expr string }

// dashboardQueries reads every expression of the dashboard, with its variables
// filled in.
func dashboardQueries(t *testing.T) (out []query) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rig.Root(), "deploy", "grafana", "pointsman.json"))
	if err != nil {
		t.Fatal(err)
	}
	type target struct{ Expr string }
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []target
			GridPos struct{ X, Y, W, H int }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
		Annotations struct{ List []target }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	fill := []string{"$__rate_interval", "5m"}
	for _, v := range d.Templating.List {
		fill = append(fill, "$"+v.Name, ".*")
	}
	replace := strings.NewReplacer(fill...)
	add := func(where, expr string) { out = append(out, query{where, replace.Replace(expr)}) }
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W == 0 {
			t.Errorf("panel %q has an id that another has, or no place: %+v", p.Title, p.GridPos)
		}
		ids[p.ID] = true
		for _, x := range p.Targets {
			add("panel "+p.Title, x.Expr)
		}
	}
	for _, x := range d.Annotations.List {
		add("annotation", x.Expr)
	}
	for _, v := range d.Templating.List {
		if inner, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			metric, label, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ", ")
			add("variable "+v.Name, "count by ("+label+") ("+metric+")")
		}
	}
	return out
}

// alertQueries reads every expression of the alerts; the tool checks the rest of
// the file.
func alertQueries(t *testing.T) (out []query) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rig.Root(), "deploy", "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range strings.Split(string(text), "- alert: ")[1:] {
		name, rest, _ := strings.Cut(rule, "\n")
		_, rest, found := strings.Cut(rest, "expr: ")
		expr := rest[:max(strings.Index(rest, "\n        labels:"), 0)]
		if i := strings.Index(expr, "\n        for:"); i >= 0 {
			expr = expr[:i]
		}
		if !found || expr == "" {
			t.Fatalf("alert %s has no expression", name)
		}
		out = append(out, query{"alert " + name, strings.TrimPrefix(expr, "|")})
		for _, want := range []string{"severity: ", "summary: ", "description: ", "runbook: "} {
			if !strings.Contains(rest, want) {
				t.Errorf("alert %s has no %q", name, want)
			}
		}
	}
	return out
}

// TestAlertsAndDashboardNameWhatThereIs: every metric, label and value of a label
// in the alerts and in the dashboard is one of a running instance.
func TestAlertsAndDashboardNameWhatThereIs(t *testing.T) {
	t.Parallel()
	p := rig.Start(t, metricsScene(t))
	p.Get("/asked/ch/index.m3u8")
	have := families(t, p)
	queries := append(alertQueries(t), dashboardQueries(t)...)
	if len(queries) < 50 {
		t.Fatalf("only %d queries were found", len(queries))
	}
	selector := regexp.MustCompile(`\b((?:pointsman|process|go)_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	matcher := regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	used := map[string]bool{}
	for _, q := range queries {
		for _, s := range selector.FindAllStringSubmatch(q.expr, -1) {
			f := have[s[1]]
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base, ok := strings.CutSuffix(s[1], suffix); ok && f == nil && have[base] != nil && have[base].GetType() == dto.MetricType_HISTOGRAM {
					f = have[base]
				}
			}
			if f == nil {
				t.Errorf("%s: there is no metric %s", q.where, s[1])
				continue
			}
			used[f.GetName()] = true
			values := map[string]map[string]bool{}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if values[l.GetName()] == nil {
						values[l.GetName()] = map[string]bool{}
					}
					values[l.GetName()][l.GetValue()] = true
				}
			}
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				label, value := m[1], m[3]
				if label == "job" || label == "instance" { // the scrape's
					continue
				}
				if values[label] == nil {
					t.Errorf("%s: %s has no label %s", q.where, s[1], label)
				}
				for _, one := range strings.Split(value, "|") {
					if one != ".*" && !values[label][one] {
						t.Errorf("%s: no series of %s has %s=%q", q.where, s[1], label, one)
					}
				}
			}
		}
		for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(q.expr, -1) {
			for _, label := range strings.Split(by[1], ", ") {
				if !slices.Contains([]string{"job", "instance", "le", "door", "reason", "farm", "server", "state", "result", "kind", "code", "cause", "version"}, label) {
					t.Errorf("%s: nothing has the label %s", q.where, label)
				}
			}
		}
	}
	for name := range have {
		if strings.HasPrefix(name, "pointsman_") && !used[name] {
			t.Errorf("neither an alert nor the dashboard has %s", name)
		}
	}
}

// TestAlertsFire: the rules are good, each has its test, and the tests pass.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	promtool := rig.Tool(t, "promtool")
	dir := filepath.Join(rig.Root(), "deploy", "prometheus")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	run("check", "rules", filepath.Join(dir, "alerts.yml"))
	run("test", "rules", filepath.Join(dir, "alerts_test.yml"))
	tests, err := os.ReadFile(filepath.Join(dir, "alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range alertQueries(t) {
		if name := strings.TrimPrefix(q.where, "alert "); !strings.Contains(string(tests), name) {
			t.Errorf("alert %s has no test", name)
		}
	}

	// The tool reads the dashboard's queries when they are rules.
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for i, q := range dashboardQueries(t) {
		rules = append(rules, rule{fmt.Sprint("dashboard:", i), q.expr})
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml") // JSON is YAML
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run("check", "rules", file)
}

// TestServerMetrics: what is said of servers is what /status says, follows them,
// and goes with them.
func TestServerMetrics(t *testing.T) {
	t.Parallel()
	o := liveOrigin(t, "a")
	other := liveOrigin(t, "b")
	c := scene(farmOf("farm", "content_id", []*rig.Origin{o, other}))
	with(c, "redirection", fastStatus())
	p := rig.Start(t, c)
	state := func(server, state string, want float64) error {
		if got, n := p.Metric(`pointsman_server_state{server="` + server + `",state="` + state + `"}`); got != want || n != 1 {
			return fmt.Errorf("%s is %s: %v in %d series, want %v", server, state, got, n, want)
		}
		return nil
	}
	if err := state("a", "up", 1); err != nil {
		t.Error(err)
	}
	if rtt, _ := p.Metric(`pointsman_server_response_seconds{server="a"}`); rtt <= 0 || rtt > 1 {
		t.Errorf("a answers in %v s", rtt)
	}
	if p.Get("/ch/index.m3u8").StatusCode != http.StatusFound {
		t.Error("no redirect")
	}
	o.Stop()
	rig.Eventually(t, 5*time.Second, func() error { return state("a", "down", 1) })
	for prefix, want := range map[string]float64{
		`pointsman_server_up{server="a"}`: 0, `pointsman_server_up{server="b"}`: 1,
		`pointsman_farm_servers{farm="farm",state="down"}`: 1, `pointsman_farm_servers{farm="farm",state="up"}`: 1,
		`pointsman_content_lookups_total{result="miss"}`: 1, `pointsman_remembered_sessions`: 1,
	} {
		if got, _ := p.Metric(prefix); got != want {
			t.Errorf("%s is %v, want %v", prefix, got, want)
		}
	}
	if p.Operator("POST", "/admin/servers/b", `{"state":"disabled"}`).StatusCode != http.StatusOK {
		t.Error("b cannot be disabled")
	}
	if err := state("b", "disabled", 1); err != nil {
		t.Error(err)
	}
	series := p.Series()
	maps.DeleteFunc(series, func(name string, _ bool) bool { return !strings.Contains(name, `server="b"`) })
	if len(series) == 0 {
		t.Error("b has no series")
	}
	next := scene(farmOf("farm", "content_id", []*rig.Origin{o}))
	next["core"], next["admin"] = c["core"], c["admin"]
	p.Write(next)
	if res := p.Operator("POST", "/admin/reload", ""); res.StatusCode != http.StatusOK {
		t.Fatalf("reload: %d %s", res.StatusCode, res.Body)
	}
	for name := range p.Series() {
		if strings.Contains(name, `server="b"`) {
			t.Errorf("%s is there after its server went", name)
		}
	}
}
