package steering

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestTTLWithoutJitter(t *testing.T) {
	t.Parallel()
	rules := TTLRules{TTL: 300 * time.Second, Degraded: 30 * time.Second, Min: 2 * time.Second, Max: time.Hour}
	with := func(change func(*TTLRules)) TTLRules {
		r := rules
		change(&r)
		return r
	}
	for _, c := range []struct {
		name               string
		rules              TTLRules
		degraded, overload bool
		want               int
	}{
		{"well", rules, false, false, 300},
		{"degraded", rules, true, false, 30},
		{"overload", rules, false, true, 1200},
		{"overload_while_degraded_is_not_shorter_than_well", rules, true, true, 300},
		{"overload_while_degraded_is_longer", with(func(r *TTLRules) { r.Degraded = 100 * time.Second }), true, true, 400},
		{"overload_is_capped", with(func(r *TTLRules) { r.TTL = 30 * time.Minute }), false, true, 3600},
		{"below_min", with(func(r *TTLRules) { r.TTL = time.Second }), false, false, 2},
		{"above_max", with(func(r *TTLRules) { r.TTL = 2 * time.Hour }), false, false, 3600},
		{"fraction_is_rounded", with(func(r *TTLRules) { r.TTL = 2600 * time.Millisecond }), false, false, 3},
		{"fraction_of_min_is_not_undercut", with(func(r *TTLRules) { r.TTL, r.Min = 2*time.Second, 2100*time.Millisecond }), false, false, 3},
		{"fraction_of_max_is_not_exceeded", with(func(r *TTLRules) { r.TTL, r.Max = time.Hour, 9900*time.Millisecond }), false, false, 9},
		{"nothing_said_is_never_0", TTLRules{}, false, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, draw := range []uint64{0, 1, 1 << 63, math.MaxUint64} {
				if got := c.rules.Seconds(c.degraded, c.overload, draw); got != c.want {
					t.Errorf("draw %#x: %d s, want %d", draw, got, c.want)
				}
			}
		})
	}
}

// TestTTLJitter: check 43, for common TTLs.
func TestTTLJitter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ttl       int
		jitter    float64
		low, high int
	}{
		{300, 0.1, 270, 330},
		{30, 0.1, 27, 33},
		{10, 0.1, 9, 11},
		{2, 0.1, 2, 2},
		{100, 0.29, 71, 129},
		{600, 0.5, 300, 900},
		{60, 0, 60, 60},
		{60, -1, 60, 60},
		{60, math.NaN(), 60, 60},
		{60, 2, 2, 120},
		{3600, 0.1, 3240, 3600},
		{2, 0.5, 2, 3},
	} {
		rules := TTLRules{TTL: time.Duration(c.ttl) * time.Second, Min: 2 * time.Second, Max: time.Hour, Jitter: c.jitter}
		draws := rand.New(rand.NewPCG(1, uint64(c.ttl)))
		const n = 20_000
		count, sum := map[int]int{}, 0
		for range n {
			got := rules.Seconds(false, false, draws.Uint64())
			if got < c.low || got > c.high {
				t.Fatalf("TTL %d ± %v: %d s", c.ttl, c.jitter, got)
			}
			count[got]++
			sum += got
		}
		if len(count) != c.high-c.low+1 && len(count) < 400 {
			t.Errorf("TTL %d ± %v: only %d different", c.ttl, c.jitter, len(count))
		}
		if rules.Seconds(false, false, 0) != c.low || rules.Seconds(false, false, math.MaxUint64) != c.high {
			t.Errorf("TTL %d ± %v: the ends are not reached", c.ttl, c.jitter)
		}
		middle := float64(c.low+c.high) / 2
		if mean := float64(sum) / n; math.Abs(mean-middle) > 0.005*middle {
			t.Errorf("TTL %d ± %v: mean %.2f, want about %.2f", c.ttl, c.jitter, mean, middle)
		}
	}
}

// TestTTLMean: 1,000 sessions, mean within 2 % of what is configured.
func TestTTLMean(t *testing.T) {
	t.Parallel()
	rules := TTLRules{TTL: 300 * time.Second, Degraded: 30 * time.Second, Min: 2 * time.Second, Max: time.Hour, Jitter: 0.1}
	for _, degraded := range []bool{false, true} {
		draws := rand.New(rand.NewPCG(7, 7))
		sum := 0
		for range 1000 {
			sum += rules.Seconds(degraded, false, draws.Uint64())
		}
		want := 300.0
		if degraded {
			want = 30
		}
		if mean := float64(sum) / 1000; math.Abs(mean-want) > 0.02*want {
			t.Errorf("degraded %v: mean %.2f, want %v ± 2 %%", degraded, mean, want)
		}
	}
}
