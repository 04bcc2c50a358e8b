package rig

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Footprint is what a process holds.
type Footprint struct {
	Goroutines  int
	Descriptors int
}

// Footprint counts the goroutines and the open descriptors of the process. The
// connection it asks on is among them, and no other of the rig's.
func (p *Pointsman) Footprint() Footprint {
	p.T.Helper()
	first, _, _ := strings.Cut(p.once("/debug/pprof/goroutine?debug=1"), "\n")
	var f Footprint
	if _, err := fmt.Sscanf(first, "goroutine profile: total %d", &f.Goroutines); err != nil {
		p.T.Fatalf("the goroutine profile begins with %q: %v", first, err)
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		p.T.Fatal(err)
	}
	f.Descriptors = len(open)
	return f
}

// footprintSlack allows for connections that are just being closed and probes
// that are just under way.
const footprintSlack = 3

// Settles waits until the process holds no more than it did at base.
func (p *Pointsman) Settles(d time.Duration, base Footprint) {
	p.T.Helper()
	Eventually(p.T, d, func() error {
		if f := p.Footprint(); f.Goroutines > base.Goroutines+footprintSlack || f.Descriptors > base.Descriptors+footprintSlack {
			return fmt.Errorf("the process holds %+v, before it was %+v", f, base)
		}
		return nil
	})
}

// once asks the admin listener on a connection that ends with the answer.
func (p *Pointsman) once(path string) string {
	p.T.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	res, err := client.Get(p.Admin + path)
	if err != nil {
		p.T.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	return string(body)
}

// Series returns the names with labels of all metrics but those of the Go
// runtime and the process.
func (p *Pointsman) Series() map[string]bool {
	p.T.Helper()
	out := map[string]bool{}
	for _, line := range strings.Split(p.once("/metrics"), "\n") {
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || line[0] == '#' || strings.HasPrefix(line, "go_") || strings.HasPrefix(line, "process_") {
			continue
		}
		out[line[:i]] = true
	}
	return out
}

// Alive tells whether the process runs.
func (p *Pointsman) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Await waits for the process to end by itself and returns its exit status.
func (p *Pointsman) Await(d time.Duration) int {
	p.T.Helper()
	select {
	case <-p.exited:
	case <-time.After(d):
		p.T.Fatalf("pointsman has not ended within %v", d)
	}
	return p.cmd.ProcessState.ExitCode()
}

// LongestLine returns the size in bytes of the longest line of output so far.
func (p *Pointsman) LongestLine() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest
}

// Decisions returns the log's decision lines of one User-Agent.
func (p *Pointsman) Decisions(userAgent string) []map[string]any {
	var out []map[string]any
	for _, line := range p.Log() {
		if line["msg"] == "decision" && line["ua"] == userAgent {
			out = append(out, line)
		}
	}
	return out
}
