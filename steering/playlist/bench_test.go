package playlist_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// mediaPlaylist is what a server writes for segments of two seconds, each with its date.
func mediaPlaylist(segments int) []byte {
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:12345\n")
	start := time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)
	for i := range segments {
		at := start.Add(time.Duration(i) * 2 * time.Second).Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n#EXTINF:2.000,\n2026/11/30/segment-%06d.ts\n", at, i)
	}
	return []byte(b.String())
}

func BenchmarkParseHLS(b *testing.B) {
	for name, segments := range map[string]int{"live_6": 6, "archive_43200": 43200} {
		body := mediaPlaylist(segments)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := playlist.ParseHLS(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseMPD(b *testing.B) {
	body := testdata(b, "ffmpeg-live.mpd")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := playlist.ParseMPD(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadHLS(b *testing.B) {
	dated := mediaPlaylist(43200)
	for name, body := range map[string][]byte{
		"dated_43200":  dated,
		"ffmpeg_43200": bytes.ReplaceAll(dated, []byte("Z\n"), []byte("+0000\n")),
		"once_43200":   dateOnce(dated),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if r, err := playlist.ReadHLS(body); err != nil || len(r.Spans) != 1 {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// dateOnce takes away all dates but the first.
func dateOnce(body []byte) []byte {
	var out []byte
	dates := 0
	for line := range bytes.Lines(body) {
		if bytes.HasPrefix(line, []byte("#EXT-X-PROGRAM-DATE-TIME")) {
			if dates++; dates > 1 {
				continue
			}
		}
		out = append(out, line...)
	}
	return out
}

func BenchmarkReadMPD(b *testing.B) {
	listed := dynamicMPD(start2026, "<SegmentTimeline>"+strings.Repeat(`<S d="2000"/>`, 43200)+"</SegmentTimeline>")
	for name, body := range map[string]string{
		"listed_43200":   listed,
		"repeated_43200": dynamicMPD(start2026, `<SegmentTimeline><S d="2000" r="43199"/></SegmentTimeline>`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if r, err := playlist.ReadMPD([]byte(body)); err != nil || len(r.Spans) != 1 {
					b.Fatal(r, err)
				}
			}
		})
	}
}

func BenchmarkReadSmooth(b *testing.B) {
	body := []byte(utf16LE(`<SmoothStreamingMedia><StreamIndex Type="video"><c t="17960000000000000" d="20000000"/>`+
		strings.Repeat(`<c d="20000000"/>`, 43199)+`</StreamIndex></SmoothStreamingMedia>`, true))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if r, err := playlist.ReadSmooth(body); err != nil || len(r.Spans) != 1 {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkSniff(b *testing.B) {
	body := mediaPlaylist(43200)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if got := playlist.Sniff(body); got != playlist.HLSMedia {
			b.Fatal(got)
		}
	}
}

func TestParseHLSAllocatesLittle(t *testing.T) {
	body := mediaPlaylist(43200)
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := playlist.ParseHLS(body); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 10 {
		t.Errorf("a playlist of a day took %v allocations, want at most 10 however long it is", allocations)
	}
}

func TestReadHLSAllocatesLittle(t *testing.T) {
	body := mediaPlaylist(43200)
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := playlist.ReadHLS(body); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 10 {
		t.Errorf("a playlist of a day took %v allocations, want at most 10 however long it is", allocations)
	}
}
