package test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// demoPorts are those of `pointsman demo` where they are free.
var demoPorts = []string{"9201", "9202"}

// TestDemoInBrowser has a headless Chromium play the demo page while the
// servers that serve it are stopped.
func TestDemoInBrowser(t *testing.T) { demoInBrowser(t, "demo.mjs") }

// TestDemoSteeringInBrowser has it play the steering tab while pathways are
// overridden and the server of one is stopped.
func TestDemoSteeringInBrowser(t *testing.T) { demoInBrowser(t, "demosteering.mjs", t.ArtifactDir()) }

// demoInBrowser runs a script of test/browser on the page of a demo.
func demoInBrowser(t *testing.T, script string, args ...string) {
	node, chromium := rig.Tool(t, "node"), rig.Tool(t, "chromium")
	dir := filepath.Join(rig.Root(), "test", "browser")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "puppeteer-core")); err != nil {
		t.Fatal("the npm packages of test/browser are not installed: run `make deps`")
	}
	demo := rig.StartDemo(t)
	run := rig.Spawn(t, dir, node, append([]string{script, demo.Page, chromium, t.TempDir()}, args...)...)
	rig.Eventually(t, 4*time.Minute, func() error {
		if !run.Ended() {
			return errStillRuns(run.Output())
		}
		return nil
	})
	t.Logf("the browser:\n%s", run.Output())
	if status := run.Wait(); status != 0 {
		t.Errorf("the browser test ended with %d, see above", status)
	}
	if status := demo.Interrupt(); status != 0 {
		t.Errorf("pointsman demo ended with %d after an interrupt, expected 0: %s", status, demo.Output())
	}
}

type errStillRuns string

func (e errStillRuns) Error() string { return "the browser test still runs:\n" + string(e) }

// TestDemoPorts expects the demo on 9201 and 9202 where they are free, on free
// ports where they are not, and its printed links to work in both cases.
func TestDemoPorts(t *testing.T) {
	t.Run("free", func(t *testing.T) {
		wereFree := []bool{demoPortFree(demoPorts[0]), demoPortFree(demoPorts[1])}
		demo := rig.StartDemo(t)
		for i, got := range demoPortsOf(t, demo) {
			// Taken meanwhile by somebody else is not our business.
			if wereFree[i] && got != demoPorts[i] && demoPortFree(demoPorts[i]) {
				t.Errorf("port %s is free, the demo took %s", demoPorts[i], got)
			}
		}
		t.Logf("%v were free: %v; the demo has %v", demoPorts, wereFree, demoPortsOf(t, demo))
		demoLinksWork(t, demo)
	})
	t.Run("taken", func(t *testing.T) {
		for _, port := range demoPorts {
			l, err := net.Listen("tcp", "127.0.0.1:"+port)
			if err != nil {
				continue // taken already, which is what is wanted
			}
			defer l.Close()
		}
		demo := rig.StartDemo(t)
		for i, got := range demoPortsOf(t, demo) {
			if slices.Contains(demoPorts, got) {
				t.Errorf("link %d has port %s, which is taken", i, got)
			}
		}
		t.Logf("%v are taken; the demo has %v", demoPorts, demoPortsOf(t, demo))
		demoLinksWork(t, demo)
	})
}

func demoPortFree(port string) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return false
	}
	_ = l.Close() // nobody was answered on it
	return true
}

// demoPortsOf returns the ports of the viewer listener and of the page.
func demoPortsOf(t *testing.T, demo *rig.Demo) []string {
	t.Helper()
	var ports []string
	for _, link := range []string{demo.Link, demo.Page} {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, u.Port())
	}
	return ports
}

// demoLinksWork opens every link that the demo printed, and its page's scripts.
func demoLinksWork(t *testing.T, demo *rig.Demo) {
	t.Helper()
	for _, link := range []string{demo.Page, demo.Page + "page.js", demo.Page + "hls.min.js", demo.Status, demo.Explain} {
		r, err := rig.Do("GET", link, "")
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v; expected 200", link, r, err)
		}
	}
	var channels []struct{ Name, URL string }
	r, err := rig.Do("GET", demo.Page+"api/channels", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(r.Body), &channels); err != nil || len(channels) < 2 || channels[0].URL != demo.Link {
		t.Errorf("the page's channels are %s (%v), expected at least two, the first at %s", r.Body, err, demo.Link)
	}
	r, err = rig.Do("GET", demo.Link, "")
	if err != nil || r.StatusCode != http.StatusFound {
		t.Fatalf("%s: %v, %v; expected 302", demo.Link, r, err)
	}
	if r, err = rig.Do("GET", r.Location(), ""); err != nil || !strings.HasPrefix(r.Body, "#EXTM3U") {
		t.Errorf("the viewer's link leads to %q, %v; expected a playlist", r.Body, err)
	}
}
