package test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// 5,000 viewers behind one address: the token tells them apart, so that they
// spread, and no reload moves anybody.
func TestScenario5SharedAddress(t *testing.T) {
	t.Parallel()
	servers := liveServers(t, "edge", 5)
	p := rig.Start(t, scene(farmOf("main", "share", servers)))
	load := func() []rig.Answer {
		return p.Load(t.Context(), rig.Load{Connections: 32, Count: 5000}, func(i int) rig.Ask { return viewer("ch", i) })
	}
	first := settled(t, servers, 0, 10*time.Second, load)
	got := allRedirected(t, "before the reloads", first, servers)
	for _, o := range servers {
		if n := got[o.Name]; n < 880 || n > 1120 {
			t.Errorf("%s got %d of 5,000 sessions, expected 880 to 1,120", o.Name, n)
		}
	}
	reloaded := make(chan error, 1)
	go func() {
		defer close(reloaded)
		for range 100 {
			res, err := rig.Do(http.MethodPost, p.Admin+"/admin/reload", "")
			if err == nil && res.StatusCode != http.StatusOK {
				err = fmt.Errorf("%d %s", res.StatusCode, res.Body)
			}
			if err != nil {
				reloaded <- err
				return
			}
		}
	}()
	before, loads := bySession(first), 0
	for done := false; !done || loads < 2; {
		select {
		case err := <-reloaded:
			if err != nil {
				t.Fatal("reloading:", err)
			}
			done = true
		default:
		}
		again := load()
		loads++
		allRedirected(t, "during the reloads", again, servers)
		if n := moved(before, bySession(again)); n != 0 {
			t.Fatalf("%d of 5,000 sessions moved", n)
		}
	}
	if g := p.Status().Generation; g != 101 {
		t.Errorf("generation %d after 100 reloads, expected 101", g)
	}
	t.Logf("sessions %v; asked %d times during 100 reloads", got, loads)
}

// The operator drains a server: who is there stays, nobody new arrives, and at
// its end each is moved once.
func TestScenario6Drain(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "share"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			servers := liveServers(t, "edge", 4)
			p := rig.Start(t, scene(farmOf("main", policy, servers)))
			load := func(first, n int) []rig.Answer {
				return p.Load(t.Context(), rig.Load{Connections: 16, Count: n}, func(i int) rig.Ask { return viewer("ch", first+i) })
			}
			before := settled(t, servers, 300*time.Millisecond, 10*time.Second, func() []rig.Answer { return load(0, 600) })
			got := allRedirected(t, "before", before, servers)
			// Under first_response the slowest server may have nobody.
			slices.SortFunc(servers, func(a, b *rig.Origin) int { return got[b.Name] - got[a.Name] })
			drained := servers[0]
			until := time.Now().Add(5 * time.Second)
			res := p.Operator(http.MethodPost, "/admin/servers/"+drained.Name,
				fmt.Sprintf(`{"state":"draining","until":%q}`, until.UTC().Format(time.RFC3339Nano)))
			if res.StatusCode != http.StatusOK {
				t.Fatalf("draining: %d %s", res.StatusCode, res.Body)
			}
			newcomers := 0
			for round := 0; time.Now().Before(until.Add(-time.Second)); round++ {
				if n := moved(bySession(before), bySession(load(0, 600))); n != 0 {
					t.Fatalf("%d sessions moved during the drain", n)
				}
				allRedirected(t, "new sessions during the drain", load(10_000*(round+1), 200), servers[1:])
				newcomers += 200
			}
			if got := p.Status().State(drained.Name); got != "draining" {
				t.Errorf("status says %s, expected draining", got)
			}
			waitState(t, p, 3*time.Second, "disabled", drained)
			after := load(0, 600)
			allRedirected(t, "after the drain", after, servers[1:])
			there := 0
			for i := range before {
				if was := before[i].Server(); was == drained.URL() {
					there++
				} else if was != after[i].Server() {
					t.Errorf("session %d was on %s, not drained, and moved to %s", i, was, after[i].Server())
				}
			}
			for range 3 {
				if n := moved(bySession(after), bySession(load(0, 600))); n != 0 {
					t.Errorf("%d sessions moved again after the end of the drain", n)
				}
			}
			t.Logf("%d of 600 sessions stayed on the drained server and moved once; %d newcomers none there", there, newcomers)
			if there == 0 {
				t.Error("no session was on the drained server: nothing was tested")
			}
		})
	}
}

// A viewer comes back because his server was just blackholed: his third try
// within ten seconds gets another, long before the status round.
func TestScenario7ReturnCheck(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "share", "content_id", "weight"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			servers := liveServers(t, "edge", 3)
			c := with(scene(farmOf("main", policy, servers)), "redirection", rig.Config{"request_timeout_sec": 2, "return_evidence": "check"})
			p := rig.Start(t, c)
			start := time.Now()
			first := p.Get("/ch/index.m3u8")
			for range 20 { // other viewers; all servers are known to have it
				p.Get(fmt.Sprintf("/ch/index.m3u8?token=%d", time.Now().UnixNano()))
			}
			dead := at(servers, first.Location())
			if dead == nil {
				t.Fatalf("first try: %d %s", first.StatusCode, first.Body)
			}
			dead.Blackhole()
			blackholed := time.Now()
			time.Sleep(2 * time.Second) // his player gives up
			second := p.Get("/ch/index.m3u8")
			if second.StatusCode != http.StatusFound {
				t.Errorf("second try: %d %s", second.StatusCode, second.Body)
			}
			time.Sleep(3500 * time.Millisecond)
			third := p.Get("/ch/index.m3u8")
			to := at(servers, third.Location())
			if to == nil || to == dead {
				t.Errorf("third try after %v: %d to %q, expected another server than %s", time.Since(blackholed), third.StatusCode, third.Location(), dead.Name)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("the three tries took %v", d)
			}
			t.Logf("first %s, second %s, third %s", first.Location(), second.Location(), third.Location())
		})
	}
}

// With move, a viewer whose server is fine for us but not for him gets the next
// on his third try and keeps it; nobody else is moved.
func TestScenario7ReturnMove(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "share", "content_id", "weight"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			servers := liveServers(t, "edge", 3)
			p := rig.Start(t, with(scene(farmOf("main", policy, servers)), "redirection", rig.Config{"return_evidence": "move"}))
			others := func() []rig.Answer {
				return p.Load(t.Context(), rig.Load{Connections: 4, Count: 60}, func(i int) rig.Ask { return viewer("ch", i) })
			}
			asked := 3.0
			if policy == "content_id" {
				asked = 2 // the best two for the channel
			}
			for i := range 20 {
				p.Get(fmt.Sprintf("/ch/index.m3u8?token=cold%d", i))
			}
			rig.Eventually(t, 5*time.Second, func() error {
				if n, _ := p.Metric(`pointsman_probe_results_total{kind="content",result="present"}`); n < asked {
					return fmt.Errorf("%v servers have answered", n)
				}
				return nil
			})
			before := others() // once more below: a third time would move them, too
			var got []string
			for range 6 {
				got = append(got, p.Get("/ch/index.m3u8?token=me").Location())
			}
			if got[0] == "" || got[1] != got[0] || got[2] == "" || got[2] == got[0] {
				t.Errorf("tries %q, expected the third to go elsewhere", got)
			}
			for i := 3; i < len(got); i++ {
				if got[i] != got[2] {
					t.Errorf("tries %q, expected him to keep the next server", got)
				}
			}
			if n := moved(bySession(before), bySession(others())); n != 0 {
				t.Errorf("%d of 60 other viewers moved", n)
			}
		})
	}
}

// 1,000 requests a second for one playlist from one address start at most one
// check a second of each server.
func TestScenario7ReturnFlood(t *testing.T) {
	const seconds = 4
	servers := liveServers(t, "edge", 3)
	farm := farmOf("main", "first_response", servers)
	farm["defaults"] = rig.Config{"status_path": "/.status/up"} // a path whose requests the fake servers note
	c := with(scene(farm), "redirection", rig.Config{
		"return_evidence": "check", "server_status_cache_time_sec": 3600, "live_cache_time_sec": 3600,
	})
	p := rig.Start(t, c)
	// A playlist seen once is asked again, to see it move; then it is believed for
	// long. Each of these viewers is another and comes once.
	viewers := 0
	rig.Eventually(t, 10*time.Second, func() error {
		p.Get(fmt.Sprintf("/ch/index.m3u8?token=%d", viewers))
		viewers++
		for _, o := range servers {
			if n := o.Questions(); n < 2 {
				return fmt.Errorf("%s was asked %d times", o.Name, n)
			}
		}
		return nil
	})
	for _, o := range servers {
		o.Forget()
	}
	answers := p.Load(t.Context(), rig.Load{Connections: 32, Count: 1000 * seconds, PerSecond: 1000}, func(int) rig.Ask {
		return rig.Ask{Target: "/ch/index.m3u8", Header: []string{"User-Agent", "player"}}
	})
	allRedirected(t, "flood", answers, servers)
	for _, o := range servers {
		status := 0
		for _, s := range o.Seen() {
			if s.URI == "/.status/up" {
				status++
			}
		}
		t.Logf("%s: %d content questions, %d status probes in %d s", o.Name, o.Questions(), status, seconds)
		if n := o.Busiest(900 * time.Millisecond); n > 1 {
			t.Errorf("%s was asked %d times for the content within a second, expected once", o.Name, n)
		}
		if o.Questions() > seconds+1 || status > seconds+1 {
			t.Errorf("%s: %d content questions and %d status probes in %d s, expected one a second", o.Name, o.Questions(), status, seconds)
		}
	}
}

// at returns the server that a Location leads to, nil when it is none of them.
func at(servers []*rig.Origin, location string) *rig.Origin {
	url := rig.Answer{Location: location}.Server()
	for _, o := range servers {
		if o.URL() == url {
			return o
		}
	}
	return nil
}
