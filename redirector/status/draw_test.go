package status

import (
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

func TestSpark(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		times []float64
		want  []string
	}{
		{"all_good", []float64{1, 2, 3}, []string{"the last 3 probes took 1.0 ms to 3.0 ms", "M1.0 "}},
		{"one_missed", []float64{1, 0, 3}, []string{"the last 2 probes", ", 1 had no good answer", `class="miss"`}},
		{"all_missed", []float64{0, 0}, []string{"2 probes without a good answer"}},
		{"a_single_one", []float64{5}, []string{"h.1"}},
	} {
		got := string(spark(row.times))
		for _, want := range row.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", row.name, want, got)
			}
		}
		if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("%s: %s", row.name, got)
		}
	}
	if got := spark(nil); got != "" {
		t.Errorf("without probes: %s", got)
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	got := string(bars([]uint32{0, 1, 1_000_000}))
	if !strings.Contains(got, "1000001 in 3 seconds, at most 1000000 in one") || strings.Count(got, "<rect") != 2 {
		t.Error(got)
	}
	if got := string(bars(nil)); strings.Contains(got, "<rect") {
		t.Error(got)
	}
}

// TestTimeline: a gap of a second in a month is still seen, and a thousand
// pieces are not a thousand elements.
func TestTimeline(t *testing.T) {
	t.Parallel()
	const month = int64(30*24*3600) * 1000
	c := &Coverage{From: 0, To: month}
	gap := farms.Range{From: month / 2, To: month/2 + 1000}
	got := string(timeline(c, &CoverageServer{Name: "a", Ranges: []farms.Range{{From: 0, To: gap.From}, {From: gap.To, To: month}}, Gaps: []farms.Range{gap}}))
	if !strings.Contains(got, `<rect class="gap" x="499.00" y="13" width="2.00"`) {
		t.Error(got)
	}
	var many []farms.Range
	for i := range int64(5000) {
		many = append(many, farms.Range{From: i * month / 5000, To: i*month/5000 + 1000})
	}
	if n := strings.Count(string(timeline(c, &CoverageServer{Name: "a", Ranges: many})), "<rect"); n > 2100 {
		t.Errorf("%d elements", n)
	}
	if got := string(timeline(&Coverage{}, &CoverageServer{Name: `"><script>`})); strings.Contains(got, "<script>") || strings.Contains(got, "NaN") {
		t.Error(got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	var got []string
	for _, sec := range []int64{0, 119, 120, 7199, 7200, 172_800} {
		got = append(got, words(sec))
	}
	got = append(got, percent(0), percent(0.0001), percent(0.5), ms(0), ms(3.14), ms(314.15), number(2.5), initial(""), initial("choice"), clock(at(0)))
	want := []string{"0 s", "119 s", "2 min", "119 min", "2.0 h", "2.0 days", "0 %", "< 0.1 %", "50.0 %", "unknown", "3.1 ms", "314 ms", "3", "", "Choice", "Jul 1 20:00:00"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
