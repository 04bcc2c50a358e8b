package demo

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// epoch is a moment at which a segment that wraps has just become complete.
func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC) }

func TestMediaPlaylistAtAWrap(t *testing.T) {
	t.Parallel()
	short := live(epoch())
	short.window = 3
	header := func(sequence, discontinuities int64) string {
		return fmt.Sprintf("#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:%d\n"+
			"#EXT-X-DISCONTINUITY-SEQUENCE:%d\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"init.mp4\"\n", sequence, discontinuities)
	}
	segment := func(date string, n int64) string {
		return fmt.Sprintf("#EXT-X-PROGRAM-DATE-TIME:%s\n#EXTINF:2.000,\n%d.m4s\n", date, n)
	}
	const (
		wrap  = 883612800 // the segment of 2026-01-01T00:00:00Z
		loops = 3600      // in the day before, from whose midnight discontinuities count
		gap   = "#EXT-X-DISCONTINUITY\n"
	)

	tests := map[string]struct {
		after time.Duration
		want  string
	}{
		"wrap_is_newest": {0, header(wrap-2, loops-1) +
			segment("2025-12-31T23:59:56.000Z", wrap-2) + segment("2025-12-31T23:59:58.000Z", wrap-1) +
			gap + segment("2026-01-01T00:00:00.000Z", wrap)},
		"just_before_the_next": {1999 * time.Millisecond, header(wrap-2, loops-1) +
			segment("2025-12-31T23:59:56.000Z", wrap-2) + segment("2025-12-31T23:59:58.000Z", wrap-1) +
			gap + segment("2026-01-01T00:00:00.000Z", wrap)},
		"wrap_is_oldest": {4 * time.Second, header(wrap, loops-1) +
			gap + segment("2026-01-01T00:00:00.000Z", wrap) +
			segment("2026-01-01T00:00:02.000Z", wrap+1) + segment("2026-01-01T00:00:04.000Z", wrap+2)},
		"wrap_has_left": {6 * time.Second, header(wrap+1, loops) +
			segment("2026-01-01T00:00:02.000Z", wrap+1) + segment("2026-01-01T00:00:04.000Z", wrap+2) +
			segment("2026-01-01T00:00:06.000Z", wrap+3)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mediaPlaylist(short, epoch().Add(tt.after)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// seen is one segment as a player reads it.
type seen struct {
	sequence, discontinuity int64
	date                    time.Time
	uri                     string
}

// read parses a media playlist the way a player does.
func read(t *testing.T, text string) (segments []seen) {
	t.Helper()
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return n
	}
	var next seen
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		tag, value, _ := strings.Cut(line, ":")
		switch {
		case tag == "#EXT-X-MEDIA-SEQUENCE":
			next.sequence = number(value)
		case tag == "#EXT-X-DISCONTINUITY-SEQUENCE":
			next.discontinuity = number(value)
		case tag == "#EXT-X-DISCONTINUITY":
			next.discontinuity++
		case tag == "#EXT-X-PROGRAM-DATE-TIME":
			date, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				t.Fatal(err)
			}
			next.date = date
		case !strings.HasPrefix(line, "#"):
			next.uri = line
			segments = append(segments, next)
			next.sequence++
		}
	}
	return segments
}

func TestWindowStaysConsistentForHours(t *testing.T) {
	t.Parallel()
	line := live(epoch())
	known := map[int64]seen{} // a segment keeps number, discontinuity, date and URI for as long as it is listed
	uris := map[string]int64{}
	newest := int64(-1)
	for after := time.Duration(0); after < 3*time.Hour; after += 700 * time.Millisecond {
		now := epoch().Add(after)
		segments := read(t, mediaPlaylist(line, now))
		if len(segments) != int(line.window) {
			t.Fatalf("%v: %d segments: expected %d", after, len(segments), line.window)
		}
		for i, s := range segments {
			if before, ok := known[s.sequence]; ok && before != s {
				t.Fatalf("%v: segment changed from %+v to %+v", after, before, s)
			}
			known[s.sequence] = s
			if n, ok := uris[s.uri]; ok && n != s.sequence {
				t.Fatalf("%v: %s names segment %d and segment %d", after, s.uri, n, s.sequence)
			}
			uris[s.uri] = s.sequence
			if !line.available(s.sequence, now) {
				t.Fatalf("%v: segment %d is listed and cannot be fetched", after, s.sequence)
			}
			if i == 0 {
				continue
			}
			previous := segments[i-1]
			if s.date.Sub(previous.date) != line.segment {
				t.Fatalf("%v: dates jump from %v to %v", after, previous.date, s.date)
			}
			wrapped := s.sequence%line.loop == 0
			if step := s.discontinuity - previous.discontinuity; step != 0 != wrapped || step < 0 || step > 1 {
				t.Fatalf("%v: discontinuity steps by %d at segment %d", after, step, s.sequence)
			}
		}
		last := segments[len(segments)-1]
		if last.sequence < newest {
			t.Fatalf("%v: went back from segment %d to %d", after, newest, last.sequence)
		}
		newest = last.sequence
		if age := now.Sub(last.date.Add(line.segment)); age < 0 || age >= line.segment {
			t.Fatalf("%v: the newest segment ended %v ago: expected less than a segment", after, age)
		}
	}
}

func TestSegmentsOutliveThePlaylistsThatNameThem(t *testing.T) {
	t.Parallel()
	line := live(epoch())
	n := line.edge(epoch())
	tests := map[string]struct {
		after time.Duration
		want  bool
	}{
		"not_complete_yet":             {-time.Millisecond, false},
		"newest":                       {0, true},
		"oldest_in_the_playlist":       {11 * time.Second, true},
		"left_the_playlist":            {12 * time.Second, true},
		"one_window_and_segment_later": {25 * time.Second, true},
		"nobody_can_know_it_any_more":  {26 * time.Second, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := line.available(n, epoch().Add(tt.after)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestClockAtTheEpoch is a machine that has not been told the time yet.
func TestClockAtTheEpoch(t *testing.T) {
	t.Parallel()
	line := live(time.Unix(0, 0))
	for _, at := range []time.Duration{-time.Hour, 0, time.Second, 2 * time.Second, 5 * time.Second, 30 * time.Second} {
		now := time.Unix(0, 0).Add(at)
		for i, s := range read(t, mediaPlaylist(line, now)) {
			if s.sequence < 0 || s.discontinuity < 0 || !line.available(s.sequence, now) {
				t.Errorf("%v: segment %d is %+v", at, i, s)
			}
		}
	}
}

// TestDiscontinuitySequenceStaysLow keeps hls.js alive: see live.
func TestDiscontinuitySequenceStaysLow(t *testing.T) {
	t.Parallel()
	for _, since := range []time.Time{epoch().Add(-2 * time.Second), epoch(), epoch().Add(24*time.Hour - 3*time.Second)} {
		for _, after := range []time.Duration{0, time.Minute, 24 * time.Hour} {
			got := read(t, mediaPlaylist(live(since), since.Add(after)))[0].discontinuity
			if got < 1 || got > 3*3600 {
				t.Errorf("%v after %v the discontinuity sequence is %d", after, since, got)
			}
		}
	}
}

func FuzzSegmentNumber(f *testing.F) {
	for _, name := range []string{"0.m4s", "898004499.m4s", "-1.m4s", "+1.m4s", "01.m4s", "1.m4s.m4s", ".m4s", "9223372036854775808.m4s", "1", "init.mp4", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n, ok := segmentNumber(name)
		if ok && (n < 0 || segmentName(n) != name) {
			t.Errorf("%q was read as segment %d", name, n)
		}
	})
}

func TestMultivariantPlaylist(t *testing.T) {
	t.Parallel()
	second := make([]byte, 250) // 1000 bit/s over two seconds
	c := channel{name: "test", variants: []variant{
		{name: "hi", resolution: "640x360", codecs: "avc1.64001f,mp4a.40.2", segments: [][]byte{second, append(second, second...)}},
		{name: "lo", resolution: "426x240", codecs: "avc1.640016,mp4a.40.2", segments: [][]byte{second}},
	}}
	const want = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n" +
		`#EXT-X-STREAM-INF:BANDWIDTH=2000,AVERAGE-BANDWIDTH=1500,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=25.000` + "\nhi/index.m3u8\n" +
		`#EXT-X-STREAM-INF:BANDWIDTH=1000,AVERAGE-BANDWIDTH=1000,CODECS="avc1.640016,mp4a.40.2",RESOLUTION=426x240,FRAME-RATE=25.000` + "\nlo/index.m3u8\n"
	if got := multivariantPlaylist(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
