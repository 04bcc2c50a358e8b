package steering

import (
	"math"
	"math/bits"
	"time"
)

// overloadFactor is how much longer players wait when we are overloaded.
const overloadFactor = 4

// TTLRules are how long a player keeps a manifest.
type TTLRules struct {
	TTL      time.Duration // while all is well
	Degraded time.Duration // while something the location uses is not
	Min, Max time.Duration // no TTL is outside, jitter included
	Jitter   float64       // fraction of the TTL that it is shorter or longer at most
}

// Seconds returns one TTL in whole seconds, as the format wants it, and at least
// 1: no player has a floor of its own, and hls.js takes 0 for "at once", hundreds
// of times a minute. Draws that are spread over all of uint64 spread the TTLs
// evenly over TTL ± Jitter, so that players whom an incident has gathered part
// again; their mean is the TTL unless Min or Max cuts it.
//
// Under overload the TTL is four times as long, and never shorter than that of
// quiet times: an incident must not make those who suffer ask the more the less
// we can answer.
func (r TTLRules) Seconds(degraded, overload bool, draw uint64) int {
	ttl := r.TTL
	if degraded {
		ttl = r.Degraded
	}
	if overload {
		ttl = max(overloadFactor*ttl, r.TTL)
	}
	least := max(int64(math.Ceil(r.Min.Seconds())), 1)
	most := max(int64(r.Max.Seconds()), least)
	middle := min(max(int64(math.Round(ttl.Seconds())), least), most)
	swing := int64(0)
	if r.Jitter > 0 { // not a number is not
		swing = int64(float64(middle)*min(r.Jitter, 1) + 1e-9) // 0.29 × 100 is 28.999…
	}
	low, high := max(middle-swing, least), min(middle+swing, most)
	n, _ := bits.Mul64(draw, uint64(high-low+1))
	return int(low + int64(n))
}
