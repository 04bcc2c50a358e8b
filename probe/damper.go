package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// flapWindow is how long a transition to down counts as a flap.
const flapWindow = 10 * time.Minute

// A server that went down again within flapWindow is held down before good
// answers count: flapHold after the second time, then doubling up to
// flapHoldMax. So a server that flaps with every probe changes its state fewer
// than 20 times in ten minutes.
const (
	flapHold    = 5 * time.Second
	flapHoldMax = 5 * time.Minute
)

// damper turns status results into a condition: up after rise good ones in a
// row, down after fall bad ones, down at once when a connection is refused.
// It must not be shared between goroutines.
type damper struct {
	rise, fall int

	condition farms.Condition
	since     time.Time
	reason    string      // the last failure in words
	warmFrom  time.Time   // when it last came up after a failure
	streak    int         // results in a row that disagree with condition
	downs     []time.Time // transitions to down within flapWindow
	holdUntil time.Time
}

// good takes a good result and tells whether the condition changed.
func (d *damper) good(now time.Time) bool {
	if d.condition == farms.ConditionUp {
		d.streak = 0
		return false
	}
	if now.Before(d.holdUntil) {
		return false
	}
	d.streak++
	if d.condition == farms.ConditionDown {
		if d.streak < max(d.rise, 1) {
			return false
		}
		d.warmFrom = now // not at process start: then all are new alike
	}
	d.change(farms.ConditionUp, now)
	return true
}

// bad takes a bad result; hard ones (a refused connection) count at once.
func (d *damper) bad(now time.Time, reason string, hard bool) bool {
	if d.condition == farms.ConditionDown {
		d.streak = 0
		d.reason = reason
		return false
	}
	d.reason = reason
	d.streak++
	if !hard && d.streak < max(d.fall, 1) {
		return false
	}
	d.change(farms.ConditionDown, now)
	kept := d.downs[:0]
	for _, t := range d.downs {
		if now.Sub(t) < flapWindow {
			kept = append(kept, t)
		}
	}
	d.downs = append(kept, now)
	if n := len(d.downs) - 1; n > 0 {
		d.holdUntil = now.Add(min(flapHold<<min(n-1, 10), flapHoldMax))
	}
	return true
}

func (d *damper) change(c farms.Condition, now time.Time) {
	d.condition, d.since, d.streak = c, now, 0
}

// copy returns a damper of its own in the same state.
func (d *damper) copy() damper {
	c := *d
	c.downs = slices.Clone(d.downs)
	return c
}

// words returns the last failure in words, and why good answers do not count
// yet.
func (d *damper) words(now time.Time) string {
	if d.condition == farms.ConditionDown && now.Before(d.holdUntil) {
		return fmt.Sprintf("%s; it went down %d times within %v, held down until %s",
			d.reason, len(d.downs), flapWindow, d.holdUntil.UTC().Format(time.TimeOnly+"Z"))
	}
	return d.reason
}
