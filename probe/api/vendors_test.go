package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/test/fake"
)

// dated makes a handler's answers bear the time of a server's clock.
func dated(h http.Handler, clock time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", clock.UTC().Format(http.TimeFormat))
		h.ServeHTTP(w, r)
	})
}

// text answers every request with a status and a body.
func text(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// scene is a server and the way to ask it.
type scene struct {
	vendor api.Ask
	get    api.Get
	server api.Server
}

// stage serves a handler by the clock of the tests.
func stage(t testing.TB, vendor api.Ask, h http.Handler, user, password string) scene {
	t.Helper()
	get, u := start(t, dated(h, now))
	return scene{vendor, get, api.Server{URL: u, API: u, User: user, Secret: password}}
}

// expect asks and compares presence and a word of the detail.
func (s scene) expect(t testing.TB, q api.Question, want farms.Presence, detail string) api.Answer {
	t.Helper()
	a := ask(t, s.vendor, s.get, s.server, q)
	if a.Presence != want || !strings.Contains(a.Detail, detail) {
		t.Errorf("the answer is %v (%s), expected %v (… %s …)", a.Presence, a.Detail, want, detail)
	}
	return a
}

// expectRanges asks and compares ranges.
func (s scene) expectRanges(t testing.TB, q api.Question, want []farms.Range) api.Answer {
	t.Helper()
	a := s.expect(t, q, farms.Present, "")
	if !slices.Equal(a.Ranges, want) {
		t.Errorf("the ranges are %v, expected %v", a.Ranges, want)
	}
	return a
}

// path is a question by a viewer's path.
func path(p string, live bool) api.Question {
	q := question("news", live)
	q.Path = p
	return q
}

// What says nothing about the content must not say that it is not there.
func TestTroubleIsNeverAbsent(t *testing.T) {
	t.Parallel()
	vendors := []struct {
		name, path string
		ask        api.Ask
		ranges     bool
	}{
		{"mediamtx", "/news/index.m3u8", api.MediaMTX, true},
		{"wowza", "/live/news/playlist.m3u8", api.Wowza, true},
		{"antmedia", "/LiveApp/streams/news.m3u8", api.AntMedia, false},
	}
	answers := []struct {
		name, body string
		status     int
		want       farms.Presence
	}{
		{"500", "", 500, farms.Trouble},
		{"502_page", "<html>Bad Gateway</html>", 502, farms.Trouble},
		{"503", `{"status":"finished","isConnected":false,"online":false}`, 503, farms.Trouble},
		{"429", "", 429, farms.Trouble},
		{"418", "", 418, farms.Trouble},
		{"204", "", 204, farms.Trouble},
		{"200_empty", "", 200, farms.Trouble},
		{"200_page", "<!doctype html><title>Welcome</title>", 200, farms.Trouble},
		{"200_cut_off", `{"online": tr`, 200, farms.Trouble},
		{"200_other_document", `{}`, 200, farms.Trouble},
		{"200_wrong_types", `{"online":"yes","isConnected":"yes","status":1,"dvrconverterstoresummary":3}`, 200, farms.Trouble},
		{"200_xml", `<?xml version="1.0"?><IncomingStream/>`, 200, farms.Trouble},
		{"401", "", 401, farms.Guarded},
		{"403", "", 403, farms.Guarded},
	}
	for _, v := range vendors {
		for _, live := range []bool{true, false} {
			for _, tt := range answers {
				kind := map[bool]string{true: "live", false: "ranges"}[live]
				if !live && !v.ranges {
					continue
				}
				t.Run(v.name+"_"+kind+"_"+tt.name, func(t *testing.T) {
					t.Parallel()
					s := stage(t, v.ask, text(tt.status, tt.body), "admin", hushed)
					a := ask(t, v.ask, s.get, s.server, path(v.path, live))
					if a.Presence != tt.want && (a.Presence != farms.Unasked || live || tt.status != 200) {
						t.Errorf("the answer is %v (%s), expected %v", a.Presence, a.Detail, tt.want)
					}
				})
			}
		}
	}
}

// A refused connection and a server that hangs are the fetch's own errors.
func TestFetchErrorsAreReturned(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	hanging := fake.NewMediaMTX(fake.MediaMTXOptions{Now: clock})
	hanging.Hang(true)
	get, hangs := start(t, hanging)
	questions := []struct {
		name string
		ask  api.Ask
		q    api.Question
	}{
		{"mediamtx_live", api.MediaMTX, path("/news/index.m3u8", true)},
		{"mediamtx_ranges", api.MediaMTX, path("/get", false)},
		{"wowza_live", api.Wowza, path("/live/news/playlist.m3u8", true)},
		{"wowza_ranges", api.Wowza, path("/live/news/playlist.m3u8", false)},
		{"antmedia_live", api.AntMedia, path("/LiveApp/streams/news.m3u8", true)},
	}
	for _, q := range questions {
		for kind, u := range map[fetch.Kind]string{fetch.Refused: gone.URL, fetch.Timeout: hangs} {
			t.Run(fmt.Sprintf("%s_%d", q.name, kind), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				if kind == fetch.Timeout {
					ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
				}
				defer cancel()
				a, err := q.ask(ctx, get, api.Server{URL: u, API: u, User: "admin", Secret: hushed}, q.q)
				if fetch.KindOf(err) != kind {
					t.Fatalf("the error is %v with %v, expected kind %d", err, a, kind)
				}
				if strings.Contains(err.Error(), hushed) {
					t.Errorf("the secret is in %v", err)
				}
			})
		}
	}
}

// holds checks what no body may break: a valid answer, and trouble for what is
// the server's.
func holds(t *testing.T, vendor api.Ask, status int, body, p string) {
	t.Helper()
	for _, live := range []bool{true, false} {
		a := ask(t, vendor, answering(status, body), api.Server{URL: "http://edge", API: "http://edge:9997", User: "admin", Secret: hushed}, path(p, live))
		if status >= 500 && a.Presence != farms.Trouble && a.Presence != farms.Unasked {
			t.Fatalf("status %d is %v", status, a.Presence)
		}
	}
}
