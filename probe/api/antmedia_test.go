package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/test/fake"
)

func TestAntMediaLive(t *testing.T) {
	t.Parallel()
	f := fake.NewAntMedia(fake.AntMediaOptions{Now: clock, Token: hushed})
	f.Set("news", fake.Channel{Live: true})
	f.Set("news_extra", fake.Channel{Live: true})
	f.Set("off", fake.Channel{})
	s := stage(t, api.AntMedia, f, "", hushed)
	tests := []struct {
		name, path string
		want       farms.Presence
		detail     string
	}{
		{"live", "/LiveApp/streams/news.m3u8", farms.Present, "broadcasting"},
		{"adaptive", "/LiveApp/streams/news_adaptive.m3u8", farms.Present, "broadcasting"},
		{"height", "/LiveApp/streams/news_720p.m3u8", farms.Present, "broadcasting"},
		{"height_and_rate", "/LiveApp/streams/news_720p2000kbps.m3u8", farms.Present, "broadcasting"},
		{"rate", "/LiveApp/streams/news_2000kbps.m3u8", farms.Present, "broadcasting"},
		{"dash", "/LiveApp/streams/news/news.mpd", farms.Present, "broadcasting"},
		{"underscore", "/LiveApp/streams/news_extra.m3u8", farms.Present, "broadcasting"},
		{"folder", "/LiveApp/streams/sub/news.m3u8", farms.Present, "broadcasting"},
		{"off", "/LiveApp/streams/off.m3u8", farms.Absent, "finished"},
		{"unknown", "/LiveApp/streams/nobody.m3u8", farms.Absent, "404"},
		{"no_rendition", "/LiveApp/streams/news_720q.m3u8", farms.Absent, "404"},
		{"other_application", "/Other/streams/news.m3u8", farms.Absent, "404"},
		{"no_application", "/streams/news.m3u8", farms.Unasked, "application"},
		{"not_of_this_server", "/news/index.m3u8", farms.Unasked, "application"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.expect(t, path(tt.path, true), tt.want, tt.detail)
		})
	}
	t.Run("wrong_token", func(t *testing.T) {
		t.Parallel()
		wrong := s
		wrong.server.Secret = "wrong"
		wrong.expect(t, path("/LiveApp/streams/news.m3u8", true), farms.Guarded, "403")
	})
	t.Run("application_in_both_urls", func(t *testing.T) {
		t.Parallel()
		s := s
		s.server.URL += "/LiveApp"
		s.server.API += "/LiveApp"
		s.expect(t, path("/streams/news.m3u8", true), farms.Present, "broadcasting")
	})
}

// "broadcasting" outlives a crash; the last update tells, by the server's clock.
func TestAntMediaCrash(t *testing.T) {
	t.Parallel()
	later := now
	f := fake.NewAntMedia(fake.AntMediaOptions{Now: func() time.Time { return later }})
	f.Set("news", fake.Channel{Live: true})
	f.Crash("news")
	get, u := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { dated(f, later).ServeHTTP(w, r) }))
	s := scene{api.AntMedia, get, api.Server{URL: u, API: u}}
	q := path("/LiveApp/streams/news.m3u8", true)
	s.expect(t, q, farms.Present, "broadcasting")
	later = now.Add(20 * time.Second)
	q.Now = later
	s.expect(t, q, farms.Present, "broadcasting")
	later = now.Add(time.Minute)
	q.Now = later
	s.expect(t, q, farms.Absent, "not updated for 1m0s")

	// A clock that is an hour off is off for both of its times.
	f = fake.NewAntMedia(fake.AntMediaOptions{Now: func() time.Time { return now.Add(-time.Hour) }})
	f.Set("news", fake.Channel{Live: true})
	get, u = start(t, dated(f, now.Add(-time.Hour)))
	s = scene{api.AntMedia, get, api.Server{URL: u, API: u}}
	s.expect(t, path("/LiveApp/streams/news.m3u8", true), farms.Present, "broadcasting")

	f = fake.NewAntMedia(fake.AntMediaOptions{Now: clock, Old: true})
	f.Set("news", fake.Channel{Live: true})
	stage(t, api.AntMedia, f, "", "").expect(t, path("/LiveApp/streams/news.m3u8", true), farms.Present, "broadcasting")
}

// Ranges cost no request: the caller asks the viewer's playlist.
func TestAntMediaRanges(t *testing.T) {
	t.Parallel()
	get := func(_ context.Context, r fetch.Request) (*fetch.Response, error) {
		t.Errorf("it was asked for %s", r.URL)
		return nil, &fetch.Error{Kind: fetch.Refused, Text: "refused"}
	}
	s := scene{api.AntMedia, get, api.Server{URL: "http://edge:5080", API: "http://edge:5080"}}
	s.expect(t, path("/LiveApp/streams/news.m3u8", false), farms.Unasked, "playlist")
}

func FuzzAntMedia(f *testing.F) {
	f.Add(200, `{"streamId":"news","status":"broadcasting","updateTime":1767225600000}`, "/LiveApp/streams/news.m3u8")
	f.Add(200, `{"status":"broadcasting","updateTime":-1e308}`, "/LiveApp/streams/news_720p.m3u8")
	f.Add(200, `{"status":"broadcasting","updateTime":"1"}`, "/a%2Fb/streams/%2e%2e/x.mpd")
	f.Add(404, ``, "streams")
	f.Fuzz(func(t *testing.T, status int, body, p string) { holds(t, api.AntMedia, status, body, p) })
}
