package playlist

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSpanListAgainstMilliseconds marks every millisecond by itself and expects the same.
func TestSpanListAgainstMilliseconds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var list spanList
		var marked [200]bool
		for range random.IntN(20) {
			from := random.IntN(190)
			to := from + random.IntN(10)
			list.add(int64(from), int64(to), 0)
			for i := from; i < to; i++ {
				marked[i] = true
			}
		}
		var want []Span
		for i, is := range marked {
			switch {
			case is && i > 0 && marked[i-1]:
				want[len(want)-1].To++
			case is:
				want = append(want, Span{int64(i), int64(i) + 1})
			}
		}
		if got := mergeSpans(list.spans); !slices.Equal(got, want) {
			t.Fatalf("spans %v, want %v", got, want)
		}
	}
}

func TestSpanListBridges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		gap  bool
		from int64
		want []Span
	}{
		{"touching", false, 10, []Span{{0, 20}}},
		{"half_a_segment_late", false, 15, []Span{{0, 20}}},
		{"later", false, 16, []Span{{0, 10}, {16, 20}}},
		{"early", false, 5, []Span{{0, 20}}},
		{"after_a_cut", true, 11, []Span{{0, 10}, {11, 20}}},
		{"touching_after_a_cut", true, 10, []Span{{0, 20}}},
		{"before", false, -5, []Span{{-5, 20}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var list spanList
			list.add(0, 10, 5)
			if test.gap {
				list.cut()
			}
			list.add(test.from, 20, 0)
			if got := mergeSpans(list.spans); !slices.Equal(got, test.want) {
				t.Errorf("spans %v, want %v", got, test.want)
			}
		})
	}
}

func TestSpanListIsBounded(t *testing.T) {
	t.Parallel()
	var apart, overlapping spanList
	for i := range int64(100_000) {
		overlapping.add(1000-i%1000, 1001, 0)
		apart.add(2*i, 2*i+1, 0)
	}
	if overlapping.full || !apart.full {
		t.Errorf("full: %v for spans that are one, %v for spans apart", overlapping.full, apart.full)
	}
	if n := max(len(apart.spans), len(overlapping.spans)); n > 2*maxSpans+1 {
		t.Errorf("kept %d spans, want at most %d", n, 2*maxSpans)
	}
}

func FuzzParseDateTimeBytes(f *testing.F) {
	for _, seed := range []string{
		"2026-11-30T10:00:00Z", "2026-11-30T13:00:00.250+0300", "2026-11-30T13:00:00,5-05:30", "2026-11-30T13:00:00+03", "2026-11-30T10:00:00",
		"2026-02-30T10:00:00Z", "2026-11-30T10:00:00ZZ", "2026-11-30T10:00:00Z+01", "2026-11-30T10:00:00+24:00", "2026-11-30T10:00:00+0", "T", "yesterday",
		"2026-11-30T10:00:00.123456789012Z", "0000-01-01T00:00:00+23:59", "2026-11-30T10:00:00-+01", "2026-11-30T10:00:00+00:60", "2026-11-30T1:00:00Z",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		kept := bytes.Clone(text)
		got, ok := parseDateTimeBytes(text)
		want, wantOK := parseDateTime(string(text))
		if ok != wantOK || !got.Equal(want) {
			t.Errorf("parseDateTimeBytes(%q) = %v %v, want %v %v", text, got, ok, want, wantOK)
		}
		if !bytes.Equal(kept, text) {
			t.Errorf("parseDateTimeBytes wrote to %q", kept)
		}
	})
}

func TestParseDateTimeBytesMakesNoGarbage(t *testing.T) {
	for _, date := range []string{"2026-11-30T10:00:00.123Z", "2026-11-30T13:00:00.250+0300", "2026-11-30T13:00:00+05:30", "2026-11-30T10:00:00", "2026-11-30T13:00:00-03"} {
		text := []byte(date)
		allocations := testing.AllocsPerRun(100, func() {
			if _, ok := parseDateTimeBytes(text); !ok {
				t.Fatalf("%s was not read", text)
			}
		})
		if allocations > 0 {
			t.Errorf("%s took %v allocations", text, allocations)
		}
	}
}

func TestWallClock(t *testing.T) {
	t.Parallel()
	for date, known := range map[string]bool{
		"1999-12-31T23:59:59.999Z": false, "2000-01-01T00:00:00Z": true, "2000-01-01T00:00:00+01:00": false, "2099-12-31T23:59:59Z": true,
		"2100-01-01T00:00:00Z": false, "1970-01-01T00:00:10Z": false, "soon": false,
	} {
		if got := readWallClock([]byte(date)); got.known != known {
			t.Errorf("readWallClock(%s) = %+v, want known: %v", date, got, known)
		}
	}
	clock := readWallClock([]byte("2026-01-01T00:00:00.0007Z"))
	if got, want := clock.after(300*time.Microsecond), time.Date(2026, 1, 1, 0, 0, 0, 1e6, time.UTC).UnixMilli(); got != want {
		t.Errorf("0.7 ms and 0.3 ms are %d, want %d", got, want)
	}
}
