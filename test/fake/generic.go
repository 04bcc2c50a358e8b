package fake

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// GenericOptions configure a [Generic].
type GenericOptions struct {
	Now          func() time.Time // nil: the clock
	NoDates      bool             // HLS playlists have no PROGRAM-DATE-TIME
	GapTags      bool             // HLS archives fill gaps with EXT-X-GAP segments; else they leave them out, with EXT-X-DISCONTINUITY
	Segment      time.Duration    // of a segment; 0: four seconds
	Multivariant bool             // playlists are multivariant, with one media playlist
}

// Generic is a server without an interface, in Flussonic's URL dialect:
//
//	CHANNEL/index.m3u8                        live
//	CHANNEL/{index,archive,video}-FROM-DURATION.m3u8  archive; DURATION in seconds or "now"
//	CHANNEL/archive-FROM-DURATION.mpd         the same as DASH: one Period a recording, gaps between them
//
// An archive that holds nothing of the window is 404; one whose window has not
// ended has no EXT-X-ENDLIST. Its requests count as "live", "archive" and
// "segment".
type Generic struct {
	*Server
	opt     GenericOptions
	archive *regexp.Regexp
}

// NewGeneric makes a server without channels.
func NewGeneric(opt GenericOptions) *Generic {
	if opt.Segment <= 0 {
		opt.Segment = segment
	}
	return &Generic{
		Server: newServer(opt.Now), opt: opt,
		archive: regexp.MustCompile(`^(media-)?(?:index|archive|video)-(\d{1,12})-(\d{1,7}|now)\.(m3u8|mpd)$`),
	}
}

// ServeHTTP answers manifests and segments.
func (f *Generic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	channel, file, _ := cutLast(r.URL.Path)
	window := f.archive.FindStringSubmatch(file)
	kind := "segment"
	switch {
	case window != nil:
		kind = "archive"
	case file == "index.m3u8" || file == "media-index.m3u8":
		kind = "live"
	}
	if !f.count(kind, w, r) {
		return
	}
	c, ok := f.channel(channel)
	switch {
	case !ok:
		http.NotFound(w, r)
	case window != nil:
		f.serveArchive(w, r, c, file, window)
	case kind == "segment":
		serveSegment(w, file)
	case !c.Live:
		http.NotFound(w, r)
	case f.opt.Multivariant && file == "index.m3u8":
		writeMultivariant(w, "media-index.m3u8")
	default:
		to := f.now().Truncate(f.opt.Segment)
		f.writeHLS(w, Range{to.Add(-5 * f.opt.Segment), to}, []Range{{to.Add(-5 * f.opt.Segment), to}}, to.UnixMilli()/f.opt.Segment.Milliseconds(), false)
	}
}

func (f *Generic) serveArchive(w http.ResponseWriter, r *http.Request, c Channel, file string, window []string) {
	now := f.now()
	from, okFrom := parseUnix(window[2])
	to, ended := now, false
	if seconds, err := strconv.ParseInt(window[3], 10, 64); err == nil {
		to = from.Add(time.Duration(seconds) * time.Second)
		ended = !to.After(now)
	}
	rs := c.recorded(from, to)
	switch {
	case !okFrom || len(rs) == 0:
		http.NotFound(w, r)
	case window[4] == "mpd":
		f.writeMPD(w, from, rs, ended)
	case f.opt.Multivariant && window[1] == "":
		writeMultivariant(w, "media-"+file)
	default:
		f.writeHLS(w, Range{from, to}, rs, 1, ended)
	}
}

func writeMultivariant(w http.ResponseWriter, media string) {
	writePlaylist(w, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1200000,CODECS=\"avc1.4d401f,mp4a.40.2\"\n"+media+"\n")
}

// writeHLS answers with a media playlist of the recordings rs in window.
func (f *Generic) writeHLS(w http.ResponseWriter, window Range, rs []Range, sequence int64, ended bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:%d\n",
		int((f.opt.Segment+time.Second-1)/time.Second), sequence)
	if f.opt.GapTags {
		at := window.From
		for _, r := range rs {
			f.writeStretch(&b, Range{at, r.From}, true)
			f.writeStretch(&b, r, false)
			at = r.To
		}
		if ended {
			f.writeStretch(&b, Range{at, window.To}, true)
		}
	} else {
		for i, r := range rs {
			if i > 0 {
				b.WriteString("#EXT-X-DISCONTINUITY\n")
			}
			f.writeStretch(&b, r, false)
		}
	}
	if ended {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	writePlaylist(w, b.String())
}

// writeStretch writes the segments from r.From to r.To, the last cut short.
func (f *Generic) writeStretch(b *strings.Builder, r Range, gap bool) {
	if !f.opt.NoDates && r.From.Before(r.To) {
		fmt.Fprintf(b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", r.From.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	for t := r.From; t.Before(r.To); t = t.Add(f.opt.Segment) {
		if gap {
			b.WriteString("#EXT-X-GAP\n")
		}
		fmt.Fprintf(b, "#EXTINF:%.3f,\n%d.ts\n", min(f.opt.Segment, r.To.Sub(t)).Seconds(), t.UnixMilli())
	}
}

// writeMPD answers with an MPD of the recordings rs, whose times count from
// from. A window that has not ended is dynamic.
func (f *Generic) writeMPD(w http.ResponseWriter, from time.Time, rs []Range, ended bool) {
	var b strings.Builder
	kind := "static"
	if !ended {
		kind = "dynamic"
	}
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="%s" minBufferTime="PT4S" availabilityStartTime="%s"`,
		kind, from.UTC().Format(time.RFC3339))
	if !ended {
		fmt.Fprintf(&b, ` minimumUpdatePeriod="PT%.3fS"`, f.opt.Segment.Seconds())
	}
	b.WriteString(">\n")
	for i, r := range rs {
		start, length := r.From.Sub(from), r.To.Sub(r.From)
		fmt.Fprintf(&b, ` <Period id="%d" start="PT%.3fS"`, r.From.Unix(), start.Seconds())
		if ended || i < len(rs)-1 {
			fmt.Fprintf(&b, ` duration="PT%.3fS"`, length.Seconds())
		}
		fmt.Fprintf(&b, `>
  <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true">
   <SegmentTemplate timescale="1000" presentationTimeOffset="%d" initialization="init.m4s" media="$Time$.m4s">
    <SegmentTimeline>%s</SegmentTimeline>
   </SegmentTemplate>
   <Representation id="v1" bandwidth="1200000" codecs="avc1.4d401f"/>
  </AdaptationSet>
 </Period>
`, r.From.UnixMilli(), f.timeline(r))
	}
	b.WriteString("</MPD>\n")
	w.Header().Set("Content-Type", "application/dash+xml")
	_, _ = w.Write([]byte(b.String()))
}

// timeline writes the segments of a recording as S elements.
func (f *Generic) timeline(r Range) string {
	whole := int64(r.To.Sub(r.From) / f.opt.Segment)
	rest := r.To.Sub(r.From) % f.opt.Segment
	var b strings.Builder
	t := r.From.UnixMilli()
	if whole > 0 {
		fmt.Fprintf(&b, `<S t="%d" d="%d" r="%d"/>`, t, f.opt.Segment.Milliseconds(), whole-1)
		t += whole * f.opt.Segment.Milliseconds()
	}
	if rest > 0 {
		fmt.Fprintf(&b, `<S t="%d" d="%d"/>`, t, rest.Milliseconds())
	}
	return b.String()
}
