package test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// manySessions is how many viewers the shares are counted over.
const manySessions = 10_000

// firsts polls once for each of n viewers, told apart by address or, every other
// one, by User-Agent, and returns each one's first pathway.
func (s *steered) firsts(t *testing.T, n int, path string) []string {
	t.Helper()
	out := make([]string, n)
	s.Polls(t.Context(), 4, n, func(i int) rig.Ask {
		if i%2 == 0 {
			return rig.Ask{Target: path, Header: from(i)}
		}
		return rig.Ask{Target: path, Header: []string{"X-Forwarded-For", "10.255.0.1", "User-Agent", fmt.Sprintf("player/%d", i)}}
	}, func(i int, a rig.Polled) {
		m, err := rig.ReadManifest(a.Body)
		if err != nil || a.Status != 200 {
			t.Errorf("viewer %d: %d %v", i, a.Status, err)
			return
		}
		out[i] = m.First()
	})
	return out
}

// part is the percentage of sessions whose first pathway is this one.
func part(first []string, pathway string) float64 {
	n := 0
	for _, f := range first {
		if f == pathway {
			n++
		}
	}
	return 100 * float64(n) / float64(len(first))
}

// TestSteeringShares shows check 44: sessions in proportion, each always the same.
func TestSteeringShares(t *testing.T) {
	keys := keysFile(t, steeringKey(1))
	s := newSteered(t, 2, split(70, 30), quiet, steeringKeys(rig.Config{"keys_file": keys}))
	const path = "/steering/ch/index.m3u8"
	s.Get("/ch/index.m3u8")
	s.known(path, s.Steer(path, from(0)...).Priority...)
	first := s.firsts(t, manySessions, path)

	t.Run("check_44_70_to_30", func(t *testing.T) {
		a := part(first, "a")
		t.Logf("%.2f %% of %d sessions start on a, where 70 are wanted", a, manySessions)
		if math.Abs(a-70) > 1.5 {
			t.Errorf("%.2f %% of the sessions start on a, expected 70 ± 1.5", a)
		}
		for _, odd := range []int{0, 1} { // by address alone, by User-Agent alone
			var some []string
			for i := odd; i < len(first); i += 2 {
				some = append(some, first[i])
			}
			if a := part(some, "a"); math.Abs(a-70) > 2 {
				t.Errorf("%.2f %% of the sessions %d, %d … start on a", a, odd, odd+2)
			}
		}
	})
	t.Run("check_44_the_same_session_the_same_pathway", func(t *testing.T) {
		if n := moved(first, s.firsts(t, manySessions, path)); n != 0 {
			t.Errorf("%d sessions moved at their next poll", n)
		}
	})
	t.Run("check_44_after_a_restart", func(t *testing.T) {
		s.Kill()
		s.Run()
		s.Get("/ch/index.m3u8")
		s.known(path, s.Steer(path, from(0)...).Priority...)
		if n := moved(first[:2000], s.firsts(t, 2000, path)); n != 0 {
			t.Errorf("%d of 2000 sessions moved over a restart", n)
		}
	})
	t.Run("check_42_and_44_a_second_instance", func(t *testing.T) {
		c := rig.Config{}
		for name, section := range s.config {
			c[name] = section
		}
		c["core"], c["admin"] = trusting(), rig.Config{}
		other := &steered{Pointsman: rig.Start(t, c), stages: s.stages, config: c}
		other.Get("/ch/index.m3u8")
		other.known(path, other.Steer(path, from(0)...).Priority...)
		if n := moved(first[:2000], other.firsts(t, 2000, path)); n != 0 {
			t.Errorf("%d of 2000 sessions start elsewhere on the second instance", n)
		}
		for i := range 50 { // and take their session along
			m := s.Steer(path, from(i)...)
			_, query, _ := strings.Cut(m.Reload, "?")
			there := other.Steer(path+"?"+query, from(i+5000)...)
			if !slices.Equal(there.Priority, m.Priority) || there.Session() != m.Session() {
				t.Errorf("viewer %d: %+v on the first instance, %+v on the second", i, m, there)
			}
		}
	})
	t.Run("check_42_and_44_70_to_60_moves_a_tenth", func(t *testing.T) {
		split(60, 40)(s.config)
		s.Write(s.config)
		if res := s.Operator("POST", "/admin/reload", ""); res.StatusCode != 200 {
			t.Fatalf("reload: %d %s", res.StatusCode, res.Body)
		}
		after := s.firsts(t, manySessions, path) // at the next poll
		n := moved(first, after)
		t.Logf("%d of %d sessions moved from 70 %% to 60 %%", n, manySessions)
		if n < 900 || n > 1100 {
			t.Errorf("%d of %d sessions moved, expected about a tenth", n, manySessions)
		}
		for i := range first {
			if first[i] != after[i] && first[i] != "a" {
				t.Fatalf("viewer %d moved from %s to %s", i, first[i], after[i])
			}
		}
	})
}

// TestSteeringPolicy shows the checks of who comes first.
func TestSteeringPolicy(t *testing.T) {
	t.Parallel()
	const path = "/steering/ch/index.m3u8"

	t.Run("check_43_jitter", func(t *testing.T) {
		t.Parallel()
		s := newSteered(t, 2, quiet)
		s.known(path, "a", "b")
		ttls := make([]int, 1000)
		s.Polls(t.Context(), 1, len(ttls), func(i int) rig.Ask { return rig.Ask{Target: path, Header: from(i)} }, func(i int, a rig.Polled) {
			if m, err := rig.ReadManifest(a.Body); err == nil {
				ttls[i] = m.TTL
			}
		})
		sum, different := 0, map[int]bool{}
		for _, ttl := range ttls {
			if sum += ttl; ttl < 270 || ttl > 330 {
				t.Fatalf("a TTL is %d, expected 300 ± 10 %%", ttl)
			}
			different[ttl] = true
		}
		mean := float64(sum) / float64(len(ttls))
		t.Logf("the mean TTL of %d sessions is %.1f, with %d different ones", len(ttls), mean, len(different))
		if math.Abs(mean-300) > 6 || len(different) < 40 {
			t.Errorf("the mean TTL is %.1f with %d different ones, expected 300 ± 2 %% of 61", mean, len(different))
		}
	})
	t.Run("check_45_a_drained_pathway_comes_last", func(t *testing.T) {
		t.Parallel()
		s := newSteered(t, 3, split(60, 40), quiet)
		s.Get("/ch/index.m3u8")
		s.known(path, s.Steer(path, from(0)...).Priority...)
		before := make([][]string, 50)
		for i := range before {
			before[i] = s.Steer(path, from(i)...).Priority
		}
		s.mustOverride("a", `{"action":"drain"}`)
		for i := range before {
			want := append(slices.DeleteFunc(slices.Clone(before[i]), func(id string) bool { return id == "a" }), "a")
			wantOrder(t, fmt.Sprintf("viewer %d, who had %v", i, before[i]), s.Steer(path, from(i)...), want...)
		}
		s.takeBack("a", "")
		for i := range before {
			wantOrder(t, fmt.Sprintf("viewer %d afterwards", i), s.Steer(path, from(i)...), before[i]...)
		}
		// A server that drains is another thing: who is on it stays.
		if res := s.Operator("POST", "/admin/servers/a", `{"state":"draining"}`); res.StatusCode != 200 {
			t.Fatalf("%d %s", res.StatusCode, res.Body)
		}
		for i := range before {
			want := before[i]
			if want[0] != "a" {
				want = append(slices.DeleteFunc(slices.Clone(want), func(id string) bool { return id == "a" }), "a")
			}
			wantOrder(t, fmt.Sprintf("viewer %d while the server drains", i), s.Steer(path, from(i)...), want...)
		}
		for i := range 20 {
			if m := s.Steer(path, from(900+i)...); m.Priority[2] != "a" {
				t.Errorf("a new viewer while server a drains: %v", m.Priority)
			}
		}
	})
	t.Run("check_46_over_its_bound_only_new_sessions_go_elsewhere", func(t *testing.T) {
		t.Parallel()
		var servers []*rig.Stage
		farm := rig.Config{"name": "farm", "policy": "content_id", "bounded_load": 1.25}
		var list []rig.Config
		for _, name := range []string{"a", "b", "c"} {
			stage := rig.NewStage(t, name)
			servers, list = append(servers, stage), append(list, rig.Config{"name": name, "url": stage.URL()})
		}
		farm["servers"] = list
		c := steeringConfig([]rig.Config{farm}, place("all", "farm", everywhere...))
		quiet(c)
		with(c, "steering", rig.Config{"level": "server"})
		s := &steered{Pointsman: rig.Start(t, c), stages: map[string]*rig.Stage{}}
		for _, stage := range servers {
			s.stages[stage.Name] = stage
		}
		s.Steer(path, from(0)...)
		rig.Eventually(t, waitLong, func() error { // all three have answered
			s.Steer(path, from(0)...)
			for _, stage := range servers {
				if len(stage.Seen()) == 0 {
					return fmt.Errorf("%s was not asked", stage.Name)
				}
			}
			return nil
		})
		const viewers = 90
		first, count := make([]string, viewers), map[string]int{}
		for i := range viewers {
			first[i] = s.Steer(path, from(i)...).First()
			count[first[i]]++
		}
		if len(count) < 2 {
			t.Errorf("%d sessions of one channel start on %v, expected the bound to send some elsewhere", viewers, count)
		}
		for i := range viewers {
			if again := s.Steer(path, from(i)...).First(); again != first[i] {
				t.Errorf("viewer %d moved from %s to %s though nobody is worse", i, first[i], again)
			}
		}
	})
	t.Run("check_48_only_a_trusted_address_counts", func(t *testing.T) {
		t.Parallel()
		s := newSteered(t, 2, quiet, func(c rig.Config) {
			section := c["redirection"].(rig.Config)
			section["locations"] = []rig.Config{place("ten", "b a", "10.0.0.0/8"), place("all", "a b", everywhere...)}
		})
		for _, c := range []struct {
			peer, forwarded string
			want            []string
		}{
			{"127.0.0.1", "10.1.2.3", []string{"b", "a"}},            // the proxy
			{"127.0.0.2", "10.1.2.3", []string{"a", "b"}},            // anybody
			{"127.0.0.1", "10.1.2.3, 192.0.2.1", []string{"a", "b"}}, // what the proxy saw is the last
			{"127.0.0.1", "192.0.2.1, 10.1.2.3", []string{"b", "a"}}, //
			{"127.0.0.1", "10.1.2.3, 127.0.0.1", []string{"b", "a"}}, // a chain of proxies
			{"127.0.0.1", "10.1.2.3, nonsense", []string{"a", "b"}},  // then the peer
			{"127.0.0.1", "::ffff:10.1.2.3", []string{"b", "a"}},     //
			{"127.0.0.2", "", []string{"a", "b"}},                    //
			{"127.0.0.1", "10.1.2.3:4711", []string{"b", "a"}},       // some proxies add the port
			{"127.0.0.1", "2001:db8::1", []string{"a", "b"}},         //
		} {
			x := rig.Exchange{Addr: s.Addr(), From: c.peer, Send: rawGet(path, "X-Forwarded-For: "+c.forwarded), Within: waitLong}
			rig.Eventually(t, waitLong, func() error {
				res, err := x.Do()
				if err != nil {
					return err
				}
				if m, err := rig.ReadManifest(res.Body); err != nil || !slices.Equal(m.Priority, c.want) {
					return fmt.Errorf("from %s for %q: %v %s, expected %v", c.peer, c.forwarded, err, res.Body, c.want)
				}
				return nil
			})
		}
	})
	t.Run("check_49_back_when_our_own_probes_are_well", func(t *testing.T) {
		t.Parallel()
		s := newSteered(t, 2, quiet, func(c rig.Config) { with(c, "probe", rig.Config{"rise": 3}) })
		s.known(path, "a", "b")
		s.stages["a"].PlayAll(rig.Refusing(503))
		s.waitOrder(path, nil, "b", "a")
		// What players say of it, and that they are on it, brings nothing back.
		for i := range 20 {
			wantOrder(t, "while a is down", s.Steer(path+"?_HLS_pathway=a&_HLS_throughput=99999999", from(i)...), "b", "a")
		}
		asked := len(s.stages["a"].Seen())
		s.stages["a"].PlayAll(nil)
		s.waitOrder(path, nil, "a", "b")
		if len(s.stages["a"].Seen()) < asked {
			t.Error("a is first again without having been asked")
		}
	})
}
