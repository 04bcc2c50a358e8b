package test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/fake"
	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestRecordingsThatGoOn: of a window that plays on, the server whose recording
// goes on comes before one that has as much and stopped a while ago; where nobody
// does both, the greater coverage serves.
func TestRecordingsThatGoOn(t *testing.T) {
	t.Parallel()
	const (
		now  = int64(archiveNow)
		from = now - 4*3600
	)
	grows := []string{
		fmt.Sprintf("/ort/archive-%d-now.m3u8", from),
		fmt.Sprintf("/ort/archive-%d-18000.m3u8", from),
		fmt.Sprintf("/ort/index.m3u8?utc=%d&lutc=%d", from, now),
		fmt.Sprintf("/ort/timeshift_abs-%d.m3u8", from),
		"/ort/timeshift_rel-14400.m3u8",
	}
	closed := []string{fmt.Sprintf("/ort/archive-%d-7200.m3u8", from)}
	for _, row := range []struct {
		name  string
		a, b  rig.Stretch // a is the operator's favourite
		urls  []string
		want  string
		other string // why of the other, "" any
	}{
		{"both_hold_it", stretch(from-60, now-100), stretch(from-60, now+3600), grows, "b", "ended"},
		{"a_closed_window", stretch(from-60, now-100), stretch(from-60, now+3600), closed, "a", ""},
		{"both_go_on", stretch(from-60, now+3600), stretch(from-60, now+3600), grows, "a", ""},
		{"neither_goes_on", stretch(from-60, now-100), stretch(from-60, now-110), grows, "a", ""},
		{"who_goes_on_holds_little", stretch(from-60, now-100), stretch(from+2*3600, now+3600), grows[:2], "a", "holds_less"},
		{"nobody_else", stretch(from-60, now-100), stretch(0, 0), grows, "a", "absent"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			at := time.Unix(now, 0)
			a := rig.NewRecorder(t, "a").At(at).Holds("ort", row.a)
			b := rig.NewRecorder(t, "b").At(at).Holds("ort", row.b)
			file := configFile(t, scene(recordedBy("main", nil, a, b)))
			want, other := a, b
			if row.want == "b" {
				want, other = b, a
			}
			for _, url := range row.urls {
				x := explainAt(t, file, now, url)
				sentTo(t, x, want, url)
				if row.other != "" {
					x.wantWhy(t, other.Name, row.other)
				}
			}
		})
	}
}

// TestRecordingsThatGoOnByInterface is the same of servers that are asked by
// their interface: the end of their ranges tells, and where the stream is off at
// this moment, its state.
func TestRecordingsThatGoOnByInterface(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	from := now.Add(-4 * time.Hour)
	url := fmt.Sprintf("/ort/archive-%d-now.m3u8", from.Unix())
	for _, row := range []struct {
		name string
		a    fake.Channel // the operator's favourite; b goes on
		want string
	}{
		{"goes_on", fake.Channel{Live: true, Recorded: []fake.Range{{From: from.Add(-time.Minute), To: now.Add(time.Hour)}}}, "a"},
		{"stopped", fake.Channel{Live: true, Recorded: []fake.Range{{From: from.Add(-time.Minute), To: now.Add(-100 * time.Second)}}}, "b"},
		{"off_at_this_moment", fake.Channel{Recorded: []fake.Range{{From: from.Add(-time.Minute), To: now.Add(time.Hour)}}}, "b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := fake.Channel{Live: true, Recorded: []fake.Range{{From: from.Add(-time.Minute), To: now.Add(time.Hour)}}}
			var servers []any
			urls := map[string]string{}
			for i, channel := range []fake.Channel{row.a, b} {
				f := fake.NewFlussonic(fake.FlussonicOptions{User: "pointsman", Password: "secret"})
				f.Set("ort", channel)
				name := string(rune('a' + i))
				urls[name] = serve(t, "127.0.0.1:0", http.Handler(f))
				servers = append(servers, rig.Config{
					"name": name, "url": urls[name], "weight": 9 - i, "type": "flussonic", "api_user": "pointsman", "api_secret": "secret",
				})
			}
			p := rig.Start(t, scene(rig.Config{"name": "main", "policy": "weight", "servers": servers}))
			p.Get(url) // cold: who is first to hold it all serves
			if r := p.Get(url); r.StatusCode != 302 || r.Location() != urls[row.want]+url {
				t.Errorf("%d to %q %s, want %s of %v", r.StatusCode, r.Location(), r.Body, row.want, urls)
			}
		})
	}
}
