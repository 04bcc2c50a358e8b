package playlist_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// ladder has the shape of Apple's examples: alternate audio, subtitles and captions, I-frames, a data item, a key.
const ladder = `#EXTM3U
#EXT-X-VERSION:8
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-START:TIME-OFFSET=-12.0
## made by a packager
#EXT-X-SESSION-DATA:DATA-ID="com.example.title",LANGUAGE="en",VALUE="One, two"
#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://key/1",KEYFORMAT="com.apple.streamingkeydelivery",KEYFORMATVERSIONS="1"

#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",LANGUAGE="en",NAME="English",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio/en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",LANGUAGE="cs",NAME="Čeština",AUTOSELECT=YES,CHANNELS="2",URI="audio/cs.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="muxed",LANGUAGE="en",NAME="English",DEFAULT=YES
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",LANGUAGE="en",NAME="English",FORCED=NO,URI="subs/en.m3u8"
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",LANGUAGE="en",NAME="CC1",INSTREAM-ID="CC1"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="nobody",NAME="Spare",URI="audio/spare.m3u8"

#EXT-X-STREAM-INF:BANDWIDTH=2500000,AVERAGE-BANDWIDTH=2200000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=25.000,AUDIO="aac",SUBTITLES="subs",CLOSED-CAPTIONS="cc",SCORE=2.0,X-VENDOR="a, b"
video/720.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=800000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=640x360,AUDIO="muxed",SUBTITLES="subs",CLOSED-CAPTIONS="cc",SCORE=1.0
video/360.m3u8?q=1
#EXT-X-UNHEARD-OF:URI="stays"
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=190000,CODECS="avc1.64001f",RESOLUTION=640x360,URI="iframes/360.m3u8"
`

func decorateHLS(t testing.TB, in string, d *playlist.Decoration) string {
	t.Helper()
	out, err := playlist.DecorateHLS([]byte(in), d)
	if err != nil {
		t.Fatalf("DecorateHLS: %v\n%s", err, in)
	}
	return string(out)
}

// steeredItem is a variant or rendition of a decorated playlist.
type steeredItem struct {
	tag, pathway, stable, group, uri string
	refs                             []string
}

// readSteered reads a playlist as a player would, with as little as it takes.
func readSteered(out string) (items []steeredItem, steering []string) {
	var variant *steeredItem
	for _, line := range strings.FieldsFunc(out, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.Trim(line, " \t")
		name, list, _ := strings.Cut(line, ":")
		item := steeredItem{}
		if tag, found := strings.CutPrefix(strings.TrimRight(name, " \t"), "#EXT-X-"); found {
			item.tag = tag
		}
		switch item.tag {
		case "CONTENT-STEERING":
			steering = append(steering, list)
			continue
		case "STREAM-INF", "I-FRAME-STREAM-INF", "MEDIA":
		default:
			if variant != nil && line != "" && line[0] != '#' {
				variant.uri = line
				items, variant = append(items, *variant), nil
			}
			continue
		}
		editAttributes(list, func(name, value string, quoted bool) string {
			switch name {
			case "PATHWAY-ID":
				item.pathway = value
			case "STABLE-VARIANT-ID", "STABLE-RENDITION-ID":
				item.stable = value
			case "GROUP-ID":
				item.group = value
				item.pathway = value[strings.LastIndex(value, "@")+1:]
			case "URI":
				item.uri = value
			case "AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS":
				if value != "" && (quoted || value != "NONE") {
					item.refs = append(item.refs, name+" "+value)
				}
			}
			return value
		})
		if item.tag == "STREAM-INF" {
			variant = &item
		} else {
			items = append(items, item)
		}
	}
	return items, steering
}

// checkSteeredHLS is check 55 of the reference: the tag once, its PATHWAY-ID one that variants have, every variant and
// rendition on every pathway, groups of its own for each, stable ids equal across them.
func checkSteeredHLS(t testing.TB, in, out string, d *playlist.Decoration) {
	t.Helper()
	items, steering := readSteered(out)
	if want := `SERVER-URI="` + d.ServerURI + `",PATHWAY-ID="` + d.Pathways[0].ID + `"`; len(steering) != 1 || steering[0] != want {
		t.Errorf("EXT-X-CONTENT-STEERING is %q, want it once with %q", steering, want)
	}
	before, _ := readSteered(in)
	uris := map[string]string{}
	for _, item := range items { // Media3 refuses a playlist in which one id of a pathway has two URIs
		if key := item.tag + " " + item.pathway + " " + item.stable; strings.HasPrefix(item.stable, "pointsman.") {
			if uris[key] != "" && uris[key] != item.uri {
				t.Errorf("id %s of pathway %s has the URIs %q and %q", item.stable, item.pathway, uris[key], item.uri)
			}
			uris[key] = item.uri
		}
	}
	for i, pathway := range d.Pathways {
		here := slices.DeleteFunc(slices.Clone(items), func(item steeredItem) bool { return item.pathway != pathway.ID })
		if len(here) != len(before) {
			t.Fatalf("pathway %s has %d variants and renditions, want the input's %d\n%s", pathway.ID, len(here), len(before), out)
		}
		for n, item := range here {
			was, first := before[n], items[n*len(d.Pathways)]
			if item.tag != was.tag || item.stable != first.stable || (was.stable != "" && item.stable != was.stable) {
				t.Errorf("item %d of pathway %s is %+v, want it as %+v and with the id of %+v", n, pathway.ID, item, was, first)
			}
			if item.stable == "" && item.uri != "" {
				t.Errorf("item %d of pathway %s has no stable id: %+v", n, pathway.ID, item)
			}
			if want := was.group + "@" + pathway.ID; was.group != "" && item.group != want {
				t.Errorf("item %d of pathway %s has group %q, want %q", n, pathway.ID, item.group, want)
			}
			for r, ref := range was.refs {
				if want := ref + "@" + pathway.ID; item.refs[r] != want {
					t.Errorf("item %d of pathway %s refers to %q, want %q", n, pathway.ID, item.refs[r], want)
				}
			}
			if i > 0 && item.uri != "" && item.uri == first.uri && !strings.HasPrefix(strings.ToLower(was.uri), "http") &&
				d.Pathways[i].Base != d.Pathways[0].Base && !strings.Contains(was.uri, "{$") && !strings.Contains(was.uri, "//") {
				t.Errorf("item %d has the same URI %q on pathways %s and %s", n, item.uri, pathway.ID, d.Pathways[0].ID)
			}
		}
	}
}

func TestDecorateHLS(t *testing.T) {
	t.Parallel()
	d := threeSites("index.m3u8")
	got := decorateHLS(t, ladder, d)
	const want = `#EXTM3U
#EXT-X-CONTENT-STEERING:SERVER-URI="https://steer.example/hls?channel=one&s=abc",PATHWAY-ID="a"
#EXT-X-VERSION:8
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-START:TIME-OFFSET=-12.0
## made by a packager
#EXT-X-SESSION-DATA:DATA-ID="com.example.title",LANGUAGE="en",VALUE="One, two"
#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://key/1",KEYFORMAT="com.apple.streamingkeydelivery",KEYFORMATVERSIONS="1"

#EXT-X-MEDIA:STABLE-RENDITION-ID="pointsman.audio.aac.en.English",TYPE=AUDIO,GROUP-ID="aac@a",LANGUAGE="en",NAME="English",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="https://a.example/live/one/audio/en.m3u8"
#EXT-X-MEDIA:STABLE-RENDITION-ID="pointsman.audio.aac.en.English",TYPE=AUDIO,GROUP-ID="aac@b",LANGUAGE="en",NAME="English",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="https://b.example/live/one/audio/en.m3u8"
#EXT-X-MEDIA:STABLE-RENDITION-ID="pointsman.audio.aac.en.English",TYPE=AUDIO,GROUP-ID="aac@cdn-1",LANGUAGE="en",NAME="English",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="https://cdn.example/customer/live/one/audio/en.m3u8"
#EXT-X-MEDIA:STABLE-RENDITION-ID="pointsman.audio.aac.cs._e_tina",TYPE=AUDIO,GROUP-ID="aac@a",LANGUAGE="cs",NAME="Čeština",AUTOSELECT=YES,CHANNELS="2",URI="https://a.example/live/one/audio/cs.m3u8"
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
	for _, line := range []string{
		`#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="muxed@b",LANGUAGE="en",NAME="English",DEFAULT=YES`,
		`#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc@b",LANGUAGE="en",NAME="CC1",INSTREAM-ID="CC1"`,
		`#EXT-X-MEDIA:STABLE-RENDITION-ID="pointsman.audio.nobody.Spare",TYPE=AUDIO,GROUP-ID="nobody@b",NAME="Spare",URI="https://b.example/live/one/audio/spare.m3u8"`,
		`#EXT-X-STREAM-INF:STABLE-VARIANT-ID="pointsman.v.1280x720.2500000",PATHWAY-ID="b",BANDWIDTH=2500000,AVERAGE-BANDWIDTH=2200000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=25.000,AUDIO="aac@b",SUBTITLES="subs@b",CLOSED-CAPTIONS="cc@b",SCORE=2.0,X-VENDOR="a, b"` + "\nhttps://b.example/live/one/video/720.m3u8",
		`AUDIO="muxed@cdn-1",SUBTITLES="subs@cdn-1",CLOSED-CAPTIONS="cc@cdn-1",SCORE=1.0` + "\nhttps://cdn.example/customer/live/one/video/360.m3u8?q=1",
		`#EXT-X-UNHEARD-OF:URI="stays"`,
		`#EXT-X-I-FRAME-STREAM-INF:STABLE-VARIANT-ID="pointsman.i.640x360.190000",PATHWAY-ID="cdn-1",BANDWIDTH=190000,CODECS="avc1.64001f",RESOLUTION=640x360,URI="https://cdn.example/customer/live/one/iframes/360.m3u8"`,
	} {
		if strings.Count(got, line+"\n") != 1 {
			t.Errorf("want once %q in\n%s", line, got)
		}
	}
	if strings.Contains(got, "#POINTSMAN-WAS") {
		t.Errorf("plain relative URIs need no comment, got\n%s", got)
	}
}

// TestDecoratedHLSIsSteeredAndReversible holds all shapes to check 55 and to the way back.
func TestDecoratedHLSIsSteeredAndReversible(t *testing.T) {
	t.Parallel()
	const one = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"
	tests := []struct{ name, in string }{
		{"ladder", ladder},
		{"crlf", strings.ReplaceAll(ladder, "\n", "\r\n")},
		{"bare_cr", strings.ReplaceAll(ladder, "\n", "\r")},
		{"bom", "\xef\xbb\xbf" + ladder},
		{"blank_lines_first", "\n \r\n" + ladder},
		{"blank_lines_last", ladder + "\n\n"},
		{"no_final_newline_after_a_tag", strings.TrimSuffix(ladder, "\n")},
		{"no_final_newline_after_a_uri", one + "v.m3u8"},
		{"no_final_newline_after_a_uri_with_blanks", one + "v.m3u8 \t"},
		{"no_final_newline_after_a_comment", one + "v.m3u8\r\n# end"},
		{"mixed_line_ends", "#EXTM3U\r#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n\n#EXT-X-MEDIA:GROUP-ID=\"a\"\r\n\r#x"},
		{"blanks_around_lines", "\t#EXTM3U \n  #EXT-X-STREAM-INF : BANDWIDTH=1, AUDIO = \"a\" , NAME=\"x\" \n v.m3u8\t\n"},
		{"comment_between_tag_and_uri", one + "# here\n\n#EXT-X-VENDOR:1\nv.m3u8\n"},
		{"ids_of_its_own", strings.ReplaceAll(strings.ReplaceAll(ladder, ":BANDWIDTH", `:STABLE-VARIANT-ID="v",BANDWIDTH`), ":TYPE", `:STABLE-RENDITION-ID="r",TYPE`)},
		{"some_ids_of_its_own", one + "a\n#EXT-X-STREAM-INF:BANDWIDTH=2,STABLE-VARIANT-ID=\"two\"\nb\n#EXT-X-STREAM-INF:BANDWIDTH=3\nb\n"},
		{"redundant_streams", one + "a/v.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\nb/v.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\na/v.m3u8\n"},
		{"rooted", one + "/live/one/v.m3u8\n"},
		{"dot_segments", one + "../two/./v.m3u8\n"},
		{"query_alone", one + "?variant=1\n"},
		{"network_path", one + "//a.example/live/one/v.m3u8\n"},
		{"absolute_on_the_source", one + "https://a.example/live/one/v.m3u8\n"},
		{"absolute_outside_the_folder", one + "https://A.example:443/vod/v.m3u8#x\n"},
		{"absolute_elsewhere_beside_relative", one + "https://other.example/v.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nv.m3u8\n"},
		{"another_scheme_beside_relative", one + "rtmp://other.example/v\n#EXT-X-STREAM-INF:BANDWIDTH=2\nv.m3u8\n"},
		{"colon_in_the_first_segment", one + "ch:1/v.m3u8\n"},
		{"blank_in_a_uri", one + "my video.m3u8\n"},
		{"same_uri_twice", one + "v.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2,AUDIO=\"b\"\nv.m3u8\n"},
		{"groups_that_look_decorated", one + "v\n#EXT-X-MEDIA:GROUP-ID=\"x@a\",URI=\"u\"\n#EXT-X-MEDIA:GROUP-ID=\"x\",URI=\"w\"\n"},
		{"group_without_quotes", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=aud\nv\n#EXT-X-MEDIA:GROUP-ID=aud,URI=\"\"\n"},
		{"no_captions", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CLOSED-CAPTIONS=NONE\nv\n#EXT-X-STREAM-INF:BANDWIDTH=2,CLOSED-CAPTIONS=NONE,VIDEO=\"NONE\"\nw\n"},
		{"trailing_comma", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,,\nv\n"},
		{"session_data_relative", one + "v\n#EXT-X-SESSION-DATA:DATA-ID=\"a\",URI=\"data.json\"\n#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"/k\"\n"},
		{"no_final_newline_after_session_data", one + "v\n#EXT-X-SESSION-DATA:DATA-ID=\"a\",URI=\"data.json\""},
		{"no_final_newline_after_blanks", one + "v\n \t"},
		{"blanks_before_a_comma", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1 ,AUDIO=aud\t, X\nv\n"},
		{"session_data_absolute", one + "v\n#EXT-X-SESSION-DATA:DATA-ID=\"a\",URI=\"https://a.example/live/one/data.json\"\n#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"urn:k\"\n"},
		{"images_without_pathway", one + "v\n#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1,URI=\"thumbs.m3u8\"\n"},
		{"define_value_relative", "#EXTM3U\n#EXT-X-DEFINE:NAME=\"p\",VALUE=\"hd\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{$p}/v.m3u8\n"},
		{"define_value_rooted", "#EXTM3U\n#EXT-X-DEFINE:NAME=\"p\",VALUE=\"/live/one\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{$p}/v.m3u8\n"},
		{"define_value_absolute", one + "v\n#EXT-X-DEFINE:NAME=\"p\",VALUE=\"https://a.example\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{$p}/v.m3u8\n"},
		{"define_query_inside", "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"t\"\n#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"{$t}\"\nv.m3u8?t={$t}\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"{$t}\",URI=\"a.m3u8?t={$t}\"\n"},
		{"define_query_first", one + "v\n#EXT-X-DEFINE:QUERYPARAM=\"t\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{$t}/v.m3u8\n"},
		{"low_latency_leftovers", one + "v\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p.mp4\"\n#EXT-X-RENDITION-REPORT:URI=\"../r\"\n"},
		{"uri_of_nobody", "#EXTM3U\nstray.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv\nstray.m3u8\n"},
		{"ffmpeg_alternate_audio", string(testdata(t, "decorate/ffmpeg-alternate-audio.m3u8"))},
		{"ffmpeg_subtitles", string(testdata(t, "decorate/ffmpeg-subtitles.m3u8"))},
		{"ffmpeg_cmaf", string(testdata(t, "decorate/ffmpeg-cmaf.m3u8"))},
		{"ffmpeg_multivariant", string(testdata(t, "ffmpeg-multivariant.m3u8"))},
	}
	decorations := map[string]*playlist.Decoration{
		"three_pathways": threeSites("index.m3u8"), "other_way_round": reordered(threeSites("index.m3u8")),
		"one_pathway": {
			ServerURI: "http://s", Source: "http://a.example",
			Pathways: []playlist.Pathway{{ID: "a", Base: "http://a.example"}},
		},
	}
	for _, test := range tests {
		for name, d := range decorations {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				out := decorateHLS(t, test.in, d)
				if back := string(undecorateHLS([]byte(out), d)); back != test.in {
					t.Errorf("removing what was added gives\n%q\nwant the input\n%q\nout of\n%q", back, test.in, out)
				}
				checkSteeredHLS(t, test.in, out, d)
				if h := parseHLS(t, out); !h.Multivariant || len(h.Variants) != len(parseHLS(t, test.in).Variants)*len(d.Pathways) {
					t.Errorf("reads as %+v", h)
				}
				if _, err := playlist.DecorateHLS([]byte(out), d); !errors.Is(err, playlist.ErrSteered) {
					t.Errorf("decorating twice: %v, want ErrSteered", err)
				}
			})
		}
	}
}

// TestDecorateHLSMovesAddresses says for each form of a URI what becomes of it on the server it came from, on one of the
// same layout, and on one that has the content below a folder of its own.
func TestDecorateHLSMovesAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, define, uri string
		a, b, cdn         string
	}{
		{"relative", "", "v/1.m3u8?x=/../y", "https://a.example/live/one/v/1.m3u8?x=/../y", "https://b.example/live/one/v/1.m3u8?x=/../y", "https://cdn.example/customer/live/one/v/1.m3u8?x=/../y"},
		{"up", "", "../two/1.m3u8", "https://a.example/live/two/1.m3u8", "https://b.example/live/two/1.m3u8", "https://cdn.example/customer/live/two/1.m3u8"},
		{"query_alone", "", "?v=1", "https://a.example/live/one/index.m3u8?v=1", "https://b.example/live/one/index.m3u8?v=1", "https://cdn.example/customer/live/one/index.m3u8?v=1"},
		{"rooted", "", "/live/one/1.m3u8", "https://a.example/live/one/1.m3u8", "https://b.example/live/one/1.m3u8", "https://cdn.example/customer/live/one/1.m3u8"},
		{"absolute", "", "https://a.example/live/one/1.m3u8?a#b", "https://a.example/live/one/1.m3u8?a#b", "https://b.example/live/one/1.m3u8?a#b", "https://cdn.example/customer/live/one/1.m3u8?a#b"},
		{"absolute_other_scheme_same_host", "", "http://A.example:80/vod/1.m3u8", "https://a.example/vod/1.m3u8", "https://b.example/vod/1.m3u8", "https://cdn.example/customer/vod/1.m3u8"},
		{"network", "", "//a.example/live/one/1.m3u8", "https://a.example/live/one/1.m3u8", "https://b.example/live/one/1.m3u8", "https://cdn.example/customer/live/one/1.m3u8"},
		{"absolute_other_port", "", "https://a.example:8443/live/one/1.m3u8", "", "", ""},
		{"absolute_other_host", "", "https://other.example/live/one/1.m3u8", "", "", ""},
		{"escapes", "", "a%2Fb/%2e%2e/c", "https://a.example/live/one/a%2Fb/%2e%2e/c", "https://b.example/live/one/a%2Fb/%2e%2e/c", "https://cdn.example/customer/live/one/a%2Fb/%2e%2e/c"},
		{"variable_inside", "", "v{$x}.m3u8", "https://a.example/live/one/v{$x}.m3u8", "https://b.example/live/one/v{$x}.m3u8", "https://cdn.example/customer/live/one/v{$x}.m3u8"},
		{"variable_unknown", "", "{$x}/1.m3u8", "", "", ""},
		{"variable_query", `QUERYPARAM="x"`, "{$x}/1.m3u8", "", "", ""},
		{"variable_import", `IMPORT="x"`, "{$x}/1.m3u8", "", "", ""},
		{"variable_relative", `NAME="x",VALUE="v/w"`, "{$x}/1.m3u8", "https://a.example/live/one/{$x}/1.m3u8", "https://b.example/live/one/{$x}/1.m3u8", "https://cdn.example/customer/live/one/{$x}/1.m3u8"},
		{"variable_empty", `NAME="x",VALUE=""`, "{$x}v.m3u8", "https://a.example/live/one/{$x}v.m3u8", "https://b.example/live/one/{$x}v.m3u8", "https://cdn.example/customer/live/one/{$x}v.m3u8"},
		{"variable_query_string", `NAME="x",VALUE="?v=1"`, "{$x}&w", "https://a.example/live/one/index.m3u8{$x}&w", "https://b.example/live/one/index.m3u8{$x}&w", "https://cdn.example/customer/live/one/index.m3u8{$x}&w"},
		{"variable_rooted", `NAME="x",VALUE="/live"`, "{$x}/1.m3u8", "https://a.example{$x}/1.m3u8", "https://b.example{$x}/1.m3u8", "https://cdn.example/customer{$x}/1.m3u8"},
		{"variable_after_root", "", "/live/{$x}.m3u8", "https://a.example/live/{$x}.m3u8", "https://b.example/live/{$x}.m3u8", "https://cdn.example/customer/live/{$x}.m3u8"},
		{"variable_absolute", `NAME="x",VALUE="https://a.example/live"`, "{$x}/1.m3u8", "", "", ""},
		{"variable_host", `NAME="x",VALUE="a"`, "https://{$x}.example/1.m3u8", "", "", ""},
		{"variable_scheme", `NAME="x",VALUE="s"`, "http{$x}://a.example/1.m3u8", "", "", ""},
		{"variable_other_scheme", `NAME="x",VALUE="s"`, "rtmp://{$x}/1", "", "", ""},
		{"variable_behind_the_host", "", "https://a.example/live/{$x}/1.m3u8", "https://a.example/live/{$x}/1.m3u8", "https://b.example/live/{$x}/1.m3u8", "https://cdn.example/customer/live/{$x}/1.m3u8"},
		{"variable_on_the_network", "", "//a.example/live/{$x}", "https://a.example/live/{$x}", "https://b.example/live/{$x}", "https://cdn.example/customer/live/{$x}"},
		{"variable_on_another_network", "", "//o.example/live/{$x}", "", "", ""},
		{"variable_with_another_scheme", `NAME="x",VALUE="rtmp://a.example"`, "{$x}/1", "", "", ""},
		{"variable_behind_another_host", "", "https://o.example/live/{$x}/1.m3u8", "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9\nplain\n"
			if test.define != "" {
				in += "#EXT-X-DEFINE:" + test.define + "\n"
			}
			in += "#EXT-X-STREAM-INF:BANDWIDTH=1\n" + test.uri + "\n"
			d := threeSites("index.m3u8")
			out := decorateHLS(t, in, d)
			items, _ := readSteered(out)
			got := [3]string{items[3].uri, items[4].uri, items[5].uri}
			want := [3]string{cmp.Or(test.a, test.uri), cmp.Or(test.b, test.uri), cmp.Or(test.cdn, test.uri)}
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if back := undecorateHLS([]byte(out), d); string(back) != in {
				t.Errorf("removing what was added gives\n%s\nwant\n%s", back, in)
			}
		})
	}
}

// TestDecorateHLSExchangesServerPaths moves from a server that has the content below a folder of its own.
func TestDecorateHLSExchangesServerPaths(t *testing.T) {
	t.Parallel()
	d := &playlist.Decoration{
		ServerURI: "https://s.example/", Source: "https://o.example/origin/live/one/index.m3u8",
		Pathways: []playlist.Pathway{
			{ID: "a", Base: "https://a.example/live/one/index.m3u8"},
			{ID: "b", Base: "https://b.example/edge/live/one/master.m3u8"},
			{ID: "c", Base: "https://c.example"},
		},
	}
	tests := []struct{ name, uri, a, b, c string }{
		{"rooted_below_it", "/origin/live/one/v", "https://a.example/live/one/v", "https://b.example/edge/live/one/v", "https://c.example/v"},
		{"rooted_beside_it", "/original/v", "https://a.example/original/v", "https://b.example/original/v", "https://c.example/original/v"},
		{"absolute", "https://o.example/origin/vod/v", "https://a.example/vod/v", "https://b.example/edge/vod/v", "https://c.example/origin/vod/v"},
		{"variable_behind_it", "/origin/{$x}/v", "https://a.example/{$x}/v", "https://b.example/edge/{$x}/v", "https://c.example/origin/{$x}/v"},
		{"variable_with_it", "{$o}/v", "{$o}/v", "{$o}/v", "https://c.example{$o}/v"},
		{"variable_beside_it", "{$p}/v", "https://a.example{$p}/v", "https://b.example{$p}/v", "https://c.example{$p}/v"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := "#EXTM3U\n#EXT-X-DEFINE:NAME=\"o\",VALUE=\"/origin/live\"\n#EXT-X-DEFINE:NAME=\"p\",VALUE=\"/other\"\n" +
				"#EXT-X-STREAM-INF:BANDWIDTH=9\nplain\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + test.uri + "\n"
			out := decorateHLS(t, in, d)
			items, _ := readSteered(out)
			got, want := [3]string{items[3].uri, items[4].uri, items[5].uri}, [3]string{test.a, test.b, test.c}
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if back := undecorateHLS([]byte(out), d); string(back) != in {
				t.Errorf("removing what was added gives\n%s\nwant\n%s", back, in)
			}
		})
	}
}

func TestDecorateHLSStableIDs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string // of the variants, I-frame variants and renditions, in order
	}{
		{
			"told_apart_by_what_they_are", "#EXT-X-STREAM-INF:BANDWIDTH=2,RESOLUTION=1x1\na\n#EXT-X-STREAM-INF:BANDWIDTH=3,RESOLUTION=1x1\nb\n",
			[]string{"pointsman.v.1x1.2", "pointsman.v.1x1.3"},
		},
		{
			"redundant_streams_are_variants_of_their_own", "#EXT-X-STREAM-INF:BANDWIDTH=2\na\n#EXT-X-STREAM-INF:BANDWIDTH=2\nb\n#EXT-X-STREAM-INF:BANDWIDTH=2\nc\n",
			[]string{"pointsman.v.2", "pointsman.v.2.2", "pointsman.v.2.3"},
		},
		{
			"one_uri_one_id", "#EXT-X-STREAM-INF:BANDWIDTH=2,AUDIO=\"x\"\na\n#EXT-X-STREAM-INF:BANDWIDTH=3,AUDIO=\"y\"\na\n",
			[]string{"pointsman.v.2", "pointsman.v.2"},
		},
		{
			"own_ids_stay_and_others_are_made", "#EXT-X-STREAM-INF:BANDWIDTH=2,STABLE-VARIANT-ID=\"top\"\na\n#EXT-X-STREAM-INF:BANDWIDTH=3\nb\n#EXT-X-STREAM-INF:BANDWIDTH=4\na\n",
			[]string{"top", "pointsman.v.3", "pointsman.v.4"},
		},
		{
			"groups_of_the_same_names", "#EXT-X-STREAM-INF:BANDWIDTH=2\na\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"lo\",NAME=\"E\",URI=\"1\"\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"hi\",NAME=\"E\",URI=\"2\"\n",
			[]string{"pointsman.v.2", "pointsman.audio.lo.E", "pointsman.audio.hi.E"},
		},
		{
			"names_that_come_out_the_same", "#EXT-X-STREAM-INF:BANDWIDTH=2\na\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"x\",NAME=\"русский\",URI=\"1\"\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"x\",NAME=\"中文\",URI=\"2\"\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"x\",NAME=\"_.2\",URI=\"3\"\n",
			[]string{"pointsman.v.2", "pointsman.audio.x._", "pointsman.audio.x._.2", "pointsman.audio.x._.2.2"},
		},
		{
			"nothing_to_go_by", "#EXT-X-STREAM-INF:X=1\na\n#EXT-X-STREAM-INF:X=2\nb\n#EXT-X-I-FRAME-STREAM-INF:URI=\"c\"\n",
			[]string{"pointsman.v", "pointsman.v.2", "pointsman.i"},
		},
		{
			"long_names", "#EXT-X-STREAM-INF:BANDWIDTH=2\na\n#EXT-X-MEDIA:GROUP-ID=\"" + strings.Repeat("g", 1000) + "\",URI=\"1\"\n",
			[]string{"pointsman.v.2", "pointsman." + strings.Repeat("g", 48)},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := twoSites("index.m3u8")
			items, _ := readSteered(decorateHLS(t, "#EXTM3U\n"+test.in, d))
			var got []string
			for i := 0; i < len(items); i += 2 {
				if items[i].stable != items[i+1].stable {
					t.Errorf("ids %q and %q of two pathways differ", items[i].stable, items[i+1].stable)
				}
				got = append(got, items[i].stable)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDecorateHLSRefuses(t *testing.T) {
	t.Parallel()
	const one = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"
	tests := []struct {
		name, in string
		want     error
		message  string
	}{
		{"nothing", "", playlist.ErrMalformed, "the body is empty"},
		{"html", "<html>FULL</html>", playlist.ErrMalformed, "expected #EXTM3U"},
		{"header_alone", "#EXTM3U", playlist.ErrNotMultivariant, "no EXT-X-STREAM-INF"},
		{"server_error", mistError, playlist.ErrNotMultivariant, "no EXT-X-STREAM-INF"},
		{"media_playlist", string(testdata(t, "ffmpeg-live.m3u8")), playlist.ErrNotMultivariant, "media playlist"},
		{"low_latency_media_playlist", lowLatency, playlist.ErrNotMultivariant, "line 2 is EXT-X-TARGETDURATION"},
		{"long_media_playlist", string(mediaPlaylist(43200)), playlist.ErrNotMultivariant, "media playlist"},
		{"list_of_channels", "#EXTM3U url-tvg=\"x\"\n#EXTINF:-1,One\nhttp://h/1\n", playlist.ErrNotMultivariant, "line 2"},
		{"renditions_alone", "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"u\"\n", playlist.ErrNotMultivariant, "no EXT-X-STREAM-INF"},
		{"segments_among_variants", one + "v\n#EXTINF:2,\n1.ts\n", playlist.ErrMalformed, "line 4: EXTINF stands among variants"},
		{"steered", one + "v\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"s\"\n", playlist.ErrSteered, "line 4 is EXT-X-CONTENT-STEERING"},
		{"pathways_of_its_own", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,PATHWAY-ID=\"x\"\nv\n", playlist.ErrSteered, "line 2 has a PATHWAY-ID"},
		{"pathways_of_iframes", one + "v\n#EXT-X-I-FRAME-STREAM-INF:URI=\"i\",PATHWAY-ID=\"x\"\n", playlist.ErrSteered, "line 4"},
		{"pathways_of_renditions", one + "v\n#EXT-X-MEDIA:GROUP-ID=\"i\",PATHWAY-ID=\"x\"\n", playlist.ErrSteered, "line 4"},
		{"ids_made_here", "#EXTM3U\n#EXT-X-STREAM-INF:STABLE-VARIANT-ID=\"pointsman.v\"\nv\n", playlist.ErrSteered, "line 2 has a STABLE-VARIANT-ID"},
		{"rendition_ids_made_here", one + "v\n#EXT-X-MEDIA:GROUP-ID=\"i\",STABLE-RENDITION-ID=\"pointsman.v\"\n", playlist.ErrSteered, "line 4"},
		{"comment_made_here", one + "v\n#POINTSMAN-WAS:x\n", playlist.ErrSteered, "line 4"},
		{"elsewhere", one + "https://cdn.example/v.m3u8\n", playlist.ErrElsewhere, "none of the 1 variants"},
		{"elsewhere_with_other_renditions", one + "https://cdn.example/v.m3u8\n#EXT-X-MEDIA:GROUP-ID=\"a\",URI=\"u\"\n", playlist.ErrElsewhere, "https://a.example"},
		{"no_uri_at_the_end", one + "#\n", playlist.ErrMalformed, "EXT-X-STREAM-INF has no URI line"},
		{"no_uri_before_the_next", one + "#EXT-X-STREAM-INF:BANDWIDTH=2\nv\n", playlist.ErrMalformed, "line 2: EXT-X-STREAM-INF has no URI line"},
		{"no_uri_before_a_key", one + "#EXT-X-SESSION-KEY:URI=\"k\"\nv\n", playlist.ErrMalformed, "line 2"},
		{"no_attributes", "#EXTM3U\n#EXT-X-STREAM-INF: \nv\n", playlist.ErrMalformed, "has no attributes"},
		{"no_group", one + "v\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"u\"\n", playlist.ErrMalformed, "no GROUP-ID"},
		{"no_iframe_uri", one + "v\n#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1\n", playlist.ErrMalformed, "line 4: EXT-X-I-FRAME-STREAM-INF has no URI"},
		{"open_quote", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,NAME=\"x\nv\n", playlist.ErrMalformed, "line 2: attribute is"},
		{"text_behind_a_quote", "#EXTM3U\n#EXT-X-STREAM-INF:NAME=\"x\"y,BANDWIDTH=1\nv\n", playlist.ErrMalformed, "line 2: attribute is"},
		{"quote_inside_a_value", "#EXTM3U\n#EXT-X-STREAM-INF:NAME=x\"y\",BANDWIDTH=1\nv\n", playlist.ErrMalformed, "line 2: attribute is"},
		{"group_twice", one + "v\n#EXT-X-MEDIA:GROUP-ID=\"a\",GROUP-ID=\"b\"\n", playlist.ErrMalformed, "GROUP-ID is there twice"},
		{"uri_without_quotes", one + "v\n#EXT-X-MEDIA:GROUP-ID=\"a\",URI=b\n", playlist.ErrMalformed, "expected quotes"},
		{"uri_with_blanks_around", one + "v\n#EXT-X-MEDIA:GROUP-ID=\"a\",URI=\" b\"\n", playlist.ErrMalformed, "expected no blanks"},
		{"key_with_blanks_around", one + "v\n#EXT-X-SESSION-KEY:URI=\"https://a.example/live/one/k \"\n", playlist.ErrMalformed, "expected no blanks"},
		{"session_data_without_host", one + "v\n#EXT-X-SESSION-DATA:URI=\"///k\"\n", playlist.ErrMalformed, "has no host"},
		{"quote_in_a_name", "#EXTM3U\n#EXT-X-STREAM-INF:\"A\"=1\nv\n", playlist.ErrMalformed, "line 2: attribute is"},
		{"control_byte", one + "v\x00\n", playlist.ErrMalformed, "control byte 0x00"},
		{"no_host", one + "///v\n", playlist.ErrMalformed, "has no host"},
		{"long_line", one + strings.Repeat("v", 65537) + "\n", playlist.ErrMalformed, "65537 bytes long"},
		{"too_large", "#EXTM3U\n" + strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1,X=\""+strings.Repeat("x", 1000)+"\"\nv\n", 2000), playlist.ErrTooLarge, "expected at most 4194304"},
		{"too_large_as_it_is", one + "v\n" + strings.Repeat("#"+strings.Repeat("x", 1023)+"\n", 4096), playlist.ErrTooLarge, "expected at most 4194304"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := playlist.DecorateHLS([]byte(test.in), threeSites("index.m3u8"))
			if out != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.message) {
				t.Fatalf("got %.200q and the error %v, want %v with %q", out, err, test.want, test.message)
			}
			checkError(t, err)
		})
	}
}
