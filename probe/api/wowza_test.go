package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/test/fake"
)

const wowzaPath = "/live/news/playlist.m3u8"

func TestWowzaLive(t *testing.T) {
	t.Parallel()
	for name, auth := range map[string]fake.WowzaAuth{"open": fake.WowzaOpen, "basic": fake.WowzaBasic, "digest": fake.WowzaDigest} {
		for _, inBody := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s_refusals_in_body_%v", name, inBody), func(t *testing.T) {
				t.Parallel()
				f := fake.NewWowza(fake.WowzaOptions{Now: clock, Auth: auth, User: "admin", Secret: hushed, SayInBody: inBody})
				f.Set("news", fake.Channel{Live: true})
				f.Set("news hd/1", fake.Channel{Live: true})
				f.Set("off", fake.Channel{})
				s := stage(t, api.Wowza, f, "admin", hushed)
				s.expect(t, path(wowzaPath, true), farms.Present, "connected")
				s.expect(t, path("/live/_definst_/news/playlist.m3u8", true), farms.Present, "connected")
				s.expect(t, path("/live/news%20hd%2F1/manifest.mpd", true), farms.Present, "connected")
				s.expect(t, path("/live/off/playlist.m3u8", true), farms.Absent, "not connected")
				s.expect(t, path("/live/nobody/playlist.m3u8", true), farms.Absent, "404")
				s.expect(t, path("/vod/news/playlist.m3u8", true), farms.Absent, "404")
				s.expect(t, path("/live/ngrp:news_all/playlist.m3u8", true), farms.Unasked, "group")
				s.expect(t, path("/playlist.m3u8", true), farms.Unasked, "application")
				s.expect(t, path("/a/b/c/news/playlist.m3u8", true), farms.Unasked, "application")
				s.expect(t, path("/live/%2e%2e/playlist.m3u8", true), farms.Unasked, "application")
				if n := f.Count("viewer"); n != 0 {
					t.Errorf("%d requests on the viewer's side, expected none", n)
				}
				if auth != fake.WowzaOpen {
					s.server.Secret = "wrong"
					s.expect(t, path(wowzaPath, true), farms.Guarded, "401")
					s.server.User, s.server.Secret = "", ""
					s.expect(t, path(wowzaPath, true), farms.Guarded, "401")
				}
			})
		}
	}
}

// A server may take each nonce once.
func TestWowzaNonces(t *testing.T) {
	t.Parallel()
	n := 0
	f := fake.NewWowza(fake.WowzaOptions{Now: clock})
	f.Set("news", fake.Channel{Recorded: []fake.Range{back(300, 240), back(60, 0)}})
	s := stage(t, api.Wowza, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Authorization"); n == 0 || !strings.Contains(a, fmt.Sprintf(`nonce="n%d"`, n)) || !strings.Contains(a, "nc=00000001") {
			n++
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest realm="x", nonce="n%d", qop="auth"`, n))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.ServeHTTP(w, r)
	}), "admin", hushed)
	s.expectRanges(t, path(wowzaPath, false), minutes(300, 240, 60, 0))
	if n != 3 {
		t.Errorf("%d nonces were given, expected one a page", n)
	}
}

// Refusals in a document.
func TestWowzaRefusals(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]farms.Presence{
		`{"success":false,"code":"404"}`: farms.Absent,
		`{"success":false,"code":404}`:   farms.Absent,
		`{"success":false,"code":"401"}`: farms.Guarded,
		`{"success":false,"code":"500"}`: farms.Trouble,
		`{"success":false,"code":"200"}`: farms.Trouble,
		`{"success":false,"code":"x"}`:   farms.Trouble,
		`{"success":false}`:              farms.Trouble,
		`{"success":true}`:               farms.Trouble,
	} {
		stage(t, api.Wowza, text(200, body), "", "").expect(t, path(wowzaPath, true), want, "")
	}
}

// api_url may name another virtual host, or the application itself.
func TestWowzaPlaces(t *testing.T) {
	t.Parallel()
	const host = "/v2/servers/_defaultServer_/vhosts/_defaultVHost_"
	tests := []struct{ name, url, api, path, want string }{
		{"server", "", "", wowzaPath, host + "/applications/live/instances/_definst_/incomingstreams/news"},
		{"application_in_url", "/live", "", "/news/playlist.m3u8", host + "/applications/live/instances/_definst_/incomingstreams/news"},
		{"instance", "", "", "/live/evening/news/playlist.m3u8", host + "/applications/live/instances/evening/incomingstreams/news"},
		{"virtual_host", "", "/v2/servers/_defaultServer_/vhosts/two", wowzaPath, "/v2/servers/_defaultServer_/vhosts/two/applications/live/instances/_definst_/incomingstreams/news"},
		{"application", "", host + "/applications/tv", "/a/b/c/news/playlist.m3u8", host + "/applications/tv/instances/_definst_/incomingstreams/news"},
		{"application_and_instance", "", host + "/applications/tv/instances/x", "/front/news/playlist.m3u8", host + "/applications/tv/instances/x/incomingstreams/news"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			s := stage(t, api.Wowza, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.URL.Path
				_, _ = w.Write([]byte(`{"isConnected":true}`))
			}), "", "")
			s.server.URL += tt.url
			s.server.API += tt.api
			s.expect(t, path(tt.path, true), farms.Present, "")
			if got := <-asked; got != tt.want {
				t.Errorf("asked %s, expected %s", got, tt.want)
			}
		})
	}
}

func TestWowzaRanges(t *testing.T) {
	t.Parallel()
	f := fake.NewWowza(fake.WowzaOptions{Now: clock, Auth: fake.WowzaDigest, User: "admin", Secret: hushed})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{back(300, 240), back(200, 100), back(60, 0)}})
	f.Set("news.extra", fake.Channel{Recorded: []fake.Range{back(9, 8)}})
	f.Set("never", fake.Channel{Live: true})
	s := stage(t, api.Wowza, f, "admin", hushed)
	a := s.expectRanges(t, path(wowzaPath, false), minutes(300, 240, 200, 100, 60, 0))
	if !a.All {
		t.Error("the ranges are not all, expected that every programme of the channel is answered at once")
	}
	if n := f.Count("challenge"); n != 1 {
		t.Errorf("%d challenges, expected that the pages of a question share a nonce", n)
	}
	if list, store := f.Count("stores"), f.Count("store"); list != 1 || store != 3 {
		t.Errorf("%d lists and %d stores, expected 1 and 3", list, store)
	}
	s.expectRanges(t, path("/live/news.extra/playlist.m3u8", false), minutes(9, 8))
	if a := s.expect(t, path("/live/never/playlist.m3u8", false), farms.Absent, ""); !a.All {
		t.Error("a stream without stores is not all there is")
	}
}

// The interface's own cache lags behind a store that grows.
func TestWowzaGrowingStore(t *testing.T) {
	t.Parallel()
	f := fake.NewWowza(fake.WowzaOptions{Now: clock, Stale: 10 * time.Minute})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{back(60, 0)}})
	s := stage(t, api.Wowza, f, "", "")
	s.expectRanges(t, path(wowzaPath, false), minutes(60, 0))
	if n := f.Count("streams"); n != 1 {
		t.Errorf("liveness was asked for %d times, expected once", n)
	}

	store := `{"DvrConverterStore":{"isLive":true,"utcStart":%d,"utcEnd":%d}}`
	live := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.Path, "incomingstreams"):
				text(status, body).ServeHTTP(w, r)
			case strings.HasSuffix(r.URL.Path, "/dvrstores"):
				_, _ = w.Write([]byte(`{"dvrconverterstoresummary":[{"name":"news"}]}`))
			default:
				_, _ = fmt.Fprintf(w, store, back(60, 0).From.UnixMilli(), back(10, 0).From.UnixMilli())
			}
		})
	}
	for _, off := range []http.Handler{live(404, ""), live(200, `{"isConnected":false}`)} {
		stage(t, api.Wowza, off, "", "").expectRanges(t, path(wowzaPath, false), minutes(60, 10))
	}
	stage(t, api.Wowza, live(500, ""), "", "").expect(t, path(wowzaPath, false), farms.Trouble, "500")
}

// What the public schema does not tell is left to the viewer's playlist.
func TestWowzaLeavesToThePlaylist(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		opt    fake.WowzaOptions
		detail string
	}{
		{"no_ndvr", fake.WowzaOptions{NoStores: true}, "no list of stores"},
		{"no_ndvr_in_body", fake.WowzaOptions{NoStores: true, SayInBody: true}, "no list of stores"},
		{"no_times", fake.WowzaOptions{NoTimes: true}, "no times"},
		{"appended_with_gaps", fake.WowzaOptions{Append: true}, "gaps"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.opt.Now = clock
			f := fake.NewWowza(tt.opt)
			f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{back(300, 240), back(60, 0)}})
			stage(t, api.Wowza, f, "", "").expect(t, path(wowzaPath, false), farms.Unasked, tt.detail)
		})
	}
	f := fake.NewWowza(fake.WowzaOptions{Now: clock, Append: true})
	f.Set("news", fake.Channel{Recorded: []fake.Range{back(60, 0)}})
	stage(t, api.Wowza, f, "", "").expectRanges(t, path(wowzaPath, false), minutes(60, 0))
}

// Of very many stores the newest are read, and what is older is not denied.
func TestWowzaManyStores(t *testing.T) {
	t.Parallel()
	var recorded []fake.Range
	for i := range 200 {
		recorded = append(recorded, back(10*(200-i)+5, 10*(200-i)))
	}
	f := fake.NewWowza(fake.WowzaOptions{Now: clock})
	f.Set("news", fake.Channel{Recorded: recorded})
	s := stage(t, api.Wowza, f, "", "")
	a := s.expect(t, path(wowzaPath, false), farms.Present, "old end")
	if len(a.Ranges) != 62 || a.All || a.Ranges[61] != minutes(15, 10)[0] {
		t.Errorf("%d ranges to %v, all %v; expected the newest 62, not all", len(a.Ranges), a.Ranges[len(a.Ranges)-1], a.All)
	}
	if n := f.Count("store"); n != 62 {
		t.Errorf("%d stores were read, expected 62", n)
	}
	q := path(wowzaPath, false)
	q.Need = minutes(1900, 1800)[0]
	s.expect(t, q, farms.Trouble, "old end")
}

// Trouble in the middle of the stores is trouble: half of an archive is not all.
func TestWowzaTroubleInTheMiddle(t *testing.T) {
	t.Parallel()
	n := 0
	f := fake.NewWowza(fake.WowzaOptions{Now: clock})
	f.Set("news", fake.Channel{Recorded: []fake.Range{back(300, 240), back(60, 0)}})
	s := stage(t, api.Wowza, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 3 {
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
		f.ServeHTTP(w, r)
	}), "", "")
	s.expect(t, path(wowzaPath, false), farms.Trouble, "503")
}

func FuzzWowza(f *testing.F) {
	f.Add(200, `{"isConnected":true}`, wowzaPath)
	f.Add(200, `{"dvrconverterstoresummary":[{"name":"news.1"}],"DvrConverterStore":{"utcStart":1767222000000,"utcEnd":1767225600000,"isLive":true,"duration":3600000},"isConnected":true}`, wowzaPath)
	f.Add(200, `{"success":false,"code":"1e400"}`, wowzaPath)
	f.Add(200, `{"success":false,"code":200}`, "/live/%/playlist.m3u8")
	f.Add(200, `{"dvrconverterstoresummary":[{"name":"news"},{"name":"news.18446744073709551616"},{"name":"news./.."}],"DvrConverterStore":{"utcStart":"NaN","utcEnd":-1}}`, wowzaPath)
	f.Fuzz(func(t *testing.T, status int, body, p string) { holds(t, api.Wowza, status, body, p) })
}
