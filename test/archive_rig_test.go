package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The archive's tests ask the built binary where it would send a viewer of a
// recording, with the clock of the reference's examples, and serve real ones.

// archiveNow is 2026-01-01T00:00:00Z.
const archiveNow = 1767225600

// windowExplanation is what `explain -json` says of a window.
type windowExplanation struct {
	Status         int
	Reason, Detail string
	LocationHeader string `json:"location_header"`
	Farm, Server   string
	WaitedMS       int64 `json:"waited_ms"`
	Content        struct {
		Channel, Kind, Protocol, Dialect string

		Start, End int64
		Open       bool
	}
	Farms []struct {
		Name    string
		Servers []struct {
			Name     string
			Chosen   bool
			Why      string
			Detail   string
			HeldSec  int64 `json:"held_sec"`
			AskedSec int64 `json:"asked_sec"`
			Ranges   []struct{ From, To int64 }
			Gaps     []struct{ From, To int64 }
			Source   string
		}
	}
}

// why returns the why of a server.
func (x *windowExplanation) why(server string) string {
	for _, f := range x.Farms {
		for _, s := range f.Servers {
			if s.Name == server {
				return s.Why
			}
		}
	}
	return ""
}

// wantWhy fails the test unless a server has a why. Where another one holds the
// whole window nobody waits for the rest: then it may be not_needed.
func (x *windowExplanation) wantWhy(t testing.TB, server, why string) {
	t.Helper()
	held, asked := x.held(x.Server)
	got := x.why(server)
	if got != why && (got != "not_needed" || server == x.Server || held != asked) {
		t.Errorf("%s is %q, want %q: %v", server, got, why, x)
	}
}

// held returns how much of how much a server holds, in seconds.
func (x *windowExplanation) held(server string) (held, asked int64) {
	for _, f := range x.Farms {
		for _, s := range f.Servers {
			if s.Name == server {
				return s.HeldSec, s.AskedSec
			}
		}
	}
	return -1, -1
}

// String is an explanation in one line, for failing tests.
func (x *windowExplanation) String() string {
	out := fmt.Sprintf("%d %s", x.Status, x.Reason)
	if x.Server != "" {
		out += " to " + x.Server
	}
	for _, f := range x.Farms {
		out += "; " + f.Name
		for _, s := range f.Servers {
			out += fmt.Sprintf(" [%s %s %d/%d s: %s]", s.Name, s.Why, s.HeldSec, s.AskedSec, s.Detail)
		}
	}
	return out
}

// recordedBy is a farm of recorders. Edit adds to it; a weight stands for ten
// times as much as the one after it, so that the first of equals is chosen.
func recordedBy(name string, edit rig.Config, servers ...*rig.Recorder) rig.Config {
	var list []any
	weight := 1
	for range servers {
		weight *= 2
	}
	for _, r := range servers {
		list = append(list, rig.Config{"name": r.Name, "url": r.URL(), "weight": weight})
		weight /= 2
	}
	farm := rig.Config{"name": name, "policy": "weight", "servers": list}
	for k, v := range edit {
		farm[k] = v
	}
	return farm
}

// configFile writes a configuration for commands that read one.
func configFile(t testing.TB, c rig.Config) string {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pointsman.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// explainAt runs explain with a clock.
func explainAt(t testing.TB, file string, now int64, url string, more ...string) *windowExplanation {
	t.Helper()
	args := append([]string{"explain", "-json", "-config", file, "-ip", "192.0.2.1", "-now", strconv.FormatInt(now, 10)}, more...)
	out, errs, status := rig.Run(t, "", append(args, url)...)
	if status != 0 || errs != "" {
		t.Fatalf("explain %s exits %d\n%s%s", url, status, out, errs)
	}
	x := new(windowExplanation)
	if err := json.Unmarshal([]byte(out), x); err != nil {
		t.Fatal(err)
	}
	return x
}

// sentTo fails the test unless the viewer is sent to a server, his URL as it is.
func sentTo(t testing.TB, x *windowExplanation, r *rig.Recorder, url string) {
	t.Helper()
	if x.Server != r.Name || x.LocationHeader != r.URL()+url || x.Status != 302 || x.Reason != "ok" {
		t.Errorf("%s\n got %v, Location %s\nwant %s", url, x, x.LocationHeader, r.Name)
	}
}

// refusedFor fails the test unless the viewer is refused.
func refusedFor(t testing.TB, x *windowExplanation, status int, reason string) {
	t.Helper()
	if x.Status != status || x.Reason != reason || x.LocationHeader != "" {
		t.Errorf("got %v, Location %q, want %d %s", x, x.LocationHeader, status, reason)
	}
}

// stretch is a recorded stretch from one time to another, in seconds.
func stretch(from, to int64) rig.Stretch {
	return rig.Stretch{From: time.Unix(from, 0).UTC(), To: time.Unix(to, 0).UTC()}
}
