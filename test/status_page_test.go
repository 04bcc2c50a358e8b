package test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// statusInBrowser runs one scene of status.mjs.
func statusInBrowser(t *testing.T, scene string, p *rig.Pointsman, control string) {
	t.Helper()
	node, chromium := rig.Tool(t, "node"), rig.Tool(t, "chromium")
	dir := filepath.Join(rig.Root(), "test", "browser")
	for _, name := range []string{"puppeteer-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", name)); err != nil {
			t.Fatal("the npm packages of test/browser are not installed: run `make deps`")
		}
	}
	run := rig.Spawn(t, dir, node, "status.mjs", scene, p.Admin, control, readToken+","+actToken, chromium, t.TempDir(), t.ArtifactDir())
	rig.Eventually(t, 3*time.Minute, func() error {
		if !run.Ended() {
			return errStillRuns(run.Output())
		}
		return nil
	})
	t.Logf("the browser:\n%s", run.Output())
	if status := run.Wait(); status != 0 {
		t.Errorf("the browser test ended with %d, see above", status)
	}
}

// manyServers is one listener that is a thousand servers, each under a path of
// its own with every channel.
func manyServers(t *testing.T) string {
	t.Helper()
	var mu sync.Mutex
	sequence := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".m3u8") {
			return
		}
		if strings.HasSuffix(r.URL.Path, "/index.m3u8") {
			fmt.Fprint(rw, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\nmedia.m3u8\n")
			return
		}
		mu.Lock()
		sequence[r.URL.Path]++
		n := sequence[r.URL.Path]
		mu.Unlock()
		fmt.Fprintf(rw, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:%d\n#EXTINF:2,\n%d.ts\n#EXTINF:2,\n%d.ts\n", n, n, n+1)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestStatusPageLarge: 1,002 servers and 500 channels: the JSON is small, the
// page is quick, shows a death within two seconds, and acts with the token alone.
func TestStatusPageLarge(t *testing.T) {
	many := manyServers(t)
	victim, partner := liveOrigin(t, "victim"), liveOrigin(t, "partner")
	farms := []rig.Config{probed("edge", "first_response", "victim "+victim.URL(), "partner "+partner.URL())}
	names := "edge"
	for f := range 10 {
		var servers []string
		for i := range 100 {
			n := 100*f + i
			servers = append(servers, fmt.Sprintf("s%d %s/s%d", n, many, n))
		}
		farms = append(farms, probed(fmt.Sprintf("farm%d", f), "content_id", servers...))
		names += fmt.Sprintf(" farm%d", f)
	}
	locations := []rig.Config{place("edges", "edge", "127.0.0.1/32")}
	for f := range 10 {
		locations = append(locations, place(fmt.Sprintf("all%d", f), fmt.Sprintf("farm%d", f), fmt.Sprintf("10.%d.0.0/16", f)))
	}
	r := redirection(farms, locations)
	r["live_cache_time_sec"], r["server_status_cache_time_sec"] = 1, 10
	p := rig.Start(t, rig.Config{"core": trusting(), "admin": tokens(t), "redirection": r})

	// 500 channels, all over the farms.
	var ask sync.WaitGroup
	for i := range 8 {
		ask.Go(func() {
			for c := i; c < 500; c += 8 {
				if r := follow(p, fmt.Sprintf("10.%d.0.%d", c%10, c%250), fmt.Sprintf("/channel%d/index.m3u8", c)); r.StatusCode != http.StatusFound {
					t.Errorf("channel %d: %d %s", c, r.StatusCode, r.Body)
				}
			}
		})
	}
	ask.Wait()
	res := p.Operator("GET", "/status", "", "Authorization", "Bearer "+readToken, "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Encoding") != "gzip" || len(res.Body) > 1<<20 {
		t.Errorf("/status is %d bytes, Content-Encoding %q; expected gzip of at most 1 MiB", len(res.Body), res.Header.Get("Content-Encoding"))
	}
	var s rig.Status
	z, err := gzip.NewReader(strings.NewReader(res.Body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil || len(s.Farms) != 11 {
		t.Fatalf("%v: %.300s", err, text)
	}
	t.Logf("/status is %d bytes, %d compressed", len(text), len(res.Body))

	// Viewers of the server that will die: their requests keep its facts fresh.
	stop := make(chan struct{})
	var viewers sync.WaitGroup
	viewers.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				p.Get("/news/index.m3u8", "User-Agent", fmt.Sprint("viewer", n))
			}
		}
	})
	rest := sync.OnceFunc(func() { close(stop); viewers.Wait() })
	defer rest()
	control := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { victim.Stop() }))
	defer control.Close()
	statusInBrowser(t, "large", p, control.URL)
	rest()

	line := p.WaitLog(time.Second, "operator set a server's state", 0)
	if line["server"] != "s5" || line["state"] != "draining" || line["by"] == nil {
		t.Errorf("the action's line in the log is %v", line)
	}
	stream, err := http.NewRequest(http.MethodGet, p.Admin+"/status/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Header.Set("Authorization", "Bearer "+readToken)
	open, err := http.DefaultClient.Do(stream)
	if err != nil || open.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", open, err)
	}
	defer open.Body.Close()
	begun := time.Now()
	if status := p.Stop(); status != 0 || time.Since(begun) > 5*time.Second {
		t.Errorf("with a stream of updates open it ended with %d after %v, expected 0 at once", status, time.Since(begun))
	}
}

// TestStatusPageRich: a bit of everything on the pages, which axe-core finds
// accessible, in light, dark and on a phone.
func TestStatusPageRich(t *testing.T) {
	a, b := liveOrigin(t, "a"), liveOrigin(t, "b")
	far := rig.NewOrigin(t, "far1", "")
	far.Set("news", rig.Live)
	dead := rig.NewOrigin(t, "dead", "")
	dead.Stop()
	a.Set("nothing", rig.Missing)
	b.Set("nothing", rig.Missing)
	start := time.Now().Add(-6 * time.Hour).Truncate(time.Minute)
	at := func(min int) time.Time { return start.Add(time.Duration(min) * time.Minute) }
	rec1 := rig.NewRecorder(t, "rec1").Holds("film", rig.Stretch{From: at(0), To: at(70)}, rig.Stretch{From: at(71), To: at(240)})
	rec2 := rig.NewRecorder(t, "rec2").Holds("film", rig.Stretch{From: at(60), To: at(180)})
	r := redirection(
		[]rig.Config{
			probed("near", "first_response", "a "+a.URL(), "b "+b.URL(), "dead "+dead.URL()),
			probed("far", "share", "far1 "+far.URL()),
			probed("recorders", "first_response", "rec1 "+rec1.URL(), "rec2 "+rec2.URL()),
		},
		[]rig.Config{place("all", "near far", everywhere...), {
			"name": "recordings", "farms": []string{"recorders"}, "uri_regex": "^/film/", "ip_mask": everywhere,
		}},
	)
	for i, f := range r["farms"].([]rig.Config) {
		f["public_url"] = fmt.Sprintf("http://farm%d.example", i)
	}
	r["server_status_cache_time_sec"] = 2
	config := rig.Config{"admin": tokens(t), "redirection": r, "steering": rig.Config{}, "core": rig.Config{"state_dir": t.TempDir()}}
	p := rig.Start(t, config)
	for i := range 20 {
		p.Get("/news/index.m3u8", "User-Agent", fmt.Sprint("viewer", i))
	}
	p.Get("/nothing/index.m3u8?token=hidden", "User-Agent", `"><script>alert(1)</script>`)
	p.Get("//bad")
	for i := range 4 {
		p.Get(fmt.Sprintf("/film/archive-%d-3600.m3u8", at(60*i).Unix()))
	}
	act := []string{"Authorization", "Bearer " + actToken}
	if res := p.Operator("POST", "/admin/servers/b", fmt.Sprintf(`{"state":"draining","until":%d}`, time.Now().Add(time.Hour).Unix()), act...); res.StatusCode != 200 {
		t.Fatal(res.Body)
	}
	if res := p.Operator("POST", "/admin/servers/a/recheck", "", act...); res.StatusCode != 200 {
		t.Fatal(res.Body)
	}
	if err := os.WriteFile(p.File, []byte(`{"redirection":{"farms":[]}, "typo": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := p.Operator("POST", "/admin/reload", "", act...); res.StatusCode != http.StatusUnprocessableEntity {
		t.Fatal(res.Body)
	}

	read := []string{"Authorization", "Bearer " + readToken}
	var c struct {
		Servers []struct {
			Name         string
			Ranges, Gaps []struct{ From, To int64 }
		}
	}
	res := p.Operator("GET", "/status/coverage?channel=film", "", read...)
	if err := json.Unmarshal([]byte(res.Body), &c); err != nil || len(c.Servers) != 2 {
		t.Fatalf("%v: %s", err, res.Body)
	}
	if one := c.Servers[0]; one.Name != "rec1" || len(one.Gaps) != 1 || one.Gaps[0].From != at(70).UnixMilli() || one.Gaps[0].To != at(71).UnixMilli() {
		t.Errorf("rec1's coverage is %+v, expected the gap from minute 70 to 71", one)
	}
	var x struct {
		Server string
		Died   struct{ Server, Farm, Reason string } `json:"if_chosen_died"`
	}
	res = p.Operator("GET", "/explain?ip=192.0.2.7&url=/news/index.m3u8", "", read...)
	if err := json.Unmarshal([]byte(res.Body), &x); err != nil || x.Server != "a" || x.Died.Server != "far1" || x.Died.Farm != "far" || x.Died.Reason != "ok" {
		t.Errorf("%v: %+v", err, x)
	}
	if strings.Contains(p.Operator("GET", "/status", "", read...).Body, filepath.Dir(p.File)) {
		t.Error("/status names the folder of the configuration")
	}
	statusInBrowser(t, "rich", p, "")
	for _, line := range []string{"operator steered a pathway", "operator had a channel forgotten", "operator had a server rechecked"} {
		p.WaitLog(time.Second, line, 0)
	}

	// What the operator said is in force after a restart, and a refusal from
	// before is forgotten.
	p.Write(config)
	p.Stop()
	p.Run()
	res = p.Operator("GET", "/status", "", read...)
	var s rig.Status
	if err := json.Unmarshal([]byte(res.Body), &s); err != nil || s.State("b") != "draining" || !strings.Contains(res.Body, `"action":"pin"`) {
		t.Errorf("after a restart: %v %s", err, res.Body)
	}
}
