package playlist_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// longLadder has 20 variants, 20 I-frame variants and 10 renditions.
func longLadder() []byte {
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-VERSION:7\n")
	for i := range 10 {
		fmt.Fprintf(&b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"aac\",LANGUAGE=\"l%d\",NAME=\"Language %d\",AUTOSELECT=YES,CHANNELS=\"2\",URI=\"audio/%d/index.m3u8\"\n", i, i, i)
	}
	for i := range 20 {
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d00000,CODECS=\"avc1.64001f,mp4a.40.2\",RESOLUTION=1280x720,FRAME-RATE=25.000,AUDIO=\"aac\"\nvideo/%d/index.m3u8\n", i+1, i)
		fmt.Fprintf(&b, "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=%d0000,CODECS=\"avc1.64001f\",RESOLUTION=1280x720,URI=\"video/%d/iframes.m3u8\"\n", i+1, i)
	}
	return []byte(b.String())
}

func BenchmarkDecorateHLS(b *testing.B) {
	body, d := longLadder(), threeSites("index.m3u8")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := playlist.DecorateHLS(body, d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecorateMPD(b *testing.B) {
	var representations strings.Builder
	for i := range 20 {
		fmt.Fprintf(&representations, "<Representation id=\"%d\" bandwidth=\"%d00000\" width=\"1280\" height=\"720\"/>", i, i+1)
	}
	body := []byte("<MPD type=\"dynamic\">\n  <Period id=\"1\">\n    <AdaptationSet>\n      <SegmentTemplate timescale=\"1000\"><SegmentTimeline>" +
		strings.Repeat(`<S d="2000"/>`, 100) + "</SegmentTimeline></SegmentTemplate>" + representations.String() + "</AdaptationSet>\n  </Period>\n</MPD>\n")
	d := threeSites("manifest.mpd")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := playlist.DecorateMPD(body, d); err != nil {
			b.Fatal(err)
		}
	}
}
