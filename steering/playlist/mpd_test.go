package playlist_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// dynamicMPD is a live MPD with one Representation that is addressed as given.
func dynamicMPD(attributes, segments string) string {
	return `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" ` + attributes + `>
<Period id="p" start="PT10S"><AdaptationSet><SegmentTemplate timescale="1000" presentationTimeOffset="5000" media="$Time$.m4s">` +
		segments + `</SegmentTemplate><Representation id="1"/></AdaptationSet></Period></MPD>`
}

const start2026 = `availabilityStartTime="2026-01-01T00:00:00Z"`

func parseMPD(t testing.TB, body string) *playlist.MPD {
	t.Helper()
	m, err := playlist.ParseMPD([]byte(body))
	if err != nil {
		t.Fatalf("ParseMPD(%.200q): %v", body, err)
	}
	return m
}

func TestParseMPD(t *testing.T) {
	t.Parallel()
	const second = time.Second
	start := utc(t, "2026-01-01T00:00:00Z")
	tests := []struct {
		name, body string
		want       playlist.MPD
	}{
		{
			"live_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-live.mpd")), playlist.MPD{
				Dynamic: true, AvailabilityStart: utc(t, "2026-11-30T03:25:38.235Z"), TimeShiftBufferDepth: 6 * second,
				MinimumUpdatePeriod: 2 * second, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 2, Timeline: true, Segments: 4,
				Edge: utc(t, "2026-11-30T03:25:42.235Z"),
			},
		},
		{
			"static_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-static.mpd")), playlist.MPD{
				Duration: 8 * second, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 2, Timeline: true, Segments: 6,
			},
		},
		{
			"edge_is_start_plus_period_plus_timeline_minus_offset", dynamicMPD(start2026, `<SegmentTimeline><S t="65000" d="2000" r="4"/><S d="1500"/></SegmentTimeline>`),
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 1, Timeline: true, Segments: 6,
				Edge: start.Add(10*second + 71500*time.Millisecond),
			},
		},
		{
			"timeline_before_its_offset", dynamicMPD(start2026, `<SegmentTimeline><S t="0" d="2000"/></SegmentTimeline>`),
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 1, Timeline: true, Segments: 1,
				Edge: start.Add(7 * second),
			},
		},
		{
			"repeat_until_further_notice", dynamicMPD(start2026, `<SegmentTimeline><S t="5000" d="2000" r="-1"/></SegmentTimeline>`),
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 1, Timeline: true, Segments: 1,
			},
		},
		{
			"repeat_until_the_next_s", dynamicMPD(start2026, `<SegmentTimeline><S t="5000" d="2000" r="-1"/><S t="15000" d="1000"/></SegmentTimeline>`),
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 1, Timeline: true, Segments: 2,
				Edge: start.Add(21 * second),
			},
		},
		{
			"mistserver_start_without_zone", dynamicMPD(`availabilityStartTime="2026-01-01T00:00:00"`, `<SegmentTimeline><S t="5000" d="2000"/></SegmentTimeline>`),
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 1, Timeline: true, Segments: 1,
				Edge: start.Add(12 * second),
			},
		},
		{
			"no_start_no_edge", dynamicMPD(``, `<SegmentTimeline><S t="5000" d="2000"/></SegmentTimeline>`),
			playlist.MPD{Dynamic: true, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 1, Timeline: true, Segments: 1},
		},
		{
			"livesim2_numbers_only", dynamicMPD(`availabilityStartTime="1970-01-01T00:00:00Z" publishTime="1970-01-01T00:00:00Z" timeShiftBufferDepth="PT1M" maxSegmentDuration="PT2S" minimumUpdatePeriod="PT0S"`, ``),
			playlist.MPD{
				Dynamic: true, AvailabilityStart: utc(t, "1970-01-01T00:00:00Z"), TimeShiftBufferDepth: time.Minute, MaxSegmentDuration: 2 * second,
				Periods: 1, Representations: 1,
			},
		},
		{
			"empty_timeline", dynamicMPD(start2026, `<SegmentTimeline/>`),
			playlist.MPD{Dynamic: true, AvailabilityStart: start, Periods: 1, Representations: 1, Timeline: true},
		},
		{
			"latest_of_several_levels", `<MPD type="dynamic" ` + start2026 + `><Period start="PT0S"><SegmentTemplate timescale="10"/>
<AdaptationSet><Representation><SegmentTemplate><SegmentTimeline><S d="20" r="2"/></SegmentTimeline></SegmentTemplate></Representation>
<Representation><SegmentTemplate timescale="1"><SegmentTimeline><S t="3" d="4"/></SegmentTimeline></SegmentTemplate></Representation></AdaptationSet>
<AdaptationSet><SegmentList><SegmentTimeline><S d="10"/></SegmentTimeline></SegmentList><Representation/></AdaptationSet></Period></MPD>`,
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 4 * second, Periods: 1, Representations: 3, Timeline: true, Segments: 5,
				Edge: start.Add(7 * second),
			},
		},
		{
			"period_after_period", `<MPD type="dynamic" ` + start2026 + `><Period duration="PT1H"/><Period><AdaptationSet>
<SegmentTemplate><SegmentTimeline><S d="4"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period></MPD>`,
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 4 * second, Periods: 2, Timeline: true, Segments: 1,
				Edge: start.Add(time.Hour + 4*second),
			},
		},
		{
			"period_announced_early_has_no_time", `<MPD type="dynamic" ` + start2026 + `><Period start="PT0S"/><Period><AdaptationSet>
<SegmentTemplate><SegmentTimeline><S d="4"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period></MPD>`,
			playlist.MPD{Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 4 * second, Periods: 2, Timeline: true, Segments: 1},
		},
		{
			"dynamic_with_an_end", `<MPD type="dynamic" mediaPresentationDuration="PT2H" ` + start2026 + `/>`,
			playlist.MPD{Dynamic: true, AvailabilityStart: start, Duration: 2 * time.Hour},
		},
		{
			"static_sum_of_periods_and_timelines", `<MPD><Period duration="PT30S"/><Period><AdaptationSet><SegmentTemplate timescale="10">
<SegmentTimeline><S t="100" d="40" r="1"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period></MPD>`,
			playlist.MPD{Duration: 38 * second, MaxSegmentDuration: 4 * second, Periods: 2, Timeline: true, Segments: 2},
		},
		{
			"static_with_a_period_of_unknown_length", `<MPD type="static"><Period duration="PT30S"/><Period/></MPD>`, playlist.MPD{Periods: 2},
		},
		{
			"static_without_use_for_its_start", `<MPD availabilityStartTime="whenever" mediaPresentationDuration="P0Y0M1DT0H0M0.5S"/>`,
			playlist.MPD{Duration: 24*time.Hour + 500*time.Millisecond},
		},
		{
			"elements_in_the_wrong_place", `<MPD><AdaptationSet><Representation/></AdaptationSet><Period duration="PT1S"><Representation/><EventStream><Event><Period/>
<S d="x"/></Event></EventStream></Period><x:Other xmlns:x="y"/></MPD>`,
			playlist.MPD{Duration: second, Periods: 1},
		},
		{
			"time_beyond_reach", dynamicMPD(start2026, `<SegmentTimeline><S t="9223372036854770000" d="2000"/></SegmentTimeline>`),
			playlist.MPD{
				Dynamic: true, AvailabilityStart: start, MaxSegmentDuration: 2 * second, Periods: 1, Representations: 1, Timeline: true, Segments: 1,
			},
		},
		{
			"utf16", utf16LE(`<?xml version="1.0" encoding="utf-16"?><MPD mediaPresentationDuration="PT1S"/>`, true), playlist.MPD{Duration: second},
		},
		{"ascii_declared", `<?xml version="1.0" encoding="US-ASCII"?><MPD mediaPresentationDuration="PT1S"/>`, playlist.MPD{Duration: second}},
		{"text_after_the_end", "\xef\xbb\xbf\n<MPD mediaPresentationDuration=' PT1S '></MPD><junk", playlist.MPD{Duration: second}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := parseMPD(t, test.body)
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(playlist.MPD{}, "Signature")); diff != "" {
				t.Errorf("ParseMPD differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseMPDErrors(t *testing.T) {
	t.Parallel()
	segments := func(s string) string { return dynamicMPD(start2026, "<SegmentTimeline>\n"+s+"</SegmentTimeline>") }
	tests := []struct{ name, body, want string }{
		{"empty", "", `the body has no element, expected an XML document`},
		{"text", "FULL", `the body has no element, expected an XML document`},
		{"html", "<html></html>", `line 1: the root element is "html", expected MPD`},
		{"truncated", "<MPD>\n<Period>\n", `line 3: expected well-formed XML: unexpected EOF`},
		{"not_closed_properly", "<MPD>\n</Period>", `line 2: expected well-formed XML: element <MPD> closed by </Period>`},
		{"unknown_encoding", `<?xml version="1.0" encoding="koi8-r"?><MPD/>`, `line 1: the encoding is "koi8-r", expected UTF-8 or UTF-16`},
		{"unknown_version", `<?xml version="2.0"?><MPD/>`, `line 1: expected well-formed XML: xml: unsupported version "2.0"; only version 1.0…`},
		{"entity", `<!DOCTYPE MPD [<!ENTITY a "b">]><MPD type="&a;"/>`, `line 1: expected well-formed XML: invalid character entity &a;`},
		{"unbounded_name", "<MPD></" + strings.Repeat("x", 5000) + ">", `line 1: expected well-formed XML: element <MPD> closed by </` + strings.Repeat("x", 22) + `…`},
		{"start", "<MPD\n type='dynamic' availabilityStartTime='soon'/>", `line 2: MPD@availabilityStartTime is "soon", expected a date and time such as 2026-01-31T12:00:00Z`},
		{"duration", "<MPD mediaPresentationDuration='1h'/>", `line 1: MPD@mediaPresentationDuration is "1h", expected a duration such as PT2S`},
		{"period_start", "<MPD>\n<Period start='-PT1S'/></MPD>", `line 2: Period@start is "-PT1S", expected a duration such as PT2S`},
		{"period_duration", "<MPD>\n<Period duration='P'/></MPD>", `line 2: Period@duration is "P", expected a duration such as PT2S`},
		{"timescale", "<MPD><Period><SegmentTemplate timescale='0'/></Period></MPD>", `line 1: SegmentTemplate@timescale is 0, expected units per second`},
		{"offset", "<MPD><Period><SegmentList presentationTimeOffset='x'/></Period></MPD>", `line 1: SegmentList@presentationTimeOffset is "x", expected a whole number`},
		{"s_without_d", segments(`<S t="1"/>`), `line 3: S has no duration, expected d with the length of a segment`},
		{"s_t", segments(`<S t="-1" d="1"/>`), `line 3: S@t is "-1", expected a whole number`},
		{"s_d", segments(`<S d="NaN"/>`), `line 3: S@d is "NaN", expected a whole number`},
		{"s_r", segments(`<S d="1" r="1.5"/>`), `line 3: S@r is "1.5", expected a whole number`},
		{"s_r_beyond_reason", segments(`<S d="1" r="4294967295"/>`), `line 3: S@r is 4294967295, expected at most 2147483648`},
		{"timeline_overflow", segments(`<S d="9223372036854775807" r="1"/>`), `line 3: SegmentTimeline ends beyond 2^63 units, expected t + (r+1)·d to be a time`},
		{"too_deep", "<MPD>" + strings.Repeat("<a>", 32), `line 1: elements are nested deeper than 32`},
		{"too_many", "<MPD>" + strings.Repeat("<a/>", 500_000), `line 1: the document goes on, expected at most 500000 elements`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := playlist.ParseMPD([]byte(test.body))
			if err == nil || err.Error() != test.want || m != nil {
				t.Errorf("ParseMPD = %v, error\n%v, want\n%s", m, err, test.want)
			}
		})
	}
}

func TestMPDSignature(t *testing.T) {
	t.Parallel()
	live := func(attributes string, from, repeat int) string {
		return dynamicMPD(attributes, fmt.Sprintf(`<SegmentTimeline><S t="%d" d="2000" r="%d"/></SegmentTimeline>`, from, repeat))
	}
	base := live(start2026+` publishTime="2026-01-01T00:00:00Z"`, 5000, 4)
	tests := []struct {
		name, after string
		same        bool
	}{
		{"same_body", base, true},
		{"mistserver_writes_both_times_anew", live(`availabilityStartTime="2026-01-01T00:00:07" publishTime="2026-01-01T00:00:09Z"`, 5000, 4), true},
		{"window_slid", live(start2026, 7000, 4), false},
		{"one_more_segment", live(start2026, 5000, 5), false},
		{"another_period", strings.Replace(base, "</MPD>", `<Period id="q"/></MPD>`, 1), false},
		{"another_period_name", strings.Replace(base, `id="p"`, `id="q"`, 1), false},
		{"another_period_start", strings.Replace(base, `PT10S`, `PT11S`, 1), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before, after := parseMPD(t, base).Signature, parseMPD(t, test.after).Signature
			if (before == after) != test.same {
				t.Errorf("signatures %x and %x, want same: %v", before, after, test.same)
			}
		})
	}
}
