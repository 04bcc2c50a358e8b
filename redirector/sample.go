package redirector

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// floodLines is how many refusals of one reason are logged in a second. More are
// a flood: each is like the one before, and the disk they fill is ours.
const floodLines = 500

// flood counts what comes in a second.
type flood struct {
	word atomic.Uint64 // unix second << floodBits | number in it
	left atomic.Uint64 // not logged, and not told yet
}

const floodBits = 30 // more than can come in a second

// takes tells whether one more is logged in this second.
func (f *flood) takes(second int64) bool {
	for {
		old := f.word.Load()
		if old>>floodBits == uint64(second) {
			if n := f.word.Add(1) & (1<<floodBits - 1); n <= floodLines {
				return true
			}
			f.left.Add(1)
			return false
		}
		if f.word.CompareAndSwap(old, uint64(second)<<floodBits|1) {
			return true
		}
	}
}

// logs tells whether a decision is one that the log has: refusals unless they are
// a flood, of all other the part that the operator asked for.
func (e *Engine) logs(d *Decision, v *view) bool {
	switch {
	case !v.set.LogDecisions:
		return false
	case d.refused():
		return e.floods[d.Reason].takes(d.Time.Unix())
	case v.set.LogSample >= 1 || rand.Float64() < v.set.LogSample:
		return true
	default:
		e.metrics.unsampled.Inc()
		return false
	}
}

// refused tells whether the viewer did not get what he asked for, a fallback
// apart.
func (d *Decision) refused() bool {
	return d.Reason != farms.ReasonOK && d.Reason != farms.ReasonPreflight
}

// TellLeftOut writes a line for every reason of which refusals were left out of
// the log since it was called last. It is to be called every second or so.
func (e *Engine) TellLeftOut(now time.Time) {
	for r := range e.floods {
		n := e.floods[r].left.Swap(0)
		if n == 0 {
			continue
		}
		e.metrics.flooded.Add(float64(n))
		e.decisions.Log().Str("reason", farms.Reason(r).String()).Uint64("left_out", n).
			Str("time", e.clock.text(now)).Msg("refusals left out")
	}
}

// sampleText is what the lines of a sample say of it, "" when all are written.
func sampleText(part float64) string {
	if part >= 1 {
		return ""
	}
	return strconv.FormatFloat(part, 'g', -1, 64)
}
