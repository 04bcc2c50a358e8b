package test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// Settings of livesim2 as a streaming server. It lists its segments, and keeps
// hours of them or a minute.
const (
	livesimHours  = "segtimelinenr_1/tsbd_10800"
	livesimMinute = "segtimelinenr_1"
)

// livesimSegment is the length of its segments in seconds, and what coverage
// may be off by.
const livesimSegment = int64(rig.SegmentTime / time.Second)

// livesimConfig is a configuration that reads livesim2's URLs by a dialect of
// the operator's own: /start_UNIX and /stop_UNIX stand before the channel, and
// without them it is live.
//
// channel_regex names the channel of segments, too: ffmpeg asks for them where
// it asked for the MPD, not where that came from.
func livesimConfig(farms ...rig.Config) rig.Config {
	c := with(scene(farms...), "archive", rig.Config{"custom": []any{rig.Config{
		"name": "livesim2",
		"path": `^(?:/start_(?P<start>\d+))?(?:/stop_(?P<end>\d+))?/(?P<channel>[^/]+)/[^/]+\.(?P<ext>mpd)$`,
	}}})
	return with(c, "redirection", rig.Config{"channel_regex": `^(?:start_\d+/)?(?:stop_\d+/)?([^/]+)/`})
}

// livesimPath is a viewer's path: a time of 0 is not said.
func livesimPath(start, stop int64) string {
	path := ""
	if start != 0 {
		path += fmt.Sprint("/start_", start)
	}
	if stop != 0 {
		path += fmt.Sprint("/stop_", stop)
	}
	return path + "/" + rig.LivesimChannel + "/Manifest.mpd"
}

// livesimScene is a running instance with one farm of three servers, in the
// order in which its policy likes them: a fake server that lacks the channel, a
// livesim2 that keeps a minute, and one that keeps hours.
type livesimScene struct {
	*rig.Pointsman
	origin        *rig.Origin
	sim           *rig.Livesim
	minute, hours string // base URLs
}

// TestRealLivesim puts Pointsman before a real DASH server: static windows,
// live and growing ones, and what is in the future.
func TestRealLivesim(t *testing.T) {
	s := &livesimScene{sim: rig.NewLivesim(t), origin: rig.NewOrigin(t, "origin", "")}
	s.minute, s.hours = s.sim.URL(livesimMinute), s.sim.URL(livesimHours)
	s.Pointsman = rig.Start(t, livesimConfig(rig.Config{"name": "main", "policy": "weight", "servers": []any{
		rig.Config{"name": "origin", "url": s.origin.URL(), "weight": 4},
		rig.Config{"name": "minute", "url": s.minute, "weight": 2},
		rig.Config{"name": "hours", "url": s.hours, "weight": 1},
	}}))
	t.Run("static", s.static)
	t.Run("plays", s.plays)
	t.Run("ways_to_write_it", s.waysToWriteIt)
	t.Run("live", s.live)
	t.Run("growing", s.growing)
	t.Run("future", s.future)
	t.Run("around_now", s.aroundNow)
}

// sends fails the test unless a viewer of a path is sent to a server, GET and
// HEAD alike.
func (s *livesimScene) sends(t *testing.T, path, server string) {
	t.Helper()
	for _, method := range []string{"GET", "HEAD"} {
		r, err := rig.Do(method, s.Viewers+path, "")
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != 302 || r.Location() != server+path {
			t.Errorf("%s %s: %d to %q, want %s; %s", method, path, r.StatusCode, r.Location(), server+path, r.Body)
		}
	}
}

// explain asks the running instance to explain a path.
func (s *livesimScene) explain(t *testing.T, path string) *windowExplanation {
	t.Helper()
	r := s.Operator("GET", "/explain?ip=192.0.2.1&url="+url.QueryEscape(path), "")
	x := new(windowExplanation)
	if err := json.Unmarshal([]byte(r.Body), x); err != nil {
		t.Fatalf("explain of %s answered %d %s: %v", path, r.StatusCode, r.Body, err)
	}
	return x
}

// livesimHolds fails the test unless an explanation reads a window as it is and
// finds all of it, but for a segment, on the server it chose.
func livesimHolds(t *testing.T, x *windowExplanation, kind string, start, stop, asked int64) {
	t.Helper()
	c := x.Content
	if c.Dialect != "livesim2" || c.Channel != rig.LivesimChannel || c.Kind != kind || c.Protocol != "dash" {
		t.Errorf("reads %+v, want %s of %s in DASH by the dialect livesim2", c, kind, rig.LivesimChannel)
	}
	if c.Start != start || stop != 0 && c.End != stop || c.Open != (kind == "event") {
		t.Errorf("reads %+v, want the window %d to %d", c, start, stop)
	}
	grown := int64(0) // since the test looked at the clock
	if c.Open {
		grown = 10
	}
	held, of := x.held(x.Server)
	if x.Status != 302 || of < asked || of > asked+grown || held < of-livesimSegment || held > of {
		t.Errorf("%s holds %d of %d s, want all of %d s: %v", x.Server, held, of, asked, x)
	}
}

// static expects viewers of a past window on the server that holds it, before
// others that are liked better: one that holds its last minute, and one that
// holds nothing.
func (s *livesimScene) static(t *testing.T) {
	start := time.Now().Unix() - 1807 // on no grid, mostly
	stop := start + 604
	path := livesimPath(start, stop)
	s.sends(t, path, s.hours)
	x := s.explain(t, path)
	livesimHolds(t, x, "archive", start, stop, stop-start)
	x.wantWhy(t, "origin", "absent")
	x.wantWhy(t, "minute", "holds_less")
	if x.Server != "hours" || x.why("hours") != "chosen" {
		t.Errorf("got %v, want it on hours", x)
	}
	if body := s.fetch(t, s.hours+path, 200); !strings.Contains(body, `type="static"`) || !strings.Contains(body, `mediaPresentationDuration="PT10M4S"`) {
		t.Errorf("livesim2 does not call that window static: %s", body)
	}
}

// plays expects a player to get all of a past window through the redirect, the
// segments too. The window is longer than a minute: of a shorter one livesim2
// lists segments that it has no longer.
func (s *livesimScene) plays(t *testing.T) {
	start := time.Now().Unix() - 1207
	const length = 2 * time.Minute
	played := rig.FetchDASH(t, s.Viewers+livesimPath(start, start+int64(length/time.Second)), length)
	t.Logf("played %v", played)
	if off := played.Length - length; played.Status != 0 || off.Abs() > rig.SegmentTime {
		t.Errorf("played %v, want %v but for a segment", played, length)
	}
}

// waysToWriteIt expects a past window to be found however a server writes it.
func (s *livesimScene) waysToWriteIt(t *testing.T) {
	now := time.Now().Unix()
	start, stop := now-7207, now-6603
	for _, row := range []struct{ name, url string }{
		{"listed_by_number", s.hours},
		{"listed_by_time", s.sim.URL("segtimeline_1/tsbd_10800")},
		{"not_listed", s.sim.URL("tsbd_10800")},
		{"moved", s.sim.OldURL(livesimHours)}, // the server itself redirects
	} {
		t.Run(row.name, func(t *testing.T) {
			file := configFile(t, livesimConfig(rig.Config{"name": "main", "servers": []any{rig.Config{"name": "hours", "url": row.url}}}))
			x := explainAt(t, file, now, livesimPath(start, stop))
			livesimHolds(t, x, "archive", start, stop, stop-start)
			if want := row.url + livesimPath(start, stop); x.LocationHeader != want {
				t.Errorf("sent to %q, want %q", x.LocationHeader, want)
			}
		})
	}
}

// live expects viewers without a window on a server that has the channel.
func (s *livesimScene) live(t *testing.T) {
	path := livesimPath(0, 0)
	s.sends(t, path, s.minute)
	x := s.explain(t, path)
	if x.Status != 302 || x.Server != "minute" || x.Content.Kind != "live" || x.Content.Start != 0 {
		t.Errorf("reads %+v, got %v", x.Content, x)
	}
	x.wantWhy(t, "origin", "absent")
	if body := s.fetch(t, s.minute+path, 200); !strings.Contains(body, `type="dynamic"`) {
		t.Errorf("livesim2 does not call it live: %s", body)
	}
	// By number alone nothing in the MPD moves but the time it is asked at.
	file := configFile(t, livesimConfig(rig.Config{"name": "main", "servers": []any{rig.Config{"name": "numbers", "url": s.sim.URL("")}}}))
	if x := explainAt(t, file, time.Now().Unix(), path); x.Status != 302 || x.Content.Kind != "live" {
		t.Errorf("by number alone: reads %+v, got %v", x.Content, x)
	}
	if r := s.Get("/nosuch/Manifest.mpd"); r.StatusCode != 404 || r.Reason() != "content_missing" {
		t.Errorf("a channel that nobody has: %d %s", r.StatusCode, r.Body)
	}
}

// growing expects viewers of a window that has not ended, or has no end, on the
// server that has kept it from its start. What is asked for ends a little before
// now: the last segments are not written yet.
func (s *livesimScene) growing(t *testing.T) {
	const lag = 20
	for _, row := range []struct {
		name string
		left int64 // until it ends; 0: it has no end
	}{{"ends_later", 600}, {"has_no_end", 0}} {
		t.Run(row.name, func(t *testing.T) {
			start, stop := time.Now().Unix()-607, int64(0)
			if row.left != 0 {
				stop = start + 607 + row.left
			}
			path := livesimPath(start, stop)
			s.sends(t, path, s.hours)
			x := s.explain(t, path)
			livesimHolds(t, x, "event", start, stop, 607-lag)
			x.wantWhy(t, "minute", "holds_less")
			if body := s.fetch(t, s.hours+path, 200); !strings.Contains(body, `type="dynamic"`) {
				t.Errorf("livesim2 does not call that window dynamic: %s", body)
			}
		})
	}
}

// future expects nobody to be sent anywhere, or asked, for what is yet to come:
// livesim2 itself says that it is too early.
func (s *livesimScene) future(t *testing.T) {
	start := time.Now().Unix() + 3600
	for _, target := range []string{
		livesimPath(start, 0), livesimPath(start, start+600),
		fmt.Sprintf("/%s/V300/%d.m4s", rig.LivesimChannel, start/livesimSegment), // a segment of the live channel
	} {
		s.fetch(t, s.hours+target, 425)
	}
	for _, path := range []string{livesimPath(start, 0), livesimPath(start, start+600)} {
		r := s.Get(path)
		if r.StatusCode != 404 || r.Reason() != "archive_future" || r.Location() != "" {
			t.Errorf("%s: %d to %q %s, want 404 archive_future", path, r.StatusCode, r.Location(), r.Body)
		}
		refusedFor(t, s.explain(t, path), 404, "archive_future")
	}
	for _, seen := range s.origin.Seen() {
		var from int64
		if _, err := fmt.Sscanf(seen.URI, "/start_%d", &from); err == nil && from > start-600 {
			t.Errorf("a server was asked for %s, which is in the future", seen.URI)
		}
	}
}

// aroundNow looks at windows that begin about now. The clocks stand still, ours
// and that of livesim2, which a query parameter says.
func (s *livesimScene) aroundNow(t *testing.T) {
	for _, row := range []struct {
		name  string
		late  int64  // seconds into a minute, the grid that windows are asked on; 0: 37
		cover bool   // must_cover_start
		ahead int64  // of now the window begins
		clock int64  // of livesim2, ahead of ours
		slack any    // archive.clock_slack_sec; nil: the default, 120
		want  string // a refusal's reason
		says  string // the server's detail in explain
	}{
		{name: "as_far_ahead_as_may_be", ahead: 120},
		{name: "too_far_ahead", ahead: 121, want: "archive_future"},
		{name: "ahead_and_configured", ahead: 300, slack: 300},
		{name: "ahead_and_no_slack", ahead: 1, slack: 0, want: "archive_future"},
		{name: "on_the_minute", late: 60, ahead: 0},
		{name: "a_whole_minute_just_begun", late: 12, ahead: -12},
		{name: "just_begun_and_start_must_be_covered", ahead: -10, cover: true},
		{name: "ahead_and_start_must_be_covered", ahead: 60, cover: true},
		{name: "their_clock_is_ahead", ahead: -120, clock: 300},
		{name: "their_clock_is_behind", ahead: -120, clock: -300, want: "archive_missing", says: "answered 425"},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := int64(archiveNow) + cmp.Or(row.late, 37)
			c := livesimConfig(rig.Config{"name": "main", "archive": rig.Config{"must_cover_start": row.cover}, "servers": []any{rig.Config{
				"name": "hours", "url": s.hours, "probe_query": rig.Config{"nowMS": fmt.Sprint((now + row.clock) * 1000)},
			}}})
			if row.slack != nil {
				with(c, "archive", rig.Config{"clock_slack_sec": row.slack})
			}
			path := livesimPath(now+row.ahead, now+3600)
			x := explainAt(t, configFile(t, c), now, path)
			if row.want != "" {
				refusedFor(t, x, 404, row.want)
				if row.says != "" && !strings.Contains(x.Farms[0].Servers[0].Detail, row.says) {
					t.Errorf("got %v, want it to say %q", x, row.says)
				}
				return
			}
			// The viewer's URL stays his own, whatever it is read as.
			if want := min(now, now+row.ahead); x.Status != 302 || x.LocationHeader != s.hours+path || x.Content.Kind != "event" || x.Content.Start != want {
				t.Errorf("reads %+v, got %v to %q, want a window that begins at %d", x.Content, x, x.LocationHeader, want)
			}
		})
	}
}

// fetch asks livesim2 itself.
func (s *livesimScene) fetch(t *testing.T, target string, status int) string {
	t.Helper()
	r, err := rig.Do("GET", target, "")
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != status {
		t.Errorf("livesim2 answers %d for %s, want %d: %s", r.StatusCode, target, status, r.Body)
	}
	return r.Body
}
