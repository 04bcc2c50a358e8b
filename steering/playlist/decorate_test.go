package playlist_test

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// threeSites is a decoration of a manifest that came from the first pathway's own server.
func threeSites(manifest string) *playlist.Decoration {
	return &playlist.Decoration{
		ServerURI: "https://steer.example/hls?channel=one&s=abc",
		Pathways: []playlist.Pathway{
			{ID: "a", Base: "https://a.example/live/one/" + manifest},
			{ID: "b", Base: "https://b.example/live/one/" + manifest},
			{ID: "cdn-1", Base: "https://cdn.example/customer/live/one/" + manifest},
		},
		Source: "https://a.example/live/one/" + manifest + "?token=x",
	}
}

func twoSites(manifest string) *playlist.Decoration {
	d := threeSites(manifest)
	d.Pathways = d.Pathways[:2]
	return d
}

// reordered starts the player on the last pathway, so that the manifest came from another one.
func reordered(d *playlist.Decoration) *playlist.Decoration {
	other := *d
	other.Pathways = slices.Clone(d.Pathways)
	slices.Reverse(other.Pathways)
	return &other
}

// folderOf returns the address up to the manifest's name.
func folderOf(base string) string {
	if strings.Count(base, "/") == 2 {
		return base + "/"
	}
	return base[:strings.LastIndex(base, "/")+1]
}

var (
	lineForm      = regexp.MustCompile(`[^\r\n]*(?:\r\n|\r|\n|$)`)
	attributeForm = regexp.MustCompile(`^([ \t]*)([^=,"]*)((?:=[ \t]*)?)("[^"]*"|[^,"]*?)([ \t]*(?:,|$))`)
	variantForm   = regexp.MustCompile(`^(?:STABLE-VARIANT-ID="pointsman\.([^"]*)",)?PATHWAY-ID="([^"]*)",`)
	renditionForm = regexp.MustCompile(`^STABLE-RENDITION-ID="pointsman\.[^"]*",`)
)

// editAttributes calls edit for every attribute of a list and puts what it returns in place of the value, which is
// without its quotes.
func editAttributes(list string, edit func(name, value string, quoted bool) string) string {
	var out strings.Builder
	for list != "" {
		m := attributeForm.FindStringSubmatch(list)
		if m == nil {
			out.WriteString(list) // not a list at all
			break
		}
		list = list[len(m[0]):]
		value, quoted := m[4], strings.HasPrefix(m[4], `"`)
		if name := strings.Trim(m[2], " \t"); quoted {
			value = `"` + edit(name, strings.Trim(value, `"`), true) + `"`
		} else {
			value = edit(name, value, false)
		}
		out.WriteString(m[1] + m[2] + m[3] + value + m[5])
	}
	return out.String()
}

// undecorateHLS removes what DecorateHLS adds, working from its output and the decoration alone.
func undecorateHLS(out []byte, d *playlist.Decoration) []byte {
	first, folder := d.Pathways[0].ID, folderOf(d.Pathways[0].Base)
	var kept []string
	was, dropNext, wantsURI, droppedLast := "", false, false, false
	restore := func(moved string) string {
		if was != "" {
			moved, was = was, ""
			return moved
		}
		return strings.TrimPrefix(moved, folder)
	}
	for _, raw := range lineForm.FindAllString(string(out), -1) {
		if raw == "" {
			continue
		}
		text := strings.Trim(strings.TrimRight(raw, "\r\n"), " \t")
		keep := func(edited string) { kept = append(kept, strings.Replace(raw, text, edited, 1)) }
		name, list, _ := strings.Cut(text, ":")
		ungroup := func(name, value string, quoted bool) string {
			switch name {
			case "URI":
				if value != "" {
					return restore(value)
				}
			case "GROUP-ID", "AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS":
				return strings.TrimSuffix(value, "@"+first)
			}
			return value
		}
		droppedLast = true
		switch name = strings.TrimRight(name, " \t"); {
		case dropNext:
			dropNext = false
			continue
		case name == "#EXT-X-CONTENT-STEERING":
			continue
		case strings.HasPrefix(text, "#POINTSMAN-WAS:"):
			was = strings.TrimPrefix(text, "#POINTSMAN-WAS:")
			continue
		case name == "#EXT-X-STREAM-INF", name == "#EXT-X-I-FRAME-STREAM-INF":
			m := variantForm.FindStringSubmatch(list)
			if m[2] != first {
				dropNext = name == "#EXT-X-STREAM-INF"
				continue
			}
			wantsURI = name == "#EXT-X-STREAM-INF"
			keep(strings.TrimSuffix(text, list) + editAttributes(list[len(m[0]):], ungroup))
		case name == "#EXT-X-MEDIA":
			pathway := ""
			editAttributes(list, func(name, value string, _ bool) string {
				if name == "GROUP-ID" {
					pathway = value[strings.LastIndex(value, "@")+1:]
				}
				return value
			})
			if pathway != first {
				continue
			}
			keep(strings.TrimSuffix(text, list) + editAttributes(strings.TrimPrefix(list, renditionForm.FindString(list)), ungroup))
		case name == "#EXT-X-SESSION-DATA", name == "#EXT-X-SESSION-KEY", name == "#EXT-X-IMAGE-STREAM-INF":
			keep(strings.TrimSuffix(text, list) + editAttributes(list, func(name, value string, quoted bool) string {
				if name == "URI" {
					return ungroup(name, value, quoted)
				}
				return value
			}))
		case wantsURI && text != "" && text[0] != '#':
			wantsURI = false
			keep(restore(text))
		default:
			kept = append(kept, raw)
		}
		droppedLast = false
	}
	in := strings.Join(kept, "")
	if droppedLast && strings.TrimRight(string(out), "\r\n") == string(out) { // nor did the input's last line have an end
		for _, end := range []string{"\r\n", "\n", "\r"} {
			if cut, found := strings.CutSuffix(in, end); found {
				return []byte(cut)
			}
		}
	}
	return []byte(in)
}

// passThrough reads a document that calls itself something else than UTF-8 and is ASCII.
func passThrough(_ string, input io.Reader) (io.Reader, error) { return input, nil }

// undecorateMPD removes what DecorateMPD adds, working from its output alone.
func undecorateMPD(t testing.TB, out []byte) []byte {
	t.Helper()
	const bom, mark = "\xef\xbb\xbf", "pointsman-was "
	text, _ := strings.CutPrefix(string(out), bom)
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.CharsetReader = passThrough
	var in strings.Builder
	in.WriteString(string(out)[:len(out)-len(text)])
	depth, copied, addedFrom := 0, 0, -1
	for {
		from := int(decoder.InputOffset())
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the decorated MPD is not well-formed: %v\n%s", err, out)
		}
		to := int(decoder.InputOffset())
		switch token := token.(type) {
		case xml.Comment:
			if was, found := strings.CutPrefix(string(token), mark); found {
				in.WriteString(text[copied:from] + strings.NewReplacer("%2D", "-", "%25", "%").Replace(text[to-len("-->")-len(was):to-len("-->")]))
				copied = to
			}
		case xml.StartElement:
			depth++
			isNamed := slices.ContainsFunc(token.Attr, func(a xml.Attr) bool { return a.Name.Local == "serviceLocation" && a.Name.Space == "" })
			if depth == 2 && (token.Name.Local == "ContentSteering" || token.Name.Local == "BaseURL" && isNamed) {
				addedFrom = from
			}
		case xml.EndElement:
			depth--
			if depth == 1 && addedFrom >= 0 {
				in.WriteString(strings.TrimRight(text[copied:addedFrom], " \t\r\n"))
				copied, addedFrom = to, -1
			}
		}
	}
	in.WriteString(text[copied:])
	return []byte(in.String())
}

func TestDecorationIsChecked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 65)
	tests := []struct {
		name, want string
		change     func(*playlist.Decoration)
	}{
		{"no_pathways", "there are 0, expected 1 to 16", func(d *playlist.Decoration) { d.Pathways = nil }},
		{"seventeen_pathways", "there are 17", func(d *playlist.Decoration) { d.Pathways = make([]playlist.Pathway, 17) }},
		{"empty_id", `id is ""`, func(d *playlist.Decoration) { d.Pathways[1].ID = "" }},
		{"points_alone", `id is ".."`, func(d *playlist.Decoration) { d.Pathways[1].ID = ".." }},
		{"id_with_a_quote", "expected 1 to 64", func(d *playlist.Decoration) { d.Pathways[1].ID = `a"b` }},
		{"id_with_the_group_mark", "expected 1 to 64", func(d *playlist.Decoration) { d.Pathways[1].ID = "a@b" }},
		{"long_id", "expected 1 to 64", func(d *playlist.Decoration) { d.Pathways[1].ID = long }},
		{"id_twice", `id "a" is there twice`, func(d *playlist.Decoration) { d.Pathways[1].ID = "a" }},
		{"relative_base", "pathway b", func(d *playlist.Decoration) { d.Pathways[1].Base = "/live/one/index.m3u8" }},
		{"base_with_query", "expected no query", func(d *playlist.Decoration) { d.Pathways[1].Base += "?a=b" }},
		{"base_with_a_variable", "the byte 0x7b", func(d *playlist.Decoration) { d.Pathways[1].Base = "https://b.example/{$x}/i.m3u8" }},
		{"server_with_a_quote", "address of the steering manifest", func(d *playlist.Decoration) { d.ServerURI += `"` }},
		{"server_with_a_line_end", "the byte 0x0a", func(d *playlist.Decoration) { d.ServerURI += "\n#EXT-X-ENDLIST" }},
		{"server_of_another_scheme", "expected http:// or https://", func(d *playlist.Decoration) { d.ServerURI = "data:,x" }},
		{"long_server", "expected at most 8192", func(d *playlist.Decoration) { d.ServerURI += strings.Repeat("x", 8192) }},
		{"no_source", "address that the manifest came from", func(d *playlist.Decoration) { d.Source = "" }},
	}
	sentinels := []error{
		playlist.ErrNotMultivariant, playlist.ErrMalformed, playlist.ErrSteered, playlist.ErrElsewhere, playlist.ErrTooLarge,
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := threeSites("index.m3u8")
			test.change(d)
			for _, decorate := range []func([]byte, *playlist.Decoration) ([]byte, error){playlist.DecorateHLS, playlist.DecorateMPD} {
				out, err := decorate([]byte("#EXTM3U\n"), d)
				if err == nil || out != nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("got %q and the error %v, want one with %q", out, err, test.want)
				}
				checkError(t, err)
				for _, sentinel := range sentinels {
					if errors.Is(err, sentinel) {
						t.Errorf("%v is %v, want it told apart from what is wrong with the manifest", err, sentinel)
					}
				}
			}
		})
	}
}
