package archive

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The hand-written matchers are compared with the reference's regular
// expressions, which are slow and plain.

// preset is one entry of the reference's presets.
type preset struct {
	Name, Path, Proto string
	Need, Deny        []string
	Q                 []struct {
		Params []string
		Re     string
		Group  string
	}
	path *regexp.Regexp
	re   []*regexp.Regexp
}

func presets(tb testing.TB) []preset {
	tb.Helper()
	data, err := os.ReadFile("testdata/presets.json")
	if err != nil {
		tb.Fatal(err)
	}
	var list []preset
	if err := json.Unmarshal(data, &list); err != nil {
		tb.Fatal(err)
	}
	for i := range list {
		p := &list[i]
		p.path = regexp.MustCompile(p.Path)
		for _, q := range p.Q {
			p.re = append(p.re, regexp.MustCompile(q.Re))
		}
	}
	return list
}

// reference is what the regular expressions say of a URL.
type reference struct {
	name   string
	groups map[string]string
}

var betweenParams = regexp.MustCompile(`&(?:amp;)?|\?`)

func referenceParams(query string) map[string]string {
	params := map[string]string{}
	for _, p := range betweenParams.Split(query, -1) {
		name, value, _ := strings.Cut(p, "=")
		name = strings.ToLower(decode(name))
		if _, twice := params[name]; !twice {
			params[name] = decode(value)
		}
	}
	return params
}

// ask returns the first preset that matches, with the differences that
// [TestPresetsAgree] gives reasons for.
func ask(list []preset, plain, query string) (r reference) {
	params := referenceParams(query)
	has := func(names string) bool {
		for _, n := range strings.Split(names, "|") {
			if _, ok := params[strings.ToLower(n)]; ok {
				return true
			}
		}
		return false
	}
next:
	for _, p := range list {
		for _, n := range p.Need {
			if !has(n) {
				continue next
			}
		}
		for _, d := range p.Deny {
			if has(d) {
				continue next
			}
		}
		m := p.path.FindStringSubmatch(plain)
		if m == nil {
			continue
		}
		groups := map[string]string{}
		put := func(name, text string) {
			if name != "" && text != "" && groups[name] == "" {
				groups[name] = text
			}
		}
		for i, g := range p.path.SubexpNames() {
			put(g, m[i])
		}
		for i, q := range p.Q {
			for _, name := range q.Params {
				value, ok := params[strings.ToLower(name)]
				if !ok {
					continue
				}
				if q.Re == "" {
					put(q.Group, value)
				} else if m := p.re[i].FindStringSubmatch(value); m != nil {
					for j, g := range p.re[i].SubexpNames() {
						put(g, m[j])
					}
				}
				break
			}
		}
		for _, alias := range [...][2]string{
			{"channel", "channel2"},
			{"channel", "asset"},
			{"start", "start_abs"},
			{"ext", "ext2"},
			{"ext", "ext3"},
		} {
			put(alias[0], groups[alias[1]])
		}
		if groups["channel"] == "" {
			continue
		}
		groups["cont"] = strings.TrimPrefix(groups["cont"], "_")
		groups["proto"] = p.Proto
		if p.Proto == "" {
			_, ext, dotted := strings.Cut(groups["ext"], ".") // "manifest.f4m"
			if !dotted {
				ext = groups["ext"]
			}
			switch {
			case strings.EqualFold(ext, "manifest"):
				groups["proto"] = "mss"
			case ext == "mpegts":
				groups["proto"] = "mpegts"
			default:
				groups["proto"] = protocolOf(ext).String()
			}
		}
		return reference{p.Name, groups}
	}
	return r
}

// agree compares a URL's reading with the reference's and returns what differs.
// Every exception is a difference on purpose.
func agree(p *Parser, list []preset, plain, query string) (got, want string) {
	var (
		in input
		h  hit
	)
	in.setPath(plain)
	in.query.index(query)
	in.now, in.zone, in.viewer = testNow, p.zone, p.viewer
	name := p.match(&in, &h)

	ref := ask(list, plain, query)
	switch {
	// The application's instance may have any name (the vendor's grammar), not
	// only _definst_.
	case name == "wowza-ndvr" && strings.Count(in.dir, "/") == 2:
		return "", ""
	// usp-live reads "manifest" in any case. If the others did not, a window in
	// the query would be refused for a letter.
	case strings.HasPrefix(name, "usp-") && in.name != "Manifest" && strings.EqualFold(in.name, "manifest"):
		return "", ""
	// "never live": a live dialect leaves another's time to the other.
	case ref.name == "mist-live" && in.query.has(timeParams):
		return "", ""
	// MediaPackage has a SmoothStreaming form that usp-vod would always take.
	case ref.name == "usp-vod" && name != "usp-vod" && in.query.has(setOf(paramStart)) && strings.HasPrefix(in.path, mediaPackageFolder):
		return "", ""
	// A viewer's id beside a folder's index is not the channel: every viewer
	// would be a channel of his own, unknown to all servers.
	case ref.name == "query-channel" && strings.HasPrefix(in.name, "index.") && in.dir != "" &&
		!in.query.has(setOf(paramChannel, paramCh, paramStreamID)):
		return "", ""
	// A file of its own may be an MPD, too: as a transport stream nobody has it.
	case ref.name == "siptv-shift" && strings.HasSuffix(strings.TrimSuffix(in.path, "/"), ".mpd") && name == ref.name:
		return "", ""
	// "from" is also what referrals are called.
	case ref.name == "generic-start-end" && !in.query.has(setOf(paramStart, paramBegin, paramStartTime)) && in.query.has(setOf(paramFrom)):
		return "", ""
	}

	text := func(name, channel, container, proto, start, end, length, offset, window string) string {
		return strings.Join([]string{name, channel, container, proto, start, end, length, offset, window}, "|")
	}
	g := ref.groups
	container, proto := h.container, h.protocol.String()
	length, offset, window := h.length.text, h.offset.text, h.window.text
	start, end := h.start.text, h.end.text
	if h.protocol == ProtocolFile || container == "fmp4" && h.protocol == ProtocolMP4 {
		container = g["cont"] // ours also names what a plain file is
	}
	switch name {
	case "":
		proto = ""
	case "wowza-ndvr", "vod-path": // a chunklist is HLS, a file what its extension says
		if g["ext"] == "" {
			proto = g["proto"]
		}
	case "nimble-timeshift": // the playlist's length is no matter for who holds the point
		window = g["window"]
	case "playseek": // the reference reads no time where we keep the text to refuse it
		if g["start"] == "" {
			start = ""
		}
	case "mediapackage-v2": // without a start the delay; not the number's digits alone
		if offset == "" || g["offset"] == "" {
			offset = g["offset"]
		}
	case "apsara-lhs": // all units, not seconds and China's time alone
		start, end, offset = g["start"], g["end"], g["offset"]
	case "usp-subclip": // a clip of an asset has no window
		if h.hint == hintVoD {
			start, end = g["start"], g["end"]
		}
	case "query-channel", "generic-start-end": // a length without a start is somebody else's
		if start == "" {
			length = g["dur"]
		}
	case "usp-live":
		if g["window"] == "default" {
			window = "default"
		}
	}
	return text(name, h.channel, container, proto, start, end, length, offset, window),
		text(ref.name, g["channel"], g["cont"], g["proto"], g["start"], g["end"], g["dur"], g["offset"], g["window"])
}

// urlParts are what random URLs are made of: each grammar's words, right and
// wrong.
var urlParts = struct{ folders, names, params, values []string }{
	folders: []string{
		"ort", "a b", "live", "hls", "cmaf", "dynamic", "tracks-v1a1", "tracks-1,2", "tracks-", "archive", "timeshift_abs",
		"mono-timeshift_abs", "timeshift_rel", "timeshift_abs_mono", "1767132000", "3600", "now", "timeshift", "u", "pw", "120",
		"2025-12-31:01-30", "2025-12-31_01-30-00", "2025-12-31 01:30", "_definst_", "inst1", "ch.isml", ".isml", "ch.ism", "out", "v1",
		"0123456789abcdef0123456789abcdef", "streams", "stream", "channelid", "mux", "play", "dvrfile", "streaming", "bunny.mp4",
		"x.ts", ".mp4", "", "ort(archive=1767132000-3600).isml", "ort(rewind=60).isml", "(rewind=60).isml", "o)rt(timeshift_rel=60).isml",
		"ort(timeshift_abs=1767132000).isml", "ort(archive=1767132000-now).isml", "live+ch1", "mp4:ch1.stream", "Первый",
	},
	names: []string{
		"index.m3u8", "video.m3u8", "mono.m3u8", "playlist.m3u8", "master.m3u8", "mbr.m3u8", "manifest.mpd", "index.mpd", "index.ts.m3u8",
		"index.fmp4.m3u8", "index.ll.m3u8", "index..m3u8", "master-archive.m3u8", "chunklist_w1.m3u8", "chunklist.mpd", "mpegts", "Manifest",
		"manifest", "manifest.f4m", "index.f4m", ".m3u8", ".mpd", "x.m3u8", "x.mpd", "x.ts", "x.mp4", "x.mkv", "x.m4s", "x.webm", "x.fmp4",
		"archive-1767132000-3600.m3u8", "archive-1767132000-3600.fmp4.m3u8", "index-1767132000000-3600.m3u8", "dvr-1767132000-now.mpd",
		"archive-17671320-3600.m3u8", "archive-1767132000-36000000.m3u8", "archive-1767132000-3600.ts", "mono-1767132000-3600.json",
		"timeshift_abs-1767132000.m3u8", "video-timeshift_abs-1767132000.m3u8", "timeshift_abs_video-1767132000.ts.m3u8",
		"timeshift_abs-1767132000", "timeshift_rel-7200.m3u8", "index-timeshift_rel_mono-60.mpd", "1767132000", "1767132000.m3u8", "7200", "7200.ts",
		"rewind-7200.m3u8", "mono-rewind-60.fmp4.m3u8", "rewind-.m3u8", "rewind-60.ts",
		"playlist_dvr_range-1767132000-120.m3u8", "chunks_fmp4_dvr_range-1767132000-now.m3u8", "manifest_dvr_range-1767132000-120.mpd",
		"playlist_dvr_range-1767132000-120.ts", "playlist_dvr_timeshift-60-600.m3u8", "playlist_fmp4_dvr_timeshift-60.m3u8",
		"playlist_dvr.m3u8", "manifest_fmp4_dvr.mpd", "chunks_dvr.m3u8", "1477.ts", "1477.m3u8", "1477", "timeshift.php", "get",
		"ch1_adaptive.m3u8", "ch1_720p.m3u8", "ch1_720p2000kbps.m3u8", "ch1_500kbps.m3u8", "_adaptive.m3u8", "live.m3u8", "catchup.m3u8",
		"play.mpd", "0123456789abcdef", "file.smil", "x.ism", "index", "live", "",
	},
	params: []string{
		"utc", "UTC", "lutc", "start", "begin", "startTime", "from", "archive_start", "end", "endTime", "to", "stop", "duration", "dur",
		"DVR", "dvr", "wowzadvrplayliststart", "wowzadvrplaylistduration", "vbegin", "vend", "time_shift", "dvr_window_length",
		"aws.manifestsettings", "startunix", "stopunix", "path", "playseek", "tvdr", "lhs_start", "lhs_start_unix_s_0", "lhs_vodend_unix_s_0",
		"channel", "ch", "stream_id", "id", "stream", "cutv", "token", "st%61rt", "amp;utc",
	},
	values: []string{
		"", "0", "1", "1767132000", "1767135600", "1767132000000", "20251230220000", "2025-12-30T22:00:00Z", "2025-12-30T22:00:00+00:00",
		"2025-12-30T22%3A00%3A00%2B00%3A00", "2025-12-31:01-30", "-60", "60", "3600", "default", "abc", "%zz", "ch1", "a/b", "1m30s",
		"1767132000-1767135600", "1767132000-", "20251230220000GMT-20251230230000GMT", "2025-12-30T22:00:00Z-2025-12-30T23:00:00Z",
		"2025-12-30T22:00:00-2025-12-30T23:00:00", "start:1767132000;end:1767135600", "start%3A1767132000%3Bend%3A1767135600", "time_delay:60",
		"1?utc=1767132000", "START:1767132000;x:1",
	},
}

// randomURL makes a URL of parts that grammars know.
func randomURL(r *rand.Rand) (plain, query string) {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteByte('/')
		b.WriteString(pick(urlParts.folders))
	}
	b.WriteByte('/')
	b.WriteString(pick(urlParts.names))
	plain = b.String()
	b.Reset()
	for i := range r.IntN(4) {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(pick(urlParts.params))
		if r.IntN(8) > 0 {
			b.WriteByte('=')
			b.WriteString(pick(urlParts.values))
		}
	}
	return plain, b.String()
}

func TestPresetsAgree(t *testing.T) {
	t.Parallel()
	p, list := newParser(t), presets(t)
	for i, name := range Names() {
		if list[i].Name != name {
			t.Errorf("dialect %d is %s, the reference has %s", i, name, list[i].Name)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	n := 10_000
	if testing.Short() {
		n = 3_000
	}
	for range n {
		plain, query := randomURL(r)
		if len(plain) < 2 {
			continue
		}
		got, want := agree(p, list, plain, query)
		if got != want {
			t.Errorf("%s?%s\n got %s\nwant %s", plain, query, got, want)
			if seen["failed"]++; seen["failed"] > 20 {
				t.FailNow()
			}
		}
		name, _, _ := strings.Cut(got, "|")
		seen[name]++
	}
	for _, e := range examples(t) {
		_, plain, query := splitURL(t, e.URL)
		if got, want := agree(p, list, plain, query); got != want {
			t.Errorf("%s\n got %s\nwant %s", e.URL, got, want)
		}
		name, _, _ := strings.Cut(e.Want, "|")
		seen[name]++
	}
	for _, name := range Names() {
		if seen[name] == 0 {
			t.Errorf("no URL was one of %s", name)
		}
	}
}

// FuzzPresetsAgree: whatever the URL, matchers and regular expressions agree.
func FuzzPresetsAgree(f *testing.F) {
	for _, e := range examples(f) {
		_, plain, query := splitURL(f, e.URL)
		f.Add(plain, query)
	}
	f.Add("/0", "plAYseek=00000000000000000-000000000")
	p, list := newParser(f), presets(f)
	f.Fuzz(func(t *testing.T, plain, query string) {
		if len(plain) < 2 || plain[0] != '/' || strings.ContainsAny(plain, "\n") {
			t.Skip() // control bytes are refused at the door; "." of the expressions excludes one
		}
		if got, want := agree(p, list, plain, query); got != want {
			t.Errorf("%q?%q\n got %q\nwant %q", plain, query, got, want)
		}
	})
}
