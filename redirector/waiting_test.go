package redirector

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// dice makes choices out of fuzzed bytes; when they are used up, every throw is 0.
type dice struct{ data []byte }

// throw returns 0 to n-1.
func (d *dice) throw(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

// rarely is true once in n throws.
func (d *dice) rarely(n int) bool { return d.throw(n) == n-1 }

// delay is an answer time, often on or beside one of the bounds that waiting
// has: 25 ms and 300 ms after another answer, half the deadline, the deadline.
func (d *dice) delay() time.Duration {
	edges := [...]time.Duration{0, 10 * ms, 25 * ms, 35 * ms, 300 * ms, 310 * ms, 450 * ms, 750 * ms, 1050 * ms, 1200 * ms, 1500 * ms, 1501 * ms}
	return edges[d.throw(len(edges))] + [...]time.Duration{0, 0, -1, 1, 3 * ms}[d.throw(5)]
}

// TestWaitingMissesNoAnswer plays random worlds with viewers that come one after
// the other while answers come in. See checkWaiting.
func TestWaitingMissesNoAnswer(t *testing.T) {
	t.Parallel()
	randomWorlds(t, 400, checkWaiting)
}

// randomWorlds checks n worlds of fixed random bytes.
func randomWorlds(t *testing.T, n uint64, check func(*testing.T, []byte)) {
	t.Helper()
	if raceDetector {
		n /= 10
	}
	for seed := range n {
		data := make([]byte, 160)
		r := rand.New(rand.NewPCG(seed, 7))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		check(t, data)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzWaitingMissesNoAnswer(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a first farm that is silent, a second that answers at half of the deadline"))
	f.Add([]byte{2, 3, 0, 3, 1, 3, 3, 0, 0, 5, 1, 2, 4, 1, 0, 3, 2, 0, 1, 1, 1, 0, 0, 7, 7, 7, 1, 1, 4, 4})
	f.Add([]byte{1, 2, 2, 2, 2, 2, 0, 9, 9, 9, 0, 0, 0, 255, 254, 253, 252, 17, 18, 19, 20, 31, 32, 33})
	f.Fuzz(checkWaiting)
}

// checkWaiting plays one world and checks every decision in it: none takes
// longer than the deadline; each goes to a server that has the content when one
// had said so; none leaves without one while an answer could still come; none
// lingers longer than it may once there is a good answer.
func checkWaiting(t *testing.T, data []byte) {
	t.Helper()
	in(t, func(t *testing.T) {
		d := &dice{data}
		s := waitingStage(t, d)
		var all sync.WaitGroup
		for i := range 1 + d.throw(3) {
			after := time.Duration(d.throw(5)*d.throw(100)) * 2 * ms
			addr := fmt.Sprintf("192.0.2.%d", 1+d.throw(200))
			all.Go(func() {
				<-time.After(after)
				s.checkDecision(i, addr)
			})
		}
		all.Wait()
		if n := s.e.waiting.Load(); n != 0 {
			t.Errorf("%d decisions wait after the last has left", n)
		}
	})
}

func waitingStage(t *testing.T, d *dice) *stage {
	t.Helper()
	var lines []string
	n := 0
	for range 1 + d.throw(3) {
		line := farms.Policy(d.throw(4)).String()
		for range 1 + d.throw(4) {
			line += fmt.Sprintf(" s%d=%d", n, 1+d.throw(3))
			n++
		}
		lines = append(lines, line)
	}
	s := newStage(t, lines...)
	for _, x := range s.table.Servers {
		if d.rarely(8) {
			s.down(x.Name, time.Duration(d.throw(2))*time.Hour)
		}
		if p := farms.Presence(d.throw(6)); p != farms.Unasked && p <= farms.Trouble {
			s.answers(x.Name, max(d.delay(), 0), p)
		}
		switch d.throw(12) {
		case 0: // had it a minute ago
			s.knows(x.Name, farms.Present, func(f *farms.Fact) {
				f.FreshUntil, f.ServeUntil, f.HeldAt = time.Now().Add(-time.Second), time.Now().Add(-time.Second), time.Now().Add(-time.Minute)
			})
		case 1:
			s.knows(x.Name, farms.Absent, nil)
		case 2:
			s.knows(x.Name, farms.Guarded, nil)
		case 3:
			s.p.deferred[x.Endpoint] = d.rarely(2)
		}
	}
	s.p.busy = d.rarely(16)
	return s
}

// checkDecision takes one viewer's decision and checks it against what the
// servers had said when it was taken.
func (s *stage) checkDecision(i int, addr string) {
	t := s.t
	start := time.Now()
	d := s.visits(visit{addr: addr})
	end := time.Now()
	took := end.Sub(start)
	say := func(format string, args ...any) {
		t.Errorf("viewer %d: %v (%v, waited %v): %s", i, d.Reason, d.Why, took, fmt.Sprintf(format, args...))
	}
	if took > s.set.DecisionTimeout {
		say("beyond the deadline")
	}

	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	first, pending := time.Time{}, 0 // since when this viewer could have had a holder; questions under way
	holders := map[string]bool{}
	for fi, farm := range s.table.Farms {
		for _, m := range farm.Members {
			ep := m.Server.Endpoint
			if s.p.health[ep].Condition == farms.ConditionDown {
				continue
			}
			if slices.Contains(s.p.asking[stageContent()], ep) {
				pending++
			}
			f := s.p.known[stageContent()].Of(ep)
			if f == nil || f.Presence != farms.Present || !end.Before(f.ServeUntil) {
				continue
			}
			if !f.At.Before(end) && !f.At.Equal(start) {
				continue // it came with the decision's last instant: either is right
			}
			holders[m.Server.Name] = true
			since := f.At
			if half := start.Add(s.set.DecisionTimeout / 2); fi > 0 && since.Before(half) {
				since = half // nobody looks there before the first farm has spoken or half the time has gone
			}
			if first.IsZero() || since.Before(first) {
				first = since
			}
		}
	}
	limited := s.p.busy || len(s.p.deferred) > 0
	switch {
	case d.Server != nil && d.Why != farms.WhyGuarded && d.Why != farms.WhyStale:
		f := s.p.known[stageContent()].Of(d.Server.Endpoint)
		if f == nil || f.Presence != farms.Present {
			say("sent to %s, which does not have it", d.Server.Name)
		}
	case len(holders) > 0:
		say("%v had said yes", holders)
	case took < s.set.DecisionTimeout && pending > 0 && !limited:
		say("left while %d questions were under way", pending)
	}
	if late := end.Sub(maxTime(first, start)); len(holders) > 0 && late > betterWait {
		say("lingered for %v", late)
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fuzzedWorld is a world in which everything is known that will ever be.
func fuzzedWorld(t *testing.T, d *dice) *stage {
	t.Helper()
	spec := &farms.Spec{Rules: farms.Rules{
		StaleIfError: 10 * time.Minute, OffAir: 10 * time.Minute, SlowStart: 30 * time.Second,
		Sticky: time.Duration(d.throw(2)) * time.Minute, RefuseFrozen: d.rarely(4),
	}}
	for i := range 1 + d.throw(8) {
		x := farms.ServerSpec{Name: fmt.Sprintf("s%d", i), StatusPath: "/", LastResort: d.rarely(8), State: farms.State(max(0, d.throw(8)-5))}
		x.URL = fmt.Sprintf([...]string{"http://s%d.example", "http://s%d.example/base", "https://s%d.example", "http://192.0.2.%d", "http://[2001:db8::%d]"}[d.throw(5)], i)
		spec.Servers = append(spec.Servers, x)
	}
	location := farms.LocationSpec{Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	if d.rarely(4) {
		location.FallbackURL = "https://last.example/resort"
	}
	for i := range 1 + d.throw(4) {
		farm := farms.FarmSpec{Name: fmt.Sprintf("f%d", i), Policy: farms.Policy(d.throw(4)), Assume: d.rarely(8)}
		if d.rarely(3) {
			farm.BoundedLoad = 1.25
		}
		for j, x := range spec.Servers {
			if d.throw(3) > 0 || len(farm.Members) == 0 && j == len(spec.Servers)-1 {
				farm.Members = append(farm.Members, farms.MemberSpec{Server: x.Name, Weight: float64(d.throw(4))})
			}
		}
		spec.Farms = append(spec.Farms, farm)
		location.Farms = append(location.Farms, farm.Name)
	}
	if len(location.Farms) > 1 && d.rarely(3) {
		location.Split = []farms.SplitSpec{{Farm: location.Farms[1], Percent: 50}}
	}
	spec.Locations = []farms.LocationSpec{location}
	s := newStageOf(t, spec, func(set *Settings) { set.ReturnEvidence = ReturnEvidence(d.throw(3)) })
	s.e.sessions, s.e.evidence = newMemory(6, s.start), newMemory(6, s.start) // small ones, which are compared whole
	s.p.busy = d.throw(2) == 0                                                // else every question would come too late
	for _, x := range s.table.Servers {
		s.fuzzServer(d, x)
	}
	return s
}

func (s *stage) fuzzServer(d *dice, x *farms.Server) {
	now := time.Now()
	when := func() time.Time {
		return now.Add([...]time.Duration{10 * time.Second, time.Nanosecond, 0, -time.Second, -time.Minute, -11 * time.Minute}[d.throw(6)])
	}
	s.p.deferred[x.Endpoint] = true
	h := &farms.Health{Condition: farms.Condition(d.throw(3)), Since: when(), RTT: time.Duration(d.throw(8)) * 3 * ms, Reach: farms.Reach(d.throw(4))}
	if d.rarely(3) {
		h.WarmFrom = when()
	}
	if !d.rarely(6) {
		s.p.health[x.Endpoint] = h
	} else {
		delete(s.p.health, x.Endpoint)
	}
	for range d.throw(5) {
		s.e.view.Load().loads[x.ID].add(s.e.tick(now))
	}
	if p := farms.Presence(d.throw(7)); p <= farms.Trouble {
		s.knows(x.Name, p, func(f *farms.Fact) {
			f.FreshUntil, f.ServeUntil, f.HeldAt, f.MovedAt = when(), when(), when(), when()
			f.Frozen, f.Kind = p == farms.Present && d.rarely(3), farms.Kind(d.throw(2))
		})
	}
	if d.rarely(6) {
		o := farms.Override{State: farms.State(d.throw(3))}
		if d.throw(2) == 0 {
			o.Until = when()
		}
		if err := s.e.SetOverride(x.Name, &o); err != nil {
			s.t.Fatal(err)
		}
	}
}

// decideWith decides with the given draw of chance, as explain does when every
// is set. It commits nothing.
func (s *stage) decideWith(r Request, every bool, draw uint64) *work {
	view, w := s.e.view.Load(), new(work)
	w.every = every
	s.e.decide(s.t.Context(), w, view, r)
	d := &w.decision
	if d.Location == nil {
		return w
	}
	d.Reason, d.Status, d.RetryAfter, d.Detail, d.URL, d.Fallback, d.Waited = 0, 0, 0, "", "", false, 0
	d.Farm, d.Server, d.Why = nil, nil, 0
	w.query.Now, w.query.Draw = d.Time, draw
	s.e.choose(s.t.Context(), w, view)
	s.e.conclude(w, view, w.target.Path)
	return w
}

// contents of a memory, for comparing.
func (m *memory) dump() []string {
	var out []string
	for i := range m.slots {
		if x := &m.slots[i]; x.key.Load() != 0 {
			out = append(out, fmt.Sprint(x.key.Load(), x.a.Load(), x.b.Load(), x.at.Load()))
		}
	}
	return out
}
