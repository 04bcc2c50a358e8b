package rig

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Chromium returns the browser's path. It skips the test, and says why, where
// there is none and none can be installed; where one can be, its absence fails
// the test.
func Chromium(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("chromium"); err == nil {
		return path
	}
	policy, err := exec.Command("apt-cache", "policy", "chromium").Output()
	if err != nil || !strings.Contains(string(policy), "Candidate: ") || strings.Contains(string(policy), "Candidate: (none)") {
		t.Skip("Chromium is not installed, and apt-get has none to install here: no player is tested")
	}
	return Tool(t, "chromium")
}

// BrowserDir returns the directory of the browser tests and fails the test where
// a package of theirs is not installed.
func BrowserDir(t testing.TB, packages ...string) string {
	t.Helper()
	dir := filepath.Join(Root(), "test", "browser")
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", name)); err != nil {
			t.Fatalf("the npm package %s of test/browser is not installed: run `make deps`", name)
		}
	}
	return dir
}

// Browser is a headless Chromium with one page at a time, a player's.
type Browser struct {
	pages *FileServer
	run   *Process
	in    io.Writer
	out   *bufio.Reader
}

// StartBrowser starts a browser that plays what is steered by manifests under
// the given path.
func StartBrowser(t testing.TB, steering string) *Browser {
	t.Helper()
	chromium := Chromium(t)
	dir := BrowserDir(t, "puppeteer-core", "hls.js", "dashjs", "shaka-player")
	cmd := exec.Command(Tool(t, "node"), "players.mjs", chromium, t.TempDir(), steering)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, answers := io.Pipe()
	run := &Process{t: t, cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = answers, &run.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its state is in cmd
		_ = answers.Close()
		close(run.exited)
	}()
	t.Cleanup(func() {
		_ = in.Close() // it closes the browser, which is done with its profile then
		_ = out.Close()
		select {
		case <-run.exited:
		case <-time.After(10 * time.Second):
			run.Kill()
		}
	})
	return &Browser{pages: NewFileServer(t, "player", dir), run: run, in: in, out: bufio.NewReader(out)}
}

// Page is a player in a browser.
type Page struct {
	t testing.TB
	b *Browser
}

// Play opens a page in which a player, "hls.js", "dash.js" or "shaka", plays a
// URL. The page before is closed.
func (b *Browser) Play(t testing.TB, player, src string) *Page {
	t.Helper()
	p := &Page{t, b}
	query := url.Values{"player": {player}, "src": {src}}
	p.ask(Config{"do": "open", "url": b.pages.PublicURL() + "/player.html?" + query.Encode()}, nil)
	return p
}

// ask sends the browser's script a command and reads the answer to it.
func (p *Page) ask(command Config, answer any) {
	p.t.Helper()
	line, err := json.Marshal(command)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.b.in.Write(append(line, '\n')); err != nil {
		p.t.Fatalf("the browser's script has ended: %v: %s", err, p.b.run.Output())
	}
	line, err = p.b.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("the browser's script does not answer %v: %v: %s", command["do"], err, p.b.run.Output())
	}
	var failed struct{ Failed string }
	if err := json.Unmarshal(line, &failed); err != nil || failed.Failed != "" {
		p.t.Fatalf("the browser's script failed to %v: %v %s", command["do"], err, failed.Failed)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(line, answer); err != nil {
		p.t.Fatalf("reading %s: %v", line, err)
	}
}

// Screenshot writes a picture of the page, as PNG.
func (p *Page) Screenshot(file string) {
	p.t.Helper()
	p.ask(Config{"do": "screenshot", "file": file}, nil)
}

// Report waits for the page's next sample and returns what happened so far.
func (p *Page) Report() Report {
	p.t.Helper()
	var r Report
	p.ask(Config{"do": "report"}, &r)
	return r
}

// Report is what happened in the page so far.
type Report struct {
	Samples   [][2]float64 // milliseconds since 1970 and media time in seconds, four a second
	Errors    []string     // what the player gave up on
	Penalties []string     // why the player itself avoids a pathway for a while, as far as it tells
	Frames    int          // pictures shown
	Polls     []Poll       // answers to steering requests
	Wrong     []string     // errors of the page that nobody handles
}

// Poll is one steering request of a player with its answer.
type Poll struct {
	UnixMilli int64 `json:"at"`
	URL       string
	Status    int
	Body      string
}

// At is when the answer came.
func (p Poll) At() time.Time { return time.UnixMilli(p.UnixMilli) }

// Time is the media time of the last sample.
func (r Report) Time() time.Duration {
	if len(r.Samples) == 0 {
		return 0
	}
	return mediaTime(r.Samples[len(r.Samples)-1])
}

// LongestStall returns the longest time for which the picture stood still, after
// it moved for the first time, and when it began. What the page itself came late
// is not counted: then the machine stood still.
func (r Report) LongestStall() (longest time.Duration, since time.Time) {
	moved := -1 // the last sample that was ahead of all before
	for i, s := range r.Samples {
		if s[1] <= 0 || moved >= 0 && s[1] <= r.Samples[moved][1] && i < len(r.Samples)-1 {
			continue
		}
		if moved >= 0 {
			from := sampled(r.Samples[moved])
			if d := sampled(s).Sub(from) - r.Late(from, sampled(s)); d > longest {
				longest, since = d, from
			}
		}
		moved = i
	}
	return longest, since
}

// sampling is how often the page takes a sample.
const sampling = 250 * time.Millisecond

// Late tells by how much in all the page's samples between two times came late:
// for so long a busy machine did not let the browser run.
func (r Report) Late(from, to time.Time) (late time.Duration) {
	for i := 1; i < len(r.Samples); i++ {
		at := sampled(r.Samples[i])
		if gap := at.Sub(sampled(r.Samples[i-1])); gap > sampling && at.After(from) && !at.After(to.Add(sampling)) {
			late += gap - sampling
		}
	}
	return late
}

func sampled(s [2]float64) time.Time { return time.UnixMilli(int64(s[0])) }

func mediaTime(s [2]float64) time.Duration { return time.Duration(s[1] * float64(time.Second)) }

// String is for messages.
func (r Report) String() string {
	longest, _ := r.LongestStall()
	late := time.Duration(0)
	if n := len(r.Samples); n > 0 {
		late = r.Late(sampled(r.Samples[0]), sampled(r.Samples[n-1]))
	}
	return fmt.Sprintf("%v played, %d pictures, longest stall %v, %d polls, errors %q, penalties %q, page errors %q; the machine kept the browser waiting for %v",
		r.Time().Round(time.Millisecond), r.Frames, longest, len(r.Polls), r.Errors, r.Penalties, r.Wrong, late)
}
