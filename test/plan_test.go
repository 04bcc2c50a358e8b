package test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// planReport is what the test reads of `plan -json`.
type planReport struct {
	Viewers int            `json:"viewers"`
	Refused map[string]int `json:"refused"`
	Servers []struct {
		Name    string  `json:"name"`
		Viewers int     `json:"viewers"`
		Share   float64 `json:"share"`
		Logged  float64 `json:"logged"`
	} `json:"servers"`
	Failures []struct {
		Kind, Name   string
		Hit, Refused int
	} `json:"failures"`
	Against struct {
		Moved int `json:"moved"`
		Why   []struct {
			Why     string `json:"why"`
			Viewers int    `json:"viewers"`
		} `json:"why"`
	} `json:"against"`
	Warnings []string `json:"warnings"`
}

func runPlan(t *testing.T, args ...string) planReport {
	t.Helper()
	out, errs, status := rig.Run(t, "", append([]string{"plan", "-json"}, args...)...)
	var r planReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("plan %v: exit status %d: %v\n%s%s", args, status, err, out, errs)
	}
	return r
}

// TestPlanTellsWhatServeDoes: 100,000 viewers are served, and `plan` over the log of
// it and over viewers that it makes up by the same rules gives each server the share
// that it really had, within a percentage point.
func TestPlanTellsWhatServeDoes(t *testing.T) {
	const (
		requests = 100_000
		channels = 50
	)
	servers := liveServers(t, "edge", 4)
	shared, anchored := farmOf("shared", "share", servers[:2]), farmOf("anchored", "content_id", servers[2:])
	shared["servers"].([]any)[0].(rig.Config)["weight"] = 3
	c := scene(shared, anchored)
	with(c, "log", rig.Config{"decisions": true})
	with(c, "core", rig.Config{"trusted_proxies": []any{"127.0.0.1/32"}, "interface": "127.0.0.1", "port": rig.FreePort(t), "drain_delay_sec": 0})
	with(c, "admin", rig.Config{"port": rig.FreePort(t)})
	with(c, "probe", rig.Config{"max_per_sec_per_server": 5000, "max_in_flight_per_server": 100})
	with(c, "redirection", rig.Config{"session_key": []any{"sid"}, "locations": []any{
		rig.Config{"name": "west", "ip_mask": []any{"10.0.0.0/9"}, "farms": []any{"shared", "anchored"}},
		rig.Config{"name": "east", "ip_mask": []any{"10.128.0.0/9"}, "farms": []any{"anchored", "shared"}},
	}})
	file := configFile(t, c)
	viewers, stop, log := serveIntoFile(t, c, file)

	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	asks := make([]rig.Ask, requests)
	for i := range asks {
		asks[i] = rig.Ask{
			Target: fmt.Sprintf("/ch%d/index.m3u8?sid=%x", popularChannel(random, channels), random.Uint64()),
			Header: []string{"X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", random.IntN(256), random.IntN(256), random.IntN(256))},
		}
	}
	real := allRedirected(t, "the load", viewers.Load(t.Context(), rig.Load{Connections: 64, Count: requests}, func(i int) rig.Ask { return asks[i] }), servers)
	stop()

	for _, plan := range []struct {
		name string
		args []string
	}{
		{"log", []string{"-config", file, "-log", log}},
		{"sample_of_the_log", []string{"-config", file, "-log", log, "-viewers", "50000"}},
		{"made_up", []string{"-config", file, "-channels", fmt.Sprint(channels)}},
	} {
		r := runPlan(t, plan.args...)
		var text strings.Builder
		for _, s := range r.Servers {
			did := float64(real[s.Name]) / requests
			fmt.Fprintf(&text, " %s %.2f %% (%.2f %%)", s.Name, 100*s.Share, 100*did)
			if math.Abs(s.Share-did) > 0.01 {
				t.Errorf("%s: %s is to carry %.2f %% and really had %.2f %%", plan.name, s.Name, 100*s.Share, 100*did)
			}
			if plan.name == "log" && (s.Viewers != real[s.Name] || math.Abs(s.Logged-did) > 1e-9) {
				t.Errorf("%s was given %d viewers, the replay of each of them gives it %d and the log %.3f %%", s.Name, real[s.Name], s.Viewers, 100*s.Logged)
			}
		}
		t.Logf("%s, planned (real):%s", plan.name, text.String())
		if len(r.Refused) > 0 {
			t.Errorf("%s: refused %v", plan.name, r.Refused)
		}
		for _, f := range r.Failures {
			if f.Refused > 0 || f.Kind == "server" && f.Hit != r.Servers[slices.IndexFunc(servers, func(o *rig.Origin) bool { return o.Name == f.Name })].Viewers {
				t.Errorf("%s: %s %s fails: %d are hit, %d refused", plan.name, f.Kind, f.Name, f.Hit, f.Refused)
			}
		}
	}

	shared["servers"] = append(shared["servers"].([]any), rig.Config{"name": "new", "url": "http://192.0.2.1"})
	r := runPlan(t, "-config", file, "-log", log, "-against", configFile(t, c))
	want := (real["edge0"] + real["edge1"]) / 5
	if why := r.Against.Why; len(why) != 1 || why[0].Why != "new_server" || math.Abs(float64(r.Against.Moved-want)) > 0.01*requests {
		t.Errorf("with a fifth of the weights in a new server %d viewers move for %+v, expected %d for new_server", r.Against.Moved, why, want)
	}
}

// popularChannel draws the number of a channel, the n-th 1/n as often as the first.
func popularChannel(random *rand.Rand, channels int) int {
	sum := 0.0
	for n := range channels {
		sum += 1 / float64(n+1)
	}
	at := random.Float64() * sum
	for n := range channels {
		if at -= 1 / float64(n+1); at < 0 {
			return n + 1
		}
	}
	return channels
}

// serveIntoFile runs `serve` with its log in a file, as an operator keeps it; stop
// ends it, so that the log is whole.
func serveIntoFile(t *testing.T, c rig.Config, file string) (p *rig.Pointsman, stop func(), log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "decisions.jsonl")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(rig.Binary(t), "serve", "-config", file)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	core, admin := c["core"].(rig.Config), c["admin"].(rig.Config)
	p = &rig.Pointsman{T: t, File: file, Viewers: fmt.Sprint("http://127.0.0.1:", core["port"]), Admin: fmt.Sprint("http://127.0.0.1:", admin["port"])}
	rig.Eventually(t, 15*time.Second, func() error {
		res, err := rig.Do("GET", p.Admin+"/readyz", "")
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("/readyz: %d %s", res.StatusCode, res.Body)
		}
		return err
	})
	return p, stop, log
}

// TestPlanOfAMillion: a million viewers and 20 servers in under 30 seconds.
func TestPlanOfAMillion(t *testing.T) {
	var servers []any
	for i := range 20 {
		servers = append(servers, rig.Config{"url": fmt.Sprintf("http://edge%d.example", i), "tags": rig.Config{"site": fmt.Sprint("s", i%3)}})
	}
	c := rig.Config{"redirection": rig.Config{
		"farms": []any{
			rig.Config{"name": "one", "policy": "share", "servers": servers[:10]}, rig.Config{"name": "two", "policy": "content_id", "servers": servers[10:]},
		},
		"locations": []any{
			rig.Config{"ip_mask": []any{"10.0.0.0/8"}, "farms": []any{"one", "two"}}, rig.Config{"farms": []any{"two", "one"}},
		},
	}}
	file := configFile(t, c)
	page := filepath.Join(t.TempDir(), "plan.html")
	rig.Binary(t)
	start := time.Now()
	r := runPlan(t, "-config", file, "-html", page)
	took := time.Since(start)
	t.Logf("%d viewers, %d servers, %d failures: %v", r.Viewers, len(r.Servers), len(r.Failures), took.Round(time.Millisecond))
	if r.Viewers != 1_000_000 || len(r.Servers) != 20 || len(r.Failures) != 20+2+3 {
		t.Errorf("%d viewers, %d servers, %d failures", r.Viewers, len(r.Servers), len(r.Failures))
	}
	if took > 30*time.Second {
		t.Errorf("it took %v, expected less than 30 s", took)
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"src=", "href=", "url(", "@import", "<script"} {
		if strings.Contains(string(html), outside) {
			t.Errorf("the page is not self-contained: it has %q", outside)
		}
	}
}
