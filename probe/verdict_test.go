package probe

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pointsman-tv/pointsman/farms"
)

// dated is a live media playlist whose last segment ends at end.
func dated(end time.Time, target, segments int) string {
	first := end.Add(-time.Duration(target*segments) * time.Second)
	return strings.Replace(mediaPlaylist(100, target, segments), "#EXTINF",
		"#EXT-X-PROGRAM-DATE-TIME:"+first.Format("2006-01-02T15:04:05.000Z07:00")+"\n#EXTINF", 1)
}

// utf16LE writes s as MistServer and IIS write their Smooth manifests.
func utf16LE(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

const (
	multivariant = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720\nhigh/index.m3u8?s=1\n" +
		"#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360\nlow/index.m3u8?s=1\n"
	mistError = "#EXTM3U\r\n#EXT-X-ERROR: Stream open failed\r\n#EXT-X-ENDLIST\r\n"
	smoothVoD = `<SmoothStreamingMedia MajorVersion="2" TimeScale="10000000" Duration="40000000"><StreamIndex Type="video" Chunks="2"><c t="0" d="20000000"/><c d="20000000"/></StreamIndex></SmoothStreamingMedia>`
	htmlPage  = "<!DOCTYPE html><html><body>404 not found</body></html>"
)

func smoothLive(chunks int) string {
	return `<?xml version="1.0" encoding="utf-16"?><SmoothStreamingMedia MajorVersion="2" TimeScale="1000" Duration="0" IsLive="true" DVRWindowLength="0">` +
		`<StreamIndex Type="video" Chunks="1">` + strings.Repeat(`<c t="1000" d="2000"/>`, chunks) + `</StreamIndex></SmoothStreamingMedia>`
}

// mpd is a live MPD whose timeline ends at end.
func mpd(end time.Time, publish string) string {
	begin := end.Add(-20 * time.Second)
	return fmt.Sprintf(`<?xml version="1.0"?><MPD type="dynamic" availabilityStartTime="%s" publishTime="%s" minimumUpdatePeriod="PT2S" maxSegmentDuration="PT2S">`+
		`<Period id="0" start="PT0S"><AdaptationSet><SegmentTemplate timescale="1000" media="$Time$.m4s"><SegmentTimeline><S t="0" d="2000" r="9"/></SegmentTimeline></SegmentTemplate>`+
		`<Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>`, begin.UTC().Format(time.RFC3339), publish)
}

// numbered is a live MPD with $Number$ alone.
func numbered(attributes string) string {
	return `<MPD type="dynamic" publishTime="1970-01-01T00:00:00Z" ` + attributes + `><Period id="0" start="PT0S"><AdaptationSet>` +
		`<SegmentTemplate timescale="1" duration="2" media="$Number$.m4s"/><Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>`
}

func packets(n int) string {
	return strings.Repeat("\x47"+strings.Repeat("\xff", 187), n)
}

// Every lie and trap of reference/archive.md §1 and §5 that a body can tell.
func TestJudgeBody(t *testing.T) {
	t.Parallel()
	const (
		hls, dash, smooth, ts = farms.ProtocolHLS, farms.ProtocolDASH, farms.ProtocolSmooth, farms.ProtocolMPEGTS
		present, absent       = farms.Present, farms.Absent
		live, vod             = farms.KindLive, farms.KindVoD
	)
	now := epoch()
	utc := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	tests := []struct {
		name, body string
		want       farms.Protocol
		presence   farms.Presence
		kind       farms.Kind
		moves      bool // there is a signature to compare
		fresh      bool
		detail     string // a part of it
	}{
		// What a server says that has nothing.
		{"mist_error_with_200", mistError, hls, absent, 0, false, false, "Stream open failed"},
		{"mist_range_in_the_past", "#EXTM3U\n#EXT-X-ERROR: Entire range is in the past\n#EXT-X-ENDLIST\n", hls, absent, 0, false, false, "Entire range is in the past"},
		{"balancer_full", "FULL", hls, absent, 0, false, false, "4 bytes of something else"},
		{"html_page", htmlPage, hls, absent, 0, false, false, "HTML"},
		{"html_page_behind_blank_lines", "\r\n \t" + htmlPage, dash, absent, 0, false, false, "HTML"},
		{"json_error", `{"error":"Stream is offline"}`, hls, absent, 0, false, false, "JSON"},
		{"json_list", " []", ts, absent, 0, false, false, "JSON"},
		{"empty", "", hls, absent, 0, false, false, "empty"},
		{"empty_ts", "", ts, absent, 0, false, false, "empty"},
		{"blank", "  \n", hls, absent, 0, false, false, "3 bytes"},
		{"ant_media_no_segments", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:0\n", hls, absent, 0, false, false, "no segments"},
		{"only_gaps", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-GAP\n#EXTINF:2,\na.ts\n", hls, absent, 0, false, false, "no segments"},
		{"multivariant_without_variants", "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",URI=\"a.m3u8\"\n", hls, absent, 0, false, false, "no variants"},
		{"unreadable_number", "#EXTM3U\n#EXT-X-TARGETDURATION:x\n#EXTINF:2,\na.ts\n", hls, absent, 0, false, false, "cannot be read"},
		{"another_protocol_mpd_for_hls", mpd(now, utc(0)), hls, absent, 0, false, false, "DASH MPD, expected an HLS playlist"},
		{"another_protocol_hls_for_mpd", mediaPlaylist(1, 2, 3), dash, absent, 0, false, false, "HLS media playlist, expected a DASH MPD"},
		{"another_protocol_hls_for_smooth", mediaPlaylist(1, 2, 3), smooth, absent, 0, false, false, "expected a SmoothStreaming manifest"},
		{"playlist_for_ts", mediaPlaylist(1, 2, 3), ts, absent, 0, false, false, "expected a transport stream"},
		{"ts_for_hls", packets(10), hls, absent, 0, false, false, "transport stream, expected"},
		{"mpd_without_representations", `<MPD type="dynamic"><Period/></MPD>`, dash, absent, 0, false, false, "no representations"},
		{
			"mpd_with_an_empty_timeline", `<MPD type="dynamic" availabilityStartTime="2026-07-01T19:00:00Z"><Period><AdaptationSet><SegmentTemplate timescale="1" media="$Time$">` +
				`<SegmentTimeline/></SegmentTemplate><Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>`,
			dash, absent, 0, false, false, "no segments",
		},
		{"mpd_that_is_cut_off", mpd(now, utc(0))[:200], dash, absent, 0, false, false, "cannot be read"},
		{"mpd_not_yet", numbered(`availabilityStartTime="` + utc(time.Hour) + `"`), dash, absent, 0, false, false, "begins in 1h0m0s"},
		{"mpd_ended", numbered(`availabilityStartTime="` + utc(-time.Hour) + `" mediaPresentationDuration="PT30M"`), dash, absent, 0, false, false, "ended 30m0s ago"},
		{"smooth_without_chunks", smoothLive(0), smooth, absent, 0, false, false, "no chunks"},
		{"four_packets", packets(4), ts, absent, 0, false, false, "something else"},

		// What a server says that has it.
		{"live_without_dates_is_undecided", mediaPlaylist(7, 4, 3), hls, present, live, true, false, "media sequence 7, 3 segments"},
		{"bom_and_blank_lines", "\xef\xbb\xbf\n\n" + mediaPlaylist(7, 4, 3), hls, present, live, true, false, "live"},
		{"live_with_a_fresh_date", dated(now.Add(-3*time.Second), 4, 3), hls, present, live, true, true, "ends 3s ago"},
		{"within_3_5_target_durations", dated(now.Add(-34*time.Second), 10, 3), hls, present, live, true, true, ""},
		{"beyond_3_5_target_durations", dated(now.Add(-36*time.Second), 10, 3), hls, present, live, true, false, ""},
		{"15_s_are_fresh_whatever_the_target", dated(now.Add(-14*time.Second), 1, 3), hls, present, live, true, true, ""},
		{"an_old_date_condemns_nothing", dated(now.Add(-50*365*24*time.Hour), 4, 3), hls, present, live, true, false, ""},
		{"a_date_in_the_future_proves_nothing", dated(now.Add(48*time.Hour), 4, 3), hls, present, live, true, false, ""},
		{"a_date_beyond_all_arithmetic", dated(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), 4, 3), hls, present, live, true, false, ""},
		{"event_that_grows", strings.Replace(mediaPlaylist(0, 4, 3), "#EXTINF", "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF", 1), hls, present, live, true, false, "live"},
		{"endlist_is_vod", mediaPlaylist(0, 4, 3) + "#EXT-X-ENDLIST\n", hls, present, vod, false, false, "VoD of 12s"},
		{"type_vod_is_vod", strings.Replace(mediaPlaylist(0, 4, 3), "#EXTINF", "#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF", 1), hls, present, vod, false, false, "VoD"},
		{"event_that_ended_is_vod", strings.Replace(mediaPlaylist(0, 4, 3), "#EXTINF", "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF", 1) + "#EXT-X-ENDLIST\n", hls, present, vod, false, false, "VoD"},
		{"parts_alone", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PART:DURATION=0.5,URI=\"p.mp4\"\n", hls, present, live, true, false, "live"},
		{"multivariant", multivariant, hls, present, live, false, false, "multivariant"},
		{"timeline_that_ends_now_publish_time_1970", mpd(now.Add(-2*time.Second), "1970-01-01T00:00:00Z"), dash, present, live, true, true, "live MPD"},
		{"timeline_that_ended_publish_time_now", mpd(now.Add(-time.Hour), utc(0)), dash, present, live, true, false, "live MPD"},
		{"number_alone_cannot_freeze", numbered(`availabilityStartTime="1970-01-01T00:00:00Z"`), dash, present, live, false, true, "live MPD"},
		{"number_without_a_start", numbered(""), dash, present, live, false, true, "live MPD"},
		{"begins_within_our_clocks_difference", numbered(`availabilityStartTime="` + utc(10*time.Second) + `"`), dash, present, live, false, true, ""},
		{"static_mpd", `<MPD type="static" mediaPresentationDuration="PT1M"><Period><AdaptationSet><Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>`, dash, present, vod, false, false, "VoD of 1m0s"},
		{"smooth_live_in_utf16", utf16LE(smoothLive(2)), smooth, present, live, true, false, "live, 2 chunks"},
		{"smooth_live_in_capitals", strings.Replace(utf16LE(strings.Replace(smoothLive(1), `"true"`, `"TRUE"`, 1)), "x", "x", 1), smooth, present, live, true, false, "live"},
		{"smooth_vod", smoothVoD, smooth, present, vod, false, false, "VoD of 4s"},
		{"ts", packets(10), ts, present, live, false, false, "transport stream"},
		{"ts_from_inside_a_packet", strings.Repeat("\x00", 100) + packets(9), ts, present, live, false, false, "transport stream"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := judgeBody(tt.want, []byte(tt.body), "http://edge0/ch/index.m3u8", now)
			if v.presence != tt.presence || v.kind != tt.kind {
				t.Fatalf("it is %v %v (%s), want %v %v", v.presence, v.kind, v.detail, tt.presence, tt.kind)
			}
			if (v.signature != 0) != tt.moves {
				t.Errorf("signature is %x, want one: %v", v.signature, tt.moves)
			}
			if v.fresh != tt.fresh {
				t.Errorf("fresh is %v (%s), want %v", v.fresh, v.detail, tt.fresh)
			}
			if !strings.Contains(v.detail, tt.detail) {
				t.Errorf("detail is %q, want %q in it", v.detail, tt.detail)
			}
		})
	}
}

// An encoder that starts again counts from 0: that is movement.
func TestJudgeSequenceResetChangesTheSignature(t *testing.T) {
	t.Parallel()
	judge := func(body string) uint64 {
		return judgeBody(farms.ProtocolHLS, []byte(body), "http://edge0/i.m3u8", epoch()).signature
	}
	before, again, after := judge(mediaPlaylist(900, 4, 3)), judge(mediaPlaylist(900, 4, 3)), judge(mediaPlaylist(0, 4, 3))
	if before != again || before == after {
		t.Errorf("signatures are %x, %x, and %x after a restart; want the first two alike and the third another", before, again, after)
	}
}

// DASH and Smooth manifests move with their timelines, and with nothing else.
func TestJudgeXMLSignatures(t *testing.T) {
	t.Parallel()
	of := func(p farms.Protocol, body string) uint64 {
		return judgeBody(p, []byte(body), "http://edge0/x", epoch()).signature
	}
	one := mpd(epoch(), "2026-07-01T20:00:00Z")
	if of(farms.ProtocolDASH, one) != of(farms.ProtocolDASH, mpd(epoch(), "2026-07-01T20:00:09Z")) {
		t.Error("publishTime alone moves the signature, want it not to: MistServer writes now into every answer")
	}
	if of(farms.ProtocolDASH, one) == of(farms.ProtocolDASH, strings.Replace(one, `r="9"`, `r="10"`, 1)) {
		t.Error("a longer timeline does not move the signature")
	}
	if of(farms.ProtocolSmooth, utf16LE(smoothLive(2))) == of(farms.ProtocolSmooth, utf16LE(smoothLive(3))) {
		t.Error("another chunk does not move the signature of a Smooth manifest")
	}
}

func TestJudgeMultivariantNamesItsChildren(t *testing.T) {
	t.Parallel()
	const body = "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"de\",URI=\"/audio/de.m3u8\"\n" + multivariant +
		"#EXT-X-STREAM-INF:BANDWIDTH=900000\n2025:x/index.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=9000000\nrtmp://edge0/x\n"
	want := []string{
		"http://edge0/ch/high/index.m3u8?s=1", "http://edge0/ch/low/index.m3u8?s=1", "http://edge0/ch/2025:x/index.m3u8", "http://edge0/audio/de.m3u8",
	}
	v := judgeBody(farms.ProtocolHLS, []byte(body), "http://edge0/ch/index.m3u8?token=1", epoch())
	if fmt.Sprint(v.children) != fmt.Sprint(want) {
		t.Errorf("children are %q, want %q", v.children, want)
	}
	if v.next != want[1] {
		t.Errorf("the playlist to judge is %q, want the lowest variant %q", v.next, want[1])
	}
}

func TestJudgeMultivariantBoundsItsChildren(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	body.WriteString("#EXTM3U\n")
	for i := range 500 {
		fmt.Fprintf(&body, "#EXT-X-STREAM-INF:BANDWIDTH=%d\nv%d.m3u8\n", 1000+i, i)
	}
	v := judgeBody(farms.ProtocolHLS, []byte(body.String()), "http://edge0/i.m3u8", epoch())
	if len(v.children) != maxChildren {
		t.Errorf("%d children are remembered, want at most %d", len(v.children), maxChildren)
	}
}

func TestJudgeStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status   int
		presence farms.Presence
		soon     bool
		done     bool
	}{
		{200, farms.Unasked, false, false},
		{206, farms.Unasked, false, false},
		{204, farms.Absent, false, true},
		{301, farms.Absent, false, true},
		{304, farms.Absent, false, true},
		{400, farms.Absent, false, true},
		{401, farms.Guarded, false, true},
		{403, farms.Guarded, false, true},
		{404, farms.Absent, false, true},
		{410, farms.Absent, false, true},
		{416, farms.Absent, false, true},
		{425, farms.Absent, true, true},
		{429, farms.Trouble, false, true},
		{500, farms.Trouble, false, true},
		{502, farms.Trouble, false, true},
		{503, farms.Trouble, false, true},
		{599, farms.Trouble, false, true},
		{999, farms.Trouble, false, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			v, done := judgeStatus(tt.status)
			if v.presence != tt.presence || v.soon != tt.soon || done != tt.done {
				t.Errorf("it is %v (soon %v, done %v), want %v (%v, %v)", v.presence, v.soon, done, tt.presence, tt.soon, tt.done)
			}
		})
	}
}

// A server whose clock is wrong is judged by its own clock.
func TestServerTime(t *testing.T) {
	t.Parallel()
	now := epoch()
	tests := []struct {
		name, date string
		want       time.Time
	}{
		{"none", "", now},
		{"garbage", "yesterday", now},
		{"the_same", now.Format(http.TimeFormat), now},
		{"two_seconds_are_the_header's_grain", now.Add(-2 * time.Second).Format(http.TimeFormat), now},
		{"an_hour_behind", now.Add(-time.Hour).Format(http.TimeFormat), now.Add(-time.Hour)},
		{"years_ahead", now.AddDate(10, 0, 0).Format(http.TimeFormat), now.AddDate(10, 0, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := serverTime(http.Header{"Date": {tt.date}}, now); !got.Equal(tt.want) {
				t.Errorf("the server's time is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestChildPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, base, url, want string
		ok                    bool
	}{
		{"plain", "http://edge0", "http://edge0/ch/low.m3u8", "/ch/low.m3u8", true},
		{"below_a_path", "http://edge0/hls", "http://edge0/hls/ch/low.m3u8", "/ch/low.m3u8", true},
		{"query_and_fragment_are_cut", "http://edge0", "http://edge0/low.m3u8?s=1#x", "/low.m3u8", true},
		{"escapes_stay", "http://edge0", "http://edge0/a%2Fb/%41.m3u8", "/a%2Fb/%41.m3u8", true},
		{"beside_the_path", "http://edge0/hls", "http://edge0/other/low.m3u8", "", false},
		{"a_name_that_only_begins_alike", "http://edge0", "http://edge01/low.m3u8", "", false},
		{"another_host", "http://edge0", "http://edge1/low.m3u8", "", false},
		{"the_base_itself", "http://edge0", "http://edge0", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := childPath(tt.base, tt.url); got != tt.want || ok != tt.ok {
				t.Errorf("path is %q (%v), want %q (%v)", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestWithQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, query, want string }{
		{"http://edge0/i.m3u8", "", "http://edge0/i.m3u8"},
		{"http://edge0/i.m3u8", "token=a%2Fb", "http://edge0/i.m3u8?token=a%2Fb"},
		{"http://edge0/i.m3u8?x=1", "token=a", "http://edge0/i.m3u8?x=1&token=a"},
	} {
		if got := withQuery(tt.url, tt.query); got != tt.want {
			t.Errorf("%s with %q is %s, want %s", tt.url, tt.query, got, tt.want)
		}
	}
}

// FuzzJudge: whatever a server writes, the verdict is one of ours, in words
// that can be logged, and leads nowhere but to http.
func FuzzJudge(f *testing.F) {
	now := epoch()
	for _, body := range []string{
		"", "FULL", htmlPage, `{"error":"offline"}`, mistError, multivariant, mediaPlaylist(7, 4, 3), dated(now, 4, 3),
		mediaPlaylist(0, 2, 3) + "#EXT-X-ENDLIST\n", mpd(now, "1970-01-01T00:00:00Z"), numbered(""), smoothVoD,
		utf16LE(smoothLive(2)), packets(10), "\xef\xbb\xbf" + multivariant,
		"#EXTM3U\n#EXT-X-ERROR: \x1b[31m\xff\u202e" + strings.Repeat("x", 500),
		"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://169.254.169.254/latest\n",
		"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\njavascript:alert(1)\n",
		"#EXTM3U\n#EXT-X-TARGETDURATION:9223372035\n#EXTINF:9223372035,\na.ts\n",
	} {
		for _, p := range []farms.Protocol{farms.ProtocolHLS, farms.ProtocolDASH, farms.ProtocolSmooth, farms.ProtocolMPEGTS} {
			f.Add([]byte(body), uint8(p), "/ch/index.m3u8?t=1")
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, protocol uint8, path string) {
		v := judgeBody(farms.Protocol(protocol), body, "http://edge0/"+path, now)
		if v.presence != farms.Present && v.presence != farms.Absent {
			t.Fatalf("a body says %v, want present or absent", v.presence)
		}
		if len(v.detail) > 2048 || len(bounded(v.detail)) > maxDetail+len("…") {
			t.Fatalf("the detail has %d bytes", len(v.detail))
		}
		if !utf8.ValidString(bounded(v.detail)) {
			t.Fatalf("the detail %q is not UTF-8", v.detail)
		}
		for _, r := range v.detail {
			if r < ' ' || (r >= 0x7f && r < 0xa0) {
				t.Fatalf("the detail %q has a control character", v.detail)
			}
		}
		if v.presence != farms.Present && (v.next != "" || v.children != nil) {
			t.Fatal("an absent content leads on")
		}
		if len(v.children) > maxChildren {
			t.Fatalf("%d children", len(v.children))
		}
		for _, u := range append(v.children, v.next) {
			if lower := strings.ToLower(u); u != "" && !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
				t.Fatalf("child %q is not an http URL", u)
			}
		}
	})
}
