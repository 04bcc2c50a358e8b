package test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The process is killed with 800 known channels on ten servers, under load. What
// it knew is back with it: nobody is told that a channel is missing, and the
// servers are asked no faster than ever.
func TestScenario4KilledUnderLoad(t *testing.T) {
	const (
		channels = 800
		perSec   = 20 // max_per_sec_per_server's default
		seconds  = 10

		redirects = `pointsman_decisions_total{door="http",farm="main",reason="ok"}`
	)
	servers := liveServers(t, "edge", 10)
	holds := func(server, channel int) bool { return (server+channel)%10 < 6 }
	for i, o := range servers {
		o.SetRest(rig.Missing)
		for ch := range channels {
			if holds(i, ch) {
				o.Set(fmt.Sprint("ch", ch), rig.Live)
			}
		}
	}
	state := t.TempDir()
	c := with(scene(farmOf("main", "first_response", servers)), "core", rig.Config{"state_dir": state})
	// To know 8,000 facts at the usual rates takes minutes.
	c["probe"] = rig.Config{
		"max_per_sec_per_server": 5000, "max_in_flight_per_server": 100,
		"unknown_channels_per_sec": 100_000, "unknown_channels_burst": 100_000,
	}
	p := rig.Start(t, c)
	ask := func(i int) rig.Ask { return viewer(fmt.Sprint("ch", i%channels), i) }
	settled(t, servers, 0, 30*time.Second, func() []rig.Answer {
		return p.Load(t.Context(), rig.Load{Connections: 16, Count: channels}, ask)
	})
	delete(c, "probe")
	p.Write(c)
	if res := p.Operator(http.MethodPost, "/admin/reload", ""); res.StatusCode != http.StatusOK {
		t.Fatalf("reloading: %d %s", res.StatusCode, res.Body)
	}
	rig.Eventually(t, 20*time.Second, func() error {
		b, err := os.ReadFile(filepath.Join(state, "facts.jsonl"))
		if n := bytes.Count(b, []byte("\n")); err != nil || n != channels+1 {
			return fmt.Errorf("%d lines are saved, expected %d (%w)", n, channels+1, err)
		}
		return nil
	})

	under, end := context.WithCancel(t.Context())
	loaded := make(chan []rig.Answer, 1)
	go func() {
		loaded <- p.Load(under, rig.Load{Connections: 16, Count: 100_000, PerSecond: 1000}, ask)
	}()
	before, _ := p.Metric(redirects)
	rig.Eventually(t, 10*time.Second, func() error {
		if now, _ := p.Metric(redirects); now < before+500 {
			return fmt.Errorf("%v redirects so far", now-before)
		}
		return nil
	})
	p.Kill()
	end()
	answered := 0
	for _, a := range <-loaded {
		if a.Status != 0 {
			answered++
		}
	}
	if answered < 500 {
		t.Errorf("%d viewers were answered before the kill: it was not under load", answered)
	}

	for _, o := range servers {
		o.Forget()
	}
	p.Run()
	// Old boxes come here for media playlists and segments, too.
	files := [...]string{"index.m3u8", "media.m3u8", "index.m3u8", "seg1.ts"}
	answers := p.Load(t.Context(), rig.Load{Connections: 64, Count: 1500 * seconds, PerSecond: 1500}, func(i int) rig.Ask {
		return rig.Ask{Target: fmt.Sprintf("/ch%d/%s?token=t%d", i%channels, files[i/channels%len(files)], i)}
	})
	status, byFile := map[int]int{}, map[string]int{}
	var slowest time.Duration
	for i, a := range answers {
		status[a.Status]++
		slowest = max(slowest, a.Took)
		byFile[fmt.Sprint(files[i/channels%len(files)], " ", a.Status, " ", a.Reason)]++
		if a.Status != http.StatusFound || files[i/channels%len(files)] != "index.m3u8" {
			continue
		}
		if s := at(servers, a.Location); s == nil || !holds(indexOf(servers, s), i%channels) {
			t.Fatalf("channel %d: sent to %q, which does not have it", i%channels, a.Location)
		}
	}
	t.Logf("after the restart: %v, by server %v", byFile, tally(answers, servers))
	if status[404] != 0 || status[0] != 0 || status[503]*100 >= len(answers) || status[302]+status[503] != len(answers) {
		t.Errorf("answers %v, expected 302 and less than 1 %% 503", byFile)
	}
	for _, o := range servers {
		withinRate(t, o, perSec, slowest)
		if o.Questions() < seconds*perSec/2 {
			t.Errorf("%s was asked %d times in %d s: the facts are not made new", o.Name, o.Questions(), seconds)
		}
	}
}

// withinRate fails the test when a server was asked more than so many questions
// a second. What left within the rate may come in closer together on a machine
// that has much else to do, and after it stood still (for as long as the slowest
// answer took that needed no question), so that the second is cut short.
func withinRate(t testing.TB, o *rig.Origin, perSec int, slowest time.Duration) {
	t.Helper()
	window := 700*time.Millisecond - slowest
	five := o.Busiest(5 * time.Second)
	if window < 300*time.Millisecond {
		t.Logf("%s: an answer took %v: the rate within a second cannot be judged", o.Name, slowest)
		window = 300 * time.Millisecond
	} else if n := o.Busiest(window); n > perSec {
		t.Errorf("%s was asked %d times within %v, expected at most %d a second", o.Name, n, window, perSec)
	}
	if most := int((6 + slowest.Seconds()) * float64(perSec)); five > most {
		t.Errorf("%s was asked %d times within 5 s, expected at most %d", o.Name, five, most)
	}
	t.Logf("%s: %d questions, at most %d in %v and %d in 5 s", o.Name, o.Questions(), o.Busiest(window), window.Round(time.Millisecond), five)
}

func indexOf(servers []*rig.Origin, o *rig.Origin) int {
	for i := range servers {
		if servers[i] == o {
			return i
		}
	}
	return -1
}

// 1,000 viewers at once on a channel that nobody has asked for: each server is
// asked once, nobody is refused, and not all end up on one server.
func TestScenarioCrowdOnColdChannel(t *testing.T) {
	const viewers = 1000
	tests := []struct {
		name, policy string
		bounded      float64
		missing      int // servers without the channel
		wait         []time.Duration
		least        int  // servers that share the crowd
		backup       bool // the servers with the channel are a farm of their own
	}{
		{"first_response", "first_response", 0, 0, []time.Duration{20, 20, 20, 20, 20}, 2, false},
		{"first_response_uneven", "first_response", 0, 0, []time.Duration{20, 25, 300, 300, 600}, 1, false},
		{"first_response_two_have_it", "first_response", 0, 3, []time.Duration{20, 20, 20, 30, 30}, 2, false},
		{"first_response_one_has_it", "first_response", 0, 4, []time.Duration{20, 20, 20, 20, 100}, 1, false},
		{"content_id", "content_id", 0, 0, []time.Duration{20, 20, 20, 20, 20}, 1, false},
		{"content_id_bounded", "content_id", 1.25, 0, []time.Duration{20, 20, 20, 20, 20}, 2, false},
		{"content_id_one_has_it", "content_id", 1.25, 4, []time.Duration{20, 20, 20, 20, 20}, 1, false},
		{"first_response_second_farm", "first_response", 0, 3, []time.Duration{20, 20, 20, 20, 20}, 2, true},
		{"content_id_second_farm", "content_id", 0, 3, []time.Duration{20, 20, 20, 20, 20}, 1, true},
		{"share", "share", 0, 0, []time.Duration{20, 20, 20, 20, 20}, 2, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			servers := liveServers(t, "edge", len(tt.wait))
			for i, o := range servers {
				o.Delay(tt.wait[i] * time.Millisecond)
				if i < tt.missing {
					o.SetRest(rig.Missing)
				}
			}
			farm := farmOf("main", tt.policy, servers)
			if tt.bounded > 0 {
				farm["bounded_load"] = tt.bounded
			}
			c := scene(farm)
			if tt.backup { // those who have it are the second farm
				c = scene(farmOf("main", tt.policy, servers[:tt.missing]), farmOf("backup", tt.policy, servers[tt.missing:]))
			}
			p := rig.Start(t, c)
			answers := p.Load(t.Context(), rig.Load{Connections: viewers, Count: viewers}, func(i int) rig.Ask { return viewer("cold", i) })
			asked := 0
			var slowest time.Duration
			for _, o := range servers {
				if n := o.Questions(); n > 1 {
					t.Errorf("%s was asked %d times, expected once at most", o.Name, n)
				}
				asked += o.Questions()
			}
			for _, a := range answers {
				slowest = max(slowest, a.Took)
			}
			got := allRedirected(t, tt.name, answers, servers[tt.missing:])
			t.Logf("%d questions to %d servers, the slowest answer after %v, viewers %v", asked, len(servers), slowest.Round(time.Millisecond), got)
			if len(got) < tt.least {
				t.Errorf("viewers %v, expected at least %d servers", got, tt.least)
			}
		})
	}
}

// A flood of 100,000 invented channels: what is remembered and counted does not
// grow, the servers are asked within their rate, and viewers of a channel that
// exists notice nothing.
func TestScenarioInventedChannels(t *testing.T) {
	const (
		invented   = 100_000
		perSec     = 20  // max_per_sec_per_server
		strangers  = 50  // unknown_channels_per_sec
		burst      = 500 // unknown_channels_burst
		growthKB   = 32 << 10
		knownEvery = 5 * time.Millisecond
	)
	servers := liveServers(t, "edge", 3)
	for _, o := range servers {
		o.SetRest(rig.Missing)
		o.Set("known", rig.Live)
	}
	p := rig.Start(t, scene(farmOf("main", "first_response", servers)))
	flood := func(from, n int) []rig.Answer {
		return p.Load(t.Context(), rig.Load{Connections: 128, Count: n}, func(i int) rig.Ask {
			if i%10 == 9 { // a segment is never asked for, and must cost no more
				return rig.Ask{Target: fmt.Sprintf("/invented%d/seg%d.ts", from+i, i)}
			}
			return viewer(fmt.Sprint("invented", from+i), i)
		})
	}
	if got := p.Get("/known/index.m3u8"); got.StatusCode != http.StatusFound {
		t.Fatalf("the known channel: %d %s", got.StatusCode, got.Body)
	}
	flood(0, 10_000) // what is allocated once is there now
	_, series := p.Metric("pointsman_")
	before := residentKB(t, p.PID())

	watched, end := context.WithCancel(t.Context())
	known := make(chan []rig.Answer, 1)
	go func() {
		known <- p.Load(watched, rig.Load{Connections: 4, Count: 100_000, PerSecond: float64(time.Second / knownEvery)}, func(i int) rig.Ask {
			return viewer("known", i)
		})
	}()
	for _, o := range servers {
		o.Forget()
	}
	start := time.Now()
	answers := flood(10_000, invented)
	took := time.Since(start)
	end()
	after := residentKB(t, p.PID())
	_, seriesAfter := p.Metric("pointsman_")

	reasons := map[string]int{}
	for _, a := range answers {
		switch what := a.String(); {
		case a.Status == http.StatusFound && strings.HasSuffix(a.Location, ".ts"):
			reasons["302 for a segment"]++
		default:
			reasons[what]++
		}
	}
	var slowest time.Duration
	asked := 0
	for _, a := range <-known {
		if a.At.IsZero() {
			continue
		}
		asked++
		slowest = max(slowest, a.Took)
		if a.Status != http.StatusFound {
			t.Fatalf("a viewer of the known channel got %v", a)
		}
	}
	t.Logf("%d invented channels in %v: %v; memory %d KB before, %d KB after; %d series; %d viewers of the known channel, the slowest %v",
		invented, took.Round(time.Millisecond), reasons, before, after, seriesAfter, asked, slowest.Round(time.Millisecond))
	if after-before > growthKB {
		t.Errorf("memory grew by %d KB, expected at most %d", after-before, growthKB)
	}
	if series != seriesAfter {
		t.Errorf("%d metric series before, %d after", series, seriesAfter)
	}
	for reason := range reasons {
		switch reason {
		case "302 for a segment", "404 content_missing", "503 busy", "503 farm_down":
		default:
			t.Errorf("an invented channel was answered %s", reason)
		}
	}
	for _, o := range servers {
		withinRate(t, o, perSec, slowest)
		if most := burst + int(strangers*took.Seconds()) + 100; o.Questions() > most {
			t.Errorf("%s was asked %d times, expected at most %d by the bucket", o.Name, o.Questions(), most)
		}
	}
}
