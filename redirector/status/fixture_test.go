package status

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func at(sec int) time.Time {
	return time.Date(2026, 7, 1, 20, 0, 0, 0, time.UTC).Add(time.Duration(sec) * time.Second)
}

// document is one of everything, and n servers.
func document(n int) *Document {
	until := at(600)
	d := &Document{
		Version: Version, Generation: 3, Ready: true, Time: at(0), Known: 17,
		Config:    Config{Source: "pointsman.json", Loaded: at(-60), AgeSec: 60, Error: "farms[0]: <b>no</b> servers", ErrorAt: &until},
		Alarms:    []Alarm{{Code: "only_frozen", Since: at(-5), Detail: "stands <still>", Subject: "ch", Severity: "warning", Config: `"core": {}`}},
		Farms:     []Farm{{Name: "near", Policy: "weight"}},
		Locations: []Location{{Name: "all", Prefixes: 2, Farms: []string{"near"}, Pathways: []Pathway{{ID: "near", Overrides: []PathwayOverride{{Pathway: "near", Action: "pin", Channel: "ch", Until: &until}}}}}},
		Steering:  &Steering{Path: "/steering", TTLSec: 30, DegradedSec: 5, Overrides: []PathwayOverride{}},
		Decisions: Decisions{Seconds: 60, Total: 7, Rates: []Rate{{Reason: "ok", Total: 7, PerSecond: []uint32{0, 3, 4}}, {Reason: "off_air", Total: 2, PerSecond: []uint32{0, 0, 2}}}},
		Refusals: Refusals{LeftOut: 2, Last: []*Refusal{{
			Time: at(-1), Door: "http", Reason: "off_air", Status: 503, Detail: "off", Method: "GET", Client: "192.0.2.1", Peer: "10.0.0.1",
			Host: "tv.example", Target: `/ch/index.m3u8?a=<script>&b="`, UserAgent: "VLC", Location: "all", Channel: "ch", Fallback: true,
			Candidates: []RefusedWhy{{"a", "down"}},
		}}},
	}
	for i := range n {
		s := Server{
			Name: fmt.Sprintf("s%d", i), URL: fmt.Sprintf("http://s%d.example", i), State: "up", Since: at(-100), RTTMS: 2.5, Probed: at(-2),
			Weight: 1, RTTs: []float64{1, 2, 0, 3}, Given: 3, Share: 0.5, Sessions: 4.2,
		}
		d.Farms[0].Servers = append(d.Farms[0].Servers, s)
	}
	return d
}

// world is a document that a test changes under a Live.
type world struct {
	mu   sync.Mutex
	edit []func(*Document)
	n    int
	asks int
}

func (w *world) gather(now time.Time) *Document {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks++
	d := document(w.n)
	d.Time = now
	for _, edit := range w.edit {
		edit(d)
	}
	return d
}

func (w *world) change(edit func(*Document)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edit = append(w.edit, edit)
}

func newWorld(t *testing.T, servers int) (*world, *Live) {
	t.Helper()
	w := &world{n: servers}
	return w, NewLive(w.gather)
}
