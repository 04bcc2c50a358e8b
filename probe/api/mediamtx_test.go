package api_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/test/fake"
)

func TestMediaMTXLive(t *testing.T) {
	t.Parallel()
	f := fake.NewMediaMTX(fake.MediaMTXOptions{Now: clock, User: "admin", Secret: hushed})
	f.Set("live/news", fake.Channel{Live: true})
	f.Set("off", fake.Channel{})
	f.Set("clip", fake.Channel{})
	f.OfflineClip("clip", true)
	f.Set("cold", fake.Channel{})
	f.OnDemand("cold", true)
	f.Set("канал 1+2", fake.Channel{Live: true})
	s := stage(t, api.MediaMTX, f, "admin", hushed)
	tests := []struct {
		name, channel string
		want          farms.Presence
		detail        string
	}{
		{"online", "live/news", farms.Present, "online"},
		{"off", "off", farms.Absent, "not online"},
		{"unknown", "nobody", farms.Absent, "404"},
		{"offline_clip", "clip", farms.Absent, "offline clip"},
		{"on_demand", "cold", farms.Unasked, "on demand"},
		{"escaped", "канал 1+2", farms.Present, "online"},
		{"dots", "../config/global/get", farms.Trouble, "name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.expect(t, question(tt.channel, true), tt.want, tt.detail)
		})
	}
	t.Run("wrong_secret", func(t *testing.T) {
		t.Parallel()
		wrong := s
		wrong.server.Secret = "wrong"
		wrong.expect(t, question("live/news", true), farms.Guarded, "api_user")
	})
}

func TestMediaMTXOldVersions(t *testing.T) {
	t.Parallel()
	f := fake.NewMediaMTX(fake.MediaMTXOptions{Now: clock, Old: true, Secret: hushed})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{back(120, 60)}})
	f.Set("off", fake.Channel{})
	s := stage(t, api.MediaMTX, f, "", hushed)
	s.expect(t, question("news", true), farms.Present, "")
	s.expect(t, question("off", true), farms.Absent, "")
	s.expectRanges(t, question("news", false), minutes(120, 60))
	s = stage(t, api.MediaMTX, text(200, `{"name":"news","sourceReady":true}`), "", "")
	s.expect(t, question("news", true), farms.Present, "")
}

// A path that is not online may start on demand; its configuration tells, and
// where that cannot be had, what was said first holds.
func TestMediaMTXOnDemand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		status     int
		want       farms.Presence
	}{
		{"source", `{"sourceOnDemand":true,"runOnDemand":""}`, 200, farms.Unasked},
		{"command", `{"sourceOnDemand":false,"runOnDemand":"ffmpeg -i x"}`, 200, farms.Unasked},
		{"neither", `{"sourceOnDemand":false,"runOnDemand":""}`, 200, farms.Absent},
		{"unknown", `{"error":"path configuration not found"}`, 404, farms.Absent},
		{"not_allowed", ``, 403, farms.Absent},
		{"broken", ``, 500, farms.Trouble},
		{"unreadable", `<html>`, 200, farms.Trouble},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := stage(t, api.MediaMTX, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v3/paths/get/news" {
					_, _ = w.Write([]byte(`{"confName":"~^(a|b)/c?$","online":false,"available":false}`))
					return
				}
				if r.URL.Path != "/v3/config/paths/get/~^(a|b)/c?$" {
					t.Errorf("asked %s", r.URL)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}), "", "")
			s.expect(t, question("news", true), tt.want, "")
		})
	}
	s := stage(t, api.MediaMTX, text(200, `{"online":false}`), "", "")
	s.expect(t, question("news", true), farms.Absent, "") // no confName
}

// Neither question makes a reader: the viewer's side is not asked.
func TestMediaMTXDoesNotCountAsViewer(t *testing.T) {
	t.Parallel()
	f := fake.NewMediaMTX(fake.MediaMTXOptions{Now: clock})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{back(60, 0)}})
	s := stage(t, api.MediaMTX, f, "", "")
	s.expect(t, question("news", true), farms.Present, "")
	s.expect(t, question("news", false), farms.Present, "")
	if n := f.Count("viewer"); n != 0 {
		t.Errorf("%d requests on the viewer's side, expected none", n)
	}
	if p, l := f.Count("paths"), f.Count("list"); p != 1 || l != 1 {
		t.Errorf("%d requests for the path and %d for its recordings, expected one each", p, l)
	}
}

// A server in front that has a path of its own keeps it.
func TestMediaMTXBehindAPath(t *testing.T) {
	t.Parallel()
	f := fake.NewMediaMTX(fake.MediaMTXOptions{Now: clock})
	f.Set("news", fake.Channel{Live: true, Recorded: []fake.Range{back(60, 0)}})
	s := stage(t, api.MediaMTX, http.StripPrefix("/mtx", f), "", "")
	s.server.API += "/mtx"
	s.expect(t, question("news", true), farms.Present, "")
	s.expectRanges(t, question("news", false), minutes(60, 0))
}

func TestMediaMTXRanges(t *testing.T) {
	t.Parallel()
	odd := back(600, 540)
	odd.To = odd.To.Add(123 * time.Millisecond)
	recorded := []fake.Range{back(1800, 1200), odd, back(60, 0)}
	f := fake.NewMediaMTX(fake.MediaMTXOptions{Now: clock, Zone: time.FixedZone("", 3*3600)})
	f.Set("a/b c+d&e", fake.Channel{Recorded: recorded})
	f.Set("never", fake.Channel{Live: true})
	f.Set("ts", fake.Channel{Recorded: recorded})
	f.MPEGTS("ts", true)
	s := stage(t, api.MediaMTX, f, "", "")

	want := minutes(1800, 1200, 600, 540, 60, 0)
	want[1].To += 123
	if a := s.expectRanges(t, question("a/b c+d&e", false), want); !a.All {
		t.Error("the ranges are not all, expected that every programme of the channel is answered at once")
	}
	for _, channel := range []string{"never", "unknown"} {
		if a := s.expect(t, question(channel, false), farms.Absent, "400"); !a.All {
			t.Errorf("%s: a channel without recordings is not all there is", channel)
		}
	}
	s.expect(t, question("ts", false), farms.Trouble, "fmp4")
	f.Fail(http.StatusInternalServerError)
	s.expect(t, question("never", false), farms.Trouble, "500")
	f.Fail(http.StatusNotFound)
	s.expect(t, question("never", false), farms.Absent, "404")
}

// A list over the cap is asked for again, for the range of interest alone.
func TestMediaMTXLongList(t *testing.T) {
	t.Parallel()
	asked := make(chan url.Values, 2)
	s := stage(t, api.MediaMTX, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query()
		if r.URL.Query().Has("start") {
			_, _ = w.Write([]byte(`[{"start":"2025-12-31T23:00:00.5Z","duration":60.25}]`))
			return
		}
		_, _ = w.Write([]byte("[" + strings.Repeat(`{"start":"2025-12-31T23:00:00Z","duration":1},`, 30000) + "{}]"))
	}), "", "")
	at := now.Add(-time.Hour).UnixMilli()
	q := question("news", false)
	q.Need.From -= 500
	a := s.expectRanges(t, q, []farms.Range{{From: at + 500, To: at + 60750}})
	if a.All {
		t.Error("the ranges of the window are called all")
	}
	<-asked
	if q := <-asked; q.Get("start") != "2025-12-31T22:59:59.5Z" || q.Get("end") != "2026-01-01T00:00:00Z" {
		t.Errorf("asked for %v", q)
	}
}

func TestMediaMTXPlaybackServer(t *testing.T) {
	t.Parallel()
	tests := []struct{ api, want string }{
		{"http://edge:9997", "http://edge:9996/list?path=a%2Fb"},
		{"https://[2001:db8::1]:9997", "https://[2001:db8::1]:9996/list?path=a%2Fb"},
		{"http://edge:8080/mtx", "http://edge:8080/mtx/list?path=a%2Fb"},
		{"http://edge:19997", "http://edge:19997/list?path=a%2Fb"},
		{"https://edge", "https://edge/list?path=a%2Fb"},
	}
	for _, tt := range tests {
		var got string
		get := func(_ context.Context, r fetch.Request) (*fetch.Response, error) {
			got = r.URL
			return &fetch.Response{Status: 404}, nil
		}
		ask(t, api.MediaMTX, get, api.Server{API: tt.api}, question("a/b", false))
		if got != tt.want {
			t.Errorf("api_url %s: asked %s, expected %s", tt.api, got, tt.want)
		}
	}
}

func TestMediaMTXEntries(t *testing.T) {
	t.Parallel()
	at := now.UnixMilli()
	tests := []struct {
		name, body string
		want       []farms.Range
	}{
		{"touching_are_joined", `[{"start":"2026-01-01T00:01:00Z","duration":60},{"start":"2026-01-01T00:00:00Z","duration":60}]`, []farms.Range{{From: at, To: at + 120000}}},
		{"zone", `[{"start":"2026-01-01T03:00:00+03:00","duration":1.5}]`, []farms.Range{{From: at, To: at + 1500}}},
		{"just_begun_is_no_range_yet", `[{"start":"2026-01-01T00:00:00Z","duration":0},{"start":"2026-01-01T00:00:00Z","duration":1}]`, []farms.Range{{From: at, To: at + 1000}}},
		{"bad_ones_are_left_out", `[{"start":"2026-01-01T00:00:00Z","duration":1},{"start":"yesterday","duration":1},{"start":"2026-01-01T00:00:00Z","duration":-1},` +
			`{"start":"2026-01-01T00:00:00Z","duration":1e300},{"start":"0001-01-01T00:00:00Z","duration":10},{"duration":"NaN"},{}]`, []farms.Range{{From: at, To: at + 1000}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stage(t, api.MediaMTX, text(200, tt.body), "", "").expectRanges(t, question("news", false), tt.want)
		})
	}
	stage(t, api.MediaMTX, text(200, `[]`), "", "").expect(t, question("news", false), farms.Absent, "")
	stage(t, api.MediaMTX, text(200, `[{"start":"x","duration":1}]`), "", "").expect(t, question("news", false), farms.Trouble, "")
}

func FuzzMediaMTX(f *testing.F) {
	f.Add(200, `[{"start":"2026-01-02T12:00:00Z","duration":60.5,"url":"http://x"}]`)
	f.Add(200, `{"confName":"~^.*$","ready":true,"available":true,"online":false}`)
	f.Add(200, `{"confName":"a/../b","online":false,"sourceOnDemand":true}`)
	f.Add(200, `[{"start":"9999-12-31T23:59:59Z","duration":1e308}]`)
	f.Add(500, `MPEG-TS`)
	f.Fuzz(func(t *testing.T, status int, body string) { holds(t, api.MediaMTX, status, body, "/news/index.m3u8") })
}
