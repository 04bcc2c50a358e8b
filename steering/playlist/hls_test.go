package playlist_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// mistError is what MistServer answers, with status 200, for a stream it does not have.
const mistError = "#EXTM3U\r\n#EXT-X-ERROR: Stream open failed\r\n#EXT-X-ENDLIST\r\n"

// lowLatency is shaped like the example of draft-pantos-hls-rfc8216bis, appendix B.
const lowLatency = `#EXTM3U
#EXT-X-TARGETDURATION:4
#EXT-X-VERSION:9
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0,CAN-SKIP-UNTIL=12.0
#EXT-X-PART-INF:PART-TARGET=0.33334
#EXT-X-MEDIA-SEQUENCE:266
#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00.000Z
#EXT-X-MAP:URI="init.mp4"
#EXTINF:4.0,
fileSequence266.mp4
#EXT-X-PART:DURATION=0.5,URI="filePart267.0.mp4",INDEPENDENT=YES
#EXT-X-PART:DURATION=3.5,URI="filePart267.1.mp4"
#EXTINF:4.0,
fileSequence267.mp4
#EXT-X-PART:DURATION=0.5,URI="filePart268.0.mp4",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.25,URI="filePart268.1.mp4"
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="filePart268.2.mp4"
#EXT-X-RENDITION-REPORT:URI="../1M/waitForMSN.php",LAST-MSN=268,LAST-PART=1
`

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func utc(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func parseHLS(t testing.TB, body string) *playlist.HLS {
	t.Helper()
	h, err := playlist.ParseHLS([]byte(body))
	if err != nil {
		t.Fatalf("ParseHLS(%.200q): %v", body, err)
	}
	return h
}

func TestParseHLS(t *testing.T) {
	t.Parallel()
	const second = time.Second
	tests := []struct {
		name, body string
		want       playlist.HLS
	}{
		{
			"live_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-live.m3u8")), playlist.HLS{
				TargetDuration: 2 * second, MediaSequence: 2, Segments: 4, Duration: 8 * second, LastURI: "live5.ts",
				End: utc(t, "2026-11-30T03:25:47.970Z"),
			},
		},
		{
			"multivariant_as_ffmpeg_writes_it", string(testdata(t, "ffmpeg-multivariant.m3u8")), playlist.HLS{
				Multivariant: true, Variants: []playlist.Variant{{URI: "live.m3u8", Bandwidth: 75900}},
			},
		},
		{
			"vod_with_map_and_iframes_only", string(testdata(t, "ffmpeg-vod-fmp4.m3u8")), playlist.HLS{
				TargetDuration: 2 * second, Segments: 3, Duration: 6 * second, LastURI: "vod2.m4s", Type: "VOD", EndList: true,
			},
		},
		{
			"iframe_playlist_with_byte_ranges", "#EXTM3U\n#EXT-X-VERSION:4\n#EXT-X-TARGETDURATION:3\n#EXT-X-I-FRAMES-ONLY\n" +
				"#EXTINF:3.003,\n#EXT-X-BYTERANGE:4000@376\nmain.ts\n#EXTINF:2.5,\n#EXT-X-BYTERANGE:5000@9000\nmain.ts\n#EXT-X-ENDLIST\n",
			playlist.HLS{TargetDuration: 3 * second, Segments: 2, Duration: 5503 * time.Millisecond, LastURI: "main.ts", EndList: true},
		},
		{
			"low_latency_with_parts_and_preload_hint", lowLatency, playlist.HLS{
				TargetDuration: 4 * second, MediaSequence: 266, Segments: 2, Parts: 2, Duration: 8 * second,
				LastURI: "fileSequence267.mp4", LowLatency: true, End: utc(t, "2026-11-30T10:00:08.75Z"),
			},
		},
		{
			"parts_before_the_first_full_segment", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n" +
				"#EXT-X-PART:DURATION=0.5,URI=\"a,b.mp4\"\n",
			playlist.HLS{Parts: 1, LowLatency: true, LastURI: "a,b.mp4", End: utc(t, "2026-11-30T10:00:00.5Z")},
		},
		{
			"part_that_is_a_gap", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n" +
				"#EXT-X-PART:DURATION=1,URI=\"0.mp4\"\n#EXT-X-PART:DURATION=1,URI=\"1.mp4\",GAP=YES\n",
			playlist.HLS{Parts: 1, LowLatency: true, LastURI: "0.mp4", End: utc(t, "2026-11-30T10:00:01Z")},
		},
		{
			"blocking_reload_alone_is_low_latency", "#EXTM3U\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES\n",
			playlist.HLS{LowLatency: true},
		},
		{
			"skipping_alone_is_not_low_latency", "#EXTM3U\n#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=12.0\n", playlist.HLS{},
		},
		{
			"delta_update", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:10\n#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n#EXTINF:4,\n13.ts\n",
			playlist.HLS{TargetDuration: 4 * second, MediaSequence: 10, Segments: 1, Duration: 4 * second, LastURI: "13.ts", DeltaUpdate: true},
		},
		{
			"mistserver_error_with_status_200", mistError, playlist.HLS{ServerError: "Stream open failed", EndList: true},
		},
		{
			"mistserver_range_in_the_past", "#EXTM3U\n#EXT-X-ERROR: Entire range is in the past\n#EXT-X-ENDLIST\n",
			playlist.HLS{ServerError: "Entire range is in the past", EndList: true},
		},
		{"error_without_a_reason", "#EXTM3U\n#EXT-X-ERROR\n", playlist.HLS{ServerError: "no reason given"}},
		{
			"error_with_control_bytes", "#EXTM3U\n#EXT-X-ERROR:a\x1b[31mb\xff\n", playlist.HLS{ServerError: "a [31mb?"},
		},
		{
			"error_cut_inside_a_rune", "#EXTM3U\n#EXT-X-ERROR:" + strings.Repeat("€", 100) + "\n", playlist.HLS{ServerError: strings.Repeat("€", 66) + "…"},
		},
		{
			"error_that_goes_on", "#EXTM3U\n#EXT-X-ERROR:" + strings.Repeat("x", 199) + "ééé\n",
			playlist.HLS{ServerError: strings.Repeat("x", 199) + "…"},
		},
		{"ant_media_range_without_segments", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n", playlist.HLS{TargetDuration: 2 * second}},
		{
			"bom_and_blank_lines_first", "\xef\xbb\xbf\r\n \t\n#EXTM3U\n#EXTINF:4,\n1.ts\n",
			playlist.HLS{BOM: true, Segments: 1, Duration: 4 * second, TargetDuration: 4 * second, LastURI: "1.ts"},
		},
		{
			"crlf", "#EXTM3U\r\n#EXT-X-TARGETDURATION:4\r\n#EXTINF:4,\r\n1.ts\r\n",
			playlist.HLS{Segments: 1, Duration: 4 * second, TargetDuration: 4 * second, LastURI: "1.ts"},
		},
		{
			"bare_cr", "#EXTM3U\r#EXT-X-TARGETDURATION:4\r#EXTINF:4,\r1.ts\r",
			playlist.HLS{Segments: 1, Duration: 4 * second, TargetDuration: 4 * second, LastURI: "1.ts"},
		},
		{
			"no_line_end_at_the_end", "#EXTM3U\n#EXTINF:4,\n1.ts",
			playlist.HLS{Segments: 1, Duration: 4 * second, TargetDuration: 4 * second, LastURI: "1.ts"},
		},
		{
			"event_that_grows", "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-DISCONTINUITY-SEQUENCE:7\n#EXTINF:4,\n1.ts\n",
			playlist.HLS{
				Type: "EVENT", DiscontinuitySequence: 7, Segments: 1, Duration: 4 * second, TargetDuration: 4 * second, LastURI: "1.ts",
			},
		},
		{"type_nobody_knows", "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:SOMETHING\n", playlist.HLS{}},
		{
			"extinf_with_and_without_title", "#EXTM3U\n#EXTINF:10\n1.ts\n#EXTINF:10.5,A title, with a comma\n2.ts\n#EXTINF: 9 ,\n3.ts\n#EXTINF:9 tvg-id=\"x\",X\n4.ts\n",
			playlist.HLS{Segments: 4, Duration: 38500 * time.Millisecond, TargetDuration: 11 * second, LastURI: "4.ts"},
		},
		{
			"target_duration_0_means_the_longest_segment", "#EXTM3U\n#EXT-X-TARGETDURATION:0\n#EXTINF:3.2,\n1.ts\n",
			playlist.HLS{Segments: 1, Duration: 3200 * time.Millisecond, TargetDuration: 4 * second, LastURI: "1.ts"},
		},
		{
			"target_duration_with_a_fraction", "#EXTM3U\n#EXT-X-TARGETDURATION:3.840\n", playlist.HLS{TargetDuration: 3840 * time.Millisecond},
		},
		{
			"gaps_are_not_counted", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n" +
				"#EXTINF:4,\n1.ts\n#EXT-X-GAP\n#EXTINF:4,\n2.ts\n#EXTINF:4,\n3.ts\n#EXTINF:4,\n#EXT-X-GAP\n4.ts\n",
			playlist.HLS{
				TargetDuration: 4 * second, Segments: 2, Duration: 8 * second, LastURI: "3.ts", End: utc(t, "2026-11-30T10:00:12Z"),
			},
		},
		{
			"uri_without_extinf_is_no_segment", "#EXTM3U\nhttp://tv.example/1.ts\n", playlist.HLS{},
		},
		{
			"comments_and_unknown_tags", "#EXTM3U\n## a comment\n#EXT-X-UNHEARD-OF:1=2\n#EXTINF:4,\n# between\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n1.ts\n",
			playlist.HLS{Segments: 1, Duration: 4 * second, TargetDuration: 4 * second, LastURI: "1.ts"},
		},
		{
			"largest_numbers", "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:18446744073709551615\n#EXTINF:9223372035.999999999,\n1.ts\n#EXTINF:9223372035.9,\n2.ts\n",
			playlist.HLS{
				MediaSequence: math.MaxUint64, Segments: 2, Duration: math.MaxInt64, LastURI: "2.ts",
				TargetDuration: 9223372036 * second,
			},
		},
		{
			"multivariant_in_full", "#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n" +
				"#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"Deutsch, laut\",URI=\"de,1.m3u8\"\n" +
				"#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"c\",NAME=\"CC\",INSTREAM-ID=\"CC1\"\n" +
				"#EXT-X-STREAM-INF:CODECS=\"avc1.64001f,mp4a.40.2\",BANDWIDTH=2000000 , RESOLUTION=1280x720\n# note\n\nhi/index.m3u8?a=1,2\n" +
				"#EXT-X-STREAM-INF:BANDWIDTH=99999999999999999999\nhuge.m3u8\n" +
				"#EXT-X-STREAM-INF:BANDWIDTH=1\n" + // overtaken by the next one
				"#EXT-X-STREAM-INF:BANDWIDTH=\"800000\"\n2025:x/index.m3u8\n" +
				"#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"iframe.m3u8\"\n",
			playlist.HLS{
				Multivariant: true,
				Variants:     []playlist.Variant{{URI: "hi/index.m3u8?a=1,2", Bandwidth: 2000000}, {URI: "huge.m3u8"}, {URI: "2025:x/index.m3u8", Bandwidth: 800000}},
				Renditions:   []string{"de,1.m3u8", "iframe.m3u8"},
			},
		},
		{
			"renditions_without_variants", "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"a.m3u8\n",
			playlist.HLS{Multivariant: true, Renditions: []string{"a.m3u8"}},
		},
	}
	ignore := cmpopts.IgnoreFields(playlist.HLS{}, "Signature")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := parseHLS(t, test.body)
			if diff := cmp.Diff(&test.want, got, ignore, cmpopts.IgnoreUnexported(playlist.Variant{})); diff != "" {
				t.Errorf("ParseHLS differs (-want +got):\n%s", diff)
			}
		})
	}
	if len(mistError) != 59 {
		t.Errorf("the MistServer body has %d bytes, measured were 59", len(mistError))
	}
}

func TestHLSEnd(t *testing.T) {
	t.Parallel()
	const first = "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n#EXTINF:4,\n1.ts\n"
	tests := []struct{ name, body, want string }{
		{"date_and_durations_since", first + "#EXTINF:4.5,\n2.ts\n", "2026-11-30T10:00:08.5Z"},
		{"a_later_date_restarts_the_clock", first + "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:00Z\n#EXTINF:4,\n2.ts\n", "2026-11-30T12:00:04Z"},
		{"discontinuity_without_a_date", first + "#EXT-X-DISCONTINUITY\n#EXTINF:4,\n2.ts\n", ""},
		{"discontinuity_then_date", first + "#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:00Z\n#EXTINF:4,\n2.ts\n", "2026-11-30T12:00:04Z"},
		{"date_then_discontinuity", first + "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:00Z\n#EXT-X-DISCONTINUITY\n#EXTINF:4,\n2.ts\n", "2026-11-30T12:00:04Z"},
		{"date_one_segment_after_a_discontinuity", first + "#EXT-X-DISCONTINUITY\n#EXTINF:4,\n2.ts\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:00Z\n#EXTINF:4,\n3.ts\n", "2026-11-30T12:00:04Z"},
		{"discontinuity_with_nothing_after_it", first + "#EXT-X-DISCONTINUITY\n", "2026-11-30T10:00:04Z"},
		{"date_with_nothing_after_it", first + "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:00Z\n", "2026-11-30T10:00:04Z"},
		{"date_between_extinf_and_uri", "#EXTM3U\n#EXTINF:4,\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n1.ts\n", "2026-11-30T10:00:04Z"},
		{"date_and_parts", first + "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:00Z\n#EXT-X-PART:DURATION=0.5,URI=\"p\"\n", "2026-11-30T12:00:00.5Z"},
		{"discontinuity_and_parts", first + "#EXT-X-DISCONTINUITY\n#EXT-X-PART:DURATION=0.5,URI=\"p\"\n", ""},
		{"delta_update_loses_the_date", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n#EXT-X-SKIP:SKIPPED-SEGMENTS=2\n#EXTINF:4,\n3.ts\n", ""},
		{"no_date", "#EXTM3U\n#EXTINF:4,\n1.ts\n", ""},
		{"date_that_cannot_be_read", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:yesterday\n#EXTINF:4,\n1.ts\n", ""},
		{"zone_with_colon", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T13:00:00.25+03:00\n#EXTINF:4,\n1.ts\n", "2026-11-30T10:00:04.25Z"},
		{"zone_without_colon", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T13:00:00.250+0300\n#EXTINF:4,\n1.ts\n", "2026-11-30T10:00:04.25Z"},
		{"zone_of_hours", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T13:00:00+03\n#EXTINF:4,\n1.ts\n", "2026-11-30T10:00:04Z"},
		{"no_zone", "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00\n#EXTINF:4,\n1.ts\n", "2026-11-30T10:00:04Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := time.Time{}
			if test.want != "" {
				want = utc(t, test.want)
			}
			if got := parseHLS(t, test.body).End; !got.Equal(want) {
				t.Errorf("End = %v, want %v", got, want)
			}
		})
	}
}

func TestParseHLSErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, want string }{
		{"empty", "", `the body is empty, expected #EXTM3U`},
		{"blank", "\xef\xbb\xbf\n\n", `the body is empty, expected #EXTM3U`},
		{"mist_balancer_is_full", "FULL", `line 1: is "FULL", expected #EXTM3U`},
		{"html", "\n<!DOCTYPE html>\n<html></html>", `line 2: is "<!DOCTYPE html>", expected #EXTM3U`},
		{"json", `{"error":"Stream is offline"}`, `line 1: is "{\"error\":\"Stream is offline\"}", expected #EXTM3U`},
		{"longer_word", "#EXTM3U8\n", `line 1: is "#EXTM3U8", expected #EXTM3U`},
		{"target_duration", "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:abc\n", `line 3: EXT-X-TARGETDURATION is "abc", expected a number of seconds`},
		{"target_duration_negative", "#EXTM3U\n#EXT-X-TARGETDURATION:-4\n", `line 2: EXT-X-TARGETDURATION is "-4", expected a number of seconds`},
		{"extinf_of_a_channel_list", "#EXTM3U\r\n#EXTINF:-1 tvg-id=\"\",Channel\r\nhttp://a/\r\n", `line 2: EXTINF is "-1", expected a number of seconds`},
		{"extinf_nan", "#EXTM3U\r#EXTINF:NaN,\r1.ts", `line 2: EXTINF is "NaN", expected a number of seconds`},
		{"extinf_infinite", "#EXTM3U\n#EXTINF:Inf,\n1.ts", `line 2: EXTINF is "Inf", expected a number of seconds`},
		{"extinf_beyond_time", "#EXTM3U\n#EXTINF:9223372036.9,\n1.ts", `line 2: EXTINF is "9223372036.9", expected a number of seconds`},
		{"extinf_empty", "#EXTM3U\n#EXTINF:,\n1.ts", `line 2: EXTINF is "", expected a number of seconds`},
		{"media_sequence_beyond_64_bits", "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:18446744073709551616\n", `line 2: EXT-X-MEDIA-SEQUENCE is "18446744073709551616", expected a whole number`},
		{"media_sequence_empty", "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:\n", `line 2: EXT-X-MEDIA-SEQUENCE is "", expected a whole number`},
		{"long_line_first", strings.Repeat(" ", 70000), `line 1: is 70000 bytes long, expected at most 65536`},
		{"discontinuity_sequence_negative", "#EXTM3U\n#EXT-X-DISCONTINUITY-SEQUENCE:-1\n", `line 2: EXT-X-DISCONTINUITY-SEQUENCE is "-1", expected a whole number`},
		{"part_duration", "#EXTM3U\n#EXT-X-PART:URI=\"p\",DURATION=x\n", `line 2: EXT-X-PART DURATION is "x", expected a number of seconds`},
		{"long_line", "#EXTM3U\n#" + strings.Repeat("x", 70000) + "\n", `line 2: is 70001 bytes long, expected at most 65536`},
		{"many_lines", "#EXTM3U" + strings.Repeat("\n", 1_000_001), `line 1000001: the playlist goes on, expected at most 1000000 lines`},
		{"hostile_value_is_bounded", "#EXTM3U\n#EXTINF:" + strings.Repeat("\x00", 60000) + "\n", `line 2: EXTINF is "` + strings.Repeat(`\x00`, 48) + `"…, expected a number of seconds`},
		{"hostile_start_is_bounded", strings.Repeat("\xff", 60000), `line 1: is "` + strings.Repeat(`\xff`, 48) + `"…, expected #EXTM3U`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h, err := playlist.ParseHLS([]byte(test.body))
			if err == nil || err.Error() != test.want || h != nil {
				t.Errorf("ParseHLS = %v, error\n%v, want\n%s", h, err, test.want)
			}
		})
	}
}

func TestParseHLSKeepsALimitedNumber(t *testing.T) {
	t.Parallel()
	body := "#EXTM3U\n" + strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n#EXT-X-MEDIA:URI=\"r.m3u8\"\n", 1000)
	h := parseHLS(t, body)
	if len(h.Variants) != 128 || len(h.Renditions) != 256 {
		t.Errorf("kept %d variants and %d renditions, want 128 and 256", len(h.Variants), len(h.Renditions))
	}
}

func TestParseHLSIsLinearInCarriageReturns(t *testing.T) {
	t.Parallel()
	// A search for LF from every line start would read 8 MB half a million times, which no test timeout survives.
	body := "#EXTM3U\r" + strings.Repeat("#EXT-X-UNKNOWN\r", 500_000)
	if h := parseHLS(t, body); h.Segments != 0 {
		t.Errorf("Segments = %d, want 0", h.Segments)
	}
}

func TestLowestVariant(t *testing.T) {
	t.Parallel()
	const video, audio = `CODECS="avc1.64001f,mp4a.40.2"`, `CODECS="mp4a.40.2"`
	variant := func(uri string, attributes ...string) string {
		return "#EXT-X-STREAM-INF:" + strings.Join(attributes, ",") + "\n" + uri + "\n"
	}
	tests := []struct{ name, body, want string }{
		{"none", "", ""},
		{"lowest_bandwidth", variant("a", "BANDWIDTH=3") + variant("b", "BANDWIDTH=1") + variant("c", "BANDWIDTH=2"), "b"},
		{"first_of_equals", variant("a", "BANDWIDTH=1") + variant("b", "BANDWIDTH=1"), "a"},
		{"sound_alone_comes_after_pictures", variant("a", "BANDWIDTH=1", audio) + variant("v", "BANDWIDTH=9", video), "v"},
		{"sound_alone_when_nothing_else", variant("a2", "BANDWIDTH=2", audio) + variant("a1", "BANDWIDTH=1", `CODECS="ec-3, wvtt"`), "a1"},
		{"no_codecs_count_as_video", variant("a", "BANDWIDTH=1", audio) + variant("v", "BANDWIDTH=9"), "v"},
		{"resolution_counts_as_video", variant("v", "BANDWIDTH=1", audio, "RESOLUTION=1x1") + variant("w", "BANDWIDTH=9", video), "v"},
		{"codec_nobody_knows_counts_as_video", variant("v", "BANDWIDTH=1", `CODECS="new1.1,mp4a.40.2"`) + variant("w", "BANDWIDTH=9", video), "v"},
		{"unknown_bandwidth_comes_last", variant("a") + variant("b", "BANDWIDTH=x") + variant("c", "BANDWIDTH=5"), "c"},
		{"unknown_bandwidth_is_better_than_sound", variant("a", "BANDWIDTH=1", audio) + variant("b"), "b"},
		{"uri_with_a_control_byte", variant("a\x00b", "BANDWIDTH=1") + variant("b", "BANDWIDTH=2"), "b"},
		{"uri_with_another_scheme", variant("rtmp://h/a", "BANDWIDTH=1") + variant("b", "BANDWIDTH=2"), "b"},
		{"uri_with_a_variable", variant("{$base}/a", "BANDWIDTH=1") + variant("b", "BANDWIDTH=2"), "b"},
		{"nothing_usable", variant("data:,x", "BANDWIDTH=1"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, ok := parseHLS(t, "#EXTM3U\n"+test.body).LowestVariant()
			if got.URI != test.want || ok != (test.want != "") {
				t.Errorf("LowestVariant = %q %v, want %q", got.URI, ok, test.want)
			}
		})
	}
}

func TestHLSSignature(t *testing.T) {
	t.Parallel()
	live := func(sequence, from, segments int, session string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:%d\n", sequence)
		for i := range segments {
			fmt.Fprintf(&b, "#EXTINF:4,\nmedia_%s_%d.ts\n", session, from+i)
		}
		return b.String()
	}
	base := live(100, 100, 6, "w1")
	withoutSequence := strings.Replace(base, "#EXT-X-MEDIA-SEQUENCE:100\n", "", 1)
	tests := []struct {
		name, before, after string
		same                bool
	}{
		{"same_body", base, base, true},
		{"window_slid", base, live(101, 101, 6, "w1"), false},
		{"one_more_segment", base, live(100, 100, 7, "w1"), false},
		{"restart", base, live(0, 0, 6, "w1"), false},
		{"restart_at_the_same_number", live(0, 50, 6, "w1"), live(0, 0, 6, "w1"), false},
		{"slid_without_a_sequence", withoutSequence, strings.ReplaceAll(withoutSequence, "_w1_10", "_w1_20"), false},
		{"frozen_under_another_session_name", base, live(100, 100, 6, "w2"), true},
		{"one_more_gap", base, base + "#EXT-X-GAP\n#EXTINF:4,\ngap.ts\n", false},
		{"discontinuity_sequence", base, strings.Replace(base, "#EXTINF", "#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXTINF", 1), false},
		{"one_more_part", lowLatency, lowLatency + "#EXT-X-PART:DURATION=0.5,URI=\"filePart268.2.mp4\"\n", false},
		{"parts_become_a_segment", lowLatency, lowLatency + "#EXTINF:4,\nfileSequence268.mp4\n", false},
		{"preload_hint_alone", lowLatency, strings.Replace(lowLatency, "filePart268.2", "filePart268.3", 1), true},
		{
			"delta_update_of_the_same_playlist", "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:5\n#EXTINF:4,\n5.ts\n#EXTINF:4,\n6.ts\n",
			"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:5\n#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n#EXTINF:4,\n6.ts\n", true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before, after := parseHLS(t, test.before).Signature, parseHLS(t, test.after).Signature
			if (before == after) != test.same {
				t.Errorf("signatures %x and %x, want same: %v", before, after, test.same)
			}
		})
	}
	// Signatures are compared across machines and restarts, so the function must never change unnoticed.
	if got, want := parseHLS(t, base).Signature, uint64(0x7c2a246292f89547); got != want {
		t.Errorf("Signature = %#x, want %#x", got, want)
	}
}
