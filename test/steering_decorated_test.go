package test

import (
	"compress/gzip"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// hlsLine is a tag with what belongs to it.
type hlsLine struct {
	tag        string
	attributes map[string]string // quotes taken off
	uri        string            // of the next line, or the attribute
}

var hlsAttribute = regexp.MustCompile(`([A-Z0-9-]+)=("[^"]*"|[^",]*)`)

// hlsLines reads the tags with attributes of a multivariant playlist.
func hlsLines(text string) (out []hlsLine) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		tag, rest, ok := strings.Cut(line, ":")
		if !ok || !strings.HasPrefix(line, "#EXT-X-") {
			continue
		}
		l := hlsLine{tag: tag, attributes: map[string]string{}}
		for _, m := range hlsAttribute.FindAllStringSubmatch(rest, -1) {
			l.attributes[m[1]] = strings.Trim(m[2], `"`)
		}
		if l.uri = l.attributes["URI"]; tag == "#EXT-X-STREAM-INF" && i+1 < len(lines) {
			l.uri = strings.TrimSpace(lines[i+1])
		}
		out = append(out, l)
	}
	return out
}

// TestSteeringDecoratedHLS shows check 55.
func TestSteeringDecoratedHLS(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 3, decorating, quiet)
	s.known("/steering/ch/index.m3u8", "a", "b", "c")
	res := s.Get("/ch/index.m3u8?hdnea=a~b%2Fc;d", from(1)...)
	if res.StatusCode != 200 {
		t.Fatalf("%d %s", res.StatusCode, res.Body)
	}
	lines := hlsLines(res.Body)
	of := func(tag string) (out []hlsLine) {
		for _, l := range lines {
			if l.tag == tag {
				out = append(out, l)
			}
		}
		return out
	}
	t.Run("check_55_the_tag", func(t *testing.T) {
		tags := of("#EXT-X-CONTENT-STEERING")
		if len(tags) != 1 || tags[0].attributes["PATHWAY-ID"] != "a" {
			t.Fatalf("the tags are %v", tags)
		}
		want := s.Viewers + "/steering/ch/index.m3u8?hdnea=a~b%2Fc;d&pm_sid="
		if uri := tags[0].attributes["SERVER-URI"]; !strings.HasPrefix(uri, want) {
			t.Errorf("SERVER-URI is %s, expected %s", uri, want)
		}
	})
	for tag, n := range map[string]int{"#EXT-X-STREAM-INF": 2, "#EXT-X-I-FRAME-STREAM-INF": 1, "#EXT-X-MEDIA": 2} {
		t.Run("check_55_"+strings.TrimPrefix(tag, "#EXT-X-")+"_once_per_pathway", func(t *testing.T) {
			all := of(tag)
			if len(all) != 3*n {
				t.Fatalf("there are %d, expected %d on each of three pathways:\n%s", len(all), n, res.Body)
			}
			stable := map[string]map[string]bool{} // pathway → ids
			for _, l := range all {
				pathway := l.attributes["PATHWAY-ID"]
				if tag == "#EXT-X-MEDIA" {
					_, pathway, _ = strings.Cut(l.attributes["GROUP-ID"], "@")
				}
				stage := s.stages[pathway]
				if stage == nil || !strings.HasPrefix(l.uri, stage.URL()+"/ch/") {
					t.Errorf("pathway %q has the URI %s", pathway, l.uri)
				}
				if stable[pathway] == nil {
					stable[pathway] = map[string]bool{}
				}
				stable[pathway][l.attributes["STABLE-VARIANT-ID"]+l.attributes["STABLE-RENDITION-ID"]] = true
				for _, group := range []string{"AUDIO", "SUBTITLES"} {
					if g, ok := l.attributes[group]; ok && !strings.HasSuffix(g, "@"+pathway) {
						t.Errorf("a variant of pathway %s uses the group %s", pathway, g)
					}
				}
			}
			for _, pathway := range []string{"b", "c"} {
				if fmt.Sprint(stable[pathway]) != fmt.Sprint(stable["a"]) || len(stable["a"]) != n || stable["a"][""] {
					t.Errorf("the stable ids of %s are %v, those of a %v", pathway, stable[pathway], stable["a"])
				}
			}
		})
	}
	t.Run("check_55_what_is_not_touched", func(t *testing.T) {
		for _, part := range []string{"#EXTM3U\n#EXT-X-CONTENT-STEERING", "#EXT-X-VERSION:6\n#EXT-X-INDEPENDENT-SEGMENTS\n", `#EXT-X-SESSION-DATA:DATA-ID="net.example.title",VALUE="A & B"` + "\n", "/ch/high.m3u8?profile=a%2Fb&x=1\n"} {
			if !strings.Contains(res.Body, part) {
				t.Errorf("no %q in\n%s", part, res.Body)
			}
		}
	})
	t.Run("headers", func(t *testing.T) {
		h := res.Header
		if h.Get("Content-Type") != "application/vnd.apple.mpegurl" || h.Get("Cache-Control") != "no-store" || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Location") != "" {
			t.Errorf("headers are %v", h)
		}
		head, err := rig.Do("HEAD", s.Viewers+"/ch/index.m3u8?hdnea=a~b%2Fc;d", "", from(1)...)
		if err != nil || head.StatusCode != 200 || head.Body != "" || head.ContentLength != int64(len(res.Body)) || head.Header.Get("Content-Type") != h.Get("Content-Type") {
			t.Errorf("HEAD: %v, %v, GET has %d bytes", head.Response, err, len(res.Body))
		}
	})
	t.Run("gzip", func(t *testing.T) {
		zipped, err := s.KeepAlive().Get("/ch/index.m3u8", "Accept-Encoding: gzip")
		if err != nil || zipped.Header.Get("Content-Encoding") != "gzip" || zipped.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%v, %v", zipped.Response, err)
		}
		z, err := gzip.NewReader(strings.NewReader(zipped.Body))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || !strings.Contains(string(plain), "#EXT-X-CONTENT-STEERING") {
			t.Errorf("%v %s", err, plain)
		}
	})
}

// TestSteeringDecoratedMPD shows check 56.
func TestSteeringDecoratedMPD(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, decorating, quiet)
	s.known("/steering/ch/manifest.mpd", "a", "b")
	res := s.Get("/ch/manifest.mpd?a=1&b=%2F~", from(1)...)
	t.Run("check_56_one_ContentSteering_and_a_BaseURL_for_each_pathway", func(t *testing.T) {
		var mpd struct {
			Steering []struct {
				Default     string `xml:"defaultServiceLocation,attr"`
				BeforeStart string `xml:"queryBeforeStart,attr"`
				URL         string `xml:",chardata"`
			} `xml:"ContentSteering"`
			Base []struct {
				Location string `xml:"serviceLocation,attr"`
				URL      string `xml:",chardata"`
			} `xml:"BaseURL"`
		}
		if err := xml.Unmarshal([]byte(res.Body), &mpd); err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/dash+xml" {
			t.Fatalf("%d %v: %v\n%s", res.StatusCode, res.Header, err, res.Body)
		}
		m := s.Steer("/steering/ch/manifest.mpd", from(1)...)
		if len(mpd.Steering) != 1 || mpd.Steering[0].Default != "a" || m.First() != "a" {
			t.Fatalf("ContentSteering is %+v", mpd.Steering)
		}
		if uri := mpd.Steering[0].URL; !strings.HasPrefix(uri, s.Viewers+"/steering/ch/manifest.mpd?a=1&b=%2F~&pm_sid=") || !strings.Contains(res.Body, "?a=1&amp;b=%2F~&amp;pm_sid=") {
			t.Errorf("it leads to %s\n%s", uri, res.Body)
		}
		var ids []string
		for _, b := range mpd.Base {
			if ids = append(ids, b.Location); b.URL != s.stages[b.Location].URL()+"/ch/" {
				t.Errorf("pathway %s is at %s", b.Location, b.URL)
			}
		}
		if !slices.Equal(ids, m.Priority) {
			t.Errorf("the BaseURLs are of %v, the manifest has %v", ids, m.Priority)
		}
	})
	t.Run("check_56_the_rest_stays", func(t *testing.T) {
		left := regexp.MustCompile(`\s*<(BaseURL|ContentSteering)[^>]*>[^<]*</(BaseURL|ContentSteering)>`).ReplaceAllString(res.Body, "")
		if left != rig.StageMPD {
			t.Errorf("without what was added it is\n%s", left)
		}
	})
}
