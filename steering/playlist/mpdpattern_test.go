package playlist

import (
	"strings"
	"testing"
	"time"
)

// patternMPD is a live MPD of one audio timeline, which begins two minutes after
// availabilityStartTime and has a timescale of 1000.
func patternMPD(timeline string) []byte {
	return []byte(`<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" availabilityStartTime="2026-01-01T00:00:00Z">
<Period id="1" start="PT0S"><AdaptationSet contentType="audio"><SegmentTemplate timescale="1000" media="$Time$.m4s">
<SegmentTimeline>` + timeline + `</SegmentTimeline></SegmentTemplate><Representation id="a"/></AdaptationSet></Period></MPD>`)
}

func TestTimelinePatterns(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 2, 0, 0, time.UTC)
	const pattern = `<Pattern id="1"><P d="2005" r="1"/><P d="1990"/></Pattern>` // 2005, 2005, 1990
	for _, tc := range []struct {
		name, timeline string
		segments       int
		length         time.Duration
	}{
		{"one_round", pattern + `<S t="120000" p="1" r="2"/>`, 3, 6000 * time.Millisecond},
		{"rounds_and_a_part", pattern + `<S t="120000" p="1" r="7"/>`, 8, 2*6000*time.Millisecond + 4010*time.Millisecond},
		{"from_the_second", pattern + `<S t="120000" p="1" pE="1" r="1"/>`, 2, 3995 * time.Millisecond},
		{"from_the_third_round_again", pattern + `<S t="120000" p="1" pE="2" r="1"/>`, 2, 3995 * time.Millisecond},
		{"entry_beyond_the_round", pattern + `<S t="120000" p="1" pE="5"/>`, 1, 1990 * time.Millisecond},
		{"pattern_then_plain", pattern + `<S t="120000" p="1"/><S d="1000"/>`, 2, 3005 * time.Millisecond},
		{"second_pattern", pattern + `<Pattern id="9"><P d="500"/></Pattern><S t="120000" p="9" r="3"/>`, 4, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := patternMPD(tc.timeline)
			m, err := ParseMPD(body)
			if err != nil {
				t.Fatal(err)
			}
			if end := begin.Add(tc.length); m.Segments != tc.segments || !m.Edge.Equal(end) {
				t.Errorf("%d segments up to %v, expected %d up to %v", m.Segments, m.Edge, tc.segments, end)
			}
			r, err := ReadMPD(body)
			if err != nil {
				t.Fatal(err)
			}
			want := Span{begin.UnixMilli(), begin.Add(tc.length).UnixMilli()}
			if spans := r.SpansAt(begin.Add(time.Hour).UnixMilli()); len(spans) != 1 || spans[0] != want {
				t.Errorf("holds %v, expected %v", spans, want)
			}
		})
	}
}

func TestTimelinePatternsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, timeline, want string }{
		{"unknown", `<Pattern id="1"><P d="2"/></Pattern><S t="0" p="2"/>`, "S@p is 2, expected the id of a Pattern before it"},
		{"empty", `<Pattern id="1"></Pattern><S t="0" p="1"/>`, "Pattern has no entry"},
		{"without_length", `<Pattern id="1"><P r="1"/></Pattern><S t="0" p="1"/>`, "P has no duration"},
		{"neither", `<S t="0"/>`, "S has no duration"},
		{"too_long", `<Pattern id="1"><P d="9223372036854775000"/></Pattern><S t="0" p="1" r="1"/>`, "beyond 2^63 units"},
		{"too_many", `<Pattern id="1">` + strings.Repeat(`<P d="1"/>`, maxPatternEntries+1) + `</Pattern>`, "more than 4096 entries"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := ParseMPD(patternMPD(tc.timeline)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, expected %q", err, tc.want)
			}
		})
	}
}
