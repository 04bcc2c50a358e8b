package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// Twenty servers in two sites. One site of twelve is lost: nobody is sent there,
// and it is not taken for our own trouble. Then all are silent: that is, and the
// view from before is kept, in which the lost site is lost.
func TestScenario1LostSite(t *testing.T) {
	t.Parallel()
	lost, left := liveServers(t, "a", 12), liveServers(t, "b", 8)
	all := append(append([]*rig.Origin(nil), lost...), left...)
	c := with(scene(farmOf("a", "first_response", lost), farmOf("b", "first_response", left), farmOf("both", "share", all)), "redirection", fastStatus())
	with(c, "redirection", rig.Config{"locations": []any{
		rig.Config{"name": "one-farm", "farms": []any{"both"}, "uri_regex": "^/one"},
		rig.Config{"name": "farm-by-site", "farms": []any{"a", "b"}},
	}})
	p := rig.Start(t, c)
	ask := func(i int) rig.Ask { return viewer([...]string{"one", "two"}[i%2]+fmt.Sprint(i/2%10), i) }
	load := func(n int, perSecond float64) []rig.Answer {
		return p.Load(t.Context(), rig.Load{Connections: 32, Count: n, PerSecond: perSecond}, ask)
	}
	allRedirected(t, "all up", load(1000, 0), all)

	for _, o := range lost {
		o.Blackhole()
	}
	took := waitState(t, p, 8*time.Second, "down", lost...)
	got := allRedirected(t, "one site lost", load(10_000, 0), left)
	t.Logf("12 of 20 servers down after %v; 10,000 viewers: %v", took.Round(time.Millisecond), got)
	if on := alarmGauge(p, "observer_isolated"); on != 0 || alarmLines(p, "observer_isolated") != 0 {
		t.Error("observer_isolated is on, although one site answers")
	}

	for _, o := range left {
		o.Blackhole()
	}
	during := load(1200, 150) // eight seconds
	got = allRedirected(t, "all silent", during, left)
	t.Logf("all silent, 1,200 viewers in 8 s: %v", got)
	if on := alarmGauge(p, "observer_isolated"); on != 1 || alarmLines(p, "observer_isolated") != 1 {
		t.Errorf("observer_isolated: gauge %v, %d log lines; expected 1 and 1", on, alarmLines(p, "observer_isolated"))
	}

	for _, o := range all {
		o.Release()
	}
	rig.Eventually(t, 6*time.Second, func() error {
		if alarmGauge(p, "observer_isolated") != 0 {
			return fmt.Errorf("observer_isolated is still on")
		}
		return nil
	})
	allRedirected(t, "all back", load(1000, 0), all)
}

// Every content probe answers 403 while the status is up: viewers are sent on,
// and the operator is told once.
func TestScenario2OnlyGuarded(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "content_id", "share", "weight"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			servers := liveServers(t, "edge", 4)
			for _, o := range servers {
				o.SetRest(rig.Guarded)
			}
			p := rig.Start(t, scene(farmOf("main", policy, servers[:2]), farmOf("backup", policy, servers[2:])))
			answers := p.Load(t.Context(), rig.Load{Connections: 50, Count: 1000}, func(i int) rig.Ask {
				return viewer(fmt.Sprint("ch", i%8), i)
			})
			got := allRedirected(t, "only guarded", answers, servers)
			if lines, on := alarmLines(p, "only_guarded"), alarmGauge(p, "only_guarded"); lines != 1 || on != 1 {
				t.Errorf("only_guarded: %d log lines, gauge %v; expected 1 and 1", lines, on)
			}
			t.Log(got)
		})
	}
}

// A server is killed: its channels go to the others evenly, theirs stay.
func TestScenarioServerKilled(t *testing.T) {
	t.Parallel()
	servers := liveServers(t, "edge", 5)
	c := with(scene(farmOf("main", "content_id", servers)), "redirection", fastStatus())
	p := rig.Start(t, with(c, "probe", rig.Config{"max_per_sec_per_server": 200}))
	ask := func(i int) rig.Ask { return viewer(fmt.Sprint("ch", i), 1) }
	load := func() []rig.Answer {
		return p.Load(t.Context(), rig.Load{Connections: 32, Count: 200}, ask)
	}
	before := settled(t, servers, 2*time.Second, 20*time.Second, load) // 200 channels are many questions
	allRedirected(t, "all up", before, servers)
	servers[0].Stop()
	took := waitState(t, p, 3*time.Second, "down", servers[0])
	after := load()
	got := allRedirected(t, "one killed", after, servers[1:])
	for i := range before {
		if before[i].Server() != servers[0].URL() && before[i].Server() != after[i].Server() {
			t.Errorf("channel %d moved from %s to %s, although its server lives", i, before[i].Server(), after[i].Server())
		}
	}
	t.Logf("down after %v; channels %v, before %v", took.Round(time.Millisecond), got, tally(before, servers))
}

// A farm dies while viewers ask, the next one serves, and when the first is back
// its viewers are: nothing but a question to it can find that out.
func TestScenarioFarmReturns(t *testing.T) {
	t.Parallel()
	near, far := liveServers(t, "near", 1), liveServers(t, "far", 1)
	c := scene(farmOf("near", "first_response", near), farmOf("far", "first_response", far))
	c = with(c, "redirection", fastStatus())
	p := rig.Start(t, with(with(c, "redirection", rig.Config{"live_cache_time_sec": 1}), "probe", rig.Config{"slow_start_sec": 0}))
	k := p.KeepAlive()
	await := func(what string, server *rig.Origin) {
		t.Helper()
		rig.Eventually(t, 20*time.Second, func() error {
			res, err := k.Get("/ch1/index.m3u8")
			if err != nil {
				return err
			}
			if res.StatusCode != 302 || !strings.HasPrefix(res.Location(), server.URL()) {
				return fmt.Errorf("%s: viewers are answered %d %s, expected %s", what, res.StatusCode, res.Location(), server.URL())
			}
			return nil
		})
	}
	await("all up", near[0])
	near[0].Stop()
	await("near is dead", far[0])
	rig.Eventually(t, 20*time.Second, func() error { // until its last word about the channel is trouble
		x := p.Operator("GET", "/explain?ip=127.0.0.1&url=/ch1/index.m3u8", "").Body
		if _, err := k.Get("/ch1/index.m3u8"); err != nil {
			return err
		}
		if !strings.Contains(x, "trouble") && !strings.Contains(x, "refused") {
			return errors.New("near has not been found dead by a content probe: " + x)
		}
		return nil
	})
	near[0].Start()
	await("near is back", near[0])
}

// A server takes connections and never answers: nobody is sent there, and what
// waits for it does not pile up.
func TestScenarioServerBlackholed(t *testing.T) {
	t.Parallel()
	servers := liveServers(t, "edge", 3)
	p := rig.Start(t, with(scene(farmOf("main", "first_response", servers)), "redirection", fastStatus()))
	load := func(first, n int, perSecond float64) []rig.Answer {
		return p.Load(t.Context(), rig.Load{Connections: 32, Count: n, PerSecond: perSecond}, func(i int) rig.Ask {
			return viewer(fmt.Sprint("ch", (first+i)%10), first+i)
		})
	}
	allRedirected(t, "all up", load(0, 500, 0), servers)
	idle, _ := p.Metric("go_goroutines")
	servers[0].Blackhole()
	allRedirected(t, "just blackholed", load(500, 1500, 500), servers)
	waitState(t, p, 5*time.Second, "down", servers[0])
	got := allRedirected(t, "blackholed", load(2000, 2000, 500), servers[1:])
	busy, _ := p.Metric("go_goroutines")
	t.Logf("viewers %v; goroutines %v before, %v after", got, idle, busy)
	if busy > idle+60 {
		t.Errorf("goroutines grew from %v to %v", idle, busy)
	}
}

// Servers that answer and have nothing to show are not chosen: a playlist that
// stands still, pages instead of playlists, redirects to elsewhere or in circles.
func TestScenarioServerWithoutStream(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(code)
			_, _ = rw.Write([]byte(body))
		})
	}
	var elsewhere []string // requests that came to the host that a server redirects to
	other := serve(t, "127.0.0.2:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.URL.Path)
	}))
	redirect := func(to string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				return
			}
			http.Redirect(rw, r, to, http.StatusFound)
		})
	}
	bad := map[string]http.Handler{
		"page":          status(200, "<!doctype html><title>Log in</title>"),
		"empty":         status(200, ""),
		"no_content":    status(204, ""),
		"partial_page":  status(206, "<html>"),
		"other_host":    redirect(other + "/ch/index.m3u8"),
		"metadata_host": redirect("http://169.254.169.254/latest/meta-data/"),
		"loop":          redirect("/ch/index.m3u8?again"),
		"unreadable":    status(200, "#EXTM3U\n#EXT-X-TARGETDURATION:x\n"),
	}
	for name, handler := range bad {
		t.Run(name, func(t *testing.T) {
			good := liveServers(t, "good", 1)
			f := farmOf("main", "first_response", good)
			f["servers"] = append(f["servers"].([]any), rig.Config{"name": "bad", "url": serve(t, "127.0.0.1:0", handler)})
			p := rig.Start(t, scene(f))
			// Cold, the first answer may be anybody's; nobody is sent to the bad one.
			answers := p.Load(t.Context(), rig.Load{Connections: 8, Count: 200}, func(i int) rig.Ask { return viewer(fmt.Sprint("ch", i%4), i) })
			allRedirected(t, name, answers, good)
		})
	}
	if len(elsewhere) != 0 {
		t.Errorf("a server's redirect led to %v on another host", elsewhere)
	}
}

// A channel stands still on one server only.
func TestScenarioFrozenOnOneServer(t *testing.T) {
	t.Parallel()
	servers := liveServers(t, "edge", 3)
	c := with(scene(farmOf("main", "first_response", servers)), "redirection", fastStatus())
	p := rig.Start(t, with(c, "redirection", rig.Config{"sticky_sec": 0}))
	servers[0].Set("ch", rig.Frozen)
	load := func(n int, perSecond float64) []rig.Answer {
		return p.Load(t.Context(), rig.Load{Connections: 8, Count: n, PerSecond: perSecond}, func(i int) rig.Ask { return viewer("ch", i) })
	}
	allRedirected(t, "not yet seen to stand", load(100*11, 100), servers) // 3.5 target durations of 2 s, and the fact's age
	got := allRedirected(t, "frozen on one", load(500, 0), servers[1:])
	t.Log(got)
	if got := p.Status().State("edge0"); got != "up" {
		t.Errorf("the server is %s, expected up: only one channel stands still", got)
	}
	answers := p.Load(t.Context(), rig.Load{Connections: 8, Count: 500}, func(i int) rig.Ask { return viewer("other", i) })
	if got := tally(answers, servers); got["edge0"] == 0 {
		t.Errorf("another channel: %v, expected some viewers on edge0", got)
	}
}

// A returned server takes at most a fifth of its fair share in the first fifth
// of the slow start.
func TestScenarioSlowStart(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"share", "first_response"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			const window = 15 * time.Second
			servers := liveServers(t, "edge", 4)
			c := with(scene(farmOf("main", policy, servers)), "redirection", fastStatus())
			p := rig.Start(t, with(c, "probe", rig.Config{"slow_start_sec": window.Seconds()}))
			token := 0
			load := func(ctx context.Context, n int, perSecond float64) []rig.Answer {
				first := token
				token += n
				return p.Load(ctx, rig.Load{Connections: 8, Count: n, PerSecond: perSecond}, func(i int) rig.Ask { return viewer("ch", first+i) })
			}
			allRedirected(t, "all up", load(t.Context(), 500, 0), servers)
			servers[0].Stop()
			waitState(t, p, 3*time.Second, "down", servers[0])
			servers[0].Start()
			waitState(t, p, 5*time.Second, "warming", servers[0])
			answers := load(t.Context(), 1400, 500) // 2.8 s: it came back at most 0.1 s ago
			got := allRedirected(t, "warming", answers, servers)
			fair := float64(len(answers)) / float64(len(servers))
			t.Logf("first fifth: %v, %.1f %% of its fair share", got, 100*float64(got["edge0"])/fair)
			if n := float64(got["edge0"]); n > 0.2*fair {
				t.Errorf("the returned server got %v viewers in the first fifth of the slow start, more than a fifth of its fair share %v", n, fair)
			}
		})
	}
}
