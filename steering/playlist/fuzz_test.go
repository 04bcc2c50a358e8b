package playlist_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// checkError holds every parser to messages that are bounded and printable whatever the input.
func checkError(t *testing.T, err error) {
	t.Helper()
	message := err.Error()
	if len(message) > 500 || !utf8.ValidString(message) || strings.ContainsAny(message, "\x00\n\r\x1b") {
		t.Errorf("error message of %d bytes: %.600q", len(message), message)
	}
}

func FuzzParseHLS(f *testing.F) {
	for _, seed := range []string{
		"", mistError, lowLatency, "FULL", "\xef\xbb\xbf\n#EXTM3U\r#EXTINF:1.5,a\r\n1.ts",
		"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"a,b\"\nv.m3u8\n#EXT-X-MEDIA:URI=\"r\"\n",
		"#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n#EXT-X-GAP\n#EXTINF:4,\n1.ts\n#EXT-X-DISCONTINUITY\n#EXT-X-SKIP:SKIPPED-SEGMENTS=18446744073709551615\n",
		"#EXTM3U\n#EXTINF:9223372035.9,\n1\n#EXTINF:9223372035.9,\n2\n", "#EXTM3U\n#EXT-X-PART:=,\"\",DURATION=1\n",
	} {
		f.Add([]byte(seed))
	}
	for _, name := range []string{"ffmpeg-live.m3u8", "ffmpeg-multivariant.m3u8", "ffmpeg-vod-fmp4.m3u8"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := playlist.ParseHLS(body)
		if err != nil {
			checkError(t, err)
			return
		}
		again, err := playlist.ParseHLS(body)
		if err != nil || again.Signature != h.Signature {
			t.Errorf("the same body gave signatures %x and %x, error %v", h.Signature, again.Signature, err)
		}
		want := playlist.HLSMedia
		if h.Multivariant {
			want = playlist.HLSMultivariant
		}
		if got := playlist.Sniff(body); got != want {
			t.Errorf("Sniff = %v, ParseHLS read a %v", got, want)
		}
		if h.TargetDuration < 0 || h.Duration < 0 || h.Segments < 0 || h.Parts < 0 {
			t.Errorf("negative numbers in %+v", h)
		}
		if len(h.ServerError) > 250 || len(h.Variants) > 128 || len(h.Renditions) > 256 {
			t.Errorf("kept too much: %d bytes of error, %d variants, %d renditions", len(h.ServerError), len(h.Variants), len(h.Renditions))
		}
		if v, ok := h.LowestVariant(); ok {
			if _, err := playlist.Resolve("http://h/a/b", v.URI); err != nil {
				t.Errorf("LowestVariant gave %q, which cannot be resolved: %v", v.URI, err)
			}
		}
		// One more segment always shows.
		more, err := playlist.ParseHLS(append(append([]byte{}, body...), "\n#EXTINF:1,\nfuzz-one-more.ts\n"...))
		if err == nil && !more.Multivariant && more.Signature == h.Signature {
			t.Errorf("one more segment left the signature at %x", h.Signature)
		}
	})
}

func FuzzParseMPD(f *testing.F) {
	for _, seed := range []string{
		"", "<MPD/>", "<html>", dynamicMPD(start2026, `<SegmentTimeline><S t="65000" d="2000" r="4"/><S d="1500" r="-1"/></SegmentTimeline>`),
		utf16LE("<MPD><Period/></MPD>", true), `<?xml version="1.0" encoding="x"?><MPD/>`,
		dynamicMPD(start2026, `<SegmentTimeline><S d="9223372036854775807" r="2147483648"/></SegmentTimeline>`),
		`<MPD mediaPresentationDuration="P0Y0M0DT0H3M30.000S"><Period duration="PT9223372035S"/><Period duration="PT9223372035S"/></MPD>`,
	} {
		f.Add([]byte(seed))
	}
	f.Add(testdata(f, "ffmpeg-live.mpd"))
	f.Add(testdata(f, "ffmpeg-static.mpd"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := playlist.ParseMPD(body)
		if err != nil {
			checkError(t, err)
			return
		}
		again, err := playlist.ParseMPD(body)
		if err != nil || *again != *m {
			t.Errorf("the same body gave %+v and %+v, error %v", m, again, err)
		}
		if min(m.Duration, m.TimeShiftBufferDepth, m.MinimumUpdatePeriod, m.MaxSegmentDuration) < 0 || min(m.Periods, m.Representations, m.Segments) < 0 {
			t.Errorf("negative numbers in %+v", m)
		}
		if !m.Edge.IsZero() && (!m.Dynamic || !m.Timeline || m.AvailabilityStart.IsZero()) {
			t.Errorf("an edge without what it is made of: %+v", m)
		}
	})
}

func FuzzParseSmooth(f *testing.F) {
	for _, seed := range []string{
		"", mistSmooth, utf16LE(mistSmooth, true), utf16BE(mistSmooth, false), "<MPD/>",
		`<SmoothStreamingMedia IsLive="true"><StreamIndex TimeScale="1"><c t="1" d="2" r="2147483648"/></StreamIndex></SmoothStreamingMedia>`,
		"\xff\xfe<\x00\xd8\x00\xd8\xd8",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := playlist.ParseSmooth(body)
		if err != nil {
			checkError(t, err)
			return
		}
		again, err := playlist.ParseSmooth(body)
		if err != nil || *again != *s {
			t.Errorf("the same body gave %+v and %+v, error %v", s, again, err)
		}
		if min(s.Duration, s.DVRWindow, s.LastEnd) < 0 || s.Chunks < 0 || s.Chunks > math.MaxInt64/2 {
			t.Errorf("numbers out of range in %+v", s)
		}
	})
}

// checkRecorded holds what was read to what Recorded promises.
func checkRecorded(t *testing.T, body []byte, read func([]byte) (*playlist.Recorded, error)) (*playlist.Recorded, bool) {
	t.Helper()
	r, err := read(body)
	if err != nil {
		checkError(t, err)
		return nil, false
	}
	again, err := read(body)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("the same body gave %+v and %+v, error %v", r, again, err)
	}
	const year2000, year2100 = 946684800000, 4102444800000
	last := int64(year2000) - 1
	for _, s := range r.Spans {
		if s.From <= last || s.To <= s.From || s.To > year2100 {
			t.Fatalf("span %v after one that ends at %d", s, last)
		}
		last = s.To
	}
	if r.Unplaced < 0 || r.Segment < 0 || r.Depth < 0 || len(r.Spans) > 10_000 || len(r.ServerError) > 250 {
		t.Errorf("out of range: %+v", r)
	}
	if (r.Multivariant || r.ServerError != "") && (len(r.Spans) > 0 || r.Unplaced > 0) {
		t.Errorf("something recorded where there is nothing: %+v", r)
	}
	for _, now := range []int64{0, year2000, year2100} {
		last := int64(math.MinInt64)
		for _, s := range r.SpansAt(now) {
			if s.From <= last || s.To <= s.From {
				t.Fatalf("SpansAt(%d): span %v after one that ends at %d", now, s, last)
			}
			last = s.To
		}
	}
	return r, true
}

func FuzzReadHLS(f *testing.F) {
	for _, seed := range []string{
		"", mistError, lowLatency, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n",
		"#EXTM3U\n#EXTINF:4,\n1\n#EXT-X-GAP\n#EXTINF:4,\n2\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00Z\n#EXTINF:4,\n3\n#EXT-X-DISCONTINUITY\n#EXTINF:4,\n4\n",
		"#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2099-12-31T23:59:59+0100\n#EXTINF:9223372035.9,\n1\n#EXT-X-PROGRAM-DATE-TIME:2000-01-01T00:00:00Z\n#EXTINF:.0005,\n2\n",
		"#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-11-30T10:00:00-05:30\n#EXT-X-PART:DURATION=1\n#EXT-X-PART:DURATION=1,GAP=YES\n#EXT-X-PART:DURATION=1\n",
		"#EXTM3U\n#EXTINF:9223372035,\n1\n#EXT-X-PROGRAM-DATE-TIME:2000-01-01T00:00:00Z\n#EXTINF:1,\n2\n",
	} {
		f.Add([]byte(seed))
	}
	for _, name := range []string{"ffmpeg-live.m3u8", "ffmpeg-multivariant.m3u8", "ffmpeg-vod-fmp4.m3u8", "ffmpeg-archive-resumed.m3u8"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, ok := checkRecorded(t, body, playlist.ReadHLS)
		h, err := playlist.ParseHLS(body)
		if err != nil {
			return
		}
		switch {
		case !ok && len(body) < 100_000: // too short for too many pieces
			t.Errorf("ParseHLS read what ReadHLS refused")
		case !ok:
		case r.Multivariant != h.Multivariant:
			t.Errorf("multivariant: %v for ReadHLS, %v for ParseHLS", r.Multivariant, h.Multivariant)
		case !h.Multivariant && h.ServerError == "" && h.Segments == 0 && h.Parts == 0 && (len(r.Spans) > 0 || r.Unplaced > 0):
			t.Errorf("nothing can be fetched, but there is %+v", r)
		}
	})
}

func FuzzReadMPD(f *testing.F) {
	for _, seed := range []string{
		"", "<MPD/>", dynamicMPD(start2026, `<SegmentTimeline><S t="65000" d="2000" r="4"/><S d="1500" r="-1"/><S t="90000" d="1"/></SegmentTimeline>`),
		dynamicMPD(start2026, ``), strings.Replace(dynamicMPD(start2026, ``), "dynamic", "static", 1),
		dynamicMPD(start2026, `<SegmentTimeline><S d="9223372036854775807"/></SegmentTimeline>`),
		`<MPD mediaPresentationDuration="PT9S"><Period duration="PT9223372035S"><AdaptationSet/></Period><Period duration="PT9223372035S"><AdaptationSet/></Period><Period start="PT1S"><AdaptationSet/></Period></MPD>`,
		`<MPD availabilityStartTime="9999-12-31T23:59:59Z" type="dynamic" timeShiftBufferDepth="PT9223372035S"><Period start="PT9223372035S"><AdaptationSet/></Period></MPD>`,
	} {
		f.Add([]byte(seed))
	}
	f.Add(testdata(f, "ffmpeg-live.mpd"))
	f.Add(testdata(f, "ffmpeg-static.mpd"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, ok := checkRecorded(t, body, playlist.ReadMPD); ok && r.Ended && !r.OpenSince.IsZero() {
			t.Errorf("a static MPD promises more: %+v", r)
		}
	})
}

func FuzzReadSmooth(f *testing.F) {
	for _, seed := range []string{
		"", mistSmooth, utf16LE(mistSmooth, true), utf16BE(mistSmooth, false),
		`<SmoothStreamingMedia><StreamIndex><c t="17960000000000000" d="20000000"/><c t="17960000030000001"/><c d="5"/></StreamIndex></SmoothStreamingMedia>`,
		`<SmoothStreamingMedia><StreamIndex><c t="639315968000000000" d="20000000"/><c t="0" d="1"/></StreamIndex></SmoothStreamingMedia>`,
		`<SmoothStreamingMedia TimeScale="1"><StreamIndex><c t="1796000000" d="9223372034000000000"/></StreamIndex></SmoothStreamingMedia>`,
	} {
		f.Add([]byte(seed))
	}
	f.Add(testdata(f, "ffmpeg-vod.ismc"))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = checkRecorded(t, body, playlist.ReadSmooth)
	})
}

func FuzzResolve(f *testing.F) {
	for _, seed := range [][2]string{
		{"http://h/a/b", "c"},
		{"https://h:1?x/y", "2025:x/index.m3u8"},
		{"http://h", "//g/./../x"},
		{"HTTP://h/a/", "../../.."},
		{"http://h/%2e/", "..%2f"},
		{"http://h/a", "https://g"},
		{"http://h/a#b", "?c#d"},
		{"http://h/a", "http:b"},
		{"http://h/a", "/.//b"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		got, err := playlist.Resolve(base, ref)
		if err != nil {
			checkError(t, err)
			return
		}
		for i := range len(got) {
			if got[i] < ' ' || got[i] == 0x7f {
				t.Fatalf("Resolve(%q, %q) = %q with a control byte", base, ref, got)
			}
		}
		if got == ref {
			if lower := strings.ToLower(got); !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
				t.Errorf("Resolve(%q, %q) = %q, expected http or https", base, ref, got)
			}
			return
		}
		scheme, rest, _ := strings.Cut(base, "://")
		host := rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			host = rest[:end]
		}
		prefix := scheme + "://" + host
		if strings.HasPrefix(ref, "//") {
			prefix = scheme + "://"
		}
		if !strings.HasPrefix(got, prefix) {
			t.Errorf("Resolve(%q, %q) = %q, expected it to begin with %q", base, ref, got, prefix)
		}
		if tail := got[len(prefix):]; !strings.HasPrefix(ref, "//") && tail != "" && !strings.ContainsRune("/?#", rune(tail[0])) {
			t.Errorf("Resolve(%q, %q) = %q runs on from the host", base, ref, got)
		}
	})
}
