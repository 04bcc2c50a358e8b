package api

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

// pairs makes ranges of numbers.
func pairs(ns []int64) []farms.Range {
	var out []farms.Range
	for i := 0; i < len(ns); i += 2 {
		out = append(out, farms.Range{From: ns[i], To: ns[i+1]})
	}
	return out
}

func TestNormalise(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in, want []int64 // from, to, from, to …
	}{
		{"none", nil, nil},
		{"one", []int64{1, 2}, []int64{1, 2}},
		{"out_of_order", []int64{5, 6, 1, 2}, []int64{1, 2, 5, 6}},
		{"touching", []int64{1, 2, 2, 3}, []int64{1, 3}},
		{"overlapping", []int64{2, 5, 1, 3}, []int64{1, 5}},
		{"inside", []int64{1, 9, 2, 3, 9, 10}, []int64{1, 10}},
		{"twice", []int64{1, 2, 1, 2}, []int64{1, 2}},
		{"same_start", []int64{1, 2, 1, 5, 4, 6}, []int64{1, 6}},
		{"invalid", []int64{3, 3, 9, 8, 1, 2}, []int64{1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, cut := normalise(pairs(tt.in))
			if !slices.Equal(got, pairs(tt.want)) || cut {
				t.Errorf("normalise(%v) = %v, %v; want %v", tt.in, got, cut, tt.want)
			}
		})
	}
}

func TestNormaliseKeepsTheNewest(t *testing.T) {
	t.Parallel()
	rs := make([]farms.Range, maxRanges+10)
	for i := range rs {
		rs[i] = farms.Range{From: int64(10*i + 1), To: int64(10*i + 5)}
	}
	last := rs[len(rs)-1]
	rand.Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
	got, cut := normalise(rs)
	if !cut || len(got) != maxRanges || got[len(got)-1] != last || got[0].From != 101 {
		t.Errorf("%d ranges, cut %v, from %v to %v", len(got), cut, got[0], got[len(got)-1])
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name     string
		from, to float64
		want     farms.Range
		ok       bool
	}{
		{"milliseconds", 1767225600000, 1767225601000, farms.Range{From: 1767225600000, To: 1767225601000}, true},
		{"fractions", 1767225600000.4, 1767225600001.6, farms.Range{From: 1767225600000, To: 1767225600002}, true},
		{"rounds_to_nothing", 1767225600000.1, 1767225600000.2, farms.Range{}, false},
		{"rounds_to_zero", 0.2, 5, farms.Range{}, false},
		{"zero_is_absent", 0, 5, farms.Range{}, false},
		{"negative", -5, 5, farms.Range{}, false},
		{"reversed", 5, 4, farms.Range{}, false},
		{"empty", 5, 5, farms.Range{}, false},
		{"nan_from", nan, 5, farms.Range{}, false},
		{"nan_to", 5, nan, farms.Range{}, false},
		{"infinite", 5, inf, farms.Range{}, false},
		{"both_infinite", -inf, inf, farms.Range{}, false},
		{"overflow", 5, 1e300, farms.Range{}, false},
		{"microseconds", 1767225600000000, 1767225601000000, farms.Range{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := span(tt.from, tt.to)
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("span(%v, %v) = %v, %v; want %v, %v", tt.from, tt.to, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	old, recent := farms.Range{From: 1000, To: 2000}, farms.Range{From: 9000, To: 9500}
	tests := []struct {
		name   string
		rs     []farms.Range
		need   farms.Range
		unread int
		cut    bool
		want   farms.Presence
		all    bool
		word   string
	}{
		{"none", nil, old, 0, false, farms.Absent, true, "no recordings"},
		{"none_readable", nil, old, 3, false, farms.Trouble, false, "none of its 3"},
		{"some_unreadable", []farms.Range{recent}, recent, 3, false, farms.Present, true, "3 more unreadable"},
		{"elsewhere", []farms.Range{recent}, old, 0, false, farms.Present, true, "1 ranges"},
		{"cut_with_what_is_needed", []farms.Range{recent}, recent, 0, true, farms.Present, false, cutShort},
		{"cut_without", []farms.Range{recent}, old, 0, true, farms.Trouble, false, cutShort},
		{"cut_to_nothing", nil, old, 0, true, farms.Trouble, false, cutShort},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := recorded(Question{Need: tt.need}, slices.Clone(tt.rs), tt.unread, tt.cut)
			if a.Presence != tt.want || a.All != tt.all || !strings.Contains(a.Detail, tt.word) {
				t.Errorf("recorded: %+v; want %v, all %v, %q", a, tt.want, tt.all, tt.word)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     float64
	}{
		{"integer", `5`, 5},
		{"fraction", `5.25`, 5.25},
		{"exponent", `1e3`, 1000},
		{"in_a_string", `"5.25"`, 5.25},
		{"null", `null`, 0},
		{"negative", `-3`, -3},
		{"overflow", `1e999`, math.NaN()},
		{"infinity", `"Inf"`, math.NaN()},
		{"nan", `"NaN"`, math.NaN()},
		{"word", `"soon"`, math.NaN()},
		{"empty_string", `""`, math.NaN()},
		{"truth", `true`, math.NaN()},
		{"object", `{"a":1}`, math.NaN()},
		{"list", `[1]`, math.NaN()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got struct{ N number }
			if err := decode([]byte(`{"n":`+tt.in+`}`), &got); err != nil {
				t.Fatal(err)
			}
			if n := float64(got.N); n != tt.want && !(math.IsNaN(n) && math.IsNaN(tt.want)) {
				t.Errorf("%s is read as %v, want %v", tt.in, n, tt.want)
			}
		})
	}
}
