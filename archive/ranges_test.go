package archive

import (
	"math"
	"slices"
	"testing"
	"time"
)

// at returns milliseconds of a minute of the day.
func at(hour, minute int) int64 { return int64(hour*60+minute) * 60_000 }

func minutes(m int) time.Duration { return time.Duration(m) * time.Minute }

// TestWorkedCase: server A recorded 00:00–02:00 and 02:30–06:00, server B
// 01:00–03:00, server C nothing.
func TestWorkedCase(t *testing.T) {
	t.Parallel()
	servers := [...][]Range{
		Normalize([]Range{{From: at(0, 0), To: at(2, 0)}, {From: at(2, 30), To: at(6, 0)}}, 0),
		Normalize([]Range{{From: at(1, 0), To: at(3, 0)}}, 0),
		nil,
	}
	for _, row := range []struct {
		name       string
		need       Range
		held       [3]int // minutes in all
		contiguous [3]int // minutes from the start without a hole
		most, run  string // who wins
	}{
		{"only_a", Range{From: at(0, 0), To: at(1, 0)}, [3]int{60, 0, 0}, [3]int{60, 0, 0}, "A", "A"},
		{"a_and_half_b", Range{From: at(0, 30), To: at(1, 30)}, [3]int{60, 30, 0}, [3]int{60, 0, 0}, "A", "A"},
		{"both_whole", Range{From: at(1, 0), To: at(2, 0)}, [3]int{60, 60, 0}, [3]int{60, 60, 0}, "AB", "AB"},
		{"into_the_hole", Range{From: at(1, 30), To: at(2, 15)}, [3]int{30, 45, 0}, [3]int{30, 45, 0}, "B", "B"},
		{"in_the_hole", Range{From: at(2, 0), To: at(2, 30)}, [3]int{0, 30, 0}, [3]int{0, 30, 0}, "B", "B"},
		{"over_the_hole", Range{From: at(1, 30), To: at(3, 0)}, [3]int{60, 90, 0}, [3]int{30, 90, 0}, "B", "B"},
		{"beyond_b", Range{From: at(1, 30), To: at(4, 0)}, [3]int{120, 90, 0}, [3]int{30, 90, 0}, "A", "B"},
		{"out_of_the_hole", Range{From: at(2, 15), To: at(4, 0)}, [3]int{90, 45, 0}, [3]int{0, 45, 0}, "A", "B"},
		{"behind_the_hole", Range{From: at(2, 30), To: at(6, 0)}, [3]int{210, 30, 0}, [3]int{210, 30, 0}, "A", "A"},
		{"all", Range{From: at(0, 0), To: at(6, 0)}, [3]int{330, 120, 0}, [3]int{120, 0, 0}, "A", "A"},
		{"over_the_end", Range{From: at(5, 30), To: at(7, 0)}, [3]int{30, 0, 0}, [3]int{30, 0, 0}, "A", "A"},
		{"behind_all", Range{From: at(6, 0), To: at(7, 0)}, [3]int{0, 0, 0}, [3]int{0, 0, 0}, "", ""},
	} {
		winners := func(held [3]time.Duration) string {
			most, names := slices.Max(held[:]), ""
			for i, h := range held {
				if most > 0 && AsGood(h, most, 6*time.Second) {
					names += string(rune('A' + i))
				}
			}
			return names
		}
		var held, run [3]time.Duration
		for i, ranges := range servers {
			held[i], run[i] = Held(row.need, ranges), HeldContiguous(row.need, ranges, 0)
			if held[i] != minutes(row.held[i]) || run[i] != minutes(row.contiguous[i]) {
				t.Errorf("%s: server %c holds %v, %v without a hole, want %d and %d minutes",
					row.name, 'A'+i, held[i], run[i], row.held[i], row.contiguous[i])
			}
			var missing time.Duration
			for _, g := range Gaps(row.need, ranges) {
				missing += g.Length()
			}
			if held[i]+missing != row.need.Length() {
				t.Errorf("%s: server %c holds %v and misses %v of %v", row.name, 'A'+i, held[i], missing, row.need.Length())
			}
		}
		if most, contiguous := winners(held), winners(run); most != row.most || contiguous != row.run {
			t.Errorf("%s: most %q, contiguous %q, want %q and %q", row.name, most, contiguous, row.most, row.run)
		}
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		in        []Range
		tolerance time.Duration
		want      []Range
	}{
		{"none", nil, 0, nil},
		{"sorted", []Range{{From: 50, To: 60}, {From: 10, To: 20}}, 0, []Range{{From: 10, To: 20}, {From: 50, To: 60}}},
		{"touching", []Range{{From: 10, To: 20}, {From: 20, To: 30}}, 0, []Range{{From: 10, To: 30}}},
		{"inside", []Range{{From: 10, To: 40}, {From: 20, To: 30}}, 0, []Range{{From: 10, To: 40}}},
		{"same_start", []Range{{From: 10, To: 20}, {From: 10, To: 40}, {From: 10, To: 30}}, 0, []Range{{From: 10, To: 40}}},
		{"apart", []Range{{From: 10, To: 20}, {From: 21, To: 30}}, 0, []Range{{From: 10, To: 20}, {From: 21, To: 30}}},
		{"tolerated", []Range{{From: 10, To: 20}, {From: 25, To: 30}, {From: 36, To: 40}}, 5 * time.Millisecond, []Range{{From: 10, To: 30}, {From: 36, To: 40}}},
		{"negative_tolerance", []Range{{From: 10, To: 20}, {From: 20, To: 30}}, -time.Second, []Range{{From: 10, To: 30}}},
		{"empty_and_inverted", []Range{{From: 10, To: 10}, {From: 30, To: 20}, {From: 40, To: 50}}, 0, []Range{{From: 40, To: 50}}},
		{"out_of_bounds", []Range{{From: math.MinInt64, To: 10}, {From: maxMilli - 5, To: math.MaxInt64}}, 0, []Range{{From: 0, To: 10}, {From: maxMilli - 5, To: maxMilli}}},
		{"all_out_of_bounds", []Range{{From: -20, To: -10}, {From: maxMilli, To: math.MaxInt64}}, time.Hour, nil},
	} {
		in := slices.Clone(row.in)
		if got := Normalize(row.in, row.tolerance); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
		if !slices.Equal(in, row.in) {
			t.Errorf("%s: the argument was changed", row.name)
		}
	}
}

func TestNormalizeIsBounded(t *testing.T) {
	t.Parallel()
	var many []Range
	for i := range int64(3 * MaxRanges) {
		many = append(many, Range{From: i * 10, To: i*10 + 5})
	}
	got := Normalize(many, 0)
	if len(got) != MaxRanges || got[len(got)-1] != many[len(many)-1] {
		t.Errorf("%d ranges up to %v, want the newest %d", len(got), got[len(got)-1], MaxRanges)
	}
}

func TestHeldContiguousTolerance(t *testing.T) {
	t.Parallel()
	ranges := []Range{{From: 2000, To: 10_000}, {From: 12_000, To: 20_000}, {From: 29_000, To: 40_000}}
	need := Range{From: 0, To: 30_000}
	for tolerance, want := range map[time.Duration]time.Duration{
		0:               0,
		2 * time.Second: 16 * time.Second,
		9 * time.Second: 17 * time.Second,
		-time.Second:    0,
	} {
		if got := HeldContiguous(need, ranges, tolerance); got != want {
			t.Errorf("tolerance %v: %v, want %v", tolerance, got, want)
		}
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	start := testNow.Add(-time.Hour)
	for _, row := range []struct {
		name string
		w    Window
		lag  time.Duration
		want time.Duration
		ok   bool
	}{
		{"past", Window{start, start.Add(minutes(30)), false}, 10 * time.Second, minutes(30), true},
		{"growing", Window{start, testNow.Add(time.Hour), true}, 10 * time.Second, minutes(60) - 10*time.Second, true},
		{"ends_now", Window{start, testNow, true}, 10 * time.Second, minutes(60) - 10*time.Second, true},
		{"begins_now", Window{testNow, testNow.Add(time.Minute), true}, 10 * time.Second, 0, false},
		{"within_lag", Window{testNow.Add(-5 * time.Second), testNow, true}, 10 * time.Second, 0, false},
		{"none", Window{}, 0, 0, false},
	} {
		r, ok := Need(row.w, testNow, row.lag)
		if ok != row.ok || r.Length() != row.want {
			t.Errorf("%s: %v %t, want %v %t", row.name, r.Length(), ok, row.want, row.ok)
		}
	}
}

func TestRangeAfter(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		from, length int64
		want         Range
	}{
		{10, 5, Range{From: 10, To: 15}},
		{10, 0, Range{}},
		{10, -5, Range{}},
		{-1, 5, Range{}},
		{math.MaxInt64, 5, Range{}},
		{10, math.MaxInt64, Range{From: 10, To: maxMilli}},
	} {
		if got := RangeAfter(row.from, row.length); got != row.want {
			t.Errorf("%d after %d: %v, want %v", row.length, row.from, got, row.want)
		}
	}
}

func TestAsGood(t *testing.T) {
	t.Parallel()
	const segment = 6 * time.Second
	for _, row := range []struct {
		held, most time.Duration
		want       bool
	}{
		{minutes(60), minutes(60), true},
		{minutes(60) - 36*time.Second, minutes(60), true}, // 1 %
		{minutes(60) - 37*time.Second, minutes(60), false},
		{54 * time.Second, minutes(1), true}, // a segment
		{53 * time.Second, minutes(1), false},
		{math.MaxInt64, math.MaxInt64, true},
	} {
		if got := AsGood(row.held, row.most, segment); got != row.want {
			t.Errorf("%v of %v: %t, want %t", row.held, row.most, got, row.want)
		}
	}
}

func TestLengthDoesNotOverflow(t *testing.T) {
	t.Parallel()
	all := Range{From: 0, To: maxMilli}
	if all.Length() != math.MaxInt64 || Held(all, []Range{all}) != math.MaxInt64 {
		t.Errorf("%v, %v", all.Length(), Held(all, []Range{all}))
	}
	if n := (Range{From: 10, To: 5}).Length(); n != 0 {
		t.Errorf("an inverted range is %v long", n)
	}
}

// FuzzCoverage compares the arithmetic with counting milliseconds.
func FuzzCoverage(f *testing.F) {
	f.Add(int64(10), int64(60), int64(3), []byte{0, 20, 30, 5, 50, 100})
	f.Add(int64(0), int64(255), int64(0), []byte{255, 255, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, from, to, tolerance int64, spans []byte) {
		need := Range{From: from % 512, To: to % 512}
		slack := time.Duration(tolerance%64) * time.Millisecond
		var ranges []Range
		for i := 0; i+1 < len(spans) && i < 64; i += 2 {
			ranges = append(ranges, RangeAfter(int64(spans[i]), int64(spans[i+1])-16))
		}
		inside := func(list []Range, at int64) bool {
			return slices.ContainsFunc(list, func(r Range) bool { return r.From <= at && at < r.To })
		}

		exact := Normalize(ranges, 0)
		joined := Normalize(ranges, slack)
		for i, r := range joined {
			if r.Empty() || i > 0 && r.From-joined[i-1].To <= max(slack, 0).Milliseconds() {
				t.Fatalf("%v is not normal", joined)
			}
		}
		var held, run int64
		whole := true
		for at := need.From; at < need.To; at++ {
			if inside(ranges, at) != inside(exact, at) || inside(ranges, at) && !inside(joined, at) {
				t.Fatalf("%v became %v and %v", ranges, exact, joined)
			}
			if inside(ranges, at) {
				held++
				if whole {
					run++
				}
			} else {
				whole = false
			}
			if gap := inside(Gaps(need, exact), at); gap == inside(ranges, at) {
				t.Fatalf("%d is in %v and in its gaps of %v, or in neither", at, ranges, need)
			}
		}
		if got := Held(need, exact).Milliseconds(); got != held {
			t.Fatalf("%v of %v: %d held, want %d", need, ranges, got, held)
		}
		if got := HeldContiguous(need, exact, 0).Milliseconds(); got != run {
			t.Fatalf("%v of %v: %d without a hole, want %d", need, ranges, got, run)
		}
		if got := HeldContiguous(need, exact, slack); got < HeldContiguous(need, exact, 0) || got > Held(need, exact) {
			t.Fatalf("%v of %v: %v without a hole", need, ranges, got)
		}
	})
}
