package redirector

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

const halfLifeTicks = uint32(loadHalfLife / loadTick)

func near(a, b float64) bool { return math.Abs(a-b) <= 0.001*max(1, b) }

func TestLoadDecays(t *testing.T) {
	t.Parallel()
	var l load
	ls := loads{servers: map[farms.ServerID]*load{1: &l}}
	for range 100 {
		l.add(1000)
	}
	for _, row := range []struct {
		after uint32
		want  float64
	}{{0, 100}, {halfLifeTicks, 50}, {2 * halfLifeTicks, 25}, {10 * halfLifeTicks, 100.0 / 1024}} {
		ls.tick = 1000 + row.after
		if got := ls.Load(1); !near(got, row.want) {
			t.Errorf("after %v: %v, want %v", time.Duration(row.after)*loadTick, got, row.want)
		}
	}
	l.add(1000 + halfLifeTicks)
	ls.tick = 1000 + halfLifeTicks
	if got := ls.Load(1); !near(got, 51) {
		t.Errorf("one more after a half-life: %v, want 51", got)
	}
	if got := ls.Load(2); got != 0 {
		t.Errorf("a server nobody knows has a load of %v", got)
	}
}

// TestLoadClock: a request that was overtaken brings an older tick; the clock's
// end (after two years) is a tick like another.
func TestLoadClock(t *testing.T) {
	t.Parallel()
	var l load
	l.add(100)
	l.add(90)
	if got := decayed(l.word.Load(), 95); !near(got, 2) {
		t.Errorf("an older tick: %v, want 2", got)
	}
	var w load
	w.add(math.MaxUint32 - 5)
	if got := decayed(w.word.Load(), halfLifeTicks-6); !near(got, 0.5) {
		t.Errorf("past the clock's end: %v, want 0.5", got)
	}
}

func TestLoadIsConcurrent(t *testing.T) {
	t.Parallel()
	var l load
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				l.add(7)
			}
		})
	}
	all.Wait()
	if got := decayed(l.word.Load(), 7); got != 8000 {
		t.Errorf("%v, want 8000", got)
	}
}

// TestLoadsOutliveReloads: a reload keeps the loads of the servers that stay.
func TestLoadsOutliveReloads(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a=10 b=1")
		s.knows("a", farms.Present, nil)
		s.visits(visit{})
		next, err := farms.Build(stageSpec(t, "weight a=10 c=1"), 2)
		if err != nil {
			t.Fatal(err)
		}
		s.e.Swap(next, s.set)
		l := loads{s.e.view.Load().loads, s.e.tick(time.Now())}
		if got := l.Load(s.server("a").ID); got != 1 {
			t.Errorf("a's load after a reload is %v, want 1", got)
		}
		if got := l.Load(s.server("b").ID); got != 0 {
			t.Errorf("b is gone and has a load of %v", got)
		}
	})
}
