package status

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

func request(target string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// outside finds what a page would fetch from elsewhere, or run from within
// itself, which its policy forbids.
var outside = regexp.MustCompile(`(?:src|href|action)="(?:[a-z]+:)?//|<script>|<style|style="|\son[a-z]+="`)

// TestPageShowsEverything: whole without a script, and what strangers wrote is
// text.
func TestPageShowsEverything(t *testing.T) {
	t.Parallel()
	w, l := newWorld(t, 3)
	w.change(func(d *Document) {
		until := at(99)
		d.Farms[0].Servers[1] = Server{Name: `a"b/<c>`, URL: "http://x", State: "draining", Reason: "timeout", Override: &OverrideOn{"draining", &until}}
	})
	rw := httptest.NewRecorder()
	l.ServePage(rw, request("/status"), true)
	page := rw.Body.String()
	for _, part := range []string{
		"is ready", "Generation 3", "pointsman.json", "The last reload was refused", "farms[0]: &lt;b&gt;no&lt;/b&gt; servers",
		"Alarm only_frozen ch</strong> (warning)", "This would mend it: <code>&#34;core&#34;: {}</code>", "stands &lt;still&gt;", "Farm near", "Policy weight", `<span class="state up">up</span>`, `<span class="state draining">draining</span>`,
		"by the operator", "timeout", "a&#34;b/&lt;c&gt;", "50.0 %", "<svg class=\"spark\"", "2.5 ms", "off_air", "through 10.0.0.1", "a down",
		"index.m3u8?a=&lt;script&gt;", `href="/explain?ip=192.0.2.1&amp;`, "2 more are not listed", "/steering", "pin everywhere for channel ch", `data-act-token="true"`, "</html>",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	for _, bad := range []string{"cannot be drawn", "ZgotmplZ", "<no value>", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q: %s", bad, page)
		}
	}
	if found := outside.FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
	h := rw.Header()
	if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(h.Get("Content-Security-Policy"), "unsafe") ||
		h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		t.Errorf("%v", h)
	}
}

// TestManyOfAKind: a farm that is gone must not push everything else off the page.
func TestManyOfAKind(t *testing.T) {
	t.Parallel()
	w, l := newWorld(t, 200)
	w.change(func(d *Document) {
		for i := range d.Farms[0].Servers {
			d.Farms[0].Servers[i].State = "down"
			d.Alarms = append(d.Alarms, Alarm{Code: "server_down", Subject: d.Farms[0].Servers[i].Name, Severity: "critical"})
		}
	})
	page := l.whole(at(0), false)
	for _, part := range []string{"And 171 more alarms", "And 150 more below"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q", part)
		}
	}
}

// TestEmptyPage: before anything happened, and without content steering.
func TestEmptyPage(t *testing.T) {
	t.Parallel()
	w, l := newWorld(t, 0)
	w.change(func(d *Document) { *d = Document{Generation: 1} })
	page := l.whole(at(0), false)
	for _, part := range []string{"is not ready", "No alarm is on", "no decision in the last minute", "Nobody was refused"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	if strings.Contains(page, "cannot be drawn") || strings.Contains(page, "Manifests under") {
		t.Error(page)
	}
}

func TestCoveragePage(t *testing.T) {
	t.Parallel()
	c := &Coverage{
		Version: 1, Channel: "<ch>", Channels: []string{"<ch>"}, From: 1_782_900_000_000, To: 1_782_910_000_000,
		Servers: []CoverageServer{{
			Name: "a&b", Source: "api", Told: at(0), HeldSec: 9000, Dropped: 3,
			Ranges: []farms.Range{{From: 1_782_900_000_000, To: 1_782_905_000_000}, {From: 1_782_905_001_000, To: 1_782_910_000_000}},
			Gaps:   []farms.Range{{From: 1_782_905_000_000, To: 1_782_905_001_000}},
		}, {Name: "empty", Source: "playlist", Told: at(0)}},
	}
	rw := httptest.NewRecorder()
	ServeCoverage(rw, request("/status/coverage?channel=x"), c)
	page := rw.Body.String()
	for _, part := range []string{"&lt;ch&gt;", "a&amp;b", `class="held"`, `class="gap"`, "150 min", "2 pieces, 1 gap", "missing <time", "by its interface", "by playlists", "3 oldest"} {
		if part = strings.ReplaceAll(part, "150 min", "2.5 h"); !strings.Contains(page, part) {
			t.Errorf("the page has no %q: %s", part, page)
		}
	}
	if found := outside.FindString(page); found != "" || strings.Contains(page, "cannot be drawn") {
		t.Errorf("the page has %q: %s", found, page)
	}
	for _, c := range []*Coverage{{Channel: "nothing"}, {}, {Channels: []string{"one", "two"}}} {
		rw := httptest.NewRecorder()
		ServeCoverage(rw, request("/status/coverage"), c)
		if page := rw.Body.String(); strings.Contains(page, "cannot be drawn") || !strings.Contains(page, "ecording") {
			t.Errorf("%+v: %s", c, page)
		}
	}
}

func TestExplainForm(t *testing.T) {
	t.Parallel()
	rw := httptest.NewRecorder()
	ServeExplain(rw, request("/explain?ip=x&url=%22%3E%3Cscript%3E"), nil, "ip: expected <an address>")
	page := rw.Body.String()
	for _, part := range []string{"expected &lt;an address&gt;", `value="&#34;&gt;&lt;script&gt;"`, `value="x"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q: %s", part, page)
		}
	}
	if found := outside.FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"page.css": 200, "page.js": 200, "status.html": 404, "../page.go": 404, "": 404, "nothing": 404} {
		rw := httptest.NewRecorder()
		ServeAsset(rw, request("/status/x"), name)
		if rw.Code != want {
			t.Errorf("%q: %d, want %d", name, rw.Code, want)
		}
	}
}

// TestJSONIsCompressed: with 1,000 servers it stays under 1 MiB, which issue
// readers' links bear, and programs that take no gzip get it plain.
func TestJSONIsCompressed(t *testing.T) {
	t.Parallel()
	d := document(1000)
	for i := range d.Farms[0].Servers {
		for range 26 {
			d.Farms[0].Servers[i].RTTs = append(d.Farms[0].Servers[i].RTTs, float64(i%97)/7)
		}
	}
	for _, row := range []struct {
		accept string
		zipped bool
	}{{"", false}, {"gzip", true}, {"br, gzip;q=0.5", true}, {"gzip;q=0", false}, {"identity", false}} {
		rw := httptest.NewRecorder()
		ServeJSON(rw, request("/status", "Accept-Encoding", row.accept), d)
		body, n := io.Reader(rw.Body), rw.Body.Len()
		if zipped := rw.Header().Get("Content-Encoding") == "gzip"; zipped != row.zipped {
			t.Errorf("Accept-Encoding %q: gzip %v", row.accept, zipped)
			continue
		}
		if row.zipped {
			z, err := gzip.NewReader(rw.Body)
			if err != nil {
				t.Fatal(err)
			}
			if body = z; n > 1<<20 {
				t.Errorf("%d bytes compressed, want at most 1 MiB", n)
			}
			t.Logf("1,000 servers: %d bytes compressed", n)
		}
		var got Document
		if err := json.NewDecoder(body).Decode(&got); err != nil || len(got.Farms[0].Servers) != 1000 || got.Version != Version {
			t.Errorf("Accept-Encoding %q: %v", row.accept, err)
		}
	}
}
