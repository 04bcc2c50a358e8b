package archive

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestTarget: what a probe asks for is the viewer's window in the viewer's
// spelling, and nothing else of the viewer's query.
func TestTarget(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for _, row := range []struct{ url, exact, asked string }{
		{"/ort/index.m3u8?token=x", "/ort/index.m3u8", "/ort/index.m3u8"},
		{"/ort/archive-1767132007-3600.m3u8?token=x", "/ort/archive-1767132007-3600.m3u8", "/ort/archive-1767132000-3660.m3u8"},
		{"/ort/archive-1767132007-120.m3u8", "/ort/archive-1767132007-120.m3u8", "/ort/archive-1767132000-130.m3u8"},
		{"/ort/archive-1767132000-3600.m3u8?utc=1", "/ort/archive-1767132000-3600.m3u8", "/ort/archive-1767132000-3600.m3u8"},
		{"/%D0%9F/tracks-1/index-1767132007-3600.fmp4.m3u8", "/%D0%9F/tracks-1/index-1767132007-3600.fmp4.m3u8", "/%D0%9F/tracks-1/index-1767132000-3660.fmp4.m3u8"},
		{"/ort%28archive=1767132007-3600%29.isml/manifest", "/ort%28archive=1767132007-3600%29.isml/manifest", "/ort%28archive=1767132000-3660%29.isml/manifest"},
		{"/ort/archive-1767132007-now.m3u8", "/ort/archive-1767132007-now.m3u8", "/ort/archive-1767132000-now.m3u8"},
		{"/ort/index-1345345345354-3600.m3u8", "/ort/index-1345345345354-3600.m3u8", "/ort/index-1345345320000-3660.m3u8"},
		{"/ort/archive-1767224007-3600.m3u8", "/ort/archive-1767224007-3600.m3u8", "/ort/archive-1767223980-3660.m3u8"},
		{"/ort/archive-1767222000-3597.m3u8", "/ort/archive-1767222000-3597.m3u8", "/ort/archive-1767222000-3600.m3u8"},
		{"/ort/rewind-7201.m3u8", "/ort/rewind-7201.m3u8", "/ort/rewind-7260.m3u8"},
		{"/ort/timeshift_rel/7200", "/ort/timeshift_rel/7200", "/ort/timeshift_rel/7200"},
		{"/ort/timeshift_rel-0.m3u8", "/ort/timeshift_rel-0.m3u8", "/ort/timeshift_rel-0.m3u8"},
		{"/live/s/playlist_dvr_timeshift-7201-600.m3u8", "/live/s/playlist_dvr_timeshift-7201-600.m3u8", "/live/s/playlist_dvr_timeshift-7260-600.m3u8"},
		{"/timeshift/u%65/p/2/2025-12-31%3A01-30/1477.ts", "/timeshift/u%65/p/2/2025-12-31:01-30/1477.ts", "/timeshift/u%65/p/2/2025-12-31:01-30/1477.ts"},
		{"/timeshift/u/p/2/2025-12-31%2001:30:07/1477.ts", "/timeshift/u/p/2/2025-12-31%2001:30:07/1477.ts", "/timeshift/u/p/3/2025-12-31%2001:30:00/1477.ts"},
		{"/streaming/timeshift.php?username=u&password=p&duration=60&START=2025-12-31:01-30&stream=9001", "/streaming/timeshift.php?stream=9001&start=2025-12-31%3A01-30&duration=60", ""},
		{"/dvr/s/playlist.m3u8?x=1&dvr", "/dvr/s/playlist.m3u8?DVR", ""},
		{"/dvr/s/playlist.m3u8?DVR&wowzadvrplayliststart=2025-12-30-22:00:07&wowzadvrplaylistduration=3600000", "/dvr/s/playlist.m3u8?DVR&wowzadvrplayliststart=2025-12-30-22%3A00%3A07&wowzadvrplaylistduration=3600000", "/dvr/s/playlist.m3u8?DVR&wowzadvrplayliststart=2025-12-30-22%3A00%3A00&wowzadvrplaylistduration=3660000"},
		{"/c/c.isml/.m3u8?vend=2025-12-31T02:00:00%2B03:00&vbegin=2025-12-30T22:00:00Z&hdnts=x", "/c/c.isml/.m3u8?vbegin=2025-12-30T22%3A00%3A00Z&vend=2025-12-30T23%3A00%3A00Z", ""},
		{"/c/c.isml/.m3u8?dvr_window_length=300", "/c/c.isml/.m3u8?dvr_window_length=300", ""},
		{"/c/c.isml/.m3u8?dvr_window_length=default", "/c/c.isml/.m3u8", ""},
		{"/m/movie.ism/.m3u8?vbegin=0&vend=42", "/m/movie.ism/.m3u8", ""},
		{"/out/v1/g/c/e/i.m3u8?aws.manifestsettings=end:1767135600;filter:a;start:1767132007", "/out/v1/g/c/e/i.m3u8?aws.manifestsettings=start%3A1767132007%3Bend%3A1767135600", "/out/v1/g/c/e/i.m3u8?aws.manifestsettings=start%3A1767132000%3Bend%3A1767135600"},
		{"/hls/c/index.m3u8?startunix=-7201", "/hls/c/index.m3u8?startunix=-7201", "/hls/c/index.m3u8?startunix=-7260"},
		{"/hls/c/index.m3u8?startunix=1767132007&stopunix=-3601", "/hls/c/index.m3u8?startunix=1767132007&stopunix=-3601", "/hls/c/index.m3u8?startunix=1767132000&stopunix=-3600"},
		{"/hls/c/index.m3u8?startunix=0", "/hls/c/index.m3u8", ""},
		{"/get?path=a/b&start=2025-12-30T22:00:00.5Z&duration=1m30.5s&x=1", "/get?path=a%2Fb&start=2025-12-30T22%3A00%3A00.5Z&duration=90.5", "/get?path=a%2Fb&start=2025-12-30T22%3A00%3A00Z&duration=100"},
		{"/c?playseek=20251231060007-20251231070000&x=1", "/c?playseek=20251231060007-20251231070000", "/c?playseek=20251231060000-20251231070000"},
		{"/c?tvdr=20251230220007GMT-", "/c?tvdr=20251230220007GMT-", "/c?tvdr=20251230220000GMT-"},
		{"/a/s.m3u8?lhs_vodend_unix_ms_0=1767135600000&lhs_start=1&lhs_start_unix_ms_0=1767132000000", "/a/s.m3u8?lhs_start=1&lhs_vodend_unix_ms_0=1767135600000&lhs_start_unix_ms_0=1767132000000", ""},
		{"/live.m3u8?channel=c%26t&token=x", "/live.m3u8?channel=c%26t", ""},
		{"/live.ts?cutv=2025-12-31T03:00:07", "/live.ts?cutv=2025-12-31T03%3A00%3A07", "/live.ts?cutv=2025-12-31T03%3A00%3A00"},
		{"/ch/index.m3u8?lutc=1767225600&utc=1767218407", "/ch/index.m3u8?utc=1767218407", "/ch/index.m3u8?utc=1767218400"},
		{"/ch/index.m3u8?utc=&lutc=1767225600", "/ch/index.m3u8", ""},
		{"/ch/index.m3u8?starttime=1767132000000&ENDTIME=1767135600000", "/ch/index.m3u8?startTime=1767132000000&endTime=1767135600000", ""},
	} {
		raw, plain, query := splitURL(t, row.url)
		r, v := p.Parse(plain, query, testNow, nil)
		if v.Outcome != OK {
			t.Errorf("%s: %v", row.url, v)
			continue
		}
		join := func(r Request) string {
			path, query := r.Target(raw)
			if query != "" {
				path += "?" + query
			}
			return path
		}
		if got := join(r); got != row.exact {
			t.Errorf("%s\n  target %s\n    want %s", row.url, got, row.exact)
		}
		if row.asked == "" {
			row.asked = row.exact
		}
		if got := join(r.Asked(testNow)); got != row.asked {
			t.Errorf("%s\n   asked %s\n    want %s", row.url, got, row.asked)
		}
	}
}

// TestSharedQuestion: programmes that differ by a guide's seconds are one
// question.
func TestSharedQuestion(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for _, same := range [][]string{
		{"/ort/archive-1767132001-3600.m3u8", "/ort/archive-1767132020-3590.m3u8", "/ort/archive-1767132059-3601.m3u8"},
		{"/ort/rewind-7195.m3u8", "/ort/rewind-7200.m3u8"},
		{"/ort/timeshift_rel-7195.m3u8", "/ort/timeshift_rel-7200.m3u8"},
		{"/ort/index.m3u8?start=1767132001&end=1767135601", "/ort/index.m3u8?end=1767135640&token=x&start=1767132011"},
		{"/ort/index.m3u8?utc=1767132001&lutc=1767225600", "/ort/index.m3u8?utc=1767132011&lutc=1767225611"},
	} {
		targets := map[string]bool{}
		for _, u := range same {
			raw, plain, query := splitURL(t, u)
			r, v := p.Parse(plain, query, testNow, nil)
			if v.Outcome != OK {
				t.Fatalf("%s: %v", u, v)
			}
			path, query := r.Asked(testNow).Target(raw)
			targets[path+"?"+query] = true
		}
		if len(targets) != 1 {
			t.Errorf("%v are %d questions: %v", same, len(targets), targets)
		}
	}
}

// FuzzParse: no input panics, an accepted window has a start before its end and
// begins in the past or now, what is written again reads the same, and what is
// asked holds the exact window and reads as it was meant.
func FuzzParse(f *testing.F) {
	for _, e := range examples(f) {
		_, plain, query := splitURL(f, e.URL)
		f.Add(plain, query, int64(0))
	}
	for _, s := range [][2]string{
		{"/ort/archive-000000000-9999999.m3u8", ""},
		{"/a/b/playlist_dvr_timeshift-1-1.m3u8", ""},
		{"/c?", "playseek=2025-12-30T22:00:00-00:00-"},
		{"/a/s.m3u8", "lhs_start=1&lhs_start_human_s_-9=20251231060000&lhs_end_unix_ns_0=1767135600000000001"},
		{"/hls/c/index.m3u8", "startunix=119&stopunix=35000&duration=0.000000001"},
		{"/get", "path=%2F&start=2025-12-30T22:00:00.000000001%2B05:30&duration=1h0.5s"},
		{"/ch/index.m3u8", "start=1767132000000000001&end=9999-12-31T23:59:59Z"},
		{"/0", "tvdr=00100000000000-1000000000"},
		{"/timeshift/%/%%/5/2025-12-31 01:30/1", "utc=1?utc=2&amp;utc=3"},
		{"/x.isml/.m3u8", "dvr_window_length=0.5"},
		{"/ch/index.m3u8", "start=2026-10-25T02:30:00&end=2026-03-29T02:30:00"},
	} {
		f.Add(s[0], s[1], int64(20_000_000))
	}
	p := newParser(f)
	farm, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, plain, query string, seconds int64) {
		now := testNow.Add(time.Duration(seconds%1e9) * time.Second)
		r, v := p.Parse(plain, query, now, farm)
		if v.Outcome == OK && (r.Dialect == "" || r.Channel == "") {
			t.Fatalf("%q?%q: accepted without dialect or channel: %+v", plain, query, r)
		}
		if (v.Detail == "") != (v.Outcome == OK || v.Outcome == NoMatch) {
			t.Fatalf("%q?%q: %v with detail %q", plain, query, v.Outcome, v.Detail)
		}
		r.Redact(plain)
		r.Redact(query)
		r.Target(query)
		if v.Outcome != OK || r.Window.IsZero() {
			return
		}
		w := r.Window
		if !w.Start.Before(w.End) || w.Start.After(now) || w.Start.Unix() < 0 {
			t.Fatalf("%q?%q: window %v", plain, query, w)
		}
		if r.Kind == KindLive || r.Kind == KindVoD || (r.Kind == KindArchive) == w.Open {
			t.Fatalf("%q?%q: %v with %v", plain, query, r.Kind, w)
		}

		same := func(what string, r Request) {
			raw := strings.ReplaceAll((&url.URL{Path: plain}).EscapedPath(), "*", "%2A")
			path, query2 := r.Target(raw)
			back, err := url.PathUnescape(path)
			if err != nil {
				t.Fatalf("%q?%q: %s path %q: %v", plain, query, what, path, err)
			}
			again, v := p.Parse(back, query2, now, farm)
			a, b := r, again
			a.form, a.secret, b.form, b.secret = nil, span{}, nil, span{}
			if v.Outcome != OK || a != b {
				t.Fatalf("%q?%q\n%s as %q?%q\n%+v\n%+v %v", plain, query, what, back, query2, a, b, v)
			}
		}
		same("written", r)

		asked := r.Asked(now)
		if asked.Window.Start.After(w.Start) || asked.Window.End.Before(w.End) || w.Start.Sub(asked.Window.Start) > time.Minute {
			t.Fatalf("%q?%q: %v is asked as %v", plain, query, w, asked.Window)
		}
		path, query := asked.Target((&url.URL{Path: plain}).EscapedPath())
		back, err := url.PathUnescape(path)
		if err != nil {
			t.Fatal(err)
		}
		if again, v := p.Parse(back, query, now, farm); v.Outcome != OK || again.Dialect != r.Dialect || again.Kind != r.Kind {
			t.Fatalf("%q?%q\nasked as %q?%q: %v\n%+v\n%+v", plain, query, back, query, v, r, again)
		}
	})
}
