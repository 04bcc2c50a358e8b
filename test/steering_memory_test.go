package test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringMemory: a hundred thousand sessions that poll and report leave the
// memory where its bounds are, and no trace in the metrics.
func TestSteeringMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 sessions take a quarter of a minute")
	}
	const sessions = 100_000
	s := newSteered(t, 2, split(50, 50), quiet, feedbackRules(60))
	const path = "/steering/ch/index.m3u8"
	s.Get("/ch/index.m3u8")
	s.known(path, s.Steer(path, from(0)...).Priority...)

	load := func(first, count int) time.Duration {
		var bad atomic.Int64
		start := time.Now()
		s.Polls(t.Context(), 8, count, func(i int) rig.Ask {
			i += first
			return rig.Ask{
				Target: fmt.Sprintf("%s?_HLS_pathway=%s&_HLS_throughput=%d&token=%x", path, []string{"a", "b"}[i%2], 500_000+i, uint64(i)*0x9e3779b97f4a7c15),
				Header: []string{"User-Agent", fmt.Sprintf("player/%d.%x", i, uint64(i)*0xbf58476d1ce4e5b9)},
			}
		}, func(_ int, a rig.Polled) {
			if a.Status != http.StatusOK {
				bad.Add(1)
			}
		})
		if n := bad.Load(); n > 0 {
			t.Errorf("%d of %d polls were not answered 200", n, count)
		}
		return time.Since(start)
	}
	load(0, 1000)
	before, series, held := residentKB(t, s.PID()), s.Series(), s.Footprint()
	took := load(0, sessions)
	after := residentKB(t, s.PID())
	load(sessions, sessions/4) // others, who take no more
	later := residentKB(t, s.PID())
	t.Logf("resident: %d KiB, after %d sessions in %v %d KiB, after %d more %d KiB", before, sessions, took.Round(time.Millisecond), after, sessions/4, later)

	// What is kept of sessions and of their reports is 32 MiB, however many there
	// are (512 Ki places of 32 bytes each), of which the kernel counts a page once
	// it is written to; and the collector lets as much garbage lie as is in use.
	if grown := after - before; grown > 96<<10 {
		t.Errorf("%d sessions took %d KiB, expected at most 96 MiB", sessions, grown)
	}
	if grown := later - after; grown > 24<<10 {
		t.Errorf("%d sessions more took %d KiB, expected hardly any", sessions/4, grown)
	}
	for name := range s.Series() {
		if !series[name] {
			t.Errorf("there is a new metric %s", name)
		}
	}
	s.Settles(waitLong, held)
}
