package probe

import (
	"context"
	"math"
	"sync"
	"time"
)

// pace keeps the questions to one server within their rate and their number in
// flight. The rate is exact: no more than so many begin in any window of its
// period. Content that nobody has ever had may use half of it, and places of
// its own, so that a flood of invented channels leaves the known ones their
// refreshes and does not make them wait either.
type pace struct {
	mu        sync.Mutex
	own       window // for known content alone; none when the rate has one place
	shared    window // for all
	strangers window // the half that strangers may use, where shared is more
	slots     chan struct{}
	rate      float64
}

// window holds the latest starts of a rate.
type window struct {
	starts []time.Time // ring: the start len(starts) before the next
	next   int
	period time.Duration
}

func newPace(perSec float64, inFlight int) *pace {
	p := &pace{own: newWindow(perSec), strangers: newWindow(perSec / 2), slots: make(chan struct{}, inFlight), rate: perSec}
	p.shared = p.own
	half := max(len(p.own.starts)/2, 1)
	p.shared.starts, p.own.starts = p.own.starts[:half:half], p.own.starts[half:]
	return p
}

// newWindow expresses a rate as n starts in a period of a second or somewhat
// more, so that a fraction never makes it one more in any second.
func newWindow(perSec float64) window {
	n := max(math.Ceil(perSec), 1)
	return window{starts: make([]time.Time, int(n)), period: time.Duration(n / perSec * float64(time.Second))}
}

// earliest returns when the next start is allowed.
func (w *window) earliest(now time.Time) time.Time {
	if t := w.starts[w.next]; !t.IsZero() && t.Add(w.period).After(now) {
		return t.Add(w.period)
	}
	return now
}

func (w *window) take(at time.Time) {
	w.starts[w.next] = at
	w.next = (w.next + 1) % len(w.starts)
}

// reserve takes the next place and returns how long to wait for it; ok is false
// when that would be longer than maxWait, and no place is taken then.
func (p *pace) reserve(now time.Time, stranger bool, maxWait time.Duration) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, at := p.place(now, stranger)
	wait = at.Sub(now)
	if wait > maxWait {
		return wait, false
	}
	w.take(at)
	if stranger {
		p.strangers.take(at)
	}
	return wait, true
}

// wait returns how long the next place would have to be waited for.
func (p *pace) wait(now time.Time, stranger bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, at := p.place(now, stranger)
	return at.Sub(now)
}

// place returns the window of the next place and when it is. p.mu is held.
func (p *pace) place(now time.Time, stranger bool) (*window, time.Time) {
	w, at := &p.shared, p.shared.earliest(now)
	if stranger {
		if t := p.strangers.earliest(now); t.After(at) {
			at = t
		}
	} else if len(p.own.starts) > 0 {
		if t := p.own.earliest(now); !t.After(at) {
			w, at = &p.own, t
		}
	}
	return w, at
}

// begin waits for a free slot; the caller must call end when it returns nil.
func (p *pace) begin(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pace) end() { <-p.slots }
