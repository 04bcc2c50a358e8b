package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/test/fake"
)

// nimble makes one behind a path, with a management token, and how it is reached.
func nimble(t testing.TB) (*fake.Nimble, api.Get, api.Server) {
	t.Helper()
	n := fake.NewNimble(fake.NimbleOptions{Token: hushed, Now: clock})
	get, url := start(t, http.StripPrefix("/nimble", n))
	return n, get, api.Server{URL: "http://viewers.invalid", API: url + "/nimble", Secret: hushed}
}

func TestNimbleLive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, channel, path string
		lies                fake.NimbleLies
		want                farms.Presence
		moving              uint64
	}{
		{"published", "live/ch1", "", fake.NimbleLies{}, farms.Present, 0},
		{"flat_list", "live/ch1", "", fake.NimbleLies{Flat: true}, farms.Present, 0},
		{"nothing_comes_in", "live/ch1", "", fake.NimbleLies{Silent: true}, farms.Present, 1},
		{"off", "live/off", "", fake.NimbleLies{}, farms.Absent, 0},
		{"unknown", "live/nobody", "", fake.NimbleLies{}, farms.Absent, 0},
		{"same_stream_of_another_application", "events/ch1", "", fake.NimbleLies{}, farms.Absent, 0},
		{"application_from_the_path", "ch1", "/live/ch1/playlist.m3u8", fake.NimbleLies{}, farms.Present, 0},
		{"application_from_an_escaped_path", "ch1", "/li%76e/ch1/playlist.m3u8", fake.NimbleLies{}, farms.Present, 0},
		{"no_application", "ch1", "/ch1/playlist.m3u8", fake.NimbleLies{}, farms.Unasked, 0},
		{"no_folder", "ch1", "/playlist.m3u8", fake.NimbleLies{}, farms.Unasked, 0},
		{"bad_escape", "ch1", "/li%zz/ch1/playlist.m3u8", fake.NimbleLies{}, farms.Unasked, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, get, s := nimble(t)
			n.Lie(tt.lies)
			n.Set("live/ch1", fake.Channel{Live: true})
			n.Set("live/off", fake.Channel{})
			n.Set("events/concert", fake.Channel{Live: true})
			q := question(tt.channel, true)
			if tt.path != "" {
				q.Path = tt.path
			}
			if a := ask(t, api.Nimble, get, s, q); a.Presence != tt.want || a.Moving != tt.moving {
				t.Errorf("the answer is %+v, want %v, moving %d", a, tt.want, tt.moving)
			}
			if c := n.Count("viewer"); c != 0 {
				t.Errorf("%d requests as a viewer", c)
			}
		})
	}
}

func TestNimbleRanges(t *testing.T) {
	t.Parallel()
	held := minutes(300, 200, 90, 10)
	for _, tt := range []struct {
		name, channel, container string
		lies                     fake.NimbleLies
		want                     farms.Presence
		ranges                   []farms.Range
		requests                 int
	}{
		{"timeline", "live/ch1", "", fake.NimbleLies{}, farms.Present, held, 1},
		{"a_name_with_other_signs", "live/ch 1?#+", "", fake.NimbleLies{}, farms.Present, held, 1},
		{"ts_by_name", "live/ch1", "ts", fake.NimbleLies{}, farms.Present, held, 1},
		{"fmp4_is_another_recording", "live/ch1", "fmp4", fake.NimbleLies{}, farms.Unasked, nil, 0},
		{"only_fmp4_recorded", "live/fmp4", "", fake.NimbleLies{}, farms.Absent, nil, 1},
		{"no_timeline", "live/ch1", "", fake.NimbleLies{NoTimeline: true}, farms.Unasked, nil, 1},
		{"two_recordings", "live/ch1", "", fake.NimbleLies{Twice: true}, farms.Unasked, nil, 1},
		{"nothing_recorded", "live/nobody", "", fake.NimbleLies{}, farms.Absent, nil, 1},
		{"not_found_in_a_200", "live/nobody", "", fake.NimbleLies{NotFound: true}, farms.Absent, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, get, s := nimble(t)
			n.Lie(tt.lies)
			n.Set("live/ch1", fake.Channel{Live: true, Recorded: []fake.Range{back(300, 200), back(90, 10)}})
			n.Set("live/ch 1?#+", fake.Channel{Recorded: []fake.Range{back(300, 200), back(90, 10)}})
			n.SetFMP4("live/ch1", []fake.Range{back(60, 10)})
			n.SetFMP4("live/fmp4", []fake.Range{back(60, 10)})
			q := question(tt.channel, false)
			q.Container = tt.container
			a := ask(t, api.Nimble, get, s, q)
			if a.Presence != tt.want || !slices.Equal(a.Ranges, tt.ranges) {
				t.Errorf("the answer is %+v, want %v %v", a, tt.want, tt.ranges)
			}
			if tt.want == farms.Present && !a.All {
				t.Error("the answer is not for all windows")
			}
			if c := n.Count("dvr"); c != tt.requests {
				t.Errorf("%d requests for the recording, want %d", c, tt.requests)
			}
			if c := n.Count("viewer"); c != 0 {
				t.Errorf("%d requests as a viewer", c)
			}
		})
	}
}

// The salt is fresh each time, and most hashes have a sign that must be escaped:
// a hundred questions cannot all be lucky.
func TestNimbleSaltedHash(t *testing.T) {
	t.Parallel()
	n, get, s := nimble(t)
	n.Set("live/ch1", fake.Channel{Live: true, Recorded: []fake.Range{back(90, 10)}})
	var asked []string
	listening := func(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
		if strings.Contains(r.URL, hushed) {
			t.Errorf("the token is in the URL %s", r.URL)
		}
		asked = append(asked, r.URL)
		return get(ctx, r)
	}
	for i := range 100 {
		if a := ask(t, api.Nimble, listening, s, question("live/ch1", i%2 == 0)); a.Presence != farms.Present {
			t.Fatalf("question %d, %s: %+v", i, asked[len(asked)-1], a)
		}
	}
	slices.Sort(asked)
	if distinct := len(slices.Compact(asked)); distinct < 90 {
		t.Errorf("only %d of 100 requests differ", distinct)
	}
	for _, token := range []string{"", "another"} {
		s.Secret = token
		for _, live := range []bool{true, false} {
			if a := ask(t, api.Nimble, get, s, question("live/ch1", live)); a.Presence != farms.Guarded {
				t.Errorf("token %q, live %v: %+v, want guarded", token, live, a)
			}
		}
	}
}

func TestNimbleStatuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status       int
		live, ranges farms.Presence
	}{
		{500, farms.Trouble, farms.Trouble},
		{503, farms.Trouble, farms.Trouble},
		{429, farms.Trouble, farms.Trouble},
		{302, farms.Trouble, farms.Trouble},
		{401, farms.Guarded, farms.Guarded},
		{403, farms.Guarded, farms.Guarded},
		{404, farms.Trouble, farms.Absent}, // the list of streams has no name in it: nothing is said of one
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			s := api.Server{URL: "http://a", API: "http://a:8082"}
			if a := ask(t, api.Nimble, answering(tt.status, "[]"), s, question("live/ch1", true)); a.Presence != tt.live {
				t.Errorf("live: %+v, want %v", a, tt.live)
			}
			if a := ask(t, api.Nimble, answering(tt.status, "[]"), s, question("live/ch1", false)); a.Presence != tt.ranges {
				t.Errorf("ranges: %+v, want %v", a, tt.ranges)
			}
		})
	}
}

func TestNimbleBodies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body   string
		live, ranges farms.Presence
	}{
		{"html", `<html>`, farms.Trouble, farms.Trouble},
		{"empty", ``, farms.Trouble, farms.Trouble},
		{"null", `null`, farms.Trouble, farms.Trouble},
		{"empty_list", `[]`, farms.Absent, farms.Absent},
		{"status_not_found", `{"status":"Not found"}`, farms.Trouble, farms.Absent},
		{"status_of_another_kind", `{"status":"Busy"}`, farms.Trouble, farms.Trouble},
		{"no_bandwidth_told", `[{"app":"live","streams":[{"strm":"ch1"}]}]`, farms.Present, farms.Absent},
		{"bandwidth_in_a_string", `[{"app":"live","streams":[{"strm":"ch1","bandwidth":"900"}]}]`, farms.Present, farms.Absent},
		{"another_recording", `[{"stream":"live/ch2","timeline":[{"start":1767132000,"end":1767135600}]}]`, farms.Absent, farms.Absent},
		{"no_timeline_and_nothing", `[{"stream":"live/ch1","duration":0}]`, farms.Absent, farms.Absent},
		{"without_the_application", `[{"stream":"ch1","timeline":[{"start":1767132000,"end":1767135600}]}]`, farms.Absent, farms.Present},
		{"being_recorded", `[{"stream":"live/ch1","timeline":[{"start":1767132000,"duration":3600}]}]`, farms.Absent, farms.Present},
		{"just_begun", `[{"stream":"live/ch1","timeline":[{"start":1767132000,"end":1767132000}]}]`, farms.Absent, farms.Absent},
		{"reversed", `[{"stream":"live/ch1","timeline":[{"start":1767135600,"end":1767132000}]}]`, farms.Absent, farms.Trouble},
		{"negative", `[{"stream":"live/ch1","timeline":[{"start":-5,"end":5}]}]`, farms.Absent, farms.Trouble},
		{"overflow", `[{"stream":"live/ch1","timeline":[{"start":1767132000,"end":1e999}]}]`, farms.Absent, farms.Trouble},
		{"milliseconds", `[{"stream":"live/ch1","timeline":[{"start":1767132000000,"end":1767135600000}]}]`, farms.Absent, farms.Trouble},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := api.Server{URL: "http://a", API: "http://a:8082"}
			if a := ask(t, api.Nimble, answering(200, tt.body), s, question("live/ch1", true)); a.Presence != tt.live {
				t.Errorf("live: %+v, want %v", a, tt.live)
			}
			if a := ask(t, api.Nimble, answering(200, tt.body), s, question("live/ch1", false)); a.Presence != tt.ranges {
				t.Errorf("ranges: %+v, want %v", a, tt.ranges)
			}
		})
	}
}

func FuzzNimble(f *testing.F) {
	for _, body := range []string{
		`[{"app":"live","streams":[{"strm":"ch1","bandwidth":1697348,"publish_time":"1524060893"}]}]`,
		`[{"app":"live","strm":"ch1","bandwidth":0}]`,
		`[{"stream":"live/ch1","duration":7200,"timeline":[{"start":1767132000,"end":1767135600,"duration":3600,"period":1},{"start":1767135600,"end":1767139200}]}]`,
		`{"status":"Not found"}`,
		`null`,
	} {
		f.Add(200, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		s := api.Server{URL: "http://a", API: "http://a:8082", Secret: hushed}
		for _, live := range []bool{true, false} {
			a := ask(t, api.Nimble, answering(status, body), s, question("live/ch1", live))
			if status >= 500 && a.Presence != farms.Trouble {
				t.Errorf("status %d: %+v", status, a)
			}
		}
	})
}
