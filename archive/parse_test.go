package archive

import (
	"strings"
	"testing"
	"time"
)

// TestFamilies holds what the reference's prose says beyond its examples: each
// row stands for a family of URLs.
func TestFamilies(t *testing.T) {
	t.Parallel()
	const (
		bad    = "ERR:bad_window"
		future = "ERR:archive_future"
		nobody = "ERR:no_match"
	)
	p := newParser(t)
	for _, row := range []struct{ name, url, want string }{
		// Flussonic
		{"millisecond_start", "/ort/index-1345345345354-3600.m3u8", "flussonic-archive|ort|archive|hls|1345345345|1345348945|false"},
		{"legacy_hls", "/a/b/archive/1767132000/3600/index.m3u8", "flussonic-archive-legacy|a/b|archive|hls|1767132000|1767135600|false"},
		{"legacy_hds", "/ort/archive/1767132000/now/manifest.f4m", "flussonic-archive-legacy|ort|event|hds|1767132000|1767225600|true"},
		{"json", "/ort/archive-1767132000-3600.json", "flussonic-archive|ort|archive|file|1767132000|1767135600|false"},
		{"timeshift_file", "/a/b/timeshift_abs-1767132000.ts", "flussonic-timeshift-abs|a/b|timeshift|mpegts|1767132000|1767225600|true"},
		{"offset_0_is_live", "/ort/timeshift_rel-0.m3u8", "flussonic-timeshift-rel|ort|live|hls|0|0|false"},
		{"rewind_0_is_live", "/ort/rewind-0.m3u8", "flussonic-rewind|ort|live|hls|0|0|false"},
		{"timeshift_near_now", "/ort/timeshift_rel-30.m3u8", "flussonic-timeshift-rel|ort|timeshift|hls|1767225570|1767225630|true"},
		{"smooth_live", "/ort.isml/manifest", "usp-live|ort|live|mss|0|0|false"},
		{"smooth_rel", "/a/ort(timeshift_rel=60).isml/manifest", "flussonic-mss|a/ort|timeshift|mss|1767225540|1767225600|true"},
		{"smooth_now", "/ort(archive=1767132000-now).isml/manifest", "flussonic-mss|ort|event|mss|1767132000|1767225600|true"},
		{"name_with_number", "/index-2/index.m3u8", "live-generic|index-2|live|hls|0|0|false"},
		{"deep_name", "/a/b/c/index.m3u8", "live-generic|a/b/c|live|hls|0|0|false"},
		{"tracks_live", "/ort/tracks-v1/index.ll.m3u8", "live-generic|ort|live|hls|0|0|false"},
		{"empty", "/ort/archive-1767132000-0.m3u8", bad},
		{"future", "/ort/archive-1767226000-3600.m3u8", future},
		{"future_timeshift", "/ort/timeshift_abs-1767226000.m3u8", future},
		{"start_in_slack", "/ort/archive-1767225720-3600.m3u8", "flussonic-archive|ort|event|hls|1767225600|1767229320|true"},
		{"start_beyond_slack", "/ort/archive-1767225721-3600.m3u8", future},
		{"start_is_now", "/ort/archive-1767225600-now.m3u8", "flussonic-archive|ort|event|hls|1767225600|1767225660|true"},
		{"ends_now", "/ort/archive-1767222000-3600.m3u8", "flussonic-archive|ort|archive|hls|1767222000|1767225600|false"},
		{"path_before_query", "/ort/archive-1767132000-3600.m3u8?utc=1&start=5", "flussonic-archive|ort|archive|hls|1767132000|1767135600|false"},
		{"eight_digits", "/ort/archive-17671320-3600.m3u8", "live-flat|ort/archive-17671320-3600|live|hls|0|0|false"},
		{"fourteen_digits", "/ort/archive-20251230220000-3600.m3u8", bad},
		{"long_length", "/ort/archive-1767132000-36000000.m3u8", bad},
		{"length_no_number", "/ort/archive-1767132000-x.m3u8", bad},
		{"unknown_container", "/ort/archive-1767132000-3600.xx.m3u8", bad},
		{"unknown_word_with_range", "/ort/x-rec-1767132000-3600.m3u8", bad},
		{"unknown_word_with_now", "/ort/rec-1767132000-now.m3u8", bad},
		{"timeshift_no_number", "/ort/timeshift_abs-x.m3u8", bad},
		{"timeshift_few_digits", "/ort/timeshift_abs/17671320", bad},
		{"rewind_many_digits", "/ort/rewind-99999999.m3u8", bad},
		{"smooth_no_number", "/ort(archive=x-3600).isml/manifest", bad},
		{"channel_like_rewind", "/rewind-80s/index.m3u8", "live-generic|rewind-80s|live|hls|0|0|false"},
		{"channel_like_archive", "/archive-2024.m3u8", "live-flat|archive-2024|live|hls|0|0|false"},
		{"channel_like_a_camera", "/cam-100200300-1.stream/playlist.m3u8", "live-generic|cam-100200300-1.stream|live|hls|0|0|false"},

		// Nimble
		{"nimble_timeshift", "/live/s/playlist_dvr_timeshift-7200-600.m3u8", "nimble-timeshift|live/s|timeshift|hls|1767218400|1767218460|true"},
		{"nimble_timeshift_0", "/live/s/playlist_dvr_timeshift-0-600.m3u8", "nimble-timeshift|live/s|live|hls|0|0|false"},
		{"nimble_all", "/live/s/playlist_fmp4_dvr.m3u8", "nimble-dvr|live/s|window|hls|0|0|false"},
		{"nimble_bad", "/live/s/playlist_dvr_range-x-120.m3u8", bad},
		{"nimble_deep", "/live/a/s/playlist_dvr_range-1767132000-120.m3u8", bad},

		// Xtream
		{"xtream_colon", "/timeshift/u/p/120/2025-12-31:01-30/1477.m3u8", "xtream-timeshift-path|1477|archive|hls|1767133800|1767141000|false"},
		{"xtream_escaped", "/timeshift/u/p/120/2025-12-31%3A01-30/1477.ts", "xtream-timeshift-path|1477|archive|mpegts|1767133800|1767141000|false"},
		{"xtream_unix", "/timeshift/u/p/60/1767132000/1477", "xtream-timeshift-path|1477|archive|mpegts|1767132000|1767135600|false"},
		{"xtream_any_order", "/streaming/timeshift.php?duration=60&start=2025-12-31:01-30&stream=9001", "xtream-timeshift-query|9001|archive|mpegts|1767133800|1767137400|false"},
		{"xtream_form_space", "/timeshift.php?stream=9001&start=2025-12-31+01:30:00&duration=60", "xtream-timeshift-query|9001|archive|mpegts|1767133800|1767137400|false"},
		{"xtream_no_length", "/timeshift.php?stream=9001&start=2025-12-31:01-30", "xtream-timeshift-query|9001|event|mpegts|1767133800|1767225600|true"},
		{"xtream_bad_day", "/timeshift/u/p/120/2025-02-30:01-30/1477.ts", bad},
		{"xtream_bad_start", "/timeshift/u/p/120/yesterday/1477.ts", bad},
		{"xtream_no_start", "/timeshift.php?stream=9001&duration=60", bad},
		{"xtream_length_0", "/timeshift/u/p/0/2025-12-31:01-30/1477.ts", bad},

		// Wowza
		{"wowza_store_time", "/dvr/s/playlist.m3u8?DVR&wowzadvrplayliststart=10000", bad},
		{"wowza_store_beginning", "/dvr/s/playlist.m3u8?DVR&wowzadvrplayliststart=0", bad},
		{"wowza_length_alone", "/dvr/s/playlist.m3u8?DVR&wowzadvrplaylistduration=60000", bad},
		{"wowza_any_case", "/dvr/s/playlist.m3u8?dvr&WOWZADVRPLAYLISTSTART=20251230220000", "wowza-ndvr|s|event|hls|1767132000|1767225600|true"},
		{"wowza_instance", "/dvr/inst/s/playlist.m3u8?DVR&wowzadvrplayliststart=20251230220000", "wowza-ndvr|s|event|hls|1767132000|1767225600|true"},
		{"wowza_smooth", "/dvr/s/Manifest?DVR", "wowza-ndvr|s|live|mss|0|0|false"},
		{"wowza_without_flag", "/dvr/s/playlist.m3u8?wowzadvrplayliststart=20251230220000", bad},

		// Unified
		{"usp_timeshift", "/c/c.isml/.mpd?time_shift=7200", "usp-timeshift|c/c|timeshift|dash|1767218400|1767218460|true"},
		{"usp_timeshift_0", "/c/c.isml/.mpd?time_shift=0", "usp-timeshift|c/c|live|dash|0|0|false"},
		{"usp_open", "/c/c.isml/.m3u8?vbegin=2025-12-30T22:00:00", "usp-subclip|c/c|event|hls|1767132000|1767225600|true"},
		{"usp_any_case", "/c/c.isml/manifest?vbegin=1767132000&vend=1767135600", "usp-subclip|c/c|archive|mss|1767132000|1767135600|false"},
		{"usp_default_window", "/c/c.isml/.m3u8?dvr_window_length=default", "usp-live|c/c|live|hls|0|0|false"},
		{"usp_clip", "/m/movie.ism/.m3u8?vbegin=0&vend=42", "usp-subclip|m/movie|vod|hls|0|0|false"},
		{"usp_vod", "/m/movie.ism/Manifest", "usp-vod|m/movie.ism|vod|mss|0|0|false"},
		{"usp_foreign_time", "/c/c.isml/.m3u8?utc=1767132000", bad},
		{"usp_no_time", "/c/c.isml/.m3u8?vbegin=yesterday", bad},

		// AWS
		{"aws_raw_semicolon", "/out/v1/g/c/e/i.m3u8?x=1&aws.manifestsettings=start:1767132000;end:1767135600", "mediapackage-v2|out/v1/g/c/e|archive|hls|1767132000|1767135600|false"},
		{"aws_any_case", "/out/v1/g/c/e/i.m3u8?AWS.ManifestSettings=End:2025-12-30T23:00:00Z;Start:2025-12-30T22:00:00Z", "mediapackage-v2|out/v1/g/c/e|archive|hls|1767132000|1767135600|false"},
		{"aws_delay", "/out/v1/g/c/e/i.m3u8?aws.manifestsettings=time_delay:60", "mediapackage-v2|out/v1/g/c/e|timeshift|hls|1767225540|1767225600|true"},
		{"aws_filter_only", "/out/v1/g/c/e/i.m3u8?aws.manifestsettings=manifest_window_seconds:60", "mediapackage-v2|out/v1/g/c/e|live|hls|0|0|false"},
		{"aws_raw_plus", "/out/v1/0123456789abcdef0123456789abcdef/i.m3u8?start=2025-12-30T22:00:00+00:00", "mediapackage-v1|out/v1/0123456789abcdef0123456789abcdef|event|hls|1767132000|1767225600|true"},
		{"aws_other_zone", "/out/v1/0123456789abcdef0123456789abcdef/i.ism/Manifest?start=2025-12-31T01:00:00%2B03:00", "mediapackage-v1|out/v1/0123456789abcdef0123456789abcdef|event|mss|1767132000|1767225600|true"},
		{"aws_end_alone", "/out/v1/g/c/e/i.m3u8?aws.manifestsettings=end:1767135600", bad},

		// MistServer
		{"mist_positive_is_relative", "/hls/c/index.m3u8?startunix=36000", future},
		{"mist_absolute_beyond", "/hls/c/index.m3u8?startunix=36001&stopunix=36002", "mist-range|c|archive|hls|36001|36002|false"},
		{"mist_0_is_live", "/hls/c/index.m3u8?startunix=0", "mist-range|c|live|hls|0|0|false"},
		{"mist_in_slack", "/hls/c/index.m3u8?startunix=60", "mist-range|c|event|hls|1767225600|1767225660|true"},
		{"mist_both_relative", "/hls/c/index.m3u8?startunix=-7200&stopunix=-3600", "mist-range|c|archive|hls|1767218400|1767222000|false"},
		{"mist_file", "/c.mkv?startunix=1767132000&duration=60", "mist-range|c|archive|file|1767132000|1767132060|false"},
		{"mist_foreign_time", "/hls/c/index.m3u8?utc=1767132000&lutc=1767225600", "siptv-shift|hls/c|timeshift|hls|1767132000|1767225600|true"},
		{"mist_start", "/hls/c/index.m3u8?start=1767132000&end=1767135600", "generic-start-end|hls/c|archive|hls|1767132000|1767135600|false"},

		// MediaMTX
		{"mediamtx_minutes", "/get?path=a/b&start=2025-12-30T22:00:00Z&duration=1m30s", "mediamtx-get|a/b|archive|mp4|1767132000|1767132090|false"},
		{"mediamtx_no_length", "/get?path=a/b&start=2025-12-30T22:00:00Z", bad},
		{"mediamtx_negative", "/get?path=a/b&start=2025-12-30T22:00:00Z&duration=-5s", bad},

		// China
		{"playseek_local", "/c?playseek=20251231060000-20251231070000", "playseek|c|archive|mpegts|1767132000|1767135600|false"},
		{"playseek_manifest", "/PLTV/c/index.m3u8?playseek=20251231060000-20251231070000", "playseek|PLTV/c|archive|hls|1767132000|1767135600|false"},
		{"playseek_open", "/c.ts?playseek=20251231060000-", "playseek|c|event|mpegts|1767132000|1767225600|true"},
		{"playseek_iso_local", "/c?playseek=2025-12-31T06:00:00-2025-12-31T07:00:00", "playseek|c|archive|mpegts|1767132000|1767135600|false"},
		{"playseek_iso_zones", "/c?playseek=2025-12-30T22:00:00-00:00-2025-12-31T07:00:00+08:00", "playseek|c|archive|mpegts|1767132000|1767135600|false"},
		{"playseek_empty", "/c?playseek=", "playseek|c|live|mpegts|0|0|false"},
		{"playseek_seventeen_digits", "/c?playseek=17671320000000000-1767135600", bad},
		{"playseek_no_dash", "/c?playseek=1767132000", bad},
		{"playseek_no_time", "/c?playseek=${start}-${end}", bad},

		// ApsaraVideo
		{"apsara_offset", "/a/s.m3u8?lhs_start=1&lhs_offset_unix_s_0=7200", "apsara-lhs|a/s|timeshift|hls|1767218400|1767218460|true"},
		{"apsara_human", "/a/s.m3u8?lhs_start=1&lhs_start_human_s_8=20251231060000&lhs_end_human_s_8=20251231070000", "apsara-lhs|a/s|archive|hls|1767132000|1767135600|false"},
		{"apsara_human_utc", "/a/s.m3u8?lhs_start=1&lhs_start_human_s_0=20251230220000", "apsara-lhs|a/s|event|hls|1767132000|1767225600|true"},
		{"apsara_millis", "/a/s.m3u8?lhs_start=1&lhs_start_unix_ms_0=1767132000000&lhs_vodend_unix_ms_0=1767135600000", "apsara-lhs|a/s|archive|hls|1767132000|1767135600|false"},
		{"apsara_unknown_unit", "/a/s.m3u8?lhs_start=1&lhs_start_unix_h_0=1767132000", bad},

		// Ant Media
		{"ant_rendition", "/App/streams/c_720p2000kbps.m3u8?start=1767132000&end=1767135600", "antmedia-range|c|archive|hls|1767132000|1767135600|false"},
		{"ant_start_alone", "/App/streams/c.m3u8?start=1767132000", "generic-start-end|App/streams/c|event|hls|1767132000|1767225600|true"},

		// channel in the query
		{"query_channel_length", "/api/play.m3u8?ch=ct1&utc=1767132000&duration=3600", "query-channel|ct1|archive|hls|1767132000|1767135600|false"},
		{"query_channel_escaped", "/live.m3u8?id=%D0%9F", "query-channel|П|live|hls|0|0|false"},
		{"query_channel_end_alone", "/live.m3u8?channel=ct1&end=1767135600", bad},
		{"viewer_id_is_no_channel", "/sports1/index.m3u8?id=viewer7", "live-generic|sports1|live|hls|0|0|false"},
		{"query_channel_foreign_time", "/live.m3u8?channel=ct1&playseek=1767132000-1767135600", "playseek|live|archive|hls|1767132000|1767135600|false"},

		// the viewer's zone
		{"cutv_digits", "/c/index.m3u8?cutv=20251231030000", "kodi-cutv|c|timeshift|hls|1767132000|1767225600|true"},
		{"cutv_zone_named", "/c/index.m3u8?cutv=2025-12-30T22:00:00Z", "kodi-cutv|c|timeshift|hls|1767132000|1767225600|true"},
		{"cutv_empty", "/c/index.m3u8?cutv=", "kodi-cutv|c|live|hls|0|0|false"},

		// SIPTV
		{"siptv_token", "/ort/video.m3u8?token=T&utc=1767218400&lutc=1767225600", "siptv-shift|ort|timeshift|hls|1767218400|1767225600|true"},
		{"siptv_second_question_mark", "/ch/index.m3u8?token=1?utc=1767218400&amp;lutc=1767225600", "siptv-shift|ch|timeshift|hls|1767218400|1767225600|true"},
		{"siptv_flat_mpd", "/a/ch.mpd?utc=1767218400&lutc=1767225600", "siptv-shift|a/ch|timeshift|dash|1767218400|1767225600|true"},
		{"siptv_mpegts", "/ch/mpegts?utc=1767218400", "siptv-shift|ch|timeshift|mpegts|1767218400|1767225600|true"},
		{"siptv_0_is_live", "/ch/index.m3u8?utc=0&lutc=1767225600", "siptv-shift|ch|live|hls|0|0|false"},
		{"siptv_template", "/ch/index.m3u8?utc=${start}", bad},
		{"siptv_millis", "/ch/index.m3u8?utc=1767218400000", bad},
		{"siptv_clock_ahead", "/ch/index.m3u8?utc=1767225660&lutc=1767225660", "siptv-shift|ch|timeshift|hls|1767225600|1767225660|true"},
		{"siptv_bad_escape", "/ch/index.m3u8?utc=%zz", bad},
		{"other_bad_escape", "/ch/index.m3u8?token=%zz&utc=1767218400", "siptv-shift|ch|timeshift|hls|1767218400|1767225600|true"},
		{"empty_beside_full", "/ch/index.m3u8?utc=&start=1767218400", bad},

		// start and end
		{"micros", "/ch/index.m3u8?start=1767132000000000&end=1767135600000000", "generic-start-end|ch|archive|hls|1767132000|1767135600|false"},
		{"nanos", "/ch/index.m3u8?start=1767132000000000000&dur=3600", "generic-start-end|ch|archive|hls|1767132000|1767135600|false"},
		{"digits", "/ch/index.m3u8?start=20251230220000&end=20251230230000", "generic-start-end|ch|archive|hls|1767132000|1767135600|false"},
		{"basic_iso", "/ch/index.m3u8?start=20251230T220000Z&end=20251230T230000", "generic-start-end|ch|archive|hls|1767132000|1767135600|false"},
		{"float", "/ch/index.m3u8?start=1767132000.000&end=1767135600.5", "generic-start-end|ch|archive|hls|1767132000|1767135600|false"},
		{"no_time", "/ch/index.m3u8?start=yesterday", bad},
		{"end_no_time", "/ch/index.m3u8?start=1767132000&end=tomorrow", bad},
		{"end_empty", "/ch/index.m3u8?start=1767132000&end=", "generic-start-end|ch|event|hls|1767132000|1767225600|true"},
		{"huge", "/ch/index.m3u8?start=99999999999999999999", bad},
		{"both_inverted_and_future", "/ch/index.m3u8?start=1767400000&end=1767300000", bad},
		{"future_closed", "/ch/index.m3u8?start=1767300000&end=1767400000", future},
		{"end_is_start", "/ch/index.m3u8?start=1767132000&end=1767132000", bad},
		{"before_1970", "/ch/index.m3u8?start=1969-12-31T23:59:59Z", bad},
		{"referral", "/ch/index.m3u8?from=app&token=x", "live-generic|ch|live|hls|0|0|false"},
		{"from", "/ch/index.m3u8?from=1767132000&to=1767135600", "generic-start-end|ch|archive|hls|1767132000|1767135600|false"},

		// the rest
		{"vod", "/vod/movies/bunny.mp4/index.m3u8", "vod-path|vod/movies/bunny.mp4|vod|hls|0|0|false"},
		{"vod_file", "/movie/u/p/bunny.mkv", "vod-path|movie/u/p/bunny.mkv|vod|file|0|0|false"},
		{"pseudo_streaming", "/vod/bunny.mp4?start=30", "vod-path|vod/bunny.mp4|vod|mp4|0|0|false"},
		{"stream_with_time", "/ch.ts?start=1767132000", bad},
		{"segment_with_time", "/ch/1.ts?start=1767132000", "vod-path|ch/1.ts|vod|mpegts|0|0|false"},
		{"plus_is_a_plus", "/cmaf/live+ch1/index.m3u8", "mist-live|live+ch1|live|hls|0|0|false"},
		{"escaped_slash", "/a%2Fb/index.m3u8", "live-generic|a/b|live|hls|0|0|false"},
		{"segment", "/ch/hi/1.m4s", nobody},
		{"segment_query", "/ch/hi/1.m4s?start=5", nobody},
		{"fallback_query", "/ch/INDEX.M3U8?start=1767132000", bad},
		{"fallback", "/ch/INDEX.M3U8", nobody},
		{"root", "/", nobody},
		{"empty_path", "", nobody},
		{"no_slash", "x", nobody},
		{"broadpeak", "/bpk-tv/ch/index.m3u8?vbegin=1767132000", bad},
	} {
		_, plain, query := splitURL(t, row.url)
		if got := asExample(p.Parse(plain, query, testNow, nil)); got != row.want {
			t.Errorf("%s: %s\n got %s\nwant %s", row.name, row.url, got, row.want)
		}
	}
}

func TestContainer(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for path, want := range map[string]string{
		"/ort/archive-1767132000-3600.m3u8":                      "",
		"/ort/archive-1767132000-3600.ts.m3u8":                   "ts",
		"/ort/archive-1767132000-3600.fmp4.m3u8":                 "fmp4",
		"/ort/timeshift_abs-1767132000.fmp4.m3u8":                "fmp4",
		"/ort/rewind-60.ts.m3u8":                                 "ts",
		"/ort/index.ll.m3u8":                                     "ll",
		"/live/s/playlist_fmp4_dvr_range-1767132000-120.m3u8":    "fmp4",
		"/live/s/playlist_fmp4_dvr_timeshift-7200.m3u8":          "fmp4",
		"/movies/film.mkv":                                       "mkv",
		"/ort/archive-1767132000-3600.mp4":                       "",
		"/dvrfile/0123456789abcdef":                              "",
		"/ort/archive-1767132000-3600.json":                      "json",
		"/ort/tracks-v1a1/archive-1767132000-3600.fmp4.m3u8":     "fmp4",
		"/ort/timeshift_rel/7200.ts.m3u8":                        "ts",
		"/ort/video-timeshift_abs_mono/1767132000.fmp4.mpd":      "fmp4",
		"/live/s/manifest_fmp4_dvr.mpd":                          "fmp4",
		"/live/s/chunks_fmp4_dvr_range-1767132000-3600.m3u8":     "fmp4",
		"/region/msk/ort/audio-1767132000-3600.ll.m3u8":          "ll",
		"/region/msk/ort/index.fmp4.m3u8":                        "fmp4",
		"/region/msk/ort/mono-rewind-60.fmp4.mpd":                "fmp4",
		"/region/msk/ort/index-timeshift_rel_video-60.ts.mpd":    "ts",
		"/region/msk/ort/index-timeshift_rel_video-60.ts":        "",
		"/region/msk/ort(archive=1767132000-60).isml/manifest":   "",
		"/region/msk/ort/archive/1767132000/3600/manifest.mpd":   "",
		"/region/msk/ort/tracks-1,2/timeshift_rel-60.fmp4.m3u8":  "fmp4",
		"/region/msk/ort/tracks-1,2/mono-timeshift_rel-60.m3u8":  "",
		"/region/msk/ort/tracks-1,2/video-rewind-60.fmp4.m3u8":   "fmp4",
		"/region/msk/ort/tracks-1,2/index-1767132000-60.ts.m3u8": "ts",
	} {
		r, v := p.Parse(path, "", testNow, nil)
		if v.Outcome != OK || r.Container != want {
			t.Errorf("%s: container %q %v, want %q", path, r.Container, v, want)
		}
	}
}

// TestFlags: what moves with the clock, and what another farm would read
// otherwise.
func TestFlags(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for _, row := range []struct {
		url                   string
		relative, local, bare bool
	}{
		{"/ort/index.m3u8", false, false, false},
		{"/ort/archive-1767132000-3600.m3u8", false, false, false},
		{"/ort/archive-1767132000-now.m3u8", false, false, false},
		{"/ort/rewind-60.m3u8", true, false, false},
		{"/ort/timeshift_rel-60.m3u8", true, false, false},
		{"/hls/c/index.m3u8?startunix=-60", true, false, false},
		{"/hls/c/index.m3u8?startunix=1767132000&stopunix=-60", false, false, false},
		{"/timeshift/u/p/60/2025-12-31:01-30/1.ts", false, true, false},
		{"/timeshift/u/p/60/1767132000/1.ts", false, false, false},
		{"/c/index.m3u8?cutv=20251231030000", false, false, false},
		{"/c/index.m3u8?start=20251231030000", false, false, false},
		{"/c/1.ts", false, false, true},
		{"/c/x.mp4/index.m3u8", false, false, false},
	} {
		_, plain, query := splitURL(t, row.url)
		r, v := p.Parse(plain, query, testNow, nil)
		if v.Outcome != OK || r.Relative != row.relative || r.Local != row.local || r.Bare != row.bare {
			t.Errorf("%s: %v, relative %t, local %t, bare %t", row.url, v, r.Relative, r.Local, r.Bare)
		}
	}
}

func TestFarmZone(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for _, row := range []struct {
		url  string
		want int64 // start with the farm in Vladivostok, UTC+10
	}{
		{"/timeshift/u/p/60/2025-12-31:08-00/1.ts", 1767132000},
		{"/c/index.m3u8?start=20251230220000", 1767132000}, // UTC, fixed
		{"/c?playseek=20251231060000-", 1767132000},        // China's, fixed
		{"/c/index.m3u8?cutv=20251231030000", 1767132000},  // the viewer's
		{"/ort/archive-1767132000-3600.m3u8", 1767132000},  // says it all
		{"/get?path=a&start=2025-12-31T08:00:00&duration=5", 1767132000},
	} {
		_, plain, query := splitURL(t, row.url)
		r, v := p.Parse(plain, query, testNow, zone(t, "Asia/Vladivostok"))
		if v.Outcome != OK || r.Window.Start.Unix() != row.want {
			t.Errorf("%s: start %v %v, want %d", row.url, r.Window.Start, v, row.want)
		}
	}
}

// TestSomeDialects: what a disabled dialect would have read is refused, not
// shown live.
func TestSomeDialects(t *testing.T) {
	t.Parallel()
	p, err := New(Options{Dialects: []string{"live-flat", "live-generic", "siptv-shift"}})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"/ort/index.m3u8":                                "live-generic|ort|live|hls|0|0|false",
		"/ort.m3u8":                                      "live-flat|ort|live|hls|0|0|false",
		"/ort/archive-1767132000-3600.m3u8":              "ERR:bad_window",
		"/ort/timeshift_rel/60":                          "ERR:bad_window",
		"/ort/timeshift_rel-60.m3u8":                     "ERR:bad_window",
		"/ort/rewind-60.m3u8":                            "ERR:bad_window",
		"/ort/index.m3u8?playseek=1-2":                   "ERR:bad_window",
		"/ort/mpegts?start=1767132000":                   "ERR:bad_window",
		"/timeshift/u/p/1/2025-12-31:01-30/1.ts":         "ERR:bad_window",
		"/live/s/playlist_dvr_range-1767132000-120.m3u8": "ERR:bad_window",
		"/a/s.m3u8?lhs_start=1&lhs_start_unix_s_0=1":     "ERR:bad_window",
		"/ort(rewind=60).isml/manifest":                  "ERR:bad_window",
	} {
		_, plain, query := splitURL(t, url)
		if got := asExample(p.Parse(plain, query, testNow, nil)); got != want {
			t.Errorf("%s\n got %s\nwant %s", url, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := New(Options{
		Dialects:   []string{"live-flat", "nimble"},
		ClockSlack: -1,
		Custom: []Custom{
			{},
			{Name: "live-flat", Path: "("},
			{Name: "x", Path: "^/(?P<chanel>.*)$", Kind: "dead", Protocol: "rtmp", Units: map[string]string{"start": "min", "channel": "s"}},
			{Name: "x", Path: "^/(?P<channel>.*)(?P<offset>)(?P<window>)$", Query: []Binding{{}, {Params: []string{"a"}, Group: "begin"}, {Params: []string{"a"}, Regexp: "("}}},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`dialects[1]: there is no dialect "nimble"`, "clock_slack_sec is negative", "custom[0].name: a dialect needs a name", "custom[0].path: a dialect needs",
		"custom[1].path: error parsing regexp", `custom[1].name: there is a dialect "live-flat" already`, `custom[2].path: there is no group "chanel"`,
		`custom[2].path: no group "channel"`, `custom[2].kind: "dead"`, `custom[2].protocol: "rtmp"`, `custom[2].units.start: "min"`,
		"custom[2].units.channel: only", `custom[3].name: there is a dialect "x" already`, "exclude each other", "custom[3].query[0].params",
		`custom[3].query[1].group: there is no group "begin"`, "custom[3].query[2].regex: error",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %s:\n%v", want, err)
		}
	}
}

func TestCustom(t *testing.T) {
	t.Parallel()
	p, err := New(Options{
		Zone:       zone(t, "Europe/Moscow"),
		ViewerZone: zone(t, "Asia/Tashkent"),
		ClockSlack: 120 * time.Second,
		Custom: []Custom{
			{
				Name: "dayfile", Path: `^/rec/(?P<channel>[^/]+)/(?P<start>\d{14})_(?P<length>\d+|now)(?:\.(?P<container>fmp4))?\.(?P<ext>\w+)$`,
				Units: map[string]string{"start": "digits", "length": "min"},
			},
			{
				Name: "fromto", Path: `^/tv/(?P<channel>[^/]+)\.m3u8$`, Need: []string{"Range"}, Protocol: "hls", ViewerZone: true,
				Query: []Binding{{Params: []string{"range"}, Regexp: `^(?P<start>[^~]+)~(?P<end>.+)$`}},
			},
			{
				Name: "ago", Path: `^/back$`, Protocol: "dash", Kind: "timeshift",
				Query: []Binding{{Params: []string{"c"}, Group: "channel"}, {Params: []string{"min", "m"}, Group: "offset"}},
				Units: map[string]string{"offset": "min"},
			},
			{
				Name: "last", Path: `^/last/(?P<window>\d+)/(?P<channel>.+)\.(?P<ext>mpd)$`,
			},
			{
				Name: "library", Path: `^/lib/(?P<channel>.+)$`, Kind: "vod", Protocol: "file", Zone: utc,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ url, want, target string }{
		{"/rec/ort/20251231010000_60.fmp4.m3u8?token=x", "dayfile|ort|archive|hls|1767132000|1767135600|false", "/rec/ort/20251231010000_60.fmp4.m3u8"},
		{"/rec/ort/20251231010000_now.ts", "dayfile|ort|event|mpegts|1767132000|1767225600|true", "/rec/ort/20251231010000_now.ts"},
		{"/rec/ort/20251331010000_60.ts", "ERR:bad_window", ""},
		{"/tv/ort.m3u8?a=1&range=2025-12-31T03:00:00~1767135600", "fromto|ort|archive|hls|1767132000|1767135600|false", "/tv/ort.m3u8?range=2025-12-31T03%3A00%3A00~1767135600"},
		{"/tv/ort.m3u8?range=1767135600", "ERR:bad_window", ""},
		{"/tv/ort.m3u8", "live-flat|tv/ort|live|hls|0|0|false", "/tv/ort.m3u8"},
		{"/back?m=120&c=a/b", "ago|a/b|timeshift|dash|1767218400|1767218460|true", "/back?c=a%2Fb&m=120"},
		{"/back?m=0&c=a/b", "ago|a/b|live|dash|0|0|false", "/back?c=a%2Fb"},
		{"/last/60/a/b.mpd", "last|a/b|window|dash|1767225540|1767225600|true", "/last/60/a/b.mpd"},
		{"/lib/x/y", "library|x/y|vod|file|0|0|false", "/lib/x/y"},
	} {
		raw, plain, query := splitURL(t, row.url)
		r, v := p.Parse(plain, query, testNow, nil)
		if got := asExample(r, v); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.url, got, row.want)
		}
		if v.Outcome != OK {
			continue
		}
		path, query := r.Target(raw)
		if query != "" {
			path += "?" + query
		}
		if path != row.target {
			t.Errorf("%s: target %s, want %s", row.url, path, row.target)
		}
	}
}

// TestVerdictsSayWhy: a refusal says what is wrong and nothing that the viewer
// wrote.
func TestVerdictsSayWhy(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for url, want := range map[string]string{
		"/dvr/s/playlist.m3u8?DVR&wowzadvrplayliststart=10000": "beginning of a store",
		"/ch/index.m3u8?start=SECRET":                          "generic-start-end: the start is not a time",
		"/ch/index.m3u8?start=1&end=SECRET":                    "generic-start-end: the end is not a time",
		"/ch/mpegts?start=SECRET":                              "live-generic: the query parameter start",
		"/ort/timeshift_abs-SECRET.m3u8":                       "live-flat: the path looks like",
		"/live/SECRET/s/playlist_dvr_range-1-2.m3u8":           "the path looks like",
		"/ch/index.m3u8?start=1&dur=SECRET":                    "the length is not",
		"/c/c.isml/.m3u8?time_shift=SECRET":                    "how far it goes back",
		"/ort/archive-1767132000-0.m3u8":                       "ends at or before its start",
		"/ort/archive-1777132000-5.m3u8":                       "begins in the future",
		"/c/c.isml/.m3u8?time_shift=1073741824":                "",
		"/c/c.isml/.m3u8?time_shift=1999999999":                "how far",
	} {
		_, plain, query := splitURL(t, url)
		_, v := p.Parse(plain, query, testNow, nil)
		if (want == "") != (v.Outcome == OK) || !strings.Contains(v.Detail, want) || strings.Contains(v.Detail, "SECRET") {
			t.Errorf("%s: %v %q, want %q", url, v.Outcome, v.Detail, want)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for raw, want := range map[string]string{
		"/timeshift/us%65r/p%2Fw/60/2025-12-31:01-30/1.ts": "/timeshift/*/60/2025-12-31:01-30/1.ts",
		"/timeshift/u/p/60/nonsense/1.ts":                  "/timeshift/*/60/nonsense/1.ts",
		"/timeshift/u/p/x/nonsense/index.m3u8":             "/timeshift/*/x/nonsense/index.m3u8",
		"/ort/index.m3u8":                                  "/ort/index.m3u8",
	} {
		_, plain, query := splitURL(t, raw)
		r, _ := p.Parse(plain, query, testNow, nil)
		if got := r.Redact(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestLiveAllocatesNothing(t *testing.T) {
	p := newParser(t)
	for _, u := range []string{"/sports1/index.m3u8?token=abc", "/sports1/index.m3u8", "/live/sports1.m3u8", "/cmaf/ch1/index.mpd", "/ch/1.ts", "/a/b/1.m4s"} {
		plain, query, _ := strings.Cut(u, "?")
		if n := testing.AllocsPerRun(100, func() { p.Parse(plain, query, testNow, nil) }); n > 0 {
			t.Errorf("%s: %v allocations", u, n)
		}
	}
}
