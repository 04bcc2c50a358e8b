package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/test/fake"
)

// flussonic makes one with credentials, and how it is reached.
func flussonic(t testing.TB, opt fake.FlussonicOptions) (*fake.Flussonic, api.Get, api.Server) {
	t.Helper()
	opt.Now = clock
	f := fake.NewFlussonic(opt)
	get, url := start(t, f)
	return f, get, api.Server{URL: url, API: url, User: opt.User, Secret: opt.Password}
}

func TestFlussonicRanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, user, channel string
		pageSize, requests  int
		lies                fake.FlussonicLies
	}{
		{"one_page", "admin", "ort", 0, 1, fake.FlussonicLies{}},
		{"bearer", "", "ort", 0, 1, fake.FlussonicLies{}},
		{"a_page_each", "admin", "ort", 1, 3, fake.FlussonicLies{}},
		{"a_name_with_slashes", "admin", "sport/hd/ort", 2, 2, fake.FlussonicLies{}},
		{"a_name_with_other_signs", "admin", "ort 100% ?#+", 0, 1, fake.FlussonicLies{}},
		{"a_version_that_does_not_sort", "admin", "ort", 1, 4, fake.FlussonicLies{Unsorted: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, get, s := flussonic(t, fake.FlussonicOptions{User: tt.user, Password: hushed, PageSize: tt.pageSize})
			f.Lie(tt.lies)
			f.Set(tt.channel, fake.Channel{Recorded: []fake.Range{back(300, 200), back(150, 100), back(90, 10)}})
			a := ask(t, api.Flussonic, get, s, question(tt.channel, false))
			if a.Presence != farms.Present || !a.All || a.Remote || !slices.Equal(a.Ranges, minutes(300, 200, 150, 100, 90, 10)) {
				t.Errorf("the answer is %+v", a)
			}
			if n := f.Count("ranges"); n != tt.requests {
				t.Errorf("%d requests for ranges, want %d", n, tt.requests)
			}
			if n := f.Count("viewer") + f.Count("recording_status"); n != 0 {
				t.Errorf("%d requests on the viewer's side", n)
			}
		})
	}
}

// The interface may be behind a path, on another address than the viewers'.
func TestFlussonicWithAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	f := fake.NewFlussonic(fake.FlussonicOptions{Now: clock})
	f.Set("ort", fake.Channel{Live: true, Recorded: []fake.Range{back(90, 10)}})
	get, url := start(t, http.StripPrefix("/behind/a path", f))
	s := api.Server{URL: "http://viewers.invalid", API: url + "/behind/a%20path"}
	for _, live := range []bool{true, false} {
		if a := ask(t, api.Flussonic, get, s, question("ort", live)); a.Presence != farms.Present {
			t.Errorf("live %v: %+v", live, a)
		}
	}
}

func TestFlussonicLive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		known  bool
		live   bool
		lies   fake.FlussonicLies
		want   farms.Presence
		moving bool
	}{
		{"alive", true, true, fake.FlussonicLies{}, farms.Present, false},
		{"alive_a_little_behind", true, true, fake.FlussonicLies{Stuck: 10 * time.Second}, farms.Present, false},
		{"alive_and_stuck", true, true, fake.FlussonicLies{Stuck: time.Minute}, farms.Present, true},
		{"alive_by_a_clock_ahead", true, true, fake.FlussonicLies{Stuck: -time.Hour}, farms.Present, true},
		{"off", true, false, fake.FlussonicLies{}, farms.Absent, false},
		{"unknown", false, false, fake.FlussonicLies{}, farms.Absent, false},
		{"on_demand_and_off", true, false, fake.FlussonicLies{OnDemand: true}, farms.Unasked, false},
		{"on_demand_and_alive", true, true, fake.FlussonicLies{OnDemand: true}, farms.Present, false},
		{"an_old_version", true, true, fake.FlussonicLies{Old: true}, farms.Unasked, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: hushed})
			f.Lie(tt.lies)
			if tt.known {
				f.Set("ort", fake.Channel{Live: tt.live})
			}
			a := ask(t, api.Flussonic, get, s, question("ort", true))
			if a.Presence != tt.want || (a.Moving != 0) != tt.moving {
				t.Errorf("the answer is %+v, want %v, moving %v", a, tt.want, tt.moving)
			}
			if n := f.Count("viewer"); n != 0 {
				t.Errorf("%d requests as a viewer", n)
			}
		})
	}
}

// A stream that is said to be alive and stands still shows the same value; one
// whose encoder's clock is wrong shows another each time.
func TestFlussonicMoving(t *testing.T) {
	t.Parallel()
	f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: hushed})
	f.Set("ort", fake.Channel{Live: true})
	f.Lie(fake.FlussonicLies{Stuck: time.Hour})
	first := ask(t, api.Flussonic, get, s, question("ort", true))
	second := ask(t, api.Flussonic, get, s, question("ort", true))
	f.Lie(fake.FlussonicLies{Stuck: time.Hour - 10*time.Second})
	third := ask(t, api.Flussonic, get, s, question("ort", true))
	if first.Moving != second.Moving || second.Moving == third.Moving {
		t.Errorf("moving is %d, %d, %d; want it to change with the frames", first.Moving, second.Moving, third.Moving)
	}
}

// What a server calls fresh is fresh by its own clock.
func TestFlussonicClockSkew(t *testing.T) {
	t.Parallel()
	f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: hushed})
	f.Set("ort", fake.Channel{Live: true})
	q := question("ort", true)
	q.Now = now.Add(time.Hour)
	if a := ask(t, api.Flussonic, get, s, q); a.Presence != farms.Present || a.Moving != 0 {
		t.Errorf("the answer is %+v, want it live by the server's clock", a)
	}
}

func TestFlussonicOlderVersions(t *testing.T) {
	t.Parallel()
	held := []fake.Range{back(300, 200), back(90, 10)}
	for _, tt := range []struct {
		name        string
		credentials bool
		lies        fake.FlussonicLies
		query       string
		channel     string
		want        farms.Presence
		ranges      []farms.Range
		api         int // requests to the v3 API
	}{
		{"no_credentials", false, fake.FlussonicLies{}, "token=T", "a/ort", farms.Present, minutes(300, 200, 90, 10), 0},
		{"no_such_api", true, fake.FlussonicLies{Old: true}, "token=T", "a/ort", farms.Present, minutes(300, 200, 90, 10), 1},
		{"without_ranges", false, fake.FlussonicLies{Old: true, From: true}, "token=T", "a/ort", farms.Present, minutes(300, 10), 0},
		{"no_dvr", false, fake.FlussonicLies{}, "token=T", "live", farms.Absent, nil, 0},
		{"unknown_stream", false, fake.FlussonicLies{}, "token=T", "nobody", farms.Absent, nil, 0},
		{"no_token", false, fake.FlussonicLies{}, "", "a/ort", farms.Guarded, nil, 0},
		{"another_token", false, fake.FlussonicLies{}, "token=X", "a/ort", farms.Guarded, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, get, s := flussonic(t, fake.FlussonicOptions{Token: "T"})
			if tt.credentials {
				s.User, s.Secret = "admin", hushed
			}
			s.Query = tt.query
			f.Lie(tt.lies)
			f.Set("a/ort", fake.Channel{Live: true, Recorded: held})
			f.Set("live", fake.Channel{Live: true})
			a := ask(t, api.Flussonic, get, s, question(tt.channel, false))
			if a.Presence != tt.want || !slices.Equal(a.Ranges, tt.ranges) || a.All != (tt.ranges != nil) {
				t.Errorf("the answer is %+v, want %v %v", a, tt.want, tt.ranges)
			}
			if n := f.Count("ranges"); n != tt.api {
				t.Errorf("%d requests to the v3 API, want %d", n, tt.api)
			}
			if n := f.Count("recording_status"); n != 1 {
				t.Errorf("%d requests for recording_status.json, want 1", n)
			}
			if n := f.Count("viewer"); n != 0 {
				t.Errorf("%d requests as a viewer", n)
			}
		})
	}
}

// Wrong credentials fall back to the viewer's side, and say so; what that side
// does not have is then no "absent".
func TestFlussonicWrongCredentials(t *testing.T) {
	t.Parallel()
	f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: "another"})
	s.Secret = hushed
	f.Set("ort", fake.Channel{Live: true, Recorded: []fake.Range{back(90, 10)}})
	if a := ask(t, api.Flussonic, get, s, question("ort", false)); a.Presence != farms.Present {
		t.Errorf("ranges: %+v", a)
	}
	if a := ask(t, api.Flussonic, get, s, question("nobody", false)); a.Presence != farms.Guarded || !strings.Contains(a.Detail, "api_secret") {
		t.Errorf("ranges of what is not there: %+v", a)
	}
	if a := ask(t, api.Flussonic, get, s, question("ort", true)); a.Presence != farms.Unasked || !strings.Contains(a.Detail, "401") {
		t.Errorf("live: %+v", a)
	}
}

func TestFlussonicRemote(t *testing.T) {
	t.Parallel()
	f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: hushed})
	f.Set("ort", fake.Channel{Recorded: []fake.Range{back(90, 10)}})
	f.Lie(fake.FlussonicLies{Remote: true})
	if a := ask(t, api.Flussonic, get, s, question("ort", false)); a.Presence != farms.Present || !a.Remote {
		t.Errorf("the answer is %+v, want it remote", a)
	}
}

// Pages that never end are cut off: nothing that may lie beyond is absent.
func TestFlussonicBounds(t *testing.T) {
	t.Parallel()
	var many []fake.Range
	for i := range 200 {
		many = append(many, back(10000-10*i, 9995-10*i))
	}
	newest, oldest := minutes(8010, 8005)[0], minutes(10000, 9995)[0]
	for _, tt := range []struct {
		name string
		lies fake.FlussonicLies
		need farms.Range
		want farms.Presence
		last int // requests for ranges
	}{
		{"more_pages_than_read", fake.FlussonicLies{}, newest, farms.Present, 64},
		{"beyond_the_pages_read", fake.FlussonicLies{}, oldest, farms.Trouble, 64},
		{"unsorted_and_beyond", fake.FlussonicLies{Unsorted: true}, newest, farms.Trouble, 64},
		{"in_circles", fake.FlussonicLies{Circle: true}, newest, farms.Present, 2},
		{"in_circles_and_beyond", fake.FlussonicLies{Circle: true}, oldest, farms.Trouble, 2},
		{"broken_in_the_middle", fake.FlussonicLies{BreakAt: 5}, newest, farms.Trouble, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: hushed, PageSize: 2})
			f.Lie(tt.lies)
			f.Set("ort", fake.Channel{Recorded: many})
			q := question("ort", false)
			q.Need = tt.need
			a := ask(t, api.Flussonic, get, s, q)
			if a.Presence != tt.want || a.All {
				t.Errorf("the answer is %+v, want %v and not all", a, tt.want)
			}
			if n := f.Count("ranges"); n != tt.last {
				t.Errorf("%d requests for ranges, want %d", n, tt.last)
			}
		})
	}
}

// Enough is enough: the old end of a hundred thousand ranges is left out.
func TestFlussonicManyRanges(t *testing.T) {
	t.Parallel()
	many := make([]fake.Range, 0, 110_000)
	for i := range cap(many) {
		from := now.Add(-time.Duration(cap(many)-i) * time.Minute)
		many = append(many, fake.Range{From: from, To: from.Add(30 * time.Second)})
	}
	f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: hushed})
	f.Set("ort", fake.Channel{Recorded: many})
	a := ask(t, api.Flussonic, get, s, question("ort", false))
	if a.Presence != farms.Present || a.All || len(a.Ranges) != 100_000 || !strings.Contains(a.Detail, "cut short at the old end") {
		t.Fatalf("%v, all %v, %d ranges: %s", a.Presence, a.All, len(a.Ranges), a.Detail)
	}
	if last := a.Ranges[len(a.Ranges)-1].From; last != many[len(many)-1].From.UnixMilli() {
		t.Errorf("the newest begins at %d", last)
	}
}

func TestFlussonicTrouble(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{true, false} {
		for _, status := range []int{500, 502, 503, 429, 302, 204, 400, 418} {
			t.Run(fmt.Sprintf("live_%v_status_%d", live, status), func(t *testing.T) {
				t.Parallel()
				for _, token := range []string{"", hushed} {
					a := ask(t, api.Flussonic, answering(status, ""), api.Server{URL: "http://a", API: "http://a", Secret: token}, question("ort", live))
					if a.Presence != farms.Trouble && !(live && token == "" && a.Presence == farms.Unasked) {
						t.Errorf("secret %q: %+v, want trouble", token, a)
					}
				}
			})
		}
	}
}

func TestFlussonicUnreadable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		v3         bool
		want       farms.Presence
	}{
		{"html", `<html>login</html>`, true, farms.Trouble},
		{"empty", ``, true, farms.Trouble},
		{"null", `null`, true, farms.Trouble},
		{"no_ranges", `{}`, true, farms.Trouble},
		{"ranges_of_another_kind", `{"ranges":{}}`, true, farms.Trouble},
		{"cut_off", `{"ranges":[{"from":1767132000,"dur`, true, farms.Trouble},
		{"nothing_recorded", `{"ranges":[]}`, true, farms.Absent},
		{"just_begun", `{"ranges":[{"from":1767132000,"duration":0}]}`, true, farms.Absent},
		{"negative", `{"ranges":[{"from":-1767132000,"duration":3600}]}`, true, farms.Trouble},
		{"negative_duration", `{"ranges":[{"from":1767132000,"duration":-3600}]}`, true, farms.Trouble},
		{"overflow", `{"ranges":[{"from":1e400,"duration":3600}]}`, true, farms.Trouble},
		{"endless", `{"ranges":[{"from":1767132000,"duration":1e300}]}`, true, farms.Trouble},
		{"milliseconds", `{"ranges":[{"from":1767132000000,"duration":3600000}]}`, true, farms.Trouble},
		{"one_of_two", `{"ranges":[{"from":"x","duration":1},{"from":1767132000.5,"duration":"3600.25"}]}`, true, farms.Present},
		{"bom", "\xef\xbb\xbf" + `{"ranges":[{"from":1767132000,"duration":3600}]}`, true, farms.Present},
		{"v2_html", `<html>login</html>`, false, farms.Trouble},
		{"v2_null", `null`, false, farms.Trouble},
		{"v2_empty_list", `[]`, false, farms.Absent},
		{"v2_empty_entry", `[{}]`, false, farms.Trouble},
		{"v2_object", `{"stream":"ort","ranges":[{"from":1767132000,"duration":3600}]}`, false, farms.Present},
		{"v2_another_stream", `[{"stream":"other","ranges":[{"from":1767132000,"duration":3600}]}]`, false, farms.Trouble},
		{"v2_no_dvr", `[{"stream":"ort","error":"no_dvr"}]`, false, farms.Absent},
		{"v2_unknown_error", `[{"stream":"ort","error":"disk_failure"}]`, false, farms.Trouble},
		{"v2_reversed", `[{"stream":"ort","from":1767135600,"to":1767132000}]`, false, farms.Trouble},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := api.Server{URL: "http://a", API: "http://a"}
			if tt.v3 {
				s.Secret = hushed
			}
			if a := ask(t, api.Flussonic, answering(200, tt.body), s, question("ort", false)); a.Presence != tt.want {
				t.Errorf("%s: %+v, want %v", tt.body, a, tt.want)
			}
		})
	}
}

// Floats and touching ranges, read exactly.
func TestFlussonicUnits(t *testing.T) {
	t.Parallel()
	body := `{"next":"","ranges":[
		{"from":1767132000,"duration":3600,"opened_at":1000000000000,"closed_at":1000000000000},
		{"from":1767135600,"duration":0.5},
		{"from":"1767139200.25","duration":10}]}`
	a := ask(t, api.Flussonic, answering(200, body), api.Server{URL: "http://a", API: "http://a", Secret: hushed}, question("ort", false))
	want := []farms.Range{{From: 1767132000000, To: 1767135600500}, {From: 1767139200250, To: 1767139210250}}
	if !slices.Equal(a.Ranges, want) {
		t.Errorf("ranges %v, want %v", a.Ranges, want)
	}
}

func TestFlussonicFetchErrors(t *testing.T) {
	t.Parallel()
	f, get, s := flussonic(t, fake.FlussonicOptions{User: "admin", Password: hushed})
	f.Hang(true)
	for _, live := range []bool{true, false} {
		for _, token := range []string{"", hushed} {
			if s.Secret = token; live && token == "" {
				continue // nothing is asked
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err := api.Flussonic(ctx, get, s, question("ort", live))
			cancel()
			if fetch.KindOf(err) != fetch.Timeout || strings.Contains(fmt.Sprint(err), hushed) {
				t.Errorf("live %v: %v, want the timeout as it is", live, err)
			}
		}
	}
	refused := &fetch.Error{Kind: fetch.Refused, Text: "connection refused"}
	_, err := api.Flussonic(t.Context(), func(context.Context, fetch.Request) (*fetch.Response, error) { return nil, refused }, s, question("ort", false))
	if !errors.Is(err, refused) {
		t.Errorf("%v, want the error as it is", err)
	}
}

// Names come from viewers: none may lead to another place on the server.
func TestNamesThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	never := func(context.Context, fetch.Request) (*fetch.Response, error) {
		t.Error("the server was asked")
		return nil, errors.New("asked")
	}
	for _, name := range []string{"", "..", "a/../b", "a//b", "/a", "a/", ".", "a\x00b", "a\nb"} {
		for _, vendor := range []api.Ask{api.Flussonic, api.Nimble, api.MistServer} {
			q := question(name, false)
			q.Path = "/index.m3u8"
			a := ask(t, vendor, never, api.Server{URL: "http://a", API: "http://a", Secret: hushed}, q)
			if a.Presence != farms.Trouble && a.Presence != farms.Unasked {
				t.Errorf("%q: %+v, want nothing said", name, a)
			}
		}
	}
}

// Credentials for the interface take the place of those meant for viewers.
func TestFlussonicAuthorization(t *testing.T) {
	t.Parallel()
	var seen []string
	get := func(_ context.Context, r fetch.Request) (*fetch.Response, error) {
		for _, h := range r.Headers {
			seen = append(seen, h.Name+": "+h.Value)
		}
		return &fetch.Response{Status: 500}, nil
	}
	s := api.Server{
		URL: "http://a", API: "http://a", User: "u", Secret: "p",
		Headers: []farms.Header{{Name: "authorization", Value: "Bearer viewer"}, {Name: "X-Probe", Value: "1"}},
	}
	ask(t, api.Flussonic, get, s, question("ort", true))
	if want := []string{"X-Probe: 1", "Authorization: Basic dTpw"}; !slices.Equal(seen, want) {
		t.Errorf("headers %q, want %q", seen, want)
	}
	seen, s.Secret = nil, ""
	ask(t, api.Flussonic, get, s, question("ort", false))
	if want := []string{"authorization: Bearer viewer", "X-Probe: 1"}; !slices.Equal(seen, want) {
		t.Errorf("headers %q, want %q", seen, want)
	}
}

func FuzzFlussonic(f *testing.F) {
	for _, body := range []string{
		`{"next":"c","ranges":[{"from":1767132000,"duration":3600}]}`,
		`{"ranges":[{"from":1767132000,"duration":1e300},{"from":null,"duration":"x"}]}`,
		`[{"stream":"ort","ranges":[{"from":1767132000,"duration":3600},{"from":1767135600,"duration":1}]}]`,
		`[{"from":1767132000,"to":1767135600}]`,
		`{"stats":{"alive":true,"last_dts_at":1767225600000},"dvr":{"remotes":[1]}}`,
		`{"errors":[]}`,
		`null`,
	} {
		f.Add(200, body, true)
		f.Add(404, body, false)
	}
	f.Fuzz(func(t *testing.T, status int, body string, v3 bool) {
		s := api.Server{URL: "http://a", API: "http://a"}
		if v3 {
			s.Secret = hushed
		}
		for _, live := range []bool{true, false} {
			a := ask(t, api.Flussonic, answering(status, body), s, question("ort", live))
			if status >= 500 && a.Presence != farms.Trouble && a.Presence != farms.Unasked {
				t.Errorf("status %d: %+v", status, a)
			}
		}
	})
}
