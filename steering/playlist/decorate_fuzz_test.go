package playlist_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// fuzzDecorations put the source on the first pathway, on another one, and on none, below a folder of its own.
func fuzzDecorations(manifest string) []*playlist.Decoration {
	away := threeSites(manifest)
	away.Source, away.BeforeStart = "http://origin.example:80/packager/live/one/x", true
	return []*playlist.Decoration{twoSites(manifest), reordered(threeSites(manifest)), away}
}

func isRefusal(err error) bool {
	return errors.Is(err, playlist.ErrNotMultivariant) || errors.Is(err, playlist.ErrMalformed) || errors.Is(err, playlist.ErrSteered) ||
		errors.Is(err, playlist.ErrElsewhere) || errors.Is(err, playlist.ErrTooLarge)
}

func FuzzDecorateHLS(f *testing.F) {
	const one = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"
	for _, seed := range []string{
		ladder, strings.ReplaceAll(ladder, "\n", "\r\n"), strings.ReplaceAll(ladder, "\n", "\r"), "\xef\xbb\xbf\n" + ladder, lowLatency,
		"", "#EXTM3U", one, one + "v", one + "v\n\n", one + "v\r\n#x\r\r\n", one + "/live/one/v\n", one + "//a.example/v#\n",
		one + "https://A.example:443/live/one/../v?x#y\n", one + "?\n", one + "#\n.\n",
		"#EXTM3U\r#EXT-X-STREAM-INF : A=\"\" , AUDIO = \"x\" ,\n v \t\n\n",
		"#EXTM3U\n#EXT-X-DEFINE:NAME=\"p\",VALUE=\"/x\"\n#EXT-X-DEFINE:NAME=\"q\",VALUE=\"{$p}{$q}\"\n#EXT-X-STREAM-INF:A=1\n{$p}{$q}\n#EXT-X-MEDIA:GROUP-ID={$p},URI=\"https://a.example/{$p}\"\n",
		one + "v\n#EXT-X-MEDIA:STABLE-RENDITION-ID=\"r\",GROUP-ID=\"x@a\",URI=\"\"\n#EXT-X-SESSION-KEY:URI=\"k\"\n#EXT-X-SESSION-DATA:URI=\"https://a.example/live/one/k\"",
		one + "v\n#EXT-X-I-FRAME-STREAM-INF:VIDEO=NONE,CLOSED-CAPTIONS=NONE,URI=\"/i\"",
	} {
		f.Add([]byte(seed))
	}
	f.Add(testdata(f, "decorate/ffmpeg-alternate-audio.m3u8"))
	f.Add(testdata(f, "decorate/ffmpeg-subtitles.m3u8"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, d := range fuzzDecorations("index.m3u8") {
			out, err := playlist.DecorateHLS(in, d)
			if err != nil {
				checkError(t, err)
				if out != nil || !isRefusal(err) {
					t.Errorf("%v comes with %q, want one of the refusals and nothing", err, out)
				}
				continue
			}
			if back := undecorateHLS(out, d); string(back) != string(in) {
				t.Fatalf("removing what was added gives\n%q\nwant\n%q\nout of\n%q", back, in, out)
			}
			checkSteeredHLS(t, string(in), string(out), d)
			if was, err := playlist.ParseHLS(in); err == nil {
				h, err := playlist.ParseHLS(out)
				if err != nil || !h.Multivariant || len(h.Variants) != min(128, len(was.Variants)*len(d.Pathways)) {
					t.Errorf("%q reads as %+v, %v; want each of %+v once per pathway", out, h, err, was.Variants)
				}
			}
			if _, err := playlist.DecorateHLS(out, d); !errors.Is(err, playlist.ErrSteered) {
				t.Errorf("decorating twice: %v, want ErrSteered", err)
			}
		}
	})
}

func FuzzDecorateMPD(f *testing.F) {
	for _, seed := range []string{
		"", "<MPD/>", "<MPD><Period/></MPD>", "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"us-ascii\"?>\r\n<m:MPD xmlns:m='u'>\r\n <m:Period/></m:MPD>",
		"<MPD><BaseURL/><Period/></MPD>", "<MPD>x<BaseURL a='1' >\r\n<![CDATA[a--b%/]]>&amp;<!-- - --></BaseURL >\t<BaseURL>/x</BaseURL><Period/></MPD>",
		"<MPD><ProgramInformation><Title/></ProgramInformation><Location>x</Location><Period><BaseURL>https://x</BaseURL></Period><ProgramInformation/></MPD>",
		"<MPD><BaseURL serviceLocation='a'/><Period/></MPD>", "<MPD><Period/><ContentSteering/></MPD>", "<MPD><BaseURL>https://x</BaseURL><Period/></MPD>",
		"<MPD xmlns='u'><b:BaseURL xmlns:b='u'>//a.example/y/</b:BaseURL><BaseURL xmlns='w'/><Period/></MPD><!-- x -->", steerableMPD,
	} {
		f.Add([]byte(seed))
	}
	f.Add(testdata(f, "decorate/ffmpeg-timeline.mpd"))
	f.Add(testdata(f, "decorate/ffmpeg-numbers.mpd"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, d := range fuzzDecorations("manifest.mpd") {
			out, err := playlist.DecorateMPD(in, d)
			if err != nil {
				checkError(t, err)
				if out != nil || !isRefusal(err) {
					t.Errorf("%v comes with %q, want one of the refusals and nothing", err, out)
				}
				continue
			}
			if back := undecorateMPD(t, out); string(back) != string(in) {
				t.Fatalf("removing what was added gives\n%q\nwant\n%q\nout of\n%q", back, in, out)
			}
			checkSteeredMPD(t, out, d)
			if was, err := playlist.ParseMPD(in); err == nil {
				m, err := playlist.ParseMPD(out)
				if err != nil || *m != *was {
					t.Errorf("%q reads as %+v, %v; want %+v as before", out, m, err, was)
				}
			}
			if _, err := playlist.DecorateMPD(out, d); !errors.Is(err, playlist.ErrSteered) {
				t.Errorf("decorating twice: %v, want ErrSteered", err)
			}
		}
	})
}
