package redirector

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/status"
)

// ask sends a request to the admin listener. Header is name, value, name,
// value…; Host is the host.
func ask(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:9202"
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	rw := httptest.NewRecorder()
	h.ServeHTTP(rw, r)
	return rw
}

const (
	readToken = "read-0123456789abcdef"
	actToken  = "act-0123456789abcdef"
)

// reads and acts are the endpoints of either kind.
var (
	reads = []string{
		"GET /", "GET /status", "GET /explain?ip=192.0.2.1&url=/ch/index.m3u8", "GET /metrics", "GET /demo", "GET /demo/x",
		"HEAD /status/events", "GET /status/coverage", "GET /status/page.css", "GET /status/page.js",
	}
	acts = []string{
		"POST /admin/reload", "POST /admin/servers/a", "POST /admin/servers/a/recheck", "POST /admin/contents/purge", "DELETE /admin/servers/a", "GET /debug/pprof/", "GET /debug/pprof/cmdline", "GET /debug/pprof/symbol",
	}
)

func adminOf(s *stage, read, act string) http.Handler {
	return s.e.Admin(AdminOptions{
		ReadToken: read, ActToken: act, Reload: func(bool) error { return nil },
		Extra: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	})
}

func TestAdminTokens(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight/assume a")
		h := adminOf(s, readToken, actToken)
		for _, row := range []struct {
			name      string
			header    []string
			read, act bool
		}{
			{"none", nil, false, false},
			{"read", []string{"Authorization", "Bearer " + readToken}, true, false},
			{"act", []string{"Authorization", "Bearer " + actToken}, true, true},
			{"wrong", []string{"Authorization", "Bearer " + readToken + "x"}, false, false},
			{"prefix", []string{"Authorization", "Bearer " + actToken[:8]}, false, false},
			{"empty", []string{"Authorization", "Bearer "}, false, false},
			{"basic", []string{"Authorization", "Basic " + actToken}, false, false},
			{"bare", []string{"Authorization", actToken}, false, false},
			{"any_host", []string{"Authorization", "Bearer " + actToken, "Host", "admin.example"}, true, true},
		} {
			for _, group := range []struct {
				endpoints []string
				open      bool
			}{{reads, row.read}, {acts, row.act}} {
				for _, x := range group.endpoints {
					method, target, _ := strings.Cut(x, " ")
					rw := ask(h, method, target, `{"state":"enabled"}`, row.header...)
					if open := rw.Code != http.StatusUnauthorized; open != group.open {
						t.Errorf("%s: %s answered %d, want it open: %v", row.name, x, rw.Code, group.open)
					}
					if rw.Code == http.StatusUnauthorized && rw.Header().Get("WWW-Authenticate") == "" {
						t.Errorf("%s: %s: 401 without WWW-Authenticate", row.name, x)
					}
					if strings.Contains(rw.Body.String(), "token-") || strings.Contains(rw.Body.String(), actToken) {
						t.Errorf("%s: %s repeats a token", row.name, x)
					}
				}
			}
		}
		for _, x := range []string{"/healthz", "/readyz"} {
			for _, method := range []string{"GET", "HEAD"} {
				if rw := ask(h, method, x, "", "Host", "balancer.example"); rw.Code != 200 {
					t.Errorf("%s %s without a token: %d", method, x, rw.Code)
				}
			}
		}
	})
}

// TestAdminWithoutTokens: then it is on loopback, and no web page reaches it:
// neither by a name that is made to lead here, nor from another site.
func TestAdminWithoutTokens(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight/assume a")
		h := adminOf(s, "", "")
		for host, open := range map[string]bool{
			"127.0.0.1:9202": true, "localhost:9202": true, "LOCALHOST": true, "[::1]:9202": true, "pointsman.localhost:1": true, "10.0.0.7": true,
			"evil.example": false, "evil.example:9202": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "": false,
		} {
			for _, x := range append(slices.Clone(reads), acts...) {
				method, target, _ := strings.Cut(x, " ")
				rw := ask(h, method, target, `{"state":"enabled"}`, "Host", host)
				if got := rw.Code != http.StatusForbidden; got != open {
					t.Errorf("Host %q: %s answered %d, want it open: %v", host, x, rw.Code, open)
				}
			}
		}
		for _, row := range []struct {
			header []string
			open   bool
		}{
			{[]string{"Sec-Fetch-Site", "same-origin"}, true},
			{[]string{"Sec-Fetch-Site", "none"}, true},
			{[]string{"Origin", "http://127.0.0.1:9202"}, true},
			{[]string{"Sec-Fetch-Site", "cross-site"}, false},
			{[]string{"Sec-Fetch-Site", "same-site"}, false},
			{[]string{"Origin", "https://evil.example"}, false},
			{[]string{"Origin", "http://127.0.0.1:9203"}, false},
			{[]string{"Origin", "null"}, false},
			{[]string{"Origin", "http://[::1"}, false},
		} {
			for _, x := range acts {
				method, target, _ := strings.Cut(x, " ")
				rw := ask(h, method, target, `{"state":"enabled"}`, row.header...)
				if got := rw.Code != http.StatusForbidden; got != row.open {
					t.Errorf("%v: %s answered %d, want it open: %v", row.header, x, rw.Code, row.open)
				}
			}
		}
	})
}

func TestAdminOverrides(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		spec := stageSpec(t, "weight/assume a edge/live b:80")
		s := newStageOf(t, spec, nil)
		h := adminOf(s, "", "")
		for _, row := range []struct {
			name, method, target, body string
			status                     int
			word                       string
		}{
			{"disable", "POST", "/admin/servers/a", `{"state":"disabled"}`, 200, `{"server":"a","state":"disabled"}`},
			{"drain_until", "POST", "/admin/servers/a", `{"state":"draining","until":"2030-01-01T00:00:00Z"}`, 200, `draining`},
			{"take_back", "DELETE", "/admin/servers/a", "", 200, `as configured`},
			{"name_with_slash", "POST", "/admin/servers/edge/live", `{"state":"disabled"}`, 200, `edge/live`},
			{"name_with_escaped_slash", "POST", "/admin/servers/edge%2Flive", `{"state":"enabled"}`, 200, `edge/live`},
			{"name_with_port", "POST", "/admin/servers/b:80", `{"state":"enabled"}`, 200, `b:80`},
			{"unknown", "POST", "/admin/servers/zz", `{"state":"disabled"}`, 404, "no farm has a server named zz"},
			{"unknown_taken_back", "DELETE", "/admin/servers/zz", "", 404, "no farm has"},
			{"no_name", "POST", "/admin/servers/", `{"state":"disabled"}`, 404, "no farm has"},
			{"bad_state", "POST", "/admin/servers/a", `{"state":"off"}`, 400, "expected enabled, draining or disabled"},
			{"unknown_key", "POST", "/admin/servers/a", `{"state":"disabled","untill":1}`, 400, "untill"},
			{"trailing", "POST", "/admin/servers/a", `{"state":"disabled"} {}`, 400, "follows"},
			{"torn", "POST", "/admin/servers/a", `{"state":`, 400, "expected a body like"},
			{"empty", "POST", "/admin/servers/a", ``, 400, "expected a body like"},
			{"huge", "POST", "/admin/servers/a", `{"state":"` + strings.Repeat("x", maxAdminBody) + `"}`, 400, "too large"},
			{"get", "GET", "/admin/servers/a", "", 405, ""},
		} {
			rw := ask(h, row.method, row.target, row.body)
			if rw.Code != row.status || !strings.Contains(rw.Body.String(), row.word) || rw.Body.Len() > 1000 {
				t.Errorf("%s: %d %.200s, want %d with %q", row.name, rw.Code, rw.Body, row.status, row.word)
			}
			if rw.Code != 405 && !json.Valid(rw.Body.Bytes()) {
				t.Errorf("%s: %s is no JSON", row.name, rw.Body)
			}
		}
	})
}

func TestAdminOverrideThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight/assume a")
	s.e.saveOverrides = func(farms.Overrides) error { return errors.New("no space left") }
	rw := ask(adminOf(s, "", ""), "POST", "/admin/servers/a", `{"state":"disabled"}`)
	if rw.Code != 500 || !strings.Contains(rw.Body.String(), "in force, but not saved") {
		t.Errorf("%d %s", rw.Code, rw.Body)
	}
	if on := s.e.alarms.On(); len(on) != 1 || on[0].Code != "state_dir" {
		t.Errorf("alarms %v, want state_dir", on)
	}
}

func TestAdminReload(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight/assume a")
	var forced []bool
	var fail error
	h := s.e.Admin(AdminOptions{Reload: func(force bool) error { forced = append(forced, force); return fail }})
	for _, target := range []string{"/admin/reload", "/admin/reload?force=1", "/admin/reload?force=true", "/admin/reload?force=0"} {
		if rw := ask(h, "POST", target, ""); rw.Code != 200 || strings.TrimSpace(rw.Body.String()) != `{"generation":1}` {
			t.Errorf("%s: %d %s", target, rw.Code, rw.Body)
		}
	}
	if !slices.Equal(forced, []bool{false, true, true, false}) {
		t.Errorf("forced %v", forced)
	}
	fail = errors.New("line 3: expected a comma")
	if rw := ask(h, "POST", "/admin/reload", ""); rw.Code != 422 || !strings.Contains(rw.Body.String(), "line 3: expected a comma") {
		t.Errorf("a bad one: %d %s", rw.Code, rw.Body)
	}
	if rw := ask(h, "GET", "/admin/reload", ""); rw.Code != 405 {
		t.Errorf("GET: %d", rw.Code)
	}
	if rw := ask(h, "GET", "/demo", ""); rw.Code != 404 {
		t.Errorf("without a demo: %d", rw.Code)
	}
}

func TestAdminExplainAndStatus(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a b")
		s.knows("a", farms.Present, nil)
		s.down("b", time.Minute)
		h := adminOf(s, "", "")
		for target, status := range map[string]int{
			"/explain?ip=192.0.2.1&url=/ch/index.m3u8": 200, "/explain?ip=nobody&url=/x": 400, "/explain?url=/x": 400, "/explain?ip=192.0.2.1": 400,
		} {
			if rw := ask(h, "GET", target, ""); rw.Code != status || !json.Valid(rw.Body.Bytes()) {
				t.Errorf("%s: %d %s", target, rw.Code, rw.Body)
			}
		}
		var st status.Document
		rw := ask(h, "GET", "/status", "")
		if err := json.Unmarshal(rw.Body.Bytes(), &st); err != nil || strings.Contains(rw.Body.String(), "null") {
			t.Fatalf("%v: %s", err, rw.Body)
		}
		if st.Farms[0].Servers[0].State != "up" || st.Farms[0].Servers[1].State != "down" || st.Farms[0].Servers[1].Reason != "refused" || !st.Ready {
			t.Errorf("status %+v", st)
		}
		page := ask(h, "GET", "/status", "", "Accept", "text/html,*/*")
		if !strings.Contains(page.Body.String(), `<span class="state down">down</span>`) || page.Header().Get("Vary") != "Accept" {
			t.Errorf("the page: %v %s", page.Header(), page.Body)
		}
		s.e.view.Store(nil)
		for _, target := range []string{"/status", "/explain?ip=192.0.2.1&url=/x"} {
			if rw := ask(h, "GET", target, ""); rw.Code != 503 {
				t.Errorf("%s before anything is loaded: %d", target, rw.Code)
			}
		}
		if rw := ask(h, "POST", "/admin/servers/a", `{"state":"enabled"}`); rw.Code != 503 {
			t.Errorf("an override before anything is loaded: %d", rw.Code)
		}
	})
}

// TestMetricLabelsAreClosed: nothing of a viewer becomes a label, and series of
// what a reload removed go.
func TestMetricLabelsAreClosed(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a=10 b")
		s.e.metrics.Observe(s.e)
		s.knows("a", farms.Present, nil)
		h := adminOf(s, "", "")
		s.visits(visit{})
		for _, v := range []visit{{target: "/../x"}, {method: "BREW"}, {target: "/hostile-path/x.ts", agent: "hostile-agent", addr: "203.0.113.7", host: "hostile-host"}} {
			s.visits(v)
		}
		text := ask(h, "GET", "/metrics", "").Body.String()
		for _, bad := range []string{"hostile", "203.0.113", "BREW", "ch/index"} {
			if strings.Contains(text, bad) {
				t.Errorf("the metrics hold %q", bad)
			}
		}
		for _, want := range []string{
			`pointsman_decisions_total{door="http",farm="f1",reason="ok"} 2`, `pointsman_decisions_total{door="http",farm="",reason="bad_request"} 1`,
			`pointsman_decisions_total{door="http",farm="",reason="busy"} 0`, `pointsman_server_decisions_total{server="a"}`, `pointsman_ready 1`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
		next, err := farms.Build(stageSpec(t, "weight b"), 2)
		if err != nil {
			t.Fatal(err)
		}
		s.e.Swap(next, s.set)
		if text := ask(h, "GET", "/metrics", "").Body.String(); strings.Contains(text, `server="a"`) {
			t.Error("a removed server keeps its series")
		}
	})
}
