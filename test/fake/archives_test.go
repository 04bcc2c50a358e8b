package fake_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/steering/playlist"
	"github.com/pointsman-tv/pointsman/test/fake"
)

// now is the time of the fakes here: 2026-01-01T00:00:00Z.
var now = time.Unix(1767225600, 0)

// held is the hour before the last.
var held = []fake.Range{{From: now.Add(-2 * time.Hour), To: now.Add(-time.Hour)}}

func clock() time.Time { return now }

func TestViewersOfFlussonic(t *testing.T) {
	t.Parallel()
	f := fake.NewFlussonic(fake.FlussonicOptions{Token: "T", Now: clock})
	f.Set("a/ort", fake.Channel{Live: true, Recorded: held})
	f.Set("off", fake.Channel{Recorded: held})
	watch(t, f, []view{
		{"/a/ort/index.m3u8?token=T", 200, 20 * time.Second, false},
		{"/a/ort/index.m3u8", 403, 0, false},
		{"/off/index.m3u8?token=T", 404, 0, false},
		{"/nobody/index.m3u8?token=T", 404, 0, false},
		{"/a/ort/archive-1767218400-1800.m3u8?token=T", 200, 30 * time.Minute, true},
		{"/a/ort/index-1767220200-3600.m3u8?token=T", 200, 30 * time.Minute, true}, // the second half is not there
		{"/off/archive-1767218400-now.m3u8?token=T", 200, time.Hour, false},
		{"/off/timeshift_abs-1767220200.m3u8?token=T", 200, 30 * time.Minute, false},
		{"/off/timeshift_rel-7200.m3u8?token=T", 200, time.Hour, false},
		{"/off/archive-1767132000-3600.m3u8?token=T", 404, 0, false},
	})
}

func TestViewersOfNimble(t *testing.T) {
	t.Parallel()
	n := fake.NewNimble(fake.NimbleOptions{Now: clock})
	n.Set("live/ch1", fake.Channel{Live: true, Recorded: held})
	n.SetFMP4("live/ch1", []fake.Range{{From: held[0].From, To: held[0].From.Add(10 * time.Minute)}})
	watch(t, n, []view{
		{"/live/ch1/playlist.m3u8", 200, 20 * time.Second, false},
		{"/live/ch2/playlist.m3u8", 404, 0, false},
		{"/live/ch1/playlist_dvr_range-1767218400-1800.m3u8", 200, 30 * time.Minute, true},
		{"/live/ch1/playlist_fmp4_dvr_range-1767218400-1800.m3u8", 200, 10 * time.Minute, true},
		{"/live/ch1/playlist_dvr_range-1767218400-now.m3u8", 200, time.Hour, false},
		{"/live/ch1/playlist_dvr_timeshift-7200-600.m3u8", 200, time.Hour, false},
		{"/live/ch1/playlist_dvr.m3u8", 200, time.Hour, false},
		{"/live/ch1/playlist_dvr_range-1767132000-3600.m3u8", 404, 0, false},
	})
}

func TestViewersOfMistServer(t *testing.T) {
	t.Parallel()
	m := fake.NewMistServer(fake.MistServerOptions{Now: clock})
	m.Set("live+ch1", fake.Channel{Live: true, Recorded: held})
	watch(t, m, []view{
		{"/hls/live+ch1/index.m3u8", 200, 20 * time.Second, false},
		{"/cmaf/live+ch1/index.m3u8?startunix=1767218400&stopunix=1767220200", 200, 30 * time.Minute, true},
		{"/hls/live+ch1/index.m3u8?startunix=-7200", 200, time.Hour, false},
		{"/hls/live+ch1/index.m3u8?startunix=1767132000&stopunix=1767135600", 200, 0, true}, // and says so inside
		{"/hls/nobody/index.m3u8", 200, 0, true},
	})
}

// view is what a viewer asks for and what comes back.
type view struct {
	path     string
	status   int
	duration time.Duration
	ended    bool
}

// watch asks as a viewer does, and for the first segment of each playlist.
func watch(t *testing.T, h http.Handler, views []view) {
	t.Helper()
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for _, v := range views {
		w := get(v.path)
		if w.Code != v.status {
			t.Errorf("%s: status %d, want %d", v.path, w.Code, v.status)
			continue
		}
		if date := w.Header().Get("Date"); date != "Thu, 01 Jan 2026 00:00:00 GMT" {
			t.Errorf("%s: the server's clock says %q", v.path, date)
		}
		if v.status != http.StatusOK {
			continue
		}
		p, err := playlist.ParseHLS(w.Body.Bytes())
		if err != nil {
			t.Errorf("%s: %v", v.path, err)
			continue
		}
		if p.Duration.Round(time.Second) != v.duration || p.EndList != v.ended || (v.duration == 0) != (p.ServerError != "") {
			t.Errorf("%s: %v, ended %v, error %q; want %v, ended %v", v.path, p.Duration, p.EndList, p.ServerError, v.duration, v.ended)
		}
		lines := strings.Split(w.Body.String(), "\n")
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, ".ts") }); i >= 0 {
			dir := v.path[:strings.LastIndexByte(v.path, '/')+1]
			_, query, _ := strings.Cut(v.path, "?")
			if s := get(dir + lines[i] + "?" + query); s.Code != http.StatusOK || !playlist.IsTS(s.Body.Bytes()) {
				t.Errorf("%s: its segment %s is no transport stream: %d", v.path, lines[i], s.Code)
			}
		}
	}
}
