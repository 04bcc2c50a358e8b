package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeline turns the wall clock into a live stream. Segment n covers the time from n times the segment's
// duration after the Unix epoch until n+1 times: so every server that has a clock numbers the same
// segment alike, and a server that was away needs no memory to be right again.
type timeline struct {
	segment time.Duration // of every segment, in whole milliseconds
	loop    int64         // segments until the picture begins again
	window  int64         // segments in a playlist
	origin  int64         // the loop from which discontinuities are counted
}

// live returns the timeline of servers that are on the air since the given time. It counts discontinuities
// from the midnight before the last: not from the epoch like segments, because hls.js (1.7.4, at every
// playlist) walks an array as long as the discontinuity sequence is high, and 70 million steps freeze a
// page; and not from since itself, so that a demo that is started again goes on counting.
func live(since time.Time) timeline {
	const day = 24 * time.Hour
	origin := since.UTC().Truncate(day).Add(-day)
	return timeline{
		segment: segmentDuration, loop: segmentsPerLoop, window: 6,
		origin: origin.UnixMilli() / (segmentsPerLoop * segmentDuration).Milliseconds(),
	}
}

// edge returns the newest segment that is complete at now. It is -1 or less when the clock stands
// at the Unix epoch.
func (t timeline) edge(now time.Time) int64 {
	return now.UnixMilli()/t.segment.Milliseconds() - 1
}

// available reports whether segment n can be fetched at now. It stays after it has left the playlist for
// its own duration and that of the longest playlist that named it (RFC 8216 section 6.2.2), because a
// player may still hold that playlist.
func (t timeline) available(n int64, now time.Time) bool {
	edge := t.edge(now)
	return n >= 0 && n <= edge && n > edge-(2*t.window+1)
}

// start returns when segment n begins.
func (t timeline) start(n int64) time.Time {
	return time.UnixMilli(n * t.segment.Milliseconds()).UTC()
}

// wraps reports whether the picture begins again with segment n.
func (t timeline) wraps(n int64) bool { return n > 0 && n%t.loop == 0 }

// mediaPlaylist returns the sliding media playlist of t at now.
func mediaPlaylist(t timeline, now time.Time) string {
	edge := t.edge(now)
	first := max(edge-t.window+1, 0)

	// The header counts the EXT-X-DISCONTINUITY tags that have left the playlist (RFC 8216 sections 4.3.3.3
	// and 6.2.2). A tag leaves with the segment it stands above, so a wrap at the very first segment is
	// not counted yet.
	wrapsBefore := max((first-1)/t.loop-t.origin, 0)

	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n"+
		"#EXT-X-VERSION:7\n"+ // EXT-X-MAP outside I-frame playlists needs 6, fMP4 players expect 7
		"#EXT-X-TARGETDURATION:%d\n"+
		"#EXT-X-MEDIA-SEQUENCE:%d\n"+
		"#EXT-X-DISCONTINUITY-SEQUENCE:%d\n"+
		"#EXT-X-INDEPENDENT-SEGMENTS\n"+
		"#EXT-X-MAP:URI=\"init.mp4\"\n",
		int64((t.segment+time.Second/2)/time.Second), first, wrapsBefore)
	for n := first; n <= edge; n++ {
		if t.wraps(n) {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n#EXTINF:%.3f,\n%s\n",
			t.start(n).Format("2006-01-02T15:04:05.000Z"), t.segment.Seconds(), segmentName(n))
	}
	return b.String()
}

// segmentName returns the URI of segment n beside its playlist. It holds the running number and not the
// place in the loop, so that a URI names one segment for ever and a cache can never serve the wrong one.
func segmentName(n int64) string { return strconv.FormatInt(n, 10) + ".m4s" }

// segmentNumber is the inverse of segmentName. It accepts only what segmentName writes.
func segmentNumber(name string) (n int64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".m4s")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0 && segmentName(n) == name
}

// multivariantPlaylist returns the multivariant playlist of c.
func multivariantPlaylist(c channel) string {
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n")
	for _, v := range c.variants {
		peak, mean := v.bandwidth()
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,CODECS=%q,RESOLUTION=%s,FRAME-RATE=25.000\n%s/index.m3u8\n",
			peak, mean, v.codecs, v.resolution, v.name)
	}
	return b.String()
}
