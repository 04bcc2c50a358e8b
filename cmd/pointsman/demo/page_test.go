package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// demoPage returns the page of two running servers.
func demoPage(t *testing.T) (h http.Handler, servers []*Server) {
	t.Helper()
	for _, s := range []struct {
		name, farm string
		channels   []string
	}{{"s1", "north", []string{Pattern}}, {"s2", "south", []string{Bars, Pattern}}} {
		server, err := New(s.name, s.farm, epoch(), s.channels...)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		servers = append(servers, server)
	}
	return Page(servers, func(channel string) string { return "http://viewers.test/" + channel + "/index.m3u8" }, Steering{
		Channel: Pattern, URL: "http://steered.test/pattern/index.m3u8", Manifest: "/steering/pattern/index.m3u8",
		Admin: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			writeJSON(w, http.StatusOK, []string{r.Method, r.URL.String()})
		}),
	}), servers
}

func ask(h http.Handler, method, target string, headers map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:9202"
	for name, value := range headers {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPageRoutes(t *testing.T) {
	t.Parallel()
	h, _ := demoPage(t)
	tests := map[string]struct {
		method, path string
		status       int
		contentType  string
	}{
		"page":               {"GET", "/demo/", 200, "text/html; charset=utf-8"},
		"page_head":          {"HEAD", "/demo/", 200, "text/html; charset=utf-8"},
		"page_post":          {"POST", "/demo/", 405, "text/plain; charset=utf-8"},
		"without_slash":      {"GET", "/demo", 307, "text/html; charset=utf-8"},
		"hls_js":             {"GET", "/demo/hls.min.js", 200, "text/javascript; charset=utf-8"},
		"licences":           {"GET", "/demo/third-party.txt", 200, "text/plain; charset=utf-8"},
		"missing_file":       {"GET", "/demo/none.js", 404, "text/plain; charset=utf-8"},
		"outside":            {"GET", "/status", 404, "text/plain; charset=utf-8"},
		"channels":           {"GET", "/demo/api/channels", 200, "application/json"},
		"servers":            {"GET", "/demo/api/servers", 200, "application/json"},
		"servers_post":       {"POST", "/demo/api/servers", 405, "text/plain; charset=utf-8"},
		"stop_by_get":        {"GET", "/demo/api/servers/s1/stop", 405, "text/plain; charset=utf-8"},
		"start_by_get":       {"GET", "/demo/api/servers/s1/start", 405, "text/plain; charset=utf-8"},
		"start_by_delete":    {"DELETE", "/demo/api/servers/s1/start", 405, "text/plain; charset=utf-8"},
		"stop_by_options":    {"OPTIONS", "/demo/api/servers/s1/stop", 405, "text/plain; charset=utf-8"},
		"start_unknown":      {"POST", "/demo/api/servers/s9/start", 404, "application/json"},
		"start_a_running":    {"POST", "/demo/api/servers/s1/start", 200, "application/json"},
		"another_action":     {"POST", "/demo/api/servers/s1/restart", 404, "text/plain; charset=utf-8"},
		"another_collection": {"GET", "/demo/api/farms", 404, "text/plain; charset=utf-8"},
		"steering":           {"GET", "/demo/api/steering", 200, "application/json"},
		"explain":            {"GET", "/demo/api/steering/explain?ip=127.0.0.1", 200, "application/json"},
		"explain_post":       {"POST", "/demo/api/steering/explain", 405, "text/plain; charset=utf-8"},
		"overrides":          {"GET", "/demo/api/steering/admin/pathways", 200, "application/json"},
		"override":           {"POST", "/demo/api/steering/admin/pathways/near", 200, "application/json"},
		"override_by_get":    {"GET", "/demo/api/steering/admin/pathways/near", 405, "text/plain; charset=utf-8"},
		"take_back":          {"DELETE", "/demo/api/steering/admin/pathways/near", 200, "application/json"},
		"the_rest_of_admin":  {"POST", "/demo/api/steering/admin/reload", 404, "text/plain; charset=utf-8"},
		"profiles":           {"GET", "/demo/api/steering/debug/pprof/", 404, "text/plain; charset=utf-8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ask(h, tt.method, tt.path, nil)
			if w.Code != tt.status || w.Header().Get("Content-Type") != tt.contentType {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Header().Get("Content-Type"), tt.status, tt.contentType)
			}
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") {
				t.Errorf("Content-Security-Policy is %q: expected one that forbids frames", csp)
			}
			if cors := w.Header().Get("Access-Control-Allow-Origin"); cors != "" {
				t.Errorf("Access-Control-Allow-Origin is %q: no other page may read this one", cors)
			}
		})
	}
}

func TestButtonsStopAndStart(t *testing.T) {
	t.Parallel()
	h, servers := demoPage(t)
	s := servers[1]
	for _, step := range []struct {
		action string
		want   bool
	}{{"stop", false}, {"stop", false}, {"start", true}, {"start", true}} {
		w := ask(h, "POST", "/demo/api/servers/s2/"+step.action, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:9202"})
		var got serverJSON
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := serverJSON{Name: "s2", Farm: "south", URL: s.URL(), Channels: []string{Bars, Pattern}, Running: step.want}
		if w.Code != 200 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %d %+v, want %+v", step.action, w.Code, got, want)
		}
		if _, err := get(s.URL() + "/"); (err == nil) != step.want {
			t.Errorf("%s: the server answers with error %v", step.action, err)
		}
	}
	if !servers[0].Running() {
		t.Error("the other server was stopped too")
	}
}

func TestButtonsAreForThisPageOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		headers map[string]string
		want    int
	}{
		"curl":                {nil, 200},
		"own_page":            {map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:9202"}, 200},
		"typed_by_hand":       {map[string]string{"Sec-Fetch-Site": "none"}, 200},
		"old_browser_own":     {map[string]string{"Origin": "http://127.0.0.1:9202"}, 200},
		"localhost":           {map[string]string{"Host": "localhost:9202", "Sec-Fetch-Site": "same-origin"}, 200},
		"ipv6":                {map[string]string{"Host": "[::1]:9202", "Sec-Fetch-Site": "same-origin"}, 200},
		"other_site":          {map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"}, 403},
		"other_port":          {map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8000"}, 403},
		"old_browser_other":   {map[string]string{"Origin": "https://evil.test"}, 403},
		"sandboxed_frame":     {map[string]string{"Origin": "null"}, 403},
		"rebound_name":        {map[string]string{"Host": "evil.test:9202", "Sec-Fetch-Site": "same-origin", "Origin": "http://evil.test:9202"}, 403},
		"rebound_localhost":   {map[string]string{"Host": "localhost.evil.test", "Sec-Fetch-Site": "same-origin"}, 403},
		"rebound_without_dot": {map[string]string{"Host": "evil", "Sec-Fetch-Site": "same-origin"}, 403},
		"empty_host":          {map[string]string{"Host": ""}, 403},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, servers := demoPage(t)
			w := ask(h, "POST", "/demo/api/servers/s1/stop", tt.headers)
			if w.Code != tt.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, tt.want)
			}
			for _, method := range []string{"POST", "DELETE"} {
				if w := ask(h, method, "/demo/api/steering/admin/pathways/near", tt.headers); w.Code != tt.want {
					t.Errorf("%s of an override: got %d %s, want %d", method, w.Code, w.Body, tt.want)
				}
			}
			if refused := w.Code != 200; servers[0].Running() != refused {
				t.Errorf("running is %v after status %d", servers[0].Running(), w.Code)
			}
		})
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	h, servers := demoPage(t)
	var gotServers []serverJSON
	if err := json.Unmarshal(ask(h, "GET", "/demo/api/servers", nil).Body.Bytes(), &gotServers); err != nil {
		t.Fatal(err)
	}
	wantServers := []serverJSON{
		{Name: "s1", Farm: "north", URL: servers[0].URL(), Channels: []string{Pattern}, Running: true},
		{Name: "s2", Farm: "south", URL: servers[1].URL(), Channels: []string{Bars, Pattern}, Running: true},
	}
	if !reflect.DeepEqual(gotServers, wantServers) {
		t.Errorf("got %+v, want %+v", gotServers, wantServers)
	}

	var gotChannels []channelJSON
	if err := json.Unmarshal(ask(h, "GET", "/demo/api/channels", nil).Body.Bytes(), &gotChannels); err != nil {
		t.Fatal(err)
	}
	wantChannels := []channelJSON{{Pattern, "http://viewers.test/pattern/index.m3u8"}, {Bars, "http://viewers.test/bars/index.m3u8"}}
	if !reflect.DeepEqual(gotChannels, wantChannels) {
		t.Errorf("got %+v, want %+v", gotChannels, wantChannels)
	}
}

func TestSteeringIsPassedOn(t *testing.T) {
	t.Parallel()
	h, _ := demoPage(t)
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "", `{"channel":"pattern","url":"http://steered.test/pattern/index.m3u8","manifest":"/steering/pattern/index.m3u8"}`},
		{"GET", "/explain?ip=127.0.0.1&url=/a%2Fb", `["GET","/explain?ip=127.0.0.1\u0026url=/a%2Fb"]`},
		{"GET", "/admin/pathways", `["GET","/admin/pathways"]`},
		{"POST", "/admin/pathways/near", `["POST","/admin/pathways/near"]`},
		{"DELETE", "/admin/pathways/a%2Fb", `["DELETE","/admin/pathways/a%2Fb"]`},
	} {
		if got := strings.TrimSpace(ask(h, tt.method, "/demo/api/steering"+tt.path, nil).Body.String()); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.method, tt.path, got, tt.want)
		}
	}
}

// TestTabsAndPanels: each tab has its panel and each panel its tab, whatever either is called.
func TestTabsAndPanels(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(pageFiles, "assets/page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	tabs := regexp.MustCompile(`role="tab" id="([^"]+)" data-name="([^"]+)" aria-controls="([^"]+)"`).FindAllStringSubmatch(string(text), -1)
	if len(tabs) != 2 {
		t.Fatalf("found %d tabs, want 2", len(tabs))
	}
	for _, tab := range tabs {
		if want := `id="` + tab[3] + `" aria-labelledby="` + tab[1] + `"`; !strings.Contains(string(text), want) {
			t.Errorf("tab %s has no panel with %s", tab[1], want)
		}
		if strings.Contains(string(text), `id="`+tab[2]+`"`) {
			t.Errorf("%s is the id of an element: the browser would scroll to it", tab[2])
		}
	}
	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		if seen[id[1]] {
			t.Errorf("id %s is there twice", id[1])
		}
		seen[id[1]] = true
	}
}

// TestPageNeedsNothingElse follows every reference of the page's own files.
func TestPageNeedsNothingElse(t *testing.T) {
	t.Parallel()
	h, _ := demoPage(t)
	references := regexp.MustCompile(`(?:src|href)="([^"]*)"|from '([^']*)'|url\(([^)]*)\)`)
	entries, err := fs.ReadDir(pageFiles, "assets/page")
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for _, entry := range entries {
		if entry.Name() == "hls.min.js" || entry.Name() == "third-party.txt" {
			continue
		}
		text, err := fs.ReadFile(pageFiles, "assets/page/"+entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range references.FindAllStringSubmatch(string(text), -1) {
			target := strings.TrimPrefix(match[1]+match[2]+match[3], "./")
			if strings.HasPrefix(target, "data:") {
				continue
			}
			followed++
			if w := ask(h, "GET", "/demo/"+target, nil); w.Code != 200 {
				t.Errorf("%s refers to %q, which gives %d", entry.Name(), target, w.Code)
			}
		}
	}
	if followed < 14 {
		t.Errorf("followed %d references: expected the style, the scripts, their imports and the licences", followed)
	}
}

// TestThirdPartyNoteIsTrue holds the note on origin and licences to the file it speaks of.
func TestThirdPartyNoteIsTrue(t *testing.T) {
	t.Parallel()
	script, err := fs.ReadFile(pageFiles, "assets/page/hls.min.js")
	if err != nil {
		t.Fatal(err)
	}
	note, err := fs.ReadFile(pageFiles, "assets/page/third-party.txt")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`hls\.js (1\.\d+\.\d+)`).FindSubmatch(note)
	if version == nil || !strings.Contains(string(script), `"`+string(version[1])+`"`) {
		t.Errorf("hls.min.js is not the version that the note names: %s", version)
	}
	sum := sha256.Sum256(script)
	if !strings.Contains(string(note), hex.EncodeToString(sum[:])) {
		t.Errorf("the note does not name the digest of hls.min.js, %x", sum)
	}
}
