package rig

import (
	"fmt"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// Demo is a running `pointsman demo` with the links that it printed.
type Demo struct {
	Page    string // the player page
	Link    string // a viewer's link
	Status  string
	Explain string

	*Process
}

var demoLink = regexp.MustCompile(`(?m)^ *(player page|viewer's link|status|explain) +(http://\S+)$`)

// StartDemo runs `pointsman demo` and waits for its links.
func StartDemo(t testing.TB) *Demo {
	t.Helper()
	d := &Demo{Process: Spawn(t, "", Binary(t), "demo")}
	Eventually(t, 15*time.Second, func() error {
		links := demoLink.FindAllStringSubmatch(d.Output(), -1)
		for _, m := range links {
			switch m[1] {
			case "player page":
				d.Page = m[2]
			case "viewer's link":
				d.Link = m[2]
			case "status":
				d.Status = m[2]
			case "explain":
				d.Explain = m[2]
			}
		}
		if d.Ended() {
			t.Fatalf("pointsman demo has ended: %s", d.Output())
		}
		if d.Page == "" || d.Link == "" || d.Status == "" || d.Explain == "" {
			return fmt.Errorf("pointsman demo printed %q, expected four links", d.Output())
		}
		return nil
	})
	return d
}

// Interrupt ends it as Ctrl-C does and returns its exit status.
func (d *Demo) Interrupt() int {
	d.Signal(syscall.SIGINT)
	return d.Wait()
}
