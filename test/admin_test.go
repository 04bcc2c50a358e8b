package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/pointsman-tv/pointsman/test/rig"
)

const (
	readToken = "reading-0123456789"
	actToken  = "acting-0123456789"
)

// tokens writes the token files and returns the admin section that names them.
func tokens(t *testing.T) rig.Config {
	t.Helper()
	dir := t.TempDir()
	admin := rig.Config{}
	for key, token := range map[string]string{"read_token_file": readToken, "act_token_file": actToken} {
		path := filepath.Join(dir, key)
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		admin[key] = path
	}
	return admin
}

// adminScene is an instance with two servers in one farm, named as they are
// without a name: by host and port, one with a path.
func adminScene(t *testing.T, core, admin rig.Config) (p *rig.Pointsman, plain, slash string) {
	t.Helper()
	a, b := liveOrigin(t, "a"), liveOrigin(t, "b")
	farm := rig.Config{"name": "farm", "policy": "content_id", "content": "assume", "servers": []rig.Config{{"url": a.URL()}, {"url": b.URL() + "/cdn"}}}
	p = rig.Start(t, rig.Config{"core": core, "admin": admin, "redirection": redirection([]rig.Config{farm}, []rig.Config{place("all", "farm", everywhere...)})})
	return p, a.Addr, b.Addr + "/cdn"
}

// The endpoints, and what a token for each must be able to.
var adminEndpoints = []struct {
	method, path string
	open, read   bool // without token, with the token for reading
	status       int  // for who may
}{
	{"GET", "/healthz", true, true, 200},
	{"GET", "/readyz", true, true, 200},
	{"HEAD", "/healthz", true, true, 200},
	{"HEAD", "/readyz", true, true, 200},
	{"GET", "/", false, true, 302},
	{"GET", "/status", false, true, 200},
	{"HEAD", "/status", false, true, 200},
	{"HEAD", "/status/events", false, true, 200},
	{"GET", "/status/coverage?channel=ch", false, true, 200},
	{"GET", "/status/page.js", false, true, 200},
	{"GET", "/status/nothing", false, true, 404},
	{"GET", "/metrics", false, true, 200},
	{"GET", "/explain?ip=192.0.2.1&url=/ch/index.m3u8", false, true, 200},
	{"GET", "/explain?ip=somebody&url=/ch/index.m3u8", false, true, 400},
	{"GET", "/explain?ip=192.0.2.1", false, true, 400},
	{"POST", "/admin/reload", false, false, 200},
	{"POST", "/admin/servers/nobody", false, false, 400},
	{"DELETE", "/admin/servers/nobody", false, false, 404},
	{"POST", "/admin/servers/nobody/recheck", false, false, 404},
	{"POST", "/admin/contents/purge", false, false, 400},
	{"GET", "/debug/pprof/", false, false, 200},
	{"GET", "/debug/pprof/goroutine?debug=1", false, false, 200},
	{"GET", "/debug/pprof/cmdline", false, false, 200},
}

func TestAdminTokens(t *testing.T) {
	t.Parallel()
	p, _, _ := adminScene(t, rig.Config{}, tokens(t))
	for _, e := range adminEndpoints {
		for _, c := range []struct {
			name, authorization string
			may                 bool
		}{
			{"no_token", "", e.open},
			{"wrong_token", "Bearer wrong-0123456789", e.open},
			{"beginning_of_the_token", "Bearer " + actToken[:len(actToken)-1], e.open},
			{"basic", "Basic " + actToken, e.open},
			{"bare", actToken, e.open},
			{"read_token", "Bearer " + readToken, e.read},
			{"act_token", "Bearer " + actToken, true},
		} {
			t.Run(fmt.Sprintf("%s_%s_%s", e.method, strings.ReplaceAll(e.path, "/", "_"), c.name), func(t *testing.T) {
				// A name as Host is fine where a token is asked for.
				header := []string{"Host", "admin.example.net"}
				if c.authorization != "" {
					header = append(header, "Authorization", c.authorization)
				}
				res := p.Operator(e.method, e.path, "", header...)
				want := e.status
				if !c.may {
					want = http.StatusUnauthorized
				}
				if res.StatusCode != want {
					t.Errorf("answered %d, expected %d: %.200s", res.StatusCode, want, res.Body)
				}
				if want == http.StatusUnauthorized && !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("WWW-Authenticate is %q", res.Header.Get("WWW-Authenticate"))
				}
			})
		}
	}
	t.Run("B64_token_of_1_MB", func(t *testing.T) {
		x := rig.Exchange{Addr: p.AdminAddr(), Send: rawGet("/status", "Authorization: Bearer "+strings.Repeat("x", 1<<20))}
		if res, err := x.Do(); err != nil || res.StatusCode != 431 {
			t.Errorf("%v, %v", res.Response, err)
		}
	})
	t.Run("no_token_in_the_log", func(t *testing.T) {
		if text := fmt.Sprint(p.Log(), p.NotJSON()); strings.Contains(text, "0123456789") {
			t.Errorf("the log holds a token:\n%s", text)
		}
	})
}

// TestAdminActTokenAlone: acting is guarded, reading is as open as without
// tokens.
func TestAdminActTokenAlone(t *testing.T) {
	t.Parallel()
	admin := tokens(t)
	delete(admin, "read_token_file")
	p, _, _ := adminScene(t, rig.Config{}, admin)
	for _, c := range []struct {
		method, path, authorization string
		status                      int
	}{
		{"GET", "/status", "", 200},
		{"GET", "/metrics", "", 200},
		{"POST", "/admin/reload", "", 401},
		{"POST", "/admin/reload", "Bearer " + actToken, 200},
		{"GET", "/status", "Bearer " + actToken, 200},
	} {
		if res := p.Operator(c.method, c.path, "", "Authorization", c.authorization); res.StatusCode != c.status {
			t.Errorf("%s %s with %q: %d, expected %d", c.method, c.path, c.authorization, res.StatusCode, c.status)
		}
	}
	if res := p.Operator("GET", "/status", "", "Host", "rebound.example"); res.StatusCode != 403 {
		t.Errorf("reading under a name of its own: %d, expected 403", res.StatusCode)
	}
}

func TestAdminHost(t *testing.T) {
	t.Parallel()
	p, _, _ := adminScene(t, rig.Config{}, rig.Config{})
	for host, status := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:9202": 200, "localhost": 200, "LOCALHOST:9202": 200, "localhost.": 200, "[::1]:9202": 200, "192.0.2.1": 200,
		"rebound.example": 403, "127.0.0.1.rebound.example": 403, "localhost.rebound.example": 403, "notlocalhost": 403, "": 403,
	} {
		x := rig.Exchange{Addr: p.AdminAddr(), Send: "GET /status HTTP/1.1\r\nHost: " + host + "\r\n\r\n"}
		if res, err := x.Do(); err != nil || res.StatusCode != status {
			t.Errorf("Host %q: %v, %v, expected %d", host, res.Response, err, status)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if res := p.Operator("GET", path, "", "Host", "anything.example"); res.StatusCode != 200 {
			t.Errorf("%s under any Host: %d, expected 200", path, res.StatusCode)
		}
	}
}

func TestAdminCrossSite(t *testing.T) {
	t.Parallel()
	p, name, _ := adminScene(t, rig.Config{}, rig.Config{})
	own := p.Admin
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"no_browser", nil, 200},
		{"own_page", []string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, 200},
		{"typed_by_the_user", []string{"Sec-Fetch-Site", "none"}, 200},
		{"another_page", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"another_page_in_an_old_browser", []string{"Origin", "https://evil.example"}, 403},
		{"another_port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"same_site", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"page_in_a_sandbox", []string{"Origin", "null"}, 403},
		{"broken_origin", []string{"Origin", "http://[::1"}, 403},
		{"origin_of_no_host", []string{"Origin", "file://"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, request := range []struct{ method, path, body string }{
				{"POST", "/admin/reload", ""}, {"POST", "/admin/servers/" + name, `{"state":"enabled"}`}, {"DELETE", "/admin/servers/" + name, ""},
			} {
				if res := p.Operator(request.method, request.path, request.body, c.header...); res.StatusCode != c.status {
					t.Errorf("%s %s: %d, expected %d: %s", request.method, request.path, res.StatusCode, c.status, res.Body)
				}
			}
		})
	}
}

func TestAdminServers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	p, plain, slash := adminScene(t, rig.Config{"state_dir": dir}, rig.Config{})
	set := func(t *testing.T, name, body string) {
		t.Helper()
		res := p.Operator("POST", "/admin/servers/"+name, body)
		if res.StatusCode != 200 {
			t.Fatalf("%s %s: %d %s", name, body, res.StatusCode, res.Body)
		}
	}
	state := func(t *testing.T, name, want string) {
		t.Helper()
		if got := p.Status().State(name); got != want {
			t.Errorf("server %s is %q, expected %q", name, got, want)
		}
	}
	// sent are the servers that new viewers of many channels are sent to.
	sent := func(t *testing.T) (toPlain, toSlash int) {
		t.Helper()
		for i := range 40 {
			location := p.Get(fmt.Sprintf("/ch%d/index.m3u8", i), "User-Agent", fmt.Sprint(t.Name(), time.Now())).Location()
			switch {
			case strings.HasPrefix(location, "http://"+plain+"/"):
				toPlain++
			case strings.HasPrefix(location, "http://"+slash+"/"):
				toSlash++
			}
		}
		return toPlain, toSlash
	}

	for name, path := range map[string]string{plain: plain, slash: url.PathEscape(slash)} {
		for _, path := range []string{path, name} {
			for _, word := range []string{"draining", "disabled"} {
				set(t, path, `{"state":"`+word+`"}`)
				state(t, name, word)
				if a, b := sent(t); name == plain && (a != 0 || b != 40) || name == slash && (a != 40 || b != 0) {
					t.Errorf("%s is %s: %d and %d viewers", name, word, a, b)
				}
			}
			set(t, path, `{"state":"enabled"}`)
			state(t, name, "up")
			set(t, path, `{"state":"disabled"}`)
			if res := p.Operator("DELETE", "/admin/servers/"+path, ""); res.StatusCode != 200 {
				t.Errorf("DELETE %s: %d %s", path, res.StatusCode, res.Body)
			}
			state(t, name, "up")
		}
	}
	if a, b := sent(t); a == 0 || b == 0 || a+b != 40 {
		t.Errorf("with both servers back, %d and %d of 40 viewers", a, b)
	}

	t.Run("until", func(t *testing.T) {
		for _, format := range []func(time.Time) string{
			func(u time.Time) string { return `"` + u.UTC().Format(time.RFC3339Nano) + `"` },
			func(u time.Time) string {
				return `"` + u.In(time.FixedZone("", 5*3600+1800)).Format(time.RFC3339Nano) + `"`
			},
			func(u time.Time) string { return fmt.Sprintf("%.3f", float64(u.UnixMilli())/1000) },
		} {
			until := format(time.Now().Add(time.Second))
			set(t, plain, `{"state":"disabled","until":`+until+`}`)
			state(t, plain, "disabled")
			rig.Eventually(t, 3*time.Second, func() error {
				if got := p.Status().State(plain); got != "up" {
					return fmt.Errorf("until %s: still %s", until, got)
				}
				return nil
			})
		}
		// The end of a drain is not the end of the override.
		set(t, plain, fmt.Sprintf(`{"state":"draining","until":%d}`, time.Now().Add(-time.Minute).Unix()))
		state(t, plain, "disabled")
		set(t, plain, `{"state":"draining","until":null}`)
		state(t, plain, "draining")
		set(t, plain, `{"state":"enabled"}`)
	})
	t.Run("survives_a_restart", func(t *testing.T) {
		later := time.Now().Add(time.Hour).Unix()
		set(t, url.PathEscape(slash), fmt.Sprintf(`{"state":"draining","until":%d}`, later))
		p.Kill()
		p.Run()
		state(t, slash, "draining")
		state(t, plain, "up")
		if a, b := sent(t); a != 40 || b != 0 {
			t.Errorf("after the restart, %d and %d viewers, expected none for the server that drains", a, b)
		}
		if res := p.Operator("DELETE", "/admin/servers/"+slash, ""); res.StatusCode != 200 {
			t.Errorf("%d %s", res.StatusCode, res.Body)
		}
		if status := p.Stop(); status != 0 {
			t.Errorf("exit status %d", status)
		}
		p.Run()
		state(t, slash, "up")
	})
}

// TestAdminStateDirBroken: what cannot be kept holds nevertheless, and is said.
func TestAdminStateDirBroken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, name, _ := adminScene(t, rig.Config{"state_dir": file}, rig.Config{})
	if !p.Status().Alarm("state_dir") {
		t.Error("the alarm state_dir is not on")
	}
	res := p.Operator("POST", "/admin/servers/"+name, `{"state":"disabled"}`)
	if res.StatusCode != 500 || !strings.Contains(res.Body, "in force, but not saved") {
		t.Errorf("%d %s", res.StatusCode, res.Body)
	}
	if got := p.Status().State(name); got != "disabled" {
		t.Errorf("the server is %q, expected disabled", got)
	}
	if res := p.Get("/ch/index.m3u8"); res.StatusCode != 302 {
		t.Errorf("a viewer: %v", res.Response)
	}
}

func TestAdminBadBodies(t *testing.T) {
	t.Parallel()
	p, name, _ := adminScene(t, rig.Config{}, rig.Config{})
	for _, c := range []struct {
		name, path, body string
		status           int
		error            string // part of the message
	}{
		{"empty", name, "", 400, `{"state":"draining"`},
		{"no_JSON", name, "drain", 400, "expected a body like"},
		{"array", name, "[]", 400, "expected a body like"},
		{"null", name, "null", 400, "state"},
		{"no_state", name, "{}", 400, "expected enabled, draining or disabled"},
		{"unknown_state", name, `{"state":"drain"}`, 400, `"drain"`},
		{"unknown_state_of_control_bytes", name, `{"state":"\u0000\u001b[2J"}`, 400, "state"},
		{"unknown_key", name, `{"state":"draining","untill":1}`, 400, "untill"},
		{"wrong_type", name, `{"state":1}`, 400, "state"},
		{"trailing_text", name, `{"state":"draining"} x`, 400, "something follows"},
		{"second_object", name, `{"state":"draining"}{"state":"enabled"}`, 400, "something follows"},
		{"until_a_word", name, `{"state":"draining","until":"tomorrow"}`, 400, "until"},
		{"until_a_date", name, `{"state":"draining","until":"2026-01-31"}`, 400, "until"},
		{"until_negative", name, `{"state":"draining","until":-1}`, 400, "until"},
		{"until_huge", name, `{"state":"draining","until":1e300}`, 400, "until"},
		{"until_an_object", name, `{"state":"draining","until":{}}`, 400, "until"},
		{"too_large", name, `{"state":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "too large"},
		{"too_large_with_spaces", name, `{"state":"draining"}` + strings.Repeat(" ", 1<<20), 400, ""},
		{"unknown_server", "nobody", `{"state":"draining"}`, 404, "nobody"},
		{"unknown_server_of_slashes", "../../status", `{"state":"draining"}`, 404, "../../status"},
		{"no_server", "", `{"state":"draining"}`, 404, ""},
		{"long_server", strings.Repeat("n", 5000), `{"state":"draining"}`, 404, "nnn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := rig.Exchange{Addr: p.AdminAddr(), Send: fmt.Sprintf(
				"POST /admin/servers/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", c.path, len(c.body), c.body)}
			res, err := x.Do()
			if err != nil {
				t.Fatal(err)
			}
			var body struct{ Error string }
			if err := json.Unmarshal([]byte(res.Body), &body); err != nil {
				t.Errorf("body %q: %v", res.Body, err)
			}
			if res.StatusCode != c.status || !strings.Contains(body.Error, c.error) || body.Error == "" || len(res.Body) > 1000 {
				t.Errorf("%d %q, expected %d with %q", res.StatusCode, res.Body, c.status, c.error)
			}
		})
	}
	if got := p.Status().State(name); got != "up" {
		t.Errorf("after bad bodies the server is %q", got)
	}
	x := rig.Exchange{Addr: p.AdminAddr(), Send: "DELETE /admin/servers/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"}
	if res, err := x.Do(); err != nil || res.StatusCode != 400 {
		t.Errorf("a bad escape: %v, %v", res.Response, err)
	}
}

func TestAdminStatus(t *testing.T) {
	t.Parallel()
	p, plain, slash := adminScene(t, rig.Config{}, rig.Config{})

	t.Run("JSON", func(t *testing.T) {
		for _, accept := range []string{"", "*/*", "application/json"} {
			res := p.Operator("GET", "/status", "", "Accept", accept)
			if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("Accept %q: %v", accept, res.Response)
			}
			var raw map[string]any
			if err := json.Unmarshal([]byte(res.Body), &raw); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"generation", "ready", "time", "alarms", "known_contents", "farms", "locations"} {
				if v, ok := raw[key]; !ok || v == nil {
					t.Errorf("no %q in %s", key, res.Body)
				}
			}
		}
		s := p.Status()
		if s.Generation != 1 || !s.Ready || len(s.Alarms) != 0 || len(s.Farms) != 1 || len(s.Farms[0].Servers) != 2 {
			t.Errorf("%+v", s)
		}
		if s.State(plain) != "up" || s.State(slash) != "up" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("page", func(t *testing.T) {
		res := p.Operator("GET", "/status", "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || res.Header.Get("Vary") != "Accept" {
			t.Errorf("%v", res.Response)
		}
		for _, part := range []string{"<!doctype html>", "is ready", "Farm farm", plain, slash, "</html>"} {
			if !strings.Contains(res.Body, part) {
				t.Errorf("the page has no %q", part)
			}
		}
	})
	t.Run("metrics", func(t *testing.T) {
		p.Get("/ch/index.m3u8")
		p.Get("//bad")
		text := p.Operator("GET", "/metrics", "").Body
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range problems {
			if strings.HasPrefix(problem.Metric, "pointsman_") {
				t.Errorf("%s: %s", problem.Metric, problem.Text)
			}
		}
		for prefix, want := range map[string]float64{
			`pointsman_decisions_total{door="http",farm="farm",reason="ok"}`:      1,
			`pointsman_decisions_total{door="http",farm="",reason="bad_request"}`: 1,
			`pointsman_ready`:                          1,
			`pointsman_config_generation`:              1,
			`pointsman_config_last_reload_successful`:  1,
			`pointsman_server_up{server="` + plain:     1,
			`pointsman_alarm{code="config_refused"}`:   0,
			`pointsman_log_lines_lost_total`:           0,
			`pointsman_server_decisions_total{server=`: 1,
		} {
			if got, n := p.Metric(prefix); n == 0 || got != want {
				t.Errorf("%s is %v in %d series, expected %v", prefix, got, n, want)
			}
		}
	})
	t.Run("explain", func(t *testing.T) {
		q := url.Values{"ip": {"192.0.2.7"}, "url": {"/ch/index.m3u8?a=b&c=%2F"}, "ua": {"VLC"}}
		res := p.Operator("GET", "/explain?"+q.Encode(), "")
		var x explanation
		if err := json.Unmarshal([]byte(res.Body), &x); err != nil || res.StatusCode != 200 {
			t.Fatalf("%v %v %s", res.Response, err, res.Body)
		}
		if x.Status != 302 || x.Client != "192.0.2.7" || !strings.HasSuffix(x.LocationHeader, "/ch/index.m3u8?a=b&c=%2F") {
			t.Errorf("%+v", x)
		}
		for _, query := range []string{"", "ip=192.0.2.7", "url=/x", "ip=&url=/x", "ip=1.2.3&url=/x", "ip=192.0.2.7&url="} {
			if res := p.Operator("GET", "/explain?"+query, ""); res.StatusCode != 400 || !strings.Contains(res.Body, "expected") {
				t.Errorf("?%s: %d %s", query, res.StatusCode, res.Body)
			}
		}
	})
	t.Run("page_escapes", func(t *testing.T) {
		res := p.Operator("GET", "/explain?"+url.Values{"ip": {"192.0.2.7"}, "url": {"/<script>alert(1)</script>"}}.Encode(), "")
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("what a stranger wrote is shown as a page: %v", res.Response)
		}
	})
}

func TestAdminPaths(t *testing.T) {
	t.Parallel()
	p, _, _ := adminScene(t, rig.Config{}, tokens(t))
	for _, c := range []struct {
		target string
		status []int
	}{
		{"/admin/../status", []int{401, 404}},
		{"//admin", []int{404}},
		{"//status", []int{404}},
		{"/admin%2fx", []int{404}},
		{"/%73tatus", []int{401, 404}},
		{"/status/", []int{404}},
		{"/Status", []int{404}},
		{"/healthz/../status", []int{401, 404}},
		{"/healthz/..;/status", []int{404}},
		{"/healthz%2f..%2fstatus", []int{404}},
		{"/debug/pprof/../../status", []int{401, 404}},
		{"/demo/", []int{404}},
		{"/admin/servers", []int{404}},
		{"http://localhost/status", []int{401}},
	} {
		x := rig.Exchange{Addr: p.AdminAddr(), Send: "GET " + c.target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"}
		res, err := x.Do()
		if err != nil || !slices.Contains(c.status, res.StatusCode) || strings.Contains(res.Body, "generation") {
			t.Errorf("%s: %v, %v %.200q, expected %v", c.target, res.Response, err, res.Body, c.status)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "TRACE", "FOO"} {
		if res := p.Operator(method, "/status", "", "Authorization", "Bearer "+actToken); res.StatusCode != 405 {
			t.Errorf("%s /status: %d, expected 405", method, res.StatusCode)
		}
	}
	if res := p.Operator("GET", "/admin/reload", "", "Authorization", "Bearer "+actToken); res.StatusCode != 405 {
		t.Errorf("GET /admin/reload: %d, expected 405: a link must not act", res.StatusCode)
	}
}

func TestAdminHealthPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/balancer/ok"} {
		core := rig.Config{"hosts": []string{"tv.example.net"}}
		want := "/.pointsman/health"
		if path != "" {
			core["health_path"], want = path, path
		}
		p, _, _ := adminScene(t, core, rig.Config{})
		for _, host := range []string{"tv.example.net", "balancer.example", "192.0.2.1"} {
			if res := p.Get(want, "Host", host); res.StatusCode != 200 || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s under Host %s: %v", want, host, res.Response)
			}
		}
		if res := p.Get("/ch/index.m3u8", "Host", "balancer.example"); res.StatusCode != 421 {
			t.Errorf("another path under an unknown Host: %d, expected 421", res.StatusCode)
		}
		if path != "" {
			if res := p.Get("/.pointsman/health", "Host", "tv.example.net"); res.StatusCode != 302 {
				t.Errorf("the default's path, when another is configured: %d, expected a viewer's 302", res.StatusCode)
			}
		}
	}
}
