package redirector

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/status"
)

// TestStatusOfTheLastMinute: what /status says of decisions comes from the
// counters, a second at a time, and survives a reload.
func TestStatusOfTheLastMinute(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight/assume a", "weight/assume b=0")
		minute := func() (status.Decisions, map[string]status.Server) {
			d := s.e.Status(time.Now())
			servers := map[string]status.Server{}
			for _, f := range d.Farms {
				for _, x := range f.Servers {
					servers[x.Name] = x
				}
			}
			return d.Decisions, servers
		}
		if d, _ := minute(); d.Seconds != 0 || d.Total != 0 || d.Rates == nil {
			t.Errorf("before the first second: %+v", d)
		}
		s.e.sample()
		for range 3 {
			s.visits(visit{})
		}
		s.visits(visit{target: "//bad"})
		time.Sleep(time.Second)
		s.e.sample()
		d, servers := minute()
		if d.Seconds != 1 || d.Total != 4 || len(d.Rates) != 2 || d.Rates[0].Reason != "ok" || d.Rates[0].PerSecond[0] != 3 || d.Rates[1].Reason != "bad_request" {
			t.Errorf("after a second: %+v", d)
		}
		if a, b := servers["a"], servers["b"]; a.Given != 3 || a.Share != 1 || a.Sessions == 0 || b.Given != 0 || b.Share != 0 {
			t.Errorf("a %+v, b %+v", a, b)
		}

		// A reload puts b first and adds c.
		table, err := farms.Build(stageSpec(t, "weight/assume c=0 b=0 a"), 2)
		if err != nil {
			t.Fatal(err)
		}
		s.e.Swap(table, s.set)
		s.visits(visit{})
		s.e.sample()
		d, servers = minute()
		if d.Total != 5 || servers["a"].Given != 4 || servers["c"].Given != 0 || servers["b"].Given != 0 {
			t.Errorf("after a reload: %+v %+v", d, servers)
		}
		for range recentSeconds {
			time.Sleep(time.Second)
			s.e.sample()
		}
		if d, servers := minute(); d.Seconds != recentSeconds || d.Total != 0 || len(d.Rates) != 0 || servers["a"].Share != 0 {
			t.Errorf("a minute later: %+v", d)
		}
	})
}

func TestGrown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		from, to uint32
		want     uint64
	}{{1, 3, 2}, {3, 3, 0}, {1<<32 - 1, 1, 2}, {500, 2, 0}} {
		if got := grown(row.from, row.to); got != row.want {
			t.Errorf("from %d to %d: %d, want %d", row.from, row.to, got, row.want)
		}
	}
}

// TestRefusals: the last hundred, as the log shows them, with who was judged.
func TestRefusals(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a b"), func(set *Settings) { set.Redact = []string{"token"} })
		s.answers("a", 0, farms.Absent)
		s.down("b", time.Hour)
		s.visits(visit{target: stagePath + "?token=secret&x=1"})
		s.visits(visit{method: "OPTIONS"})
		r := s.e.refusals.last()
		if len(r.Last) != 1 || r.LeftOut != 0 {
			t.Fatalf("%+v", r)
		}
		f := r.Last[0]
		if f.Reason != "content_missing" || f.Target != stagePath+"?token=***&x=1" || f.Client != stageViewer ||
			f.Peer != stageViewer || f.Location != "everybody" || f.Channel != "ch" || f.UserAgent != "player" || f.Host != "tv.example" || f.Door != "http" {
			t.Errorf("%+v", f)
		}
		if fmt.Sprint(f.Candidates) != "[{a absent} {b down}]" {
			t.Errorf("candidates %v", f.Candidates)
		}

		for i := range refusalsKept + 20 {
			s.visits(visit{target: fmt.Sprintf("//bad%d", i)})
		}
		r = s.e.refusals.last()
		if len(r.Last) != refusalsKept || r.Last[0].Target != fmt.Sprintf("//bad%d", refusalsKept+19) || r.LeftOut != 0 {
			t.Errorf("%d are kept, the newest %+v, %d left out", len(r.Last), r.Last[0], r.LeftOut)
		}
		time.Sleep(time.Second)
		for range refusalsPerSecond + 30 {
			s.visits(visit{target: "//" + strings.Repeat("x", 5000)})
		}
		r = s.e.refusals.last()
		if r.LeftOut != 30 || len(r.Last[0].Target) > maxLogTarget+4 {
			t.Errorf("%d left out, want 30; a target of %d bytes", r.LeftOut, len(r.Last[0].Target))
		}
		time.Sleep(time.Second)
		s.visits(visit{target: "//again"})
		if r = s.e.refusals.last(); r.Last[0].Target != "//again" {
			t.Errorf("after a flood the newest is %+v", r.Last[0])
		}
	})
}

// TestRefusalsRace: readers and writers at once.
func TestRefusalsRace(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight/assume a")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 300 {
				s.visits(visit{target: "//bad"})
				if r := s.e.refusals.last(); len(r.Last) > refusalsKept {
					t.Errorf("%d are kept", len(r.Last))
				}
			}
		})
	}
	all.Wait()
}

// TestStatusDocument: every part of the document, and what a program relies on.
func TestStatusDocument(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		spec := stageSpec(t, "weight/assume a b c", "weight/assume d")
		s := newStageOf(t, spec, nil)
		s.e.ConfigLoaded("pointsman.json", time.Now())
		time.Sleep(90 * time.Second)
		s.e.ConfigRefused("farms: none", time.Now())
		s.down("b", time.Minute)
		until := time.Now().Add(time.Hour)
		for name, o := range map[string]farms.Override{"c": {State: farms.StateDraining, Until: until}, "a": {State: farms.StateEnabled}} {
			if err := s.e.SetOverride(name, &o); err != nil {
				t.Fatal(err)
			}
		}
		d := s.e.Status(time.Now())
		if d.Version != 1 || d.Config.Source != "pointsman.json" || d.Config.AgeSec != 90 || d.Config.Error != "farms: none" || d.Config.ErrorAt == nil {
			t.Errorf("%+v", d.Config)
		}
		x := d.Farms[0].Servers
		if x[0].State != "up" || x[0].Override == nil || x[0].Override.Until != nil || x[1].State != "down" || x[1].Reason == "" ||
			x[2].State != "draining" || !x[2].Override.Until.Equal(until) || d.Farms[1].Servers[0].Override != nil {
			t.Errorf("%+v", x)
		}
		if len(x[0].RTTs) != 3 || x[0].RTTs[0] != 3 || x[0].RTTs[1] != 0 {
			t.Errorf("response times %v", x[0].RTTs)
		}
		if d.Steering != nil || d.Locations[0].Pathways != nil || d.Locations[0].Prefixes != 2 || len(d.Locations[0].Farms) != 2 {
			t.Errorf("%+v %+v", d.Steering, d.Locations)
		}
		s.e.ConfigLoaded("pointsman.json", time.Now())
		if c := s.e.Status(time.Now()).Config; c.Error != "" || c.AgeSec != 0 {
			t.Errorf("after a good one: %+v", c)
		}
		text := string(encodeJSON(d))
		for _, key := range []string{
			`"version":1,"generation":1,"ready":true`, `"known_contents":`, `"config":{"source":`, `"rtts_ms":[3,0,2]`, `"share_60s":`, `"decided_60s":`,
			`"decisions":{"seconds":`, `"refusals":{"left_out":0,"last":[]}`, `"alarms":[]`,
		} {
			if !strings.Contains(text, key) {
				t.Errorf("no %s in %s", key, text)
			}
		}
	})
}

// TestCoverage: the ranges of all windows and interfaces of a channel, by server,
// with the gaps against all of them.
func TestCoverage(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a b c")
		const hour = 3_600_000
		hold := func(server, path, source string, ranges ...farms.Range) {
			c := farms.Content{Channel: "ch", Path: path, Kind: farms.KindArchive}
			s.p.take(c, s.server(server).Endpoint, reply{presence: farms.Present, edit: func(f *farms.Fact) { f.Ranges, f.Source = ranges, source }})
		}
		hold("a", "/one", farms.SourcePlaylist, farms.Range{From: hour, To: 2 * hour})
		hold("a", "/two", farms.SourcePlaylist, farms.Range{From: 2*hour + 1000, To: 3 * hour})
		hold("b", "", farms.SourceAPI, farms.Range{From: 0, To: hour}, farms.Range{From: 2 * hour, To: 4 * hour})
		time.Sleep(10 * time.Second)
		c := s.e.Coverage("ch", time.Now())
		if c.From != 0 && c.From != hour || c.To != 4*hour || len(c.Servers) != 2 {
			t.Fatalf("%+v", c)
		}
		a, b := c.Servers[0], c.Servers[1]
		if a.Name != "a" || len(a.Ranges) != 1 || a.Ranges[0] != (farms.Range{From: hour, To: 3 * hour}) || a.AgeSec != 10 || a.Source != "playlist" || a.HeldSec != 7200 {
			t.Errorf("a: %+v", a)
		}
		if fmt.Sprint(b.Gaps) != fmt.Sprint([]farms.Range{{From: hour, To: 2 * hour}}) || b.Source != "api" || b.HeldSec != 3*3600 {
			t.Errorf("b: %+v", b)
		}
		if got := s.e.Coverage("", time.Now()); fmt.Sprint(got.Channels) != "[ch]" || got.Servers == nil {
			t.Errorf("without a channel: %+v", got)
		}
		h := adminOf(s, "", "")
		for _, row := range []struct {
			target, accept, want string
		}{
			{"/status/coverage?channel=ch", "", `"name":"a"`},
			{"/status/coverage?channel=nothing", "", `"servers":[]`},
			{"/status/coverage?channel=ch", "text/html", "Recordings of ch"},
			{"/status/coverage", "text/html", `href="/status/coverage?channel=ch"`},
			{"/status/coverage?channel=%3Cx%3E", "text/html", "Recordings of &lt;x&gt;"},
		} {
			if rw := ask(h, "GET", row.target, "", "Accept", row.accept); rw.Code != 200 || !strings.Contains(rw.Body.String(), row.want) {
				t.Errorf("%s: %d %s", row.target, rw.Code, rw.Body)
			}
		}
	})
}

// TestActions: recheck and purge, each once a line in the log.
func TestActions(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a edge/recheck"), nil)
		s.knows("a", farms.Present, nil)
		h := adminOf(s, "", "")
		for _, row := range []struct {
			target, body string
			code         int
			want         string
		}{
			{"/admin/servers/a/recheck", "", 200, `{"contents":2,"server":"a"}`},
			{"/admin/servers/a/recheck", "", 429, "within the last second"},
			{"/admin/servers/nobody/recheck", "", 404, "no farm has a server named nobody"},
			{"/admin/servers/edge/recheck", `{"state":"disabled"}`, 200, `"server":"edge/recheck"`},
			{"/admin/servers/edge%2Frecheck/recheck", "", 200, `"server":"edge/recheck"`},
			{"/admin/contents/purge", `{"channel":"ch"}`, 200, `{"channel":"ch","contents":1}`},
			{"/admin/contents/purge", `{"channel":"ch"}`, 200, `{"channel":"ch","contents":0}`},
			{"/admin/contents/purge", `{"channel":""}`, 400, "expected its name"},
			{"/admin/contents/purge", `{}`, 400, "expected its name"},
			{"/admin/contents/purge", `{"chanel":"ch"}`, 400, "chanel"},
			{"/admin/contents/purge", ``, 400, "expected a body"},
			{"/admin/contents/purge", `{"channel":"` + strings.Repeat("x", 1025) + `"}`, 400, "longer than"},
		} {
			rw := ask(h, "POST", row.target, row.body)
			if rw.Code != row.code || !strings.Contains(rw.Body.String(), row.want) {
				t.Errorf("%s %s: %d %s, want %d with %q", row.target, row.body, rw.Code, rw.Body, row.code, row.want)
			}
		}
		if got := s.p.Content(stageContent()); got != nil {
			t.Errorf("after a purge %+v is known", got)
		}
	})
}

// TestPasswordReads: a browser, which cannot show a bearer token when it loads a
// page, gives the token as a password; nothing acts by it.
func TestPasswordReads(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight/assume a")
		h := adminOf(s, readToken, actToken)
		basic := func(password string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+password))
		}
		for _, target := range []string{"/status", "/status/page.js", "/status/coverage", "/explain"} {
			for password, open := range map[string]bool{readToken: true, actToken: true, "": false, "wrong": false} {
				rw := ask(h, "GET", target, "", "Authorization", basic(password), "Accept", "text/html")
				if got := rw.Code == 200; got != open {
					t.Errorf("%s with password %q: %d", target, password, rw.Code)
				}
			}
		}
		for _, x := range acts {
			method, target, _ := strings.Cut(x, " ")
			if rw := ask(h, method, target, `{"state":"enabled"}`, "Authorization", basic(actToken)); rw.Code != 401 {
				t.Errorf("%s with a password: %d", x, rw.Code)
			}
		}
		if rw := ask(h, "GET", "/status", "", "Accept", "text/html"); !strings.Contains(strings.Join(rw.Header().Values("WWW-Authenticate"), ","), "Basic realm=") {
			t.Errorf("a browser is not asked for a password: %v", rw.Header())
		}
		if rw := ask(h, "GET", "/status", ""); strings.Contains(strings.Join(rw.Header().Values("WWW-Authenticate"), ","), "Basic") {
			t.Errorf("a program is asked for a password: %v", rw.Header())
		}
	})
}

// TestExplainPage: every step, every server, the fact with its age, and what
// comes after the chosen server's death.
func TestExplainPage(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a=10 b=5", "weight/assume z")
		s.knows("a", farms.Present, nil)
		s.knows("b", farms.Present, nil)
		time.Sleep(3 * time.Second)
		x := s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: stagePath})
		if x.Server != "a" || x.IfChosenDied == nil || x.IfChosenDied.Server != "b" || x.IfChosenDied.Farm != "f1" || x.IfChosenDied.Reason != "ok" {
			t.Fatalf("%+v %+v", x, x.IfChosenDied)
		}
		var steps []string
		for _, step := range x.Steps {
			steps = append(steps, step.Step)
		}
		wantList(t, "steps", steps, "request", "location", "content", "session", "farms", "knowledge", "choice", "answer")
		if f := x.Farms[0].Servers[0].Fact; f == nil || f.Presence != "present" || f.AgeSec != 3 || f.FreshSec != 7 {
			t.Errorf("the fact %+v", f)
		}
		if f := x.Farms[1].Servers[0].Fact; f != nil {
			t.Errorf("an assumed content has the fact %+v", f)
		}
		if text := x.Text(); !strings.Contains(text, "if it died server b of farm f1") {
			t.Errorf("no word of its death in\n%s", text)
		}
		s.down("b", time.Hour)
		if x = s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: stagePath}); x.IfChosenDied.Server != "z" {
			t.Errorf("with b down as well: %+v", x.IfChosenDied)
		}
		h := adminOf(s, "", "")
		for _, row := range []struct {
			target string
			want   []string
		}{
			{"/explain", []string{"<form", "Ask why"}},
			{"/explain?ip=192.0.2.1&url=" + stagePath, []string{"if that server died", "present, 3.0 s old", "Farm f1", "not_needed", "chosen"}},
			{"/explain?ip=192.0.2.1&url=//bad", []string{"bad_request", "two slashes"}},
			{"/explain?ip=nobody&url=/x", []string{"expected the viewer", `role="alert"`}},
			{"/explain?ip=192.0.2.1&url=/%3Cscript%3E/x.m3u8", []string{"&lt;script&gt;"}},
		} {
			rw := ask(h, "GET", row.target, "", "Accept", "text/html")
			for _, want := range row.want {
				if page := rw.Body.String(); rw.Code != 200 || !strings.Contains(page, want) || strings.Contains(page, "cannot be drawn") {
					t.Errorf("%s: no %q in %d %s", row.target, want, rw.Code, page)
				}
			}
		}
		rw := ask(h, "GET", "/explain?ip=192.0.2.1&url="+stagePath, "", "Accept", "application/json")
		var again Explanation
		if err := json.Unmarshal(rw.Body.Bytes(), &again); err != nil || again.Server != "a" || again.IfChosenDied == nil {
			t.Errorf("as JSON: %v %s", err, rw.Body)
		}
	})
}

// TestExplainIsNoRefusal: neither the decision nor the death of its server.
func TestExplainIsNoRefusal(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a=10 b=5")
		s.knows("a", farms.Present, nil)
		s.knows("b", farms.Present, nil)
		s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: stagePath})
		s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: "//bad"})
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
		if r := s.e.refusals.last(); len(r.Last) != 0 {
			t.Errorf("a refusal that was only asked about is listed: %+v", r.Last[0])
		}
	})
}
