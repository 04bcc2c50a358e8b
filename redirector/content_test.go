package redirector

import (
	"regexp"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

func TestProtocolOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		path     string
		protocol farms.Protocol
		kind     farms.Kind
	}{
		{"/ch/index.m3u8", farms.ProtocolHLS, farms.KindLive},
		{"/ch/INDEX.M3U8", farms.ProtocolHLS, farms.KindLive},
		{"/ch/list.m3u", farms.ProtocolHLS, farms.KindLive},
		{"/.m3u8", farms.ProtocolHLS, farms.KindLive},
		{"/ch/index.m3u8/", farms.ProtocolOther, farms.KindChild},
		{"/ch/index.m3u8.ts", farms.ProtocolOther, farms.KindChild},
		{"/ch.m3u8/1.ts", farms.ProtocolOther, farms.KindChild},
		{"/ch/index.mpd", farms.ProtocolDASH, farms.KindLive},
		{"/ch/Manifest.MPD", farms.ProtocolDASH, farms.KindLive},
		{"/ch.isml/Manifest", farms.ProtocolSmooth, farms.KindLive},
		{"/ch.isml/manifest", farms.ProtocolSmooth, farms.KindLive},
		{"/ch.isml/manifest(format=m3u8-aapl)", farms.ProtocolHLS, farms.KindLive},
		{"/ch.isml/Manifest(format=MPD-time-csf)", farms.ProtocolDASH, farms.KindLive},
		{"/ch.isml/QualityLevels(800000)/Manifest(video,format=m3u8-aapl)", farms.ProtocolOther, farms.KindChild},
		{"/ch.isml/manifests", farms.ProtocolOther, farms.KindChild},
		{"/ch.ts", farms.ProtocolMPEGTS, farms.KindLive},
		{"/ch.TS", farms.ProtocolMPEGTS, farms.KindLive},
		{"/ch/mpegts", farms.ProtocolMPEGTS, farms.KindLive},
		{"/ch/1.ts", farms.ProtocolOther, farms.KindChild},
		{"/ch/hi/1.m4s", farms.ProtocolOther, farms.KindChild},
		{"/ch/init.mp4", farms.ProtocolOther, farms.KindChild},
		{"/", farms.ProtocolOther, farms.KindChild},
		{"/favicon.ico", farms.ProtocolOther, farms.KindChild},
		{"", farms.ProtocolOther, farms.KindChild},
	} {
		if p, k := protocolOf(row.path); p != row.protocol || k != row.kind {
			t.Errorf("%q is %v %v, want %v %v", row.path, p, k, row.protocol, row.kind)
		}
	}
}

func TestChannelRule(t *testing.T) {
	t.Parallel()
	rule := func(s string, group int) channelRule { return newChannelRule(regexp.MustCompile(s), group) }
	for _, row := range []struct {
		name  string
		rule  channelRule
		plain string
		want  string
	}{
		{"folder", channelRule{}, "/sports1/index.m3u8", "sports1"},
		{"folders", channelRule{}, "/live/sports1/index.m3u8", "live/sports1"},
		{"no_folder", channelRule{}, "/sports1.m3u8", "sports1"},
		{"no_folder_two_dots", channelRule{}, "/sports1.stream.ts", "sports1"},
		{"root", channelRule{}, "/", ""},
		{"double_slash", channelRule{}, "/a//index.m3u8", "a/"},
		{"smartmedia", rule("([^/]+)/.*", 1), "/sports1/hi/index.m3u8", "sports1"},
		{"no_leading_slash_is_seen", rule("^([a-z0-9]+)/", 1), "/sports1/index.m3u8", "sports1"},
		{"searched", rule("ch([0-9]+)", 1), "/live/ch42/index.m3u8", "42"},
		{"second_group", rule("(live|vod)/([^/]+)", 2), "/live/sports1/index.m3u8", "sports1"},
		{"whole_match", rule("sports[0-9]", 0), "/live/sports1/index.m3u8", "sports1"},
		{"no_match", rule("^vod/(.*)", 1), "/live/sports1/index.m3u8", "live/sports1"},
		{"group_took_no_part", rule("live/(x)?", 1), "/live/sports1/index.m3u8", "live/sports1"},
		{"group_is_empty", rule("live/(x*)", 1), "/live/sports1/index.m3u8", "live/sports1"},
		{"not_ascii", rule("([^/]+)/", 1), "/Kanał 1/index.m3u8", "Kanał 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := row.rule.channel(row.plain); got != row.want {
				t.Errorf("channel %q, want %q", got, row.want)
			}
		})
	}
}

// FuzzFirstFolder: the short cut for the usual regexes finds what they find.
func FuzzFirstFolder(f *testing.F) {
	for _, path := range []string{"/sports1/hi/index.m3u8", "/a", "//a/b", "/a//b", "///", "/\xff/\xfe", "/Kanał/x"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		target, bad := parseTarget(path)
		if bad != nil {
			return
		}
		for _, s := range []string{`([^/]+)/.*`, `^([^/]+)/.*`, `([^/]+)/`, `^([^/]+)/`, `^/?([^/]+)/.*`, `^/?([^/]+)/`} {
			short := newChannelRule(regexp.MustCompile(s), 1)
			if !short.first {
				t.Fatalf("%s has no short cut", s)
			}
			long := channelRule{regex: short.regex, group: 1}
			if a, b := short.channel(target.Plain), long.channel(target.Plain); a != b {
				t.Errorf("%q by %s: %q, the regex finds %q", path, s, a, b)
			}
		}
	})
}

func TestContentKeepsTheViewersPath(t *testing.T) {
	t.Parallel()
	got := contentOf(channelRule{}, "/Kanał 1/index.m3u8", "/Kana%C5%82%201/index.m3u8")
	want := farms.Content{Channel: "Kanał 1", Path: "/Kana%C5%82%201/index.m3u8", Protocol: farms.ProtocolHLS, Kind: farms.KindLive}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestIsRefresh(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"": false, "a=1": false, "_HLS_msn=3": true, "token=x&_HLS_msn=3&_HLS_part=0": true, "_HLS_part=1": true, "_HLS_skip=YES": true,
		"_HLS_pathway=A": false,
	} {
		if isRefresh(query) != want {
			t.Errorf("%q: %v, want %v", query, !want, want)
		}
	}
}
