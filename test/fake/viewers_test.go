package fake_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/steering/playlist"
	"github.com/pointsman-tv/pointsman/test/fake"
)

// minutesAgo is a recording, so many minutes before now.
func minutesAgo(from, to int) fake.Range {
	return fake.Range{From: now.Add(-time.Duration(from) * time.Minute), To: now.Add(-time.Duration(to) * time.Minute)}
}

// look asks a fake as a viewer does, redirects not followed.
func look(t *testing.T, h http.Handler, method, target string) (*http.Response, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

// media asks for a media playlist.
func media(t *testing.T, h http.Handler, target string) *playlist.HLS {
	t.Helper()
	res, body := look(t, h, http.MethodGet, target)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", target, res.Status)
	}
	p, err := playlist.ParseHLS(body)
	if err != nil {
		t.Fatalf("GET %s: %v\n%s", target, err, body)
	}
	return p
}

func status(t *testing.T, h http.Handler, target string, want int) {
	t.Helper()
	if res, _ := look(t, h, http.MethodGet, target); res.StatusCode != want {
		t.Errorf("GET %s: %s, expected %d", target, res.Status, want)
	}
}

func TestGenericHLS(t *testing.T) {
	t.Parallel()
	for _, tags := range []bool{false, true} {
		f := fake.NewGeneric(fake.GenericOptions{Now: clock, GapTags: tags})
		f.Set("sub/news", fake.Channel{Live: true, Recorded: []fake.Range{minutesAgo(60, 30), minutesAgo(20, 0)}})
		f.Set("off", fake.Channel{})

		p := media(t, f, "/sub/news/archive-1767222000-3600.m3u8") // from 60 to 0 minutes ago
		if p.Duration != 50*time.Minute || !p.EndList || !p.End.Equal(now) {
			t.Errorf("gap tags %v: %v to %v, ended %v; expected 50 minutes to midnight", tags, p.Duration, p.End, p.EndList)
		}
		_, body := look(t, f, http.MethodGet, "/sub/news/archive-1767222000-3600.m3u8")
		if got, want := strings.Count(string(body), "#EXT-X-GAP"), map[bool]int{true: 150}[tags]; got != want {
			t.Errorf("gap tags %v: %d gaps, expected %d", tags, got, want)
		}
		if got := strings.Contains(string(body), "#EXT-X-DISCONTINUITY\n"); got == tags {
			t.Errorf("gap tags %v: a discontinuity: %v", tags, got)
		}
		if p := media(t, f, "/sub/news/index-1767223800-now.m3u8"); p.EndList || p.Duration != 20*time.Minute {
			t.Errorf("a window without an end has %v, ended %v", p.Duration, p.EndList)
		}
		if p := media(t, f, "/sub/news/index.m3u8"); p.EndList || now.Sub(p.End) > 4*time.Second {
			t.Errorf("live ends at %v, ended %v", p.End, p.EndList)
		}
		status(t, f, "/sub/news/archive-1767218400-60.m3u8", http.StatusNotFound)
		status(t, f, "/off/index.m3u8", http.StatusNotFound)
		status(t, f, "/nobody/index.m3u8", http.StatusNotFound)
		if a, l := f.Count("archive"), f.Count("live"); a != 4 || l != 3 {
			t.Errorf("%d archives and %d live playlists counted, expected 4 and 3", a, l)
		}
		f.Fail(http.StatusForbidden)
		status(t, f, "/sub/news/index.m3u8", http.StatusForbidden)
	}
}

func TestGenericOptions(t *testing.T) {
	t.Parallel()
	f := fake.NewGeneric(fake.GenericOptions{Now: clock, NoDates: true, Multivariant: true, Segment: 6 * time.Second})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{minutesAgo(60, 0)}})
	for _, target := range []string{"/news/index.m3u8", "/news/archive-1767222000-601.m3u8"} {
		p := media(t, f, target)
		if !p.Multivariant || len(p.Variants) != 1 {
			t.Fatalf("%s is not multivariant", target)
		}
		m := media(t, f, "/news/"+p.Variants[0].URI)
		if !m.End.IsZero() || m.TargetDuration != 6*time.Second {
			t.Errorf("the media playlist of %s has a date or segments of %v", target, m.TargetDuration)
		}
	}
	if p := media(t, f, "/news/media-archive-1767222000-601.m3u8"); p.Duration != 601*time.Second {
		t.Errorf("the archive has %v, expected what was asked for", p.Duration)
	}
}

func TestGenericDASH(t *testing.T) {
	t.Parallel()
	f := fake.NewGeneric(fake.GenericOptions{Now: clock})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{minutesAgo(60, 30), minutesAgo(20, 0)}})
	for target, dynamic := range map[string]bool{"/news/archive-1767222000-3600.mpd": false, "/news/archive-1767222000-now.mpd": true} {
		_, body := look(t, f, http.MethodGet, target)
		m, err := playlist.ParseMPD(body)
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		if m.Dynamic != dynamic || m.Periods != 2 || m.Segments != 750 || m.AvailabilityStart.Unix() != 1767222000 {
			t.Errorf("%s: %+v", target, m)
		}
		if !dynamic && m.Duration != 50*time.Minute {
			t.Errorf("%s has %v, expected 50 minutes", target, m.Duration)
		}
		if dynamic && !m.Edge.Equal(now) {
			t.Errorf("%s ends at %v, expected midnight", target, m.Edge)
		}
	}
}

func TestMediaMTXViewers(t *testing.T) {
	t.Parallel()
	f := fake.NewMediaMTX(fake.MediaMTXOptions{Now: clock})
	f.Set("sub/news", fake.Channel{Live: true, Recorded: []fake.Range{minutesAgo(60, 30), minutesAgo(20, 0)}})
	for _, target := range []string{"/sub/news/index.m3u8", "/nobody/index.m3u8"} {
		res, _ := look(t, f, http.MethodGet, target)
		if res.StatusCode != http.StatusFound || res.Header.Get("Location") != "?cookieCheck=1" {
			t.Errorf("GET %s: %s, expected the same redirect for all", target, res.Status)
		}
		if res, _ := look(t, f, http.MethodHead, target); res.StatusCode != http.StatusNotFound {
			t.Errorf("HEAD %s: %s, expected 404 for all", target, res.Status)
		}
	}
	p := media(t, f, "/sub/news/index.m3u8?cookieCheck=1")
	if !p.Multivariant || media(t, f, "/sub/news/"+p.Variants[0].URI).EndList {
		t.Error("live is no multivariant playlist of a live one")
	}
	status(t, f, "/nobody/index.m3u8?cookieCheck=1", http.StatusNotFound)

	res, body := look(t, f, http.MethodGet, "/get?path=sub/news&start=2025-12-31T23:00:00Z&duration=1h")
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Fake-Duration") != "30m0s" || !strings.Contains(string(body), "ftyp") {
		t.Errorf("over a gap: %s of %s, expected that it ends at the gap", res.Status, res.Header.Get("X-Fake-Duration"))
	}
	const list = "/list?path=sub/news&start="
	status(t, f, list+"2025-12-31T23:00:00+00:00&end=2026-01-01T00:00:00Z", http.StatusBadRequest)
	status(t, f, list+"2025-12-31T23:00:00%2B00:00&end=2026-01-01T00:00:00Z", http.StatusOK)
	status(t, f, list+"2025-12-01T00:00:00Z&end=2025-12-02T00:00:00Z", http.StatusNotFound)
	status(t, f, "/list?path=nobody", http.StatusBadRequest)
}

func TestWowzaViewers(t *testing.T) {
	t.Parallel()
	f := fake.NewWowza(fake.WowzaOptions{Now: clock})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{minutesAgo(60, 30), minutesAgo(20, 0)}})
	if p := media(t, f, "/live/news/playlist.m3u8"); p.EndList {
		t.Error("live has an end")
	}
	for _, target := range []string{
		"/live/news/playlist.m3u8?DVR&wowzadvrplayliststart=20251231230000&wowzadvrplaylistduration=3600000",
		"/live/_definst_/news/playlist.m3u8?DVR&wowzadvrplayliststart=2025-12-31-23:00:00&wowzadvrplaylistduration=3600000",
	} {
		if p := media(t, f, target); p.Duration != 50*time.Minute || !p.EndList {
			t.Errorf("%s has %v, ended %v", target, p.Duration, p.EndList)
		}
	}
	status(t, f, "/vod/news/playlist.m3u8", http.StatusNotFound)
	status(t, f, "/live/news/playlist.m3u8?DVR&wowzadvrplayliststart=20251201000000&wowzadvrplaylistduration=1000", http.StatusNotFound)
	if _, body := look(t, f, http.MethodGet, "/v2/servers/_defaultServer_/vhosts/_defaultVHost_/applications/live/instances/_definst_/dvrstores"); !strings.HasPrefix(string(body), "<?xml") {
		t.Errorf("without Accept it answers %.20s, expected XML", body)
	}
}

func TestAntMediaViewers(t *testing.T) {
	t.Parallel()
	const window = "/LiveApp/streams/news_adaptive.m3u8?start=1767222000&end=1767225600"
	for _, noDates := range []bool{false, true} {
		f := fake.NewAntMedia(fake.AntMediaOptions{Now: clock, NoDates: noDates})
		f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{minutesAgo(60, 30), minutesAgo(20, 0)}})
		want := 50 * time.Minute
		if noDates {
			want = 0
		}
		if p := media(t, f, window); p.Duration != want {
			t.Errorf("without dates %v: %v, expected %v", noDates, p.Duration, want)
		}
		if p := media(t, f, "/LiveApp/streams/news.m3u8"); p.EndList {
			t.Error("live has an end")
		}
		f.Crash("news")
		status(t, f, "/LiveApp/streams/news.m3u8", http.StatusNotFound)
	}
}
