package playlist_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// nightDate is the day that the tests record.
const nightDate = "2026-11-30"

// span is a stretch of that day between two times such as 02:30 or 02:30:00.5.
func span(t testing.TB, from, to string) playlist.Span {
	t.Helper()
	at := func(clock string) int64 {
		if len(clock) == len("02:30") {
			clock += ":00"
		}
		return utc(t, nightDate+"T"+clock+"Z").UnixMilli()
	}
	return playlist.Span{From: at(from), To: at(to)}
}

// rangesTest is a body and what it holds; spans are pairs of times of day.
type rangesTest struct {
	name, body string
	spans      [][2]string
	want       playlist.Recorded
}

func runRangesTests(t *testing.T, read func([]byte) (*playlist.Recorded, error), tests []rangesTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, pair := range test.spans {
				test.want.Spans = append(test.want.Spans, span(t, pair[0], pair[1]))
			}
			got, err := read([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

type rangesErrorTest struct{ name, body, want string }

func runRangesErrorTests(t *testing.T, read func([]byte) (*playlist.Recorded, error), tests []rangesErrorTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := read([]byte(test.body))
			if err == nil || err.Error() != test.want || got != nil {
				t.Errorf("got %v, error\n%v, want\n%s", got, err, test.want)
			}
		})
	}
}

// night is the recording of a channel that failed from 02:00 to 02:30.
var night = [][2]string{{"00:00", "02:00"}, {"02:30", "06:00"}}

// nightHLS dates its segments as a server does that dates every one, or only those behind a discontinuity.
func nightHLS(t testing.TB, everySegment bool) string {
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:VOD\n")
	for i, pair := range night {
		if i > 0 {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		s := span(t, pair[0], pair[1])
		for at := s.From; at < s.To; at += 6000 {
			if everySegment || at == s.From {
				fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z"))
			}
			fmt.Fprintf(&b, "#EXTINF:6.000,\n%d.ts\n", at)
		}
	}
	b.WriteString("#EXT-X-ENDLIST\n")
	return b.String()
}

func TestReadHLS(t *testing.T) {
	t.Parallel()
	const second = time.Second
	date := func(clock string) string { return "#EXT-X-PROGRAM-DATE-TIME:" + nightDate + "T" + clock + "Z\n" }
	segment := func(seconds string) string { return "#EXTINF:" + seconds + ",\ns.ts\n" }
	const (
		head          = "#EXTM3U\n"
		discontinuity = "#EXT-X-DISCONTINUITY\n"
		gap           = "#EXT-X-GAP\n"
	)
	four := segment("4")
	ended := playlist.Recorded{Segment: 6 * second, Ended: true}
	seen := playlist.Recorded{Segment: 4 * second}
	unplaced := func(d time.Duration) playlist.Recorded { return playlist.Recorded{Segment: 4 * second, Unplaced: d} }
	runRangesTests(t, playlist.ReadHLS, []rangesTest{
		{"night_dated_at_every_segment", nightHLS(t, true), night, ended},
		{"night_dated_at_discontinuities", nightHLS(t, false), night, ended},
		{
			"recorded_twice_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-archive-resumed.m3u8")),
			[][2]string{{"04:49:12.963", "04:49:20.263"}, {"04:49:25.201", "04:49:32.501"}},
			playlist.Recorded{Segment: 2 * second, Ended: true},
		},
		{
			"live_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-live.m3u8")),
			[][2]string{{"03:25:39.970", "03:25:47.970"}},
			playlist.Recorded{Segment: 2 * second},
		},
		{"vod_without_dates", string(testdata(t, "ffmpeg-vod-fmp4.m3u8")), nil, playlist.Recorded{Unplaced: 6 * second, Segment: 2 * second, Ended: true}},
		{"multivariant", string(testdata(t, "ffmpeg-multivariant.m3u8")), nil, playlist.Recorded{Multivariant: true}},
		{"low_latency", lowLatency, [][2]string{{"10:00:00", "10:00:08.75"}}, seen},

		{"date_and_durations_since", head + date("10:00:00") + four + four + segment("3.5"), [][2]string{{"10:00:00", "10:00:11.5"}}, seen},
		{"date_between_extinf_and_uri", head + "#EXTINF:4,\n" + date("10:00:00") + "1.ts\n", [][2]string{{"10:00:00", "10:00:04"}}, seen},
		{"zone_with_colon", head + "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T13:00:00.25+03:00\n" + four, [][2]string{{"10:00:00.25", "10:00:04.25"}}, seen},
		{"zone_without_colon_west", head + "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T06:30:00-0330\n" + four, [][2]string{{"10:00:00", "10:00:04"}}, seen},
		{"no_zone_is_utc", head + "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00\n" + four, [][2]string{{"10:00:00", "10:00:04"}}, seen},
		{
			"durations_of_a_third_do_not_drift", head + date("10:00:00") + strings.Repeat(segment("3.333333333"), 1000),
			[][2]string{{"10:00:00", "10:55:33.333"}},
			playlist.Recorded{Segment: 3333333333},
		},

		{"step_of_half_a_segment_more_is_no_gap", head + date("10:00:00") + four + date("10:00:06") + four, [][2]string{{"10:00:00", "10:00:10"}}, seen},
		{"step_of_more_is_a_gap", head + date("10:00:00") + four + date("10:00:06.001") + four, [][2]string{{"10:00:00", "10:00:04"}, {"10:00:06.001", "10:00:10.001"}}, seen},
		{"one_segment_lost", head + date("10:00:00") + four + date("10:00:08") + four, [][2]string{{"10:00:00", "10:00:04"}, {"10:00:08", "10:00:12"}}, seen},
		{"dates_that_overlap", head + date("10:00:00") + four + date("10:00:03.5") + four, [][2]string{{"10:00:00", "10:00:07.5"}}, seen},
		{
			"clock_corrected_backward_into_what_was_there", head + date("10:00:00") + strings.Repeat(four, 10) + discontinuity + date("10:00:10") + strings.Repeat(four, 10),
			[][2]string{{"10:00:00", "10:00:50"}},
			seen,
		},
		{
			"clock_corrected_backward_beyond", head + date("10:00:00") + four + date("09:00:00") + four + date("10:00:04") + four,
			[][2]string{{"09:00:00", "09:00:04"}, {"10:00:00", "10:00:08"}},
			seen,
		},

		{
			"gap_advances_the_clock", head + date("10:00:00") + four + gap + four + four,
			[][2]string{{"10:00:00", "10:00:04"}, {"10:00:08", "10:00:12"}},
			seen,
		},
		{
			"short_gap_is_a_gap", head + date("10:00:00") + four + gap + segment("0.5") + four,
			[][2]string{{"10:00:00", "10:00:04"}, {"10:00:04.5", "10:00:08.5"}},
			seen,
		},
		{"gaps_at_both_ends", head + date("10:00:00") + gap + four + four + gap + four, [][2]string{{"10:00:04", "10:00:08"}}, seen},
		{"nothing_but_gaps", head + date("10:00:00") + gap + four + gap + four, nil, seen},
		{"gap_without_dates", head + four + gap + four + four, nil, unplaced(8 * second)},

		{"discontinuity_then_date", head + date("10:00:00") + four + discontinuity + date("12:00:00") + four, [][2]string{{"10:00:00", "10:00:04"}, {"12:00:00", "12:00:04"}}, seen},
		{"date_then_discontinuity", head + date("10:00:00") + four + date("12:00:00") + discontinuity + four, [][2]string{{"10:00:00", "10:00:04"}, {"12:00:00", "12:00:04"}}, seen},
		{
			"discontinuity_without_a_date_until_one_comes", head + date("10:00:00") + four + discontinuity + four + four + date("12:00:00") + four,
			[][2]string{{"10:00:00", "10:00:04"}, {"12:00:00", "12:00:04"}},
			playlist.Recorded{Segment: 4 * second, Unplaced: 8 * second},
		},
		{"discontinuity_with_nothing_after_it", head + date("10:00:00") + four + discontinuity, [][2]string{{"10:00:00", "10:00:04"}}, seen},
		{"skip_stops_the_clock", head + date("10:00:00") + "#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n" + four, nil, unplaced(4 * second)},
		{"skip_until_a_date", head + "#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n" + four + date("10:00:00") + four, [][2]string{{"09:59:56", "10:00:04"}}, seen},

		{"first_date_counts_back", head + four + segment("2.5") + date("10:00:10") + four, [][2]string{{"10:00:03.5", "10:00:14"}}, seen},
		{"first_date_counts_back_to_a_discontinuity_at_the_start", head + discontinuity + four + date("10:00:10") + four, [][2]string{{"10:00:06", "10:00:14"}}, seen},
		{"first_date_counts_back_over_gaps", head + four + gap + four + date("10:00:10") + four, [][2]string{{"10:00:02", "10:00:06"}, {"10:00:10", "10:00:14"}}, seen},
		{"first_date_behind_a_discontinuity", head + four + discontinuity + date("10:00:10") + four, [][2]string{{"10:00:10", "10:00:14"}}, unplaced(4 * second)},
		{"first_date_before_a_discontinuity", head + four + date("10:00:10") + discontinuity + four, [][2]string{{"10:00:10", "10:00:14"}}, unplaced(4 * second)},
		{"first_date_that_cannot_be_read", head + four + "#EXT-X-PROGRAM-DATE-TIME:noon\n" + four + date("10:00:10") + four, [][2]string{{"10:00:10", "10:00:14"}}, unplaced(8 * second)},
		{"clock_never_set", head + "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:00Z\n" + four, nil, unplaced(4 * second)},
		{"date_far_ahead", head + "#EXT-X-PROGRAM-DATE-TIME:9999-12-31T23:59:59Z\n" + four, nil, unplaced(4 * second)},
		{"date_with_nothing_after_it", head + four + date("10:00:00"), nil, unplaced(4 * second)},

		{"parts_behind_a_date", head + date("10:00:00") + "#EXT-X-PART:DURATION=0.5,URI=\"p\"\n", [][2]string{{"10:00:00", "10:00:00.5"}}, playlist.Recorded{}},
		{"parts_that_became_a_segment", head + date("10:00:00") + "#EXT-X-PART:DURATION=2,URI=\"p\"\n#EXT-X-PART:DURATION=2,URI=\"q\"\n" + four, [][2]string{{"10:00:00", "10:00:04"}}, seen},
		{
			"part_that_is_a_gap", head + date("10:00:00") + four + "#EXT-X-PART:DURATION=1,URI=\"p\",GAP=YES\n#EXT-X-PART:DURATION=1,URI=\"q\"\n",
			[][2]string{{"10:00:00", "10:00:04"}, {"10:00:05", "10:00:06"}},
			seen,
		},
		{"parts_without_a_date", head + four + "#EXT-X-PART:DURATION=0.5,URI=\"p\"\n", nil, unplaced(4500 * time.Millisecond)},
		{"date_behind_the_segments_but_before_parts", head + four + date("10:00:04") + "#EXT-X-PART:DURATION=1,URI=\"p\"\n", [][2]string{{"10:00:00", "10:00:05"}}, seen},

		{"event_that_grows", head + "#EXT-X-PLAYLIST-TYPE:EVENT\n" + date("10:00:00") + four, [][2]string{{"10:00:00", "10:00:04"}}, seen},
		{"vod_without_endlist", head + "#EXT-X-PLAYLIST-TYPE:VOD\n" + date("10:00:00") + four, [][2]string{{"10:00:00", "10:00:04"}}, playlist.Recorded{Segment: 4 * second, Ended: true}},
		{"ant_media_range_without_segments", head + "#EXT-X-TARGETDURATION:2\n", nil, playlist.Recorded{}},
		{"mistserver_range_in_the_past", head + "#EXT-X-ERROR: Entire range is in the past\n#EXT-X-ENDLIST\n", nil, playlist.Recorded{ServerError: "Entire range is in the past", Ended: true}},
		{"error_is_a_no_whatever_is_listed", head + date("10:00:00") + four + "#EXT-X-ERROR\n", nil, playlist.Recorded{ServerError: "no reason given"}},
		{"uri_without_extinf_is_no_segment", head + date("10:00:00") + "a.ts\n", nil, playlist.Recorded{}},
		{"segments_of_no_length", head + date("10:00:00") + strings.Repeat(segment("0"), 3), nil, playlist.Recorded{}},
		{
			"byte_ranges_maps_and_date_ranges", "\xef\xbb\xbf\r\n" + head + "#EXT-X-MAP:URI=\"i\"\n#EXT-X-DATERANGE:ID=\"a\",START-DATE=\"2020-01-01T00:00:00Z\"\n" + date("10:00:00") +
				"#EXTINF:4,\n#EXT-X-BYTERANGE:100@0\nm.mp4\n#EXTINF:4,\n#EXT-X-BYTERANGE:100\nm.mp4\n", [][2]string{{"10:00:00", "10:00:08"}}, seen,
		},
		{
			"longest_durations", head + date("10:00:00") + strings.Repeat(segment("9223372035.9"), 3), nil,
			playlist.Recorded{Segment: 9223372035900 * time.Millisecond, Unplaced: 9223372036854 * time.Millisecond},
		},
	})
}

func TestReadHLSErrors(t *testing.T) {
	t.Parallel()
	var holes strings.Builder
	holes.WriteString("#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n")
	for range 10_001 {
		holes.WriteString("#EXTINF:1,\ns\n#EXT-X-GAP\n#EXTINF:1,\ns\n")
	}
	many := holes.String()
	const tooMany = "the recording is in more than 10000 pieces, expected at most that many"
	runRangesErrorTests(t, playlist.ReadHLS, []rangesErrorTest{
		{"empty", "", `the body is empty, expected #EXTM3U`},
		{"html", "<html></html>", `line 1: is "<html></html>", expected #EXTM3U`},
		{"extinf", "#EXTM3U\n#EXTINF:-1,\ns\n", `line 2: EXTINF is "-1", expected a number of seconds`},
		{"part", "#EXTM3U\n#EXT-X-PART:DURATION=x\n", `line 2: EXT-X-PART DURATION is "x", expected a number of seconds`},
		{"long_line", "#EXTM3U\n#" + strings.Repeat("x", 70000), `line 2: is 70001 bytes long, expected at most 65536`},
		{"many_lines", "#EXTM3U" + strings.Repeat("\n", 1_000_001), `line 1000001: the playlist goes on, expected at most 1000000 lines`},
		{"many_pieces", many, tooMany},
		{"far_too_many_pieces", many + many[len("#EXTM3U\n"):] + many[len("#EXTM3U\n"):], tooMany},
	})
}

func TestReadMPD(t *testing.T) {
	t.Parallel()
	const second = time.Second
	static := func(attributes, periods string) string {
		return `<MPD type="static" ` + attributes + `>` + periods + `</MPD>`
	}
	dynamic := func(attributes, periods string) string {
		return `<MPD type="dynamic" ` + attributes + `>` + periods + `</MPD>`
	}
	const day = `availabilityStartTime="2026-11-30T00:00:00Z"`
	period := func(attributes, timeline string) string {
		return `<Period ` + attributes + `><AdaptationSet contentType="video"><SegmentTemplate timescale="10"><SegmentTimeline>` + timeline +
			`</SegmentTimeline></SegmentTemplate><Representation/></AdaptationSet></Period>`
	}
	numbered := func(attributes string) string {
		return `<Period ` + attributes + `><AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="10" duration="40" media="$Number$.m4s"/><Representation/></AdaptationSet></Period>`
	}
	ended := playlist.Recorded{Segment: 4 * second, Ended: true}
	live := playlist.Recorded{Segment: 4 * second}
	unplaced := func(d time.Duration) playlist.Recorded {
		return playlist.Recorded{Segment: 4 * second, Ended: true, Unplaced: d}
	}
	since := func(at string, depth time.Duration) playlist.Recorded {
		return playlist.Recorded{Segment: 4 * second, OpenSince: utc(t, at), Depth: depth}
	}
	runRangesTests(t, playlist.ReadMPD, []rangesTest{
		{"night_in_one_timeline", static(day, period(``, `<S t="0" d="40" r="1799"/><S t="90000" d="40" r="3149"/>`)), night, ended},
		{"night_in_two_periods", static(day, period(`duration="PT2H"`, `<S d="40" r="1799"/>`)+period(`start="PT2H30M"`, `<S d="40" r="3149"/>`)), night, ended},
		{"night_by_number", static(day+` mediaPresentationDuration="PT6H"`, numbered(`duration="PT2H"`)+numbered(`start="PT2H30M"`)), night, ended},
		{
			"night_on_the_unix_clock", static(`availabilityStartTime="1970-01-01T00:00:00Z"`, `<Period><AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="1">
<SegmentTimeline><S t="1795996800" d="4" r="1799"/><S t="1796005800" d="4" r="3149"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period>`), night, ended,
		},
		{
			"live_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-live.mpd")),
			[][2]string{{"03:25:38.235", "03:25:42.235"}},
			playlist.Recorded{Segment: 2 * second, Depth: 6 * second},
		},
		{"static_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-static.mpd")), nil, playlist.Recorded{Segment: 2 * second, Ended: true, Unplaced: 6 * second}},

		{
			"start_plus_period_plus_time_minus_offset", dynamic(day, `<Period start="PT1H"><AdaptationSet><SegmentTemplate timescale="1000" presentationTimeOffset="5000">
<SegmentTimeline><S t="65000" d="4000" r="2"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period>`), [][2]string{{"01:01:00", "01:01:12"}}, live,
		},
		{
			"offset_of_the_representation", static(day, `<Period><SegmentTemplate timescale="10"/><AdaptationSet mimeType="video/mp4"><SegmentTemplate presentationTimeOffset="7">
<SegmentTimeline><S t="100" d="40"/></SegmentTimeline></SegmentTemplate><Representation><SegmentTemplate presentationTimeOffset="50"/></Representation>
<Representation><SegmentTemplate presentationTimeOffset="90"/></Representation></AdaptationSet></Period>`), [][2]string{{"00:00:05", "00:00:09"}}, ended,
		},
		{"timeline_of_the_period", static(day, `<Period><SegmentTemplate timescale="10"><SegmentTimeline><S d="40"/></SegmentTimeline></SegmentTemplate><AdaptationSet/></Period>`), [][2]string{{"00:00:00", "00:00:04"}}, ended},
		{"segment_list", static(day, `<Period><AdaptationSet><SegmentList timescale="10"><SegmentTimeline><S d="40"/></SegmentTimeline></SegmentList></AdaptationSet></Period>`), [][2]string{{"00:00:00", "00:00:04"}}, ended},
		{
			"picture_before_sound", static(day, `<Period><AdaptationSet contentType="audio"><SegmentTemplate><SegmentTimeline><S d="9"/></SegmentTimeline></SegmentTemplate></AdaptationSet>
<AdaptationSet><SegmentTemplate timescale="10"><SegmentTimeline><S d="40"/></SegmentTimeline></SegmentTemplate><Representation mimeType="video/mp4"/></AdaptationSet>
<AdaptationSet contentType="video"><SegmentTemplate><SegmentTimeline><S d="x"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period>`), [][2]string{{"00:00:00", "00:00:04"}}, ended,
		},
		{
			"first_set_of_a_radio", static(day, `<Period><AdaptationSet contentType="audio"><SegmentTemplate timescale="10"><SegmentTimeline><S d="40"/></SegmentTimeline></SegmentTemplate></AdaptationSet>
<AdaptationSet contentType="audio"><SegmentTemplate><SegmentTimeline><S d="9"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period>`), [][2]string{{"00:00:00", "00:00:04"}}, ended,
		},

		{"step_of_half_a_segment_more_is_no_gap", static(day, period(``, `<S t="0" d="40"/><S t="60" d="40"/>`)), [][2]string{{"00:00:00", "00:00:10"}}, ended},
		{"step_of_more_is_a_gap", static(day, period(``, `<S t="0" d="40"/><S t="61" d="40"/>`)), [][2]string{{"00:00:00", "00:00:04"}, {"00:00:06.1", "00:00:10.1"}}, ended},
		{"gap_between_short_segments", static(day, period(``, `<S t="0" d="40"/><S d="10"/><S t="60" d="40"/>`)), [][2]string{{"00:00:00", "00:00:05"}, {"00:00:06", "00:00:10"}}, ended},
		{"times_that_go_back", static(day, period(``, `<S t="100" d="40"/><S t="0" d="40"/><S t="20" d="40"/>`)), [][2]string{{"00:00:00", "00:00:06"}, {"00:00:10", "00:00:14"}}, ended},
		{"periods_that_touch", static(day, period(`duration="PT8S"`, `<S d="40" r="1"/>`)+period(`duration="PT4S"`, `<S d="40"/>`)), [][2]string{{"00:00:00", "00:00:12"}}, ended},
		{"period_that_ends_early", static(day, period(`duration="PT7S"`, `<S d="40" r="1"/>`)+period(`start="PT20S"`, `<S d="40"/>`)), [][2]string{{"00:00:00", "00:00:07"}, {"00:00:20", "00:00:24"}}, ended},
		{"next_period_cuts_off", static(day, period(``, `<S d="40" r="9"/>`)+`<Period start="PT10S"/>`), [][2]string{{"00:00:00", "00:00:10"}}, ended},
		{"before_the_offset_is_not_played", static(day, `<Period><AdaptationSet><SegmentTemplate timescale="10" presentationTimeOffset="20"><SegmentTimeline><S t="0" d="40"/></SegmentTimeline></SegmentTemplate></AdaptationSet></Period>`), [][2]string{{"00:00:00", "00:00:02"}}, ended},

		{"repeat_until_the_next_s", static(day, period(``, `<S t="0" d="40" r="-1"/><S t="400" d="40"/>`)), [][2]string{{"00:00:00", "00:00:44"}}, ended},
		{"repeat_until_the_same_s", static(day, period(``, `<S t="0" d="40" r="-1"/><S t="0" d="40"/>`)), [][2]string{{"00:00:00", "00:00:04"}}, ended},
		{"repeat_until_the_period_ends", static(day, period(`duration="PT1M"`, `<S t="0" d="40"/><S t="200" d="40" r="-1"/>`)), [][2]string{{"00:00:00", "00:00:04"}, {"00:00:20", "00:01:00"}}, ended},
		{"repeat_until_the_presentation_ends", static(day+` mediaPresentationDuration="PT1M"`, period(``, `<S d="40" r="-1"/>`)), [][2]string{{"00:00:00", "00:01:00"}}, ended},
		{"repeat_until_the_end_without_a_start", static(`mediaPresentationDuration="PT1M"`, period(``, `<S d="40" r="-1"/>`)), nil, unplaced(time.Minute)},
		{
			"repeat_until_further_notice", dynamic(day+` timeShiftBufferDepth="PT30S"`, period(``, `<S t="0" d="40"/><S t="200" d="40" r="-1"/>`)),
			[][2]string{{"00:00:00", "00:00:04"}},
			since("2026-11-30T00:00:20Z", 30*second),
		},

		{"live_by_number", dynamic(day, numbered(`start="PT1H"`)), nil, since("2026-11-30T01:00:00Z", 0)},
		{"live_by_number_with_a_period_that_ended", dynamic(day, numbered(`start="PT1H"`)+numbered(`start="PT2H"`)), [][2]string{{"01:00", "02:00"}}, since("2026-11-30T02:00:00Z", 0)},
		{"event_by_number_with_an_end", dynamic(day+` mediaPresentationDuration="PT2H"`, numbered(`start="PT1H"`)), [][2]string{{"01:00", "02:00"}}, live},
		{"livesim2_by_number", dynamic(`availabilityStartTime="1970-01-01T00:00:00Z" timeShiftBufferDepth="PT1M"`, numbered(``)), nil, since("1970-01-01T00:00:00Z", time.Minute)},
		{"live_by_number_without_a_start", dynamic(``, numbered(``)), nil, live},
		{"live_listed_without_a_start", dynamic(``, period(``, `<S d="40"/>`)), nil, playlist.Recorded{Segment: 4 * second, Unplaced: 4 * second}},
		{"period_announced_early", dynamic(day, period(`start="PT0S"`, `<S d="40"/>`)+period(``, `<S d="40"/>`)), [][2]string{{"00:00:00", "00:00:04"}}, live},

		{"static_sum_of_timelines", static(``, period(`duration="PT10S"`, `<S d="40" r="1"/>`)+period(`start="PT60S"`, `<S d="40"/>`)), nil, unplaced(12 * second)},
		{"static_sum_of_periods", static(``, numbered(`duration="PT10S"`)+numbered(`duration="PT20S"`)), nil, unplaced(30 * second)},
		{"static_duration", static(`mediaPresentationDuration="PT1H"`, numbered(``)), nil, unplaced(time.Hour)},
		{"static_duration_of_a_presentation_that_starts_late", static(`mediaPresentationDuration="PT1H"`, numbered(`start="PT9H"`)), nil, unplaced(time.Hour)},
		{"static_single_file", static(`mediaPresentationDuration="PT1H" maxSegmentDuration="PT4S"`, `<Period><AdaptationSet><Representation><BaseURL>a.mp4</BaseURL></Representation></AdaptationSet></Period>`), nil, unplaced(time.Hour)},
		{"static_of_a_clock_never_set", static(`availabilityStartTime="1970-01-01T00:00:00Z"`, period(``, `<S d="40"/>`)), nil, unplaced(4 * second)},
		{"static_period_after_one_without_a_length", static(day, period(``, `<S d="40"/>`)+period(``, `<S d="40" r="1"/>`)), [][2]string{{"00:00:00", "00:00:04"}}, unplaced(8 * second)},
		{"empty_timeline", static(day+` mediaPresentationDuration="PT1H"`, period(``, ``)), nil, playlist.Recorded{Ended: true}},
		{"period_without_sets", static(day, `<Period duration="PT1H"/>`), nil, playlist.Recorded{Ended: true}},
		{"no_periods", static(day+` mediaPresentationDuration="PT1H"`, ``), nil, playlist.Recorded{Ended: true}},
		{"time_beyond_reach", dynamic(day, period(``, `<S t="9223372036854775000" d="40"/>`)), nil, live},
		{"utf16", utf16LE(`<?xml version="1.0" encoding="utf-16"?>`+static(day, period(``, `<S d="40"/>`)), true), [][2]string{{"00:00:00", "00:00:04"}}, ended},
	})
}

func TestReadMPDErrors(t *testing.T) {
	t.Parallel()
	timeline := func(s string) string {
		return dynamicMPD(start2026, "<SegmentTimeline>\n"+s+"</SegmentTimeline>")
	}
	var holes strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&holes, `<S t="%d" d="1"/>`, 5000+10*i)
	}
	const tooMany = "the recording is in more than 10000 pieces, expected at most that many"
	runRangesErrorTests(t, playlist.ReadMPD, []rangesErrorTest{
		{"text", "FULL", `the body has no element, expected an XML document`},
		{"html", "<html/>", `line 1: the root element is "html", expected MPD`},
		{"truncated", "<MPD>\n<Period>\n", `line 3: expected well-formed XML: unexpected EOF`},
		{"start", "<MPD type='dynamic' availabilityStartTime='soon'/>", `line 1: MPD@availabilityStartTime is "soon", expected a date and time such as 2026-01-31T12:00:00Z`},
		{"period_start", "<MPD>\n<Period start='x'/></MPD>", `line 2: Period@start is "x", expected a duration such as PT2S`},
		{"timescale", "<MPD><Period><SegmentTemplate timescale='0'/></Period></MPD>", `line 1: SegmentTemplate@timescale is 0, expected units per second`},
		{"segment_duration", "<MPD><Period><SegmentTemplate duration='-1'/></Period></MPD>", `line 1: SegmentTemplate@duration is "-1", expected a whole number`},
		{"s_without_d", timeline(`<S t="1"/>`), `line 3: S has no duration, expected d with the length of a segment`},
		{"overflow", timeline(`<S d="9223372036854775807" r="1"/>`), `line 3: SegmentTimeline ends beyond 2^63 units, expected t + (r+1)·d to be a time`},
		{"many_pieces", timeline(holes.String()[:strings.Index(holes.String(), `<S t="120000"`)]), tooMany},
		{"far_too_many_pieces", timeline(holes.String()), tooMany},
	})
}

func TestReadSmooth(t *testing.T) {
	t.Parallel()
	const second = time.Second
	stream := func(kind, fragments string) string {
		return `<StreamIndex Type="` + kind + `">` + fragments + `</StreamIndex>`
	}
	vod := func(streams string) string { return `<SmoothStreamingMedia>` + streams + `</SmoothStreamingMedia>` }
	video := func(fragments string) string { return vod(stream("video", fragments)) }
	nightFrom := func(epoch uint64) string {
		at := epoch + uint64(span(t, "00:00", "02:00").From)*10_000
		return fmt.Sprintf(`<c t="%d" d="40000000" r="1800"/><c t="%d" d="40000000"/>`, at, at+90_000_000_000) +
			strings.Repeat(`<c d="40000000"/>`, 3149)
	}
	const dotNetTicks = 621_355_968_000_000_000
	ended := playlist.Recorded{Segment: 4 * second, Ended: true}
	unplaced := func(d time.Duration) playlist.Recorded {
		return playlist.Recorded{Segment: 4 * second, Ended: true, Unplaced: d}
	}
	four := playlist.Span{From: 1796000000000, To: 1796000004000}
	runRangesTests(t, playlist.ReadSmooth, []rangesTest{
		{"night_on_the_unix_clock", video(nightFrom(0)), night, ended},
		{"night_on_the_unix_clock_in_utf16", utf16LE(`<?xml version="1.0" encoding="utf-16"?>`+video(nightFrom(0)), true), night, ended},
		{"night_in_dotnet_ticks_in_utf16_be", utf16BE(video(nightFrom(dotNetTicks)), false), night, ended},
		{"night_on_a_clock_of_its_own", video(`<c t="0" d="40000000" r="1800"/><c t="90000000000" d="40000000" r="3150"/>`), nil, unplaced(5*time.Hour + 30*time.Minute)},
		{"vod_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-vod.ismc")), nil, playlist.Recorded{Segment: 2 * second, Ended: true, Unplaced: 7300 * time.Millisecond}},
		{"live_as_mistserver_writes_it", utf16LE(mistSmooth, true), nil, playlist.Recorded{Segment: 2 * second, Unplaced: 4 * second}},
		{
			"unix_milliseconds", `<SmoothStreamingMedia TimeScale="1000" IsLive="true">` + stream("video", `<c t="1796000000000" d="4000"/>`) + `</SmoothStreamingMedia>`,
			nil,
			playlist.Recorded{Segment: 4 * second, Spans: []playlist.Span{four}},
		},
		{
			"scale_of_the_stream", vod(`<StreamIndex Type="Video" TimeScale="90000"><c t="161640000000000" d="360000"/></StreamIndex>`),
			nil,
			playlist.Recorded{Segment: 4 * second, Ended: true, Spans: []playlist.Span{four}},
		},
		{"picture_before_sound", vod(stream("audio", `<c d="1"/>`) + stream("video", `<c d="40000000"/>`) + stream("video", `<c d="x"/>`)), nil, unplaced(4 * second)},
		{"first_stream_of_a_radio", vod(stream("audio", `<c d="40000000"/>`) + stream("text", `<c d="50000000"/>`)), nil, unplaced(4 * second)},
		{"fragments_without_d", video(`<c t="0"/><c t="40000000"/><c t="80000000"/>`), nil, unplaced(8 * second)},
		{"step_of_more_is_a_gap", video(`<c t="17960000000000000" d="20000000"/><c t="17960000030000001" d="40000000"/>`), nil, playlist.Recorded{
			Segment: 4 * second, Ended: true, Spans: []playlist.Span{{From: 1796000000000, To: 1796000002000}, {From: 1796000003000, To: 1796000007000}},
		}},
		{"step_of_half_a_fragment_more_is_no_gap", video(`<c t="17960000000000000" d="20000000"/><c t="17960000030000000" d="40000000"/>`), nil, playlist.Recorded{
			Segment: 4 * second, Ended: true, Spans: []playlist.Span{{From: 1796000000000, To: 1796000007000}},
		}},
		{"no_fragments", video(``), nil, playlist.Recorded{Ended: true}},
		{"no_streams", vod(``), nil, playlist.Recorded{Ended: true}},
		{"no_fragments_by_count", video(`<c t="5" d="18446744073709551615" r="0"/>`), nil, playlist.Recorded{Ended: true}},
		{"largest_numbers", vod(`<StreamIndex TimeScale="1"><c t="0" d="9223372036854775807"/></StreamIndex>`), nil, playlist.Recorded{Ended: true, Unplaced: 1<<63 - 1}},
		{"smallest_units", vod(`<StreamIndex TimeScale="18446744073709551615"><c t="0" d="9223372036854775807"/></StreamIndex>`), nil, playlist.Recorded{Ended: true, Segment: second/2 - 1, Unplaced: second/2 - 1}},
	})
}

func TestReadSmoothErrors(t *testing.T) {
	t.Parallel()
	stream := func(inner string) string {
		return "<SmoothStreamingMedia>\n<StreamIndex>" + inner + "</StreamIndex></SmoothStreamingMedia>"
	}
	var holes strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&holes, `<c t="%d" d="1"/>`, 10*i)
	}
	const tooMany = "the recording is in more than 10000 pieces, expected at most that many"
	runRangesErrorTests(t, playlist.ReadSmooth, []rangesErrorTest{
		{"empty", "", `the body has no element, expected an XML document`},
		{"mpd", "<MPD/>", `line 1: the root element is "MPD", expected SmoothStreamingMedia`},
		{"timescale", `<SmoothStreamingMedia TimeScale="0"/>`, `line 1: SmoothStreamingMedia@TimeScale is 0, expected units per second`},
		{"stream_timescale", `<SmoothStreamingMedia><StreamIndex TimeScale="x"/></SmoothStreamingMedia>`, `line 1: StreamIndex@TimeScale is "x", expected a whole number`},
		{"c_d", stream(`<c d="x"/>`), `line 2: c@d is "x", expected a whole number`},
		{"overflow", stream(`<c t="18446744073709551615" d="2"/>`), `line 2: the stream ends beyond 2^63 units, expected t + r·d to be a time`},
		{"cut_off_in_utf16", utf16LE("<SmoothStreamingMedia>\n<Strea", true), `line 2: expected well-formed XML: unexpected EOF`},
		{"far_too_many_pieces", stream(holes.String()), tooMany},
	})
}

func TestSpansAt(t *testing.T) {
	t.Parallel()
	listed := []playlist.Span{{From: 1000, To: 2000}, {From: 5000, To: 6000}}
	tests := []struct {
		name  string
		since int64 // 0: no promise
		depth time.Duration
		now   int64
		want  []playlist.Span
	}{
		{"nothing_promised", 0, 0, 9000, listed},
		{"promised_without_limit", 7000, 0, 9000, []playlist.Span{{From: 1000, To: 2000}, {From: 5000, To: 6000}, {From: 7000, To: 9000}}},
		{"promised_onward_from_the_list", 5500, 0, 9000, []playlist.Span{{From: 1000, To: 2000}, {From: 5000, To: 9000}}},
		{"promised_as_far_as_depth", 500, time.Second, 9000, []playlist.Span{{From: 1000, To: 2000}, {From: 5000, To: 6000}, {From: 8000, To: 9000}}},
		{"depth_beyond_the_start", 1500, time.Hour, 9000, []playlist.Span{{From: 1000, To: 9000}}},
		{"not_begun", 9000, 0, 9000, listed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := playlist.Recorded{Spans: slices.Clone(listed), Depth: test.depth}
			if test.since > 0 {
				r.OpenSince = time.UnixMilli(test.since)
			}
			if got := r.SpansAt(test.now); !slices.Equal(got, test.want) {
				t.Errorf("SpansAt = %v, want %v", got, test.want)
			}
			if !slices.Equal(r.Spans, listed) {
				t.Errorf("SpansAt changed Spans to %v", r.Spans)
			}
		})
	}
}
