package playlist_test

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// steerableMPD has what an edit by offsets can stumble over: a comment with tags, entities, CDATA, foreign elements of the
// same names, single quotes, an empty element.
const steerableMPD = `<?xml version="1.0" encoding="UTF-8"?>
<!-- <MPD><BaseURL>not this</BaseURL></MPD> -->
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:x='urn:x' profiles="urn:mpeg:dash:profile:isoff-live:2011"
     type="dynamic" availabilityStartTime="1970-01-01T00:00:00Z" minimumUpdatePeriod="PT2S" minBufferTime="PT2S">
  <ProgramInformation><Title>One &amp; two &lt;BaseURL&gt;</Title></ProgramInformation>
  <Location>manifest.mpd?session=1&amp;x=2</Location>
  <x:BaseURL>not this either</x:BaseURL>
  <Period id='1' start="PT0S">
    <BaseURL>one/</BaseURL>
    <AdaptationSet contentType="video"><BaseURL>https://other.example/far/</BaseURL>
      <SegmentTemplate media='$RepresentationID$/$Number$.m4s' duration="2"/>
      <Representation id="1" bandwidth="1"><BaseURL><![CDATA[two/]]></BaseURL></Representation>
    </AdaptationSet>
  </Period>
</MPD>
`

func decorateMPD(t testing.TB, in string, d *playlist.Decoration) string {
	t.Helper()
	out, err := playlist.DecorateMPD([]byte(in), d)
	if err != nil {
		t.Fatalf("DecorateMPD: %v\n%s", err, in)
	}
	return string(out)
}

// steeredMPD is what a player reads of a decorated MPD.
type steeredMPD struct {
	BaseURLs []struct {
		ServiceLocation string `xml:"serviceLocation,attr"`
		Offset          string `xml:"availabilityTimeOffset,attr"`
		URL             string `xml:",chardata"`
	} `xml:"BaseURL"`
	Steering []struct {
		Default     string `xml:"defaultServiceLocation,attr"`
		BeforeStart string `xml:"queryBeforeStart,attr"`
		URL         string `xml:",chardata"`
	} `xml:"ContentSteering"`
}

// checkSteeredMPD is check 56 of the reference: one ContentSteering with one default id, a BaseURL for each pathway.
func checkSteeredMPD(t testing.TB, out []byte, d *playlist.Decoration) steeredMPD {
	t.Helper()
	var mpd steeredMPD
	decoder := xml.NewDecoder(strings.NewReader(string(out)))
	decoder.CharsetReader = passThrough
	if err := decoder.Decode(&mpd); err != nil {
		t.Fatalf("the decorated MPD cannot be read: %v\n%s", err, out)
	}
	if len(mpd.Steering) != 1 || mpd.Steering[0].Default != d.Pathways[0].ID || mpd.Steering[0].URL != d.ServerURI ||
		mpd.Steering[0].BeforeStart != map[bool]string{false: "false", true: "true"}[d.BeforeStart] {
		t.Errorf("ContentSteering is %+v, want one that says what %+v says", mpd.Steering, d)
	}
	seen := map[string]int{}
	for _, base := range mpd.BaseURLs {
		if base.ServiceLocation != "" {
			seen[base.ServiceLocation]++
		}
	}
	for _, pathway := range d.Pathways {
		if n := seen[pathway.ID]; n == 0 || n != seen[d.Pathways[0].ID] || len(seen) != len(d.Pathways) {
			t.Errorf("the BaseURLs are %+v, want as many for each pathway", mpd.BaseURLs)
		}
	}
	return mpd
}

func TestDecorateMPD(t *testing.T) {
	t.Parallel()
	d := threeSites("manifest.mpd")
	d.BeforeStart = true
	got := decorateMPD(t, steerableMPD, d)
	want := strings.Replace(steerableMPD, "</ProgramInformation>", `</ProgramInformation>
  <BaseURL serviceLocation="a">https://a.example/live/one/</BaseURL>
  <BaseURL serviceLocation="b">https://b.example/live/one/</BaseURL>
  <BaseURL serviceLocation="cdn-1">https://cdn.example/customer/live/one/</BaseURL>
  <ContentSteering defaultServiceLocation="a" queryBeforeStart="true">https://steer.example/hls?channel=one&amp;s=abc</ContentSteering>`, 1)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDecoratedMPDIsSteeredAndReversible(t *testing.T) {
	t.Parallel()
	base := func(text string) string {
		return strings.Replace(steerableMPD, "  <Location>", "  "+text+"\n  <Location>", 1)
	}
	prefixed := strings.NewReplacer("<MPD xmlns=", "<mpd:MPD xmlns:mpd=", "</MPD>\n", "</mpd:MPD>\n", "<Period", "<mpd:Period",
		"</Period", "</mpd:Period", "<ProgramInformation", "<mpd:ProgramInformation", "</ProgramInformation", "</mpd:ProgramInformation",
		"-- <MPD>", "-- <mpd:MPD>").Replace(steerableMPD)
	tests := []struct {
		name, in string
		b        string // the BaseURL of the second pathway; empty: its folder
	}{
		{"no_base", steerableMPD, ""},
		{"crlf", strings.ReplaceAll(steerableMPD, "\n", "\r\n"), ""},
		{"bom", "\xef\xbb\xbf" + steerableMPD, ""},
		{"no_final_newline", strings.TrimSuffix(steerableMPD, "\n"), ""},
		{"prefixed", prefixed, ""},
		{"on_one_line", "<MPD><Period/></MPD>", ""},
		{"no_program_information", "<MPD>\n\t<Period/>\n</MPD>", ""},
		{"program_information_after_the_period", "<MPD><Period/><ProgramInformation/></MPD>", ""},
		{"empty_program_information", "<MPD>\n<ProgramInformation/>\n<ProgramInformation lang='cs'></ProgramInformation>\n<Period/></MPD>", ""},
		{"text_in_the_wrong_place", "<MPD> x <BaseURL>y/</BaseURL> z <Period/></MPD>", "https://b.example/live/one/y/"},
		{"much_white_space", "<MPD>" + strings.Repeat(" ", 5000) + "<Period/></MPD>", ""},
		{"ascii", `<?xml version="1.0" encoding="us-ascii"?><MPD><BaseURL>y/</BaseURL><Period/></MPD>`, "https://b.example/live/one/y/"},
		{"ffmpeg_timeline", string(testdata(t, "decorate/ffmpeg-timeline.mpd")), ""},
		{"ffmpeg_numbers", string(testdata(t, "decorate/ffmpeg-numbers.mpd")), ""},
		{"ffmpeg_live", string(testdata(t, "ffmpeg-live.mpd")), ""},
		{"ffmpeg_static", string(testdata(t, "ffmpeg-static.mpd")), ""},
		{"livesim_like", dynamicMPD(start2026, `<SegmentTimeline><S t="0" d="2000" r="4"/></SegmentTimeline>`), ""},
		{"base_relative", base("<BaseURL>media/</BaseURL>"), "https://b.example/live/one/media/"},
		{"base_here", base("<BaseURL>./</BaseURL>"), ""},
		{"base_empty", base("<BaseURL> </BaseURL>"), ""},
		{"base_closes_itself", base("<BaseURL />"), ""},
		{"base_with_hyphens_and_percents", base("<BaseURL>ch--1/a%2Db%25/-</BaseURL>"), "https://b.example/live/one/ch--1/a%2Db%25/-"},
		{"base_with_entities", base("<BaseURL>a&amp;b&#x2f;?x=1&amp;y</BaseURL>"), "https://b.example/live/one/a&b/?x=1&y"},
		{"base_with_cdata_and_comment", base("<BaseURL>\r\n <![CDATA[a/]]><!-- why --></BaseURL >"), "https://b.example/live/one/a/"},
		{"base_with_attributes", base(`<BaseURL availabilityTimeOffset="1.5" x:y='>'>a/</BaseURL>`), "https://b.example/live/one/a/"},
		{"base_is_the_media_file", base("<BaseURL>movie.mp4</BaseURL>"), "https://b.example/live/one/movie.mp4"},
		{"base_rooted", base("<BaseURL>/vod/</BaseURL>"), "https://b.example/vod/"},
		{"base_up", base("<BaseURL>../two/</BaseURL>"), "https://b.example/live/two/"},
		{"base_on_the_source", base("<BaseURL>http://a.example/live/one/x/</BaseURL>"), "https://b.example/live/one/x/"},
		{"base_after_the_period", "<MPD><Period/><BaseURL>x/</BaseURL></MPD>", "https://b.example/live/one/x/"},
		{"several_bases", base("<BaseURL>x/</BaseURL><BaseURL>y/</BaseURL>"), "https://b.example/live/one/x/"},
		{"base_of_another_prefix", base(`<m:BaseURL xmlns:m="urn:mpeg:dash:schema:mpd:2011">x/</m:BaseURL>`), "https://b.example/live/one/x/"},
	}
	for _, test := range tests {
		for name, d := range map[string]*playlist.Decoration{"three_pathways": threeSites("manifest.mpd"), "two_pathways": twoSites("manifest.mpd")} {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				out := decorateMPD(t, test.in, d)
				if back := string(undecorateMPD(t, []byte(out))); back != test.in {
					t.Errorf("removing what was added gives\n%s\nwant the input\n%s\nout of\n%s", back, test.in, out)
				}
				mpd := checkSteeredMPD(t, []byte(out), d)
				want := test.b
				if want == "" {
					want = folderOf(d.Pathways[1].Base)
				}
				got := ""
				for _, base := range mpd.BaseURLs {
					if base.ServiceLocation == "b" && got == "" {
						got = base.URL
					}
				}
				if got != want {
					t.Errorf("BaseURL of pathway b is %q, want %q\n%s", got, want, out)
				}
				if _, err := playlist.DecorateMPD([]byte(out), d); !errors.Is(err, playlist.ErrSteered) {
					t.Errorf("decorating twice: %v, want ErrSteered", err)
				}
			})
		}
	}
}

// TestDecorateMPDKeepsAttributesOfBaseURL: low-latency packagers say there how early a segment may be asked for.
func TestDecorateMPDKeepsAttributesOfBaseURL(t *testing.T) {
	t.Parallel()
	const in = "<MPD>\n  <BaseURL availabilityTimeOffset=\"1.5\" availabilityTimeComplete=\"false\">low/</BaseURL>\n  <Period/>\n</MPD>"
	const want = "<MPD>\n  <!--pointsman-was <BaseURL availabilityTimeOffset=\"1.5\" availabilityTimeComplete=\"false\">low/</BaseURL>-->\n" +
		"  <BaseURL serviceLocation=\"a\" availabilityTimeOffset=\"1.5\" availabilityTimeComplete=\"false\">https://a.example/live/one/low/</BaseURL>\n" +
		"  <BaseURL serviceLocation=\"b\" availabilityTimeOffset=\"1.5\" availabilityTimeComplete=\"false\">https://b.example/live/one/low/</BaseURL>\n" +
		"  <ContentSteering defaultServiceLocation=\"a\" queryBeforeStart=\"false\">https://steer.example/hls?channel=one&amp;s=abc</ContentSteering>\n" +
		"  <Period/>\n</MPD>"
	if got := decorateMPD(t, in, twoSites("manifest.mpd")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSteeredIDsAgree is the rest of check 56: one id for one pathway, whatever the protocol.
func TestSteeredIDsAgree(t *testing.T) {
	t.Parallel()
	d := threeSites("manifest")
	mpd := checkSteeredMPD(t, []byte(decorateMPD(t, steerableMPD, d)), d)
	items, _ := readSteered(decorateHLS(t, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv\n", d))
	for i := range d.Pathways { // the elements are in front of all others
		base := mpd.BaseURLs[i]
		if items[i].pathway != base.ServiceLocation || items[i].uri != base.URL+"v" || !strings.HasSuffix(base.URL, "/") {
			t.Errorf("pathway %d is %+v in HLS and %+v in DASH", i, items[i], base)
		}
	}
}

func TestDecorateMPDRefuses(t *testing.T) {
	t.Parallel()
	const period = "<Period/></MPD>"
	tests := []struct {
		name, in string
		want     error
		message  string
	}{
		{"nothing", "", playlist.ErrMalformed, "no Period"},
		{"playlist", ladder, playlist.ErrMalformed, "no Period"},
		{"smooth", mistSmooth, playlist.ErrMalformed, `the root element is "SmoothStreamingMedia", expected MPD`},
		{"utf16", utf16LE(steerableMPD, true), playlist.ErrMalformed, "UTF-16, expected UTF-8"},
		{"utf16_without_bom", utf16BE(steerableMPD, false), playlist.ErrMalformed, "UTF-16, expected UTF-8"},
		{"other_encoding", `<?xml version="1.0" encoding="koi8-r"?><MPD>` + period, playlist.ErrMalformed, "koi8-r"},
		{"no_period", "<MPD></MPD>", playlist.ErrMalformed, "no Period"},
		{"cut_off", "<MPD><Period>", playlist.ErrMalformed, "line 1: expected well-formed XML"},
		{"broken_after_the_period", "<MPD><Period/>\n<a></b></MPD>", playlist.ErrMalformed, "line 2: expected well-formed XML"},
		{"two_roots", "<MPD>" + period + "\n<MPD/>", playlist.ErrMalformed, "line 2: there is a second root"},
		{"too_deep", "<MPD>" + strings.Repeat("<a>", 40), playlist.ErrMalformed, "nested deeper"},
		{"own_entity", `<!DOCTYPE MPD [<!ENTITY x "y">]><MPD><BaseURL>&x;</BaseURL>` + period, playlist.ErrMalformed, "well-formed"},
		{"element_in_a_base", "<MPD>\n<BaseURL>x<y/></BaseURL>" + period, playlist.ErrMalformed, "line 2: BaseURL has an element inside"},
		{"control_byte_in_a_base", "<MPD>\n<BaseURL>x\ty</BaseURL>" + period, playlist.ErrMalformed, "line 2: reading BaseURL"},
		{"no_host_in_a_base", "<MPD><BaseURL>https:///x</BaseURL>" + period, playlist.ErrMalformed, "no host"},
		{"steered", "<MPD>" + strings.Replace(period, "<Period/>", "<Period/>\n<ContentSteering/>", 1), playlist.ErrSteered, "line 2 has a ContentSteering"},
		{"steered_by_service_description", "<MPD><ServiceDescription><ContentSteering>u</ContentSteering></ServiceDescription>" + period, playlist.ErrSteered, "line 1 has a ContentSteering"},
		{"service_locations_of_its_own", "<MPD>\n<BaseURL serviceLocation='x'>y/</BaseURL>" + period, playlist.ErrSteered, "line 2 has a BaseURL with a serviceLocation"},
		{"service_locations_below", "<MPD><Period>\n<BaseURL serviceLocation='x'/></Period></MPD>", playlist.ErrSteered, "line 2"},
		{"comment_made_here", "<MPD>\n<!--pointsman-was x-->" + period, playlist.ErrSteered, "line 2 has a comment"},
		{"elsewhere", "<MPD>\n<BaseURL>https://cdn.example/x/</BaseURL>" + period, playlist.ErrElsewhere, `line 2 has the BaseURL "https://cdn.example/x/"`},
		{"one_of_two_elsewhere", "<MPD><BaseURL>x/</BaseURL><BaseURL>//cdn.example/x/</BaseURL>" + period, playlist.ErrElsewhere, "expected it relative"},
		{"another_scheme", "<MPD><BaseURL>file:///x</BaseURL>" + period, playlist.ErrElsewhere, "file:///x"},
		{"too_large", "<MPD>" + strings.Repeat("<BaseURL a='"+strings.Repeat("x", 1000)+"'/>", 2000) + period, playlist.ErrTooLarge, "expected at most 4194304"},
		{"too_large_as_it_is", "<MPD><!--" + strings.Repeat("x", 4<<20) + "-->" + period, playlist.ErrTooLarge, "expected at most 4194304"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := playlist.DecorateMPD([]byte(test.in), threeSites("manifest.mpd"))
			if out != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.message) {
				t.Fatalf("got %.200q and the error %v, want %v with %q", out, err, test.want, test.message)
			}
			checkError(t, err)
		})
	}
}
