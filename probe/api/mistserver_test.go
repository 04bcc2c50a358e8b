package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/test/fake"
)

func mistServer(t testing.TB, fallback string) (*fake.MistServer, api.Get, api.Server) {
	t.Helper()
	m := fake.NewMistServer(fake.MistServerOptions{Fallback: fallback, Now: clock})
	get, url := start(t, m)
	return m, get, api.Server{URL: url, API: url}
}

func TestMistServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, channel, fallback string
		lies                    fake.MistServerLies
		live                    farms.Presence
		moving                  bool
		ranges                  farms.Presence
	}{
		{"live", "ch1", "", fake.MistServerLies{}, farms.Present, false, farms.Present},
		{"wildcard", "live+ch1", "", fake.MistServerLies{}, farms.Present, false, farms.Present},
		{"a_name_with_a_slash", "a/ch1", "", fake.MistServerLies{}, farms.Present, false, farms.Present},
		{"a_late_subtitle_track", "ch1", "", fake.MistServerLies{Subtitle: true}, farms.Present, false, farms.Present},
		{"off", "off", "", fake.MistServerLies{}, farms.Absent, false, farms.Absent},
		{"unknown", "nobody", "", fake.MistServerLies{}, farms.Absent, false, farms.Absent},
		{"waiting_for_data", "off", "", fake.MistServerLies{Error: "Stream is waiting for data"}, farms.Absent, false, farms.Absent},
		{"shutting_down", "off", "", fake.MistServerLies{Error: "Stream is shutting down"}, farms.Absent, false, farms.Absent},
		{"coming_up", "off", "", fake.MistServerLies{Error: "Stream is booting"}, farms.Trouble, false, farms.Trouble},
		{"initializing", "off", "", fake.MistServerLies{Error: "Stream is initializing"}, farms.Trouble, false, farms.Trouble},
		{"an_error_unknown", "off", "", fake.MistServerLies{Error: "Server configuration unavailable at this time."}, farms.Trouble, false, farms.Trouble},
		{"fallback_stream", "off", "ch1", fake.MistServerLies{}, farms.Absent, false, farms.Absent},
		{"fallback_that_is_not_needed", "ch1", "live+ch1", fake.MistServerLies{}, farms.Present, false, farms.Present},
		{"vod", "ch1", "", fake.MistServerLies{VoD: true}, farms.Unasked, false, farms.Unasked},
		{"no_clock", "ch1", "", fake.MistServerLies{NoClock: true}, farms.Present, true, farms.Unasked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, get, s := mistServer(t, tt.fallback)
			m.Lie(tt.lies)
			for _, name := range []string{"ch1", "live+ch1", "a/ch1"} {
				m.Set(name, fake.Channel{Live: true, Recorded: []fake.Range{back(120, 0)}})
			}
			m.Set("off", fake.Channel{})
			if a := ask(t, api.MistServer, get, s, question(tt.channel, true)); a.Presence != tt.live || (a.Moving != 0) != tt.moving {
				t.Errorf("live: %+v, want %v, moving %v", a, tt.live, tt.moving)
			}
			a := ask(t, api.MistServer, get, s, question(tt.channel, false))
			if a.Presence != tt.ranges {
				t.Errorf("ranges: %+v, want %v", a, tt.ranges)
			}
			if tt.ranges == farms.Present && (!a.All || !slices.Equal(a.Ranges, minutes(120, 0))) {
				t.Errorf("ranges: %+v, want the buffer", a)
			}
			if n := m.Count("json"); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
			if n := m.Count("viewer"); n != 0 {
				t.Errorf("%d requests as a viewer", n)
			}
		})
	}
}

// lastms is the proof: it stands still when the encoder has gone.
func TestMistServerMoving(t *testing.T) {
	t.Parallel()
	m, get, s := mistServer(t, "")
	var moving []uint64
	for _, to := range []int{30, 30, 29} {
		m.Set("ch1", fake.Channel{Live: true, Recorded: []fake.Range{{From: back(120, 0).From, To: back(to, 0).From}}})
		moving = append(moving, ask(t, api.MistServer, get, s, question("ch1", true)).Moving)
	}
	if moving[0] == 0 || moving[0] != moving[1] || moving[1] == moving[2] {
		t.Errorf("moving is %v, want it to change with the frames", moving)
	}
	m.Set("ch1", fake.Channel{Live: true})
	q := question("ch1", true)
	q.Now = now.Add(-time.Hour)
	if a := ask(t, api.MistServer, get, s, q); a.Presence != farms.Present || a.Moving != 0 {
		t.Errorf("the answer is %+v, want it live by the server's clock", a)
	}
}

// The operator's query goes where viewers go, and nowhere else.
func TestMistServerAddresses(t *testing.T) {
	t.Parallel()
	var asked []string
	m := fake.NewMistServer(fake.MistServerOptions{Now: clock})
	m.Set("live+ch 1", fake.Channel{Live: true})
	get, url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		http.StripPrefix("/mist", m).ServeHTTP(w, r)
	}))
	for _, s := range []api.Server{
		{URL: url + "/mist", API: url + "/mist", Query: "tkn=1"},
		{URL: "http://viewers.invalid", API: url + "/mist", Query: "tkn=1"},
	} {
		if a := ask(t, api.MistServer, get, s, question("live+ch 1", true)); a.Presence != farms.Present {
			t.Errorf("the answer is %+v", a)
		}
	}
	if want := []string{"/mist/json_live+ch%201.js?tkn=1", "/mist/json_live+ch%201.js"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestMistServerStatuses(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]farms.Presence{
		500: farms.Trouble, 503: farms.Trouble, 429: farms.Trouble, 204: farms.Trouble, 302: farms.Trouble, 400: farms.Trouble,
		401: farms.Guarded, 403: farms.Guarded, 404: farms.Absent, 410: farms.Absent,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			for _, live := range []bool{true, false} {
				a := ask(t, api.MistServer, answering(status, `{"error":"Stream is offline"}`), api.Server{URL: "http://a", API: "http://a"}, question("ch1", live))
				if a.Presence != want {
					t.Errorf("live %v: %+v, want %v", live, a, want)
				}
			}
		})
	}
}

func TestMistServerBodies(t *testing.T) {
	t.Parallel()
	tracks := func(list string) string {
		return `{"type":"live","unixoffset":1767218400000,"meta":{"tracks":{` + list + `}}}`
	}
	tests := []struct {
		name, body string
		live       farms.Presence
		ranges     farms.Presence
		want       []farms.Range
	}{
		{"html", `<html>`, farms.Trouble, farms.Trouble, nil},
		{"empty", ``, farms.Trouble, farms.Trouble, nil},
		{"null", `null`, farms.Trouble, farms.Trouble, nil},
		{"empty_object", `{}`, farms.Trouble, farms.Trouble, nil},
		{"error_of_another_kind", `{"error":{"code":1}}`, farms.Trouble, farms.Trouble, nil},
		{"long_error", `{"error":"` + strings.Repeat("x\\n", 10000) + `"}`, farms.Trouble, farms.Trouble, nil},
		{"no_tracks", tracks(``), farms.Absent, farms.Absent, nil},
		{"what_all_tracks_have", tracks(`"v":{"type":"video","firstms":1000,"lastms":60000},"a":{"type":"audio","firstms":2000,"lastms":59000}`), farms.Present, farms.Present, []farms.Range{{From: 1767218402000, To: 1767218459000}}},
		{"fractions", tracks(`"v":{"type":"video","firstms":1000.4,"lastms":"60000.6"}`), farms.Present, farms.Present, []farms.Range{{From: 1767218401000, To: 1767218460001}}},
		{"only_a_data_track", tracks(`"d":{"type":"meta","firstms":1000,"lastms":60000}`), farms.Present, farms.Present, []farms.Range{{From: 1767218401000, To: 1767218460000}}},
		{"nothing_yet", tracks(`"v":{"type":"video","firstms":0,"lastms":0}`), farms.Present, farms.Absent, nil},
		{"tracks_that_do_not_overlap", tracks(`"v":{"type":"video","firstms":5,"lastms":9},"a":{"type":"audio","firstms":10,"lastms":20}`), farms.Present, farms.Absent, nil},
		{"no_number", tracks(`"v":{"type":"video","firstms":"x","lastms":9}`), farms.Present, farms.Trouble, nil},
		{"overflow", tracks(`"v":{"type":"video","firstms":0,"lastms":1e999}`), farms.Present, farms.Trouble, nil},
		{"negative_offset", `{"type":"live","unixoffset":-5000,"meta":{"tracks":{"v":{"type":"video","firstms":0,"lastms":9}}}}`, farms.Present, farms.Trouble, nil},
		{"redirected_to_itself", `{"redirected":["x","ch1"],"type":"live","unixoffset":1767218400000,"meta":{"tracks":{"v":{"type":"video","firstms":0,"lastms":1000}}}}`, farms.Present, farms.Present, []farms.Range{{From: 1767218400000, To: 1767218401000}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := api.Server{URL: "http://a", API: "http://a"}
			if a := ask(t, api.MistServer, answering(200, tt.body), s, question("ch1", true)); a.Presence != tt.live {
				t.Errorf("live: %+v, want %v", a, tt.live)
			}
			a := ask(t, api.MistServer, answering(200, tt.body), s, question("ch1", false))
			if a.Presence != tt.ranges || !slices.Equal(a.Ranges, tt.want) {
				t.Errorf("ranges: %+v, want %v %v", a, tt.ranges, tt.want)
			}
		})
	}
}

func FuzzMistServer(f *testing.F) {
	for _, body := range []string{
		`{"type":"live","unixoffset":1767218400000,"meta":{"tracks":{"v":{"type":"video","firstms":1000,"lastms":60000}}}}`,
		`{"redirected":["ch1","slate"],"type":"live","meta":{"tracks":{"v":{}}}}`,
		`{"error":"Stream is offline"}`,
		`{"type":"vod"}`,
		`{"type":"live","unixoffset":"NaN","meta":{"tracks":{"v":{"lastms":-1}}}}`,
		`null`,
	} {
		f.Add(200, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		s := api.Server{URL: "http://a", API: "http://a"}
		for _, live := range []bool{true, false} {
			a := ask(t, api.MistServer, answering(status, body), s, question("ch1", live))
			if status >= 500 && a.Presence != farms.Trouble {
				t.Errorf("status %d: %+v", status, a)
			}
		}
	})
}
