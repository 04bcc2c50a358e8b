package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestArchiveEdgeCases is the table of edge cases of the reference on archives,
// §6, by its numbers: those in which servers are asked.
func TestArchiveEdgeCases(t *testing.T) {
	t.Parallel()
	const (
		programme = int64(1767132000)
		hour      = "/ort/archive-1767132000-3600.m3u8"
	)
	now := time.Unix(archiveNow, 0)
	minutes := func(from, to int64) rig.Stretch { return stretch(programme+from*60, programme+to*60) }
	// two starts servers a and b; want is the one that is chosen, or a refusal's
	// status and reason.
	for _, row := range []struct {
		name string
		url  string
		set  func(a, b *rig.Recorder)
		edit rig.Config // of the farm
		want string
		whys string // of a and b
		held int64  // seconds, by the chosen one
		of   int64
		kind string
	}{
		{
			name: "1_greatest_coverage", url: hour,
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", minutes(0, 50))
				b.Holds("ort", minutes(40, 60))
			},
			want: "a", whys: "chosen holds_less", held: 3000, of: 3600, kind: "archive",
		},
		{
			name: "2_gap_most", url: hour,
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", minutes(0, 30), minutes(40, 60))
				b.Holds("ort", minutes(0, 45))
			},
			want: "a", whys: "chosen holds_less", held: 3000, of: 3600, kind: "archive",
		},
		{
			name: "2_gap_contiguous", url: hour,
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", minutes(0, 30), minutes(40, 60))
				b.Holds("ort", minutes(0, 45))
			},
			edit: rig.Config{"archive": rig.Config{"prefer": "contiguous"}},
			want: "b", whys: "holds_less chosen", held: 2700, of: 3600, kind: "archive",
		},
		{
			name: "3_nobody", url: hour, set: func(a, b *rig.Recorder) { a.Live(); b.Live() },
			want: "404 archive_missing", whys: "absent absent", kind: "archive",
		},
		{
			name: "4_ends_in_the_future", url: "/ort/archive-1767224000-3600.m3u8",
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", stretch(1767224800, archiveNow))
				b.Holds("ort", stretch(1767224000, archiveNow))
			},
			want: "b", whys: "holds_less chosen", held: 1580, of: 1580, kind: "event",
		},
		{
			name: "5_until_now", url: "/ort/archive-1767222000-now.m3u8",
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", stretch(1767222000, 1767223800))
				b.Holds("ort", stretch(1767222000, archiveNow))
			},
			want: "b", whys: "holds_less chosen", held: 3580, of: 3580, kind: "event",
		},
		{
			name: "6_future", url: "/ort/archive-1767312000-3600.m3u8",
			set:  func(a, b *rig.Recorder) { a.HoldsAll(stretch(1767132000, 1767400000)) },
			want: "404 archive_future", kind: "live",
		},
		{
			name: "7_no_length", url: "/ort/archive-1767132000-0.m3u8",
			set:  func(a, b *rig.Recorder) { a.HoldsAll(minutes(-60, 600)).Live() },
			want: "400 bad_window", kind: "live",
		},
		{
			name: "7_inverted", url: "/ort/index.m3u8?start=1767135600&end=1767132000",
			set:  func(a, b *rig.Recorder) { a.HoldsAll(minutes(-60, 600)).Live() },
			want: "400 bad_window", kind: "live",
		},
		{
			name: "10_channel_of_several_folders", url: "/a/b/c/archive-1767132000-3600.m3u8",
			set: func(a, b *rig.Recorder) {
				a.Holds("c", minutes(0, 60))
				b.Holds("a/b/c", minutes(0, 60))
			},
			want: "b", whys: "absent chosen", held: 3600, of: 3600, kind: "archive",
		},
		{
			name: "13_point", url: "/ort/timeshift_rel-7200.m3u8",
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", stretch(archiveNow-3600, archiveNow))
				b.Holds("ort", stretch(archiveNow-7800, archiveNow))
			},
			want: "b", whys: "absent chosen", held: 60, of: 60, kind: "timeshift",
		},
		{
			name: "14_siptv", url: "/ort/index.m3u8?token=T&utc=1767218400&lutc=1767225600",
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", stretch(1767220000, archiveNow)).Live()
				b.Holds("ort", stretch(1767218400, archiveNow)).Live()
			},
			want: "b", whys: "holds_less chosen", held: 7180, of: 7180, kind: "timeshift",
		},
		{
			name: "15_siptv_of_a_player_that_adds_a_second_query", url: "/ort/index.m3u8?token=1?utc=1767218400&amp;lutc=1767225600",
			set: func(a, b *rig.Recorder) {
				a.Holds("ort", stretch(1767220000, archiveNow)).Live()
				b.Holds("ort", stretch(1767218400, archiveNow)).Live()
			},
			want: "b", whys: "holds_less chosen", held: 7180, of: 7180, kind: "timeshift",
		},
		{
			name: "16_siptv_live", url: "/ort/index.m3u8?utc=&lutc=1767225600",
			set:  func(a, b *rig.Recorder) { a.HoldsAll(minutes(0, 60)); b.Live() },
			want: "b", whys: "absent chosen", kind: "live",
		},
		{
			name: "17_panel", url: "/timeshift/u/p/60/2025-12-30:22-00/1477.m3u8",
			set: func(a, b *rig.Recorder) {
				a.Holds("1477", minutes(0, 20))
				b.Holds("1477", minutes(0, 60))
			},
			want: "b", whys: "holds_less chosen", held: 3600, of: 3600, kind: "archive",
		},
		{
			name: "18_panel_with_an_escape", url: "/timeshift/u/p/60/2025-12-30%3A22-00/1477.m3u8",
			set: func(a, b *rig.Recorder) {
				a.Holds("1477", minutes(0, 20))
				b.Holds("1477", minutes(0, 60))
			},
			want: "b", whys: "holds_less chosen", held: 3600, of: 3600, kind: "archive",
		},
		{
			name: "33_channel_in_UTF-8", url: "/%D0%9F%D0%B5%D1%80%D0%B2%D1%8B%D0%B9/archive-1767132000-3600.m3u8",
			set:  func(a, b *rig.Recorder) { b.Holds("Первый", minutes(0, 60)) },
			want: "b", whys: "absent chosen", held: 3600, of: 3600, kind: "archive",
		},
		{
			name: "34_escaped_slash", url: "/a%2Fb/archive-1767132000-3600.m3u8",
			set:  func(a, b *rig.Recorder) { b.Holds("a/b", minutes(0, 60)) },
			want: "b", whys: "absent chosen", held: 3600, of: 3600, kind: "archive",
		},
		{name: "35_empty_folders", url: "//ort//archive-1767132000-3600.m3u8", set: func(a, b *rig.Recorder) {}, want: "400 bad_request"},
		{
			name: "36_plus_in_the_name", url: "/live+ch1/archive-1767132000-3600.m3u8",
			set:  func(a, b *rig.Recorder) { b.Holds("live+ch1", minutes(0, 60)) },
			want: "b", whys: "absent chosen", held: 3600, of: 3600, kind: "archive",
		},
		{
			name: "38_another_protocol", url: "/ort/archive-1767132000-3600.mp4",
			set:  func(a, b *rig.Recorder) { a.HoldsAll(minutes(0, 60)); b.HoldsAll(minutes(0, 60)) },
			want: "404 archive_missing", whys: "absent absent", kind: "archive",
		},
		{
			name: "39_200_with_an_error", url: hour,
			set:  func(a, b *rig.Recorder) { a.HoldsAll(minutes(0, 60)).Set(rig.Excusing); b.HoldsAll(minutes(0, 10)) },
			want: "b", whys: "absent chosen", held: 600, of: 3600, kind: "archive",
		},
		{
			name: "40_302_to_the_other", url: hour,
			set:  func(a, b *rig.Recorder) { a.PointTo(b); b.HoldsAll(minutes(0, 60)) },
			want: "b", whys: "absent chosen", held: 3600, of: 3600, kind: "archive",
		},
		{
			name: "41_403_and_200", url: hour,
			set:  func(a, b *rig.Recorder) { a.Set(rig.Forbidden); b.HoldsAll(minutes(0, 10)) },
			want: "b", whys: "guarded chosen", held: 600, of: 3600, kind: "archive",
		},
		{
			name: "41_403_alone", url: hour,
			set:  func(a, b *rig.Recorder) { a.Set(rig.Forbidden) },
			want: "a", whys: "guarded absent", of: 3600, kind: "archive",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a, b := rig.NewRecorder(t, "a").At(now), rig.NewRecorder(t, "b").At(now)
			row.set(a, b)
			x := explainAt(t, configFile(t, scene(recordedBy("main", row.edit, a, b))), archiveNow, row.url)
			status := 0
			if _, err := fmt.Sscan(row.want, &status); err == nil {
				_, reason, _ := strings.Cut(row.want, " ")
				refusedFor(t, x, status, reason)
			} else {
				sentTo(t, x, map[string]*rig.Recorder{"a": a, "b": b}[row.want], row.url)
				if held, asked := x.held(row.want); held != row.held || asked != row.of {
					t.Errorf("%s holds %d of %d s, want %d of %d", row.want, held, asked, row.held, row.of)
				}
			}
			want := strings.Fields(row.whys + " - -")
			for i, server := range []string{"a", "b"} {
				x.wantWhy(t, server, strings.TrimSuffix(want[i], "-"))
			}
			if x.Content.Kind != row.kind {
				t.Errorf("kind %q, want %q", x.Content.Kind, row.kind)
			}
			if status == 400 || strings.Contains(row.want, "future") {
				if n := a.Questions() + b.Questions(); n > 0 {
					t.Errorf("%d questions about a window that is refused by its URL", n)
				}
			}
		})
	}
}

// TestArchiveURLs is the rest of that table: what a URL asks for, without any
// server.
func TestArchiveURLs(t *testing.T) {
	t.Parallel()
	file := configFile(t, with(scene(assumed("main", "share", "a http://a.example")), "archive", rig.Config{"timezone": "Europe/Moscow"}))
	for _, row := range []struct {
		name string
		url  string
		want string // "dialect channel kind protocol start end open", or a refusal
	}{
		{"8_milliseconds", "/ort/index-1345345345354-3600.m3u8", "flussonic-archive ort archive hls 1345345345 1345348945 false"},
		{"9_channel_with_a_dash", "/index-2/index.m3u8", "live-generic index-2 live hls 0 0 false"},
		{"10_channel_of_several_folders", "/a/b/c/index.m3u8", "live-generic a/b/c live hls 0 0 false"},
		{"11_rewind", "/ort/tracks-v1a1/rewind-3600.m3u8", "flussonic-rewind ort window hls 1767222000 1767225600 true"},
		{"12_offset_0", "/ort/timeshift_rel-0.m3u8", "flussonic-timeshift-rel ort live hls 0 0 false"},
		{"13_offset", "/ort/timeshift_rel-7200.m3u8", "flussonic-timeshift-rel ort timeshift hls 1767218400 1767218460 true"},
		{"14_siptv", "/ort/video.m3u8?token=T&utc=1767218400&lutc=1767225600", "siptv-shift ort timeshift hls 1767218400 1767225600 true"},
		{"15_second_query", "/ch/index.m3u8?token=1?utc=1767218400&amp;lutc=1767225600", "siptv-shift ch timeshift hls 1767218400 1767225600 true"},
		{"16_empty_utc", "/ch/index.m3u8?utc=&lutc=1767225600", "siptv-shift ch live hls 0 0 false"},
		{"16_utc_0", "/ch/index.m3u8?utc=0&lutc=1767225600", "siptv-shift ch live hls 0 0 false"},
		{"17_panel_zone", "/timeshift/u/p/120/2025-12-31:01-30/1477.ts", "xtream-timeshift-path 1477 archive mpegts 1767133800 1767141000 false"},
		{"18_escaped_colon", "/timeshift/u/p/120/2025-12-31%3A01-30/1477.ts", "xtream-timeshift-path 1477 archive mpegts 1767133800 1767141000 false"},
		{"18_underscore", "/timeshift/u/p/120/2025-12-31_01-30/1477.ts", "xtream-timeshift-path 1477 archive mpegts 1767133800 1767141000 false"},
		{"18_seconds", "/timeshift/u/p/120/2025-12-31:01:30:00/1477.ts", "xtream-timeshift-path 1477 archive mpegts 1767133800 1767141000 false"},
		{"18_m3u8", "/timeshift/u/p/120/2025-12-31:01-30/1477.m3u8", "xtream-timeshift-path 1477 archive hls 1767133800 1767141000 false"},
		{
			"19_any_order", "/streaming/timeshift.php?duration=60&start=2025-12-31:01-30&stream=9001&password=p&username=u",
			"xtream-timeshift-query 9001 archive mpegts 1767133800 1767137400 false",
		},
		{
			"20_milliseconds_of_length", "/dvr/ch/playlist.m3u8?DVR&wowzadvrplayliststart=20251230220000&wowzadvrplaylistduration=3600000",
			"wowza-ndvr ch archive hls 1767132000 1767135600 false",
		},
		{"21_from_the_store's_start", "/dvr/ch/playlist.m3u8?DVR&wowzadvrplayliststart=10000", "400 bad_window"},
		{
			"22_wall_clock", "/ch/ch.isml/.m3u8?vbegin=2025-12-30T22:00:00Z&vend=2025-12-30T23:00:00Z",
			"usp-subclip ch/ch archive hls 1767132000 1767135600 false",
		},
		{"22_clip", "/films/f.ism/.m3u8?vbegin=0&vend=42", "usp-subclip films/f vod hls 0 0 false"},
		{
			"23_semicolon", "/out/v1/grp/ch1/ep1/index.m3u8?aws.manifestsettings=start:1767132000;end:1767135600",
			"mediapackage-v2 out/v1/grp/ch1/ep1 archive hls 1767132000 1767135600 false",
		},
		{
			"24_plus", "/ch/index.m3u8?start=2025-12-30T22:00:00+00:00&end=2025-12-30T23:00:00+00:00",
			"generic-start-end ch archive hls 1767132000 1767135600 false",
		},
		{"25_milliseconds", "/lss/ch1/index.m3u8?start=1767132000000&end=1767135600000", "generic-start-end lss/ch1 archive hls 1767132000 1767135600 false"},
		{"26_relative", "/hls/ch1/index.m3u8?startunix=-7200", "mist-range ch1 event hls 1767218400 1767225600 true"},
		{"27_relative_and_ahead", "/hls/ch1/index.m3u8?startunix=36000", "404 archive_future"},
		{"27_absolute", "/hls/ch1/index.m3u8?startunix=36001&stopunix=39601", "mist-range ch1 archive hls 36001 39601 false"},
		{"28_duration", "/get?path=a/b&start=2025-12-30T22:00:00Z&duration=1m30s", "mediamtx-get a/b archive mp4 1767132000 1767132090 false"},
		{"29_playseek", "/ch1?playseek=20251231060000-20251231070000", "playseek ch1 archive mpegts 1767132000 1767135600 false"},
		{"29_GMT", "/ch1?playseek=20251230220000GMT-20251230230000GMT", "playseek ch1 archive mpegts 1767132000 1767135600 false"},
		{"30_dashes", "/ch1?playseek=2025-12-30T22:00:00Z-2025-12-30T23:00:00Z", "playseek ch1 archive mpegts 1767132000 1767135600 false"},
		{"31_parentheses", "/ort(archive=1767132000-3600).isml/manifest", "flussonic-mss ort archive mss 1767132000 1767135600 false"},
		{"31_escaped", "/ort%28archive=1767132000-3600%29.isml/manifest", "flussonic-mss ort archive mss 1767132000 1767135600 false"},
		{"32_fragment", "/ch1/manifest.mpd#t=posix:1767132000", "live-generic ch1 live dash 0 0 false"},
		{"33_UTF-8", "/%D0%9F%D0%B5%D1%80%D0%B2%D1%8B%D0%B9/index.m3u8", "live-generic Первый live hls 0 0 false"},
		{"34_escaped_slash", "/a%2Fb/index.m3u8", "live-generic a/b live hls 0 0 false"},
		{"34_slash", "/a/b/index.m3u8", "live-generic a/b live hls 0 0 false"},
		{"35_empty_folders", "//ort//index.m3u8", "400 bad_request"},
		{"36_plus", "/cmaf/live+ch1/Manifest", "mist-live live+ch1 live mss 0 0 false"},
		{"37_VoD", "/vod/movies/bunny.mp4/index.m3u8", "vod-path vod/movies/bunny.mp4 vod hls 0 0 false"},
		{"46_channel_in_the_query", "/live.m3u8?channel=ct1", "query-channel ct1 live hls 0 0 false"},
		{"46_window_in_the_query", "/catchup.m3u8?channel=ct1&start=1767132000&end=1767135600", "query-channel ct1 archive hls 1767132000 1767135600 false"},
		{"not_read_and_not_live", "/ort/index.m3u8?utc=yesterday", "400 bad_window"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			x := explainAt(t, file, archiveNow, row.url, "-parse")
			c := x.Content
			got := fmt.Sprintf("%s %s %s %s %d %d %t", c.Dialect, c.Channel, c.Kind, c.Protocol, c.Start, c.End, c.Open)
			if x.Status != 200 {
				got = fmt.Sprintf("%d %s", x.Status, x.Reason)
			}
			if got != row.want {
				t.Errorf("%s\n got %s (%s)\nwant %s", row.url, got, x.Detail, row.want)
			}
			if x.LocationHeader != "" || x.Server != "" {
				t.Errorf("only reading the URL sends the viewer to %q", x.LocationHeader)
			}
		})
	}
}

// TestChannelRegexBesideDialects: what the operator's regex names is the channel;
// where it names nothing the dialect does.
func TestChannelRegexBesideDialects(t *testing.T) {
	t.Parallel()
	file := configFile(t, with(scene(assumed("main", "share", "a http://a.example")), "redirection", rig.Config{"channel_regex": `^tv/([^/]+)/`}))
	for url, want := range map[string]string{
		"/tv/ort/archive-1767132000-3600.m3u8":                      "ort",
		"/radio/ort/archive-1767132000-3600.m3u8":                   "radio/ort",
		"/live.m3u8?channel=ct1":                                    "ct1",
		"/catchup.m3u8?channel=ct1&start=1767132000&end=1767135600": "ct1",
		"/timeshift/u/p/60/2025-12-30:22-00/1477.ts":                "1477",
	} {
		if x := explainAt(t, file, archiveNow, url, "-parse"); x.Content.Channel != want {
			t.Errorf("%s: channel %q, want %q", url, x.Content.Channel, want)
		}
	}
}

// TestSplitRecordings is the worked case: A recorded 00:00 to 02:00 and 02:30 to
// 06:00, B 01:00 to 03:00, C nothing. Of equals B is preferred, but for those
// that hold it all: the first of them to answer ends the wait.
func TestSplitRecordings(t *testing.T) {
	t.Parallel()
	const day = archiveNow - 24*3600
	at := func(clock string) int64 {
		var h, m int64
		if _, err := fmt.Sscanf(clock, "%d:%d", &h, &m); err != nil {
			t.Fatal(err)
		}
		return day + h*3600 + m*60
	}
	part := func(from, to string) rig.Stretch { return stretch(at(from), at(to)) }
	a := rig.NewRecorder(t, "A").Holds("ort", part("00:00", "02:00"), part("02:30", "06:00"))
	b := rig.NewRecorder(t, "B").Holds("ort", part("01:00", "03:00"))
	c := rig.NewRecorder(t, "C").Live()
	servers := map[string]*rig.Recorder{"A": a, "B": b, "C": c}
	file := map[string]string{}
	for _, prefer := range []string{"most", "contiguous"} {
		file[prefer] = configFile(t, scene(recordedBy("main", rig.Config{"archive": rig.Config{"prefer": prefer}}, b, a, c)))
	}
	for _, row := range []struct {
		from, to   string
		most       string // whys of A and B
		contiguous string
		heldA      [2]int64 // minutes, by most and by contiguous
		heldB      [2]int64
	}{
		{"00:10", "00:50", "chosen absent", "chosen absent", [2]int64{40, 40}, [2]int64{0, 0}},
		{"01:10", "01:50", "not_picked chosen", "not_picked chosen", [2]int64{40, 40}, [2]int64{40, 40}},
		{"00:30", "01:30", "chosen holds_less", "chosen absent", [2]int64{60, 60}, [2]int64{30, 0}},
		{"01:30", "02:30", "holds_less chosen", "holds_less chosen", [2]int64{30, 30}, [2]int64{60, 60}},
		{"02:00", "02:30", "absent chosen", "absent chosen", [2]int64{0, 0}, [2]int64{30, 30}},
		{"02:15", "03:15", "not_picked chosen", "absent chosen", [2]int64{45, 0}, [2]int64{45, 45}},
		{"02:20", "04:00", "chosen holds_less", "absent chosen", [2]int64{90, 0}, [2]int64{40, 40}},
		{"02:45", "03:15", "chosen holds_less", "chosen holds_less", [2]int64{30, 30}, [2]int64{15, 15}},
		{"01:00", "03:00", "holds_less chosen", "holds_less chosen", [2]int64{90, 60}, [2]int64{120, 120}},
		{"01:00", "05:00", "chosen holds_less", "holds_less chosen", [2]int64{210, 60}, [2]int64{120, 120}},
		{"00:00", "06:00", "chosen holds_less", "chosen absent", [2]int64{330, 120}, [2]int64{120, 0}},
		{"05:00", "07:00", "chosen absent", "chosen absent", [2]int64{60, 60}, [2]int64{0, 0}},
		{"06:00", "08:00", "absent absent", "absent absent", [2]int64{0, 0}, [2]int64{0, 0}},
	} {
		for i, prefer := range []string{"most", "contiguous"} {
			whys := []string{row.most, row.contiguous}[i]
			t.Run(row.from+"_"+row.to+"_"+prefer, func(t *testing.T) {
				t.Parallel()
				url := fmt.Sprintf("/ort/archive-%d-%d.m3u8", at(row.from), at(row.to)-at(row.from))
				x := explainAt(t, file[prefer], archiveNow, url)
				if heldA, asked := x.held("A"); whys == "not_picked chosen" && x.Server == "A" && heldA == asked {
					whys = "chosen not_picked"
				}
				whyA, whyB, _ := strings.Cut(whys, " ")
				x.wantWhy(t, "A", whyA)
				x.wantWhy(t, "B", whyB)
				x.wantWhy(t, "C", "absent")
				switch {
				case strings.HasPrefix(whys, "chosen"):
					sentTo(t, x, servers["A"], url)
				case strings.HasSuffix(whys, "chosen"):
					sentTo(t, x, servers["B"], url)
				default:
					refusedFor(t, x, 404, "archive_missing")
				}
				for name, minutes := range map[string][2]int64{"A": row.heldA, "B": row.heldB} {
					held, asked := x.held(name)
					if asked != at(row.to)-at(row.from) || held != minutes[i]*60 && x.why(name) != "not_needed" {
						t.Errorf("%s holds %d of %d s, want %d of %d", name, held, asked, minutes[i]*60, at(row.to)-at(row.from))
					}
				}
			})
		}
	}
}
