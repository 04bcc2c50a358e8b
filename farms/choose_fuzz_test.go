package farms_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
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

func (d *dice) uint64() uint64 {
	var x uint64
	for range 8 {
		x = x<<8 | uint64(d.throw(256))
	}
	return x
}

// when is a moment around now, on both sides of every bound of rules.
func (d *dice) when() time.Time {
	return [...]time.Time{
		now(), now().Add(time.Second), now().Add(-time.Nanosecond), ago(10), ago(29), ago(31), ago(600), ago(601), ago(5000), {},
	}[d.throw(10)]
}

// fuzzed is a random world and a random viewer in it.
type fuzzed struct {
	spec  farms.Spec
	table *farms.Table
	fake  fakeWorld
	world farms.World
	rules farms.Rules
	query farms.Query
	opt   farms.Options
}

func fuzzedWorld(t *testing.T, data []byte) *fuzzed {
	t.Helper()
	d := &dice{data}
	z := &fuzzed{rules: rules(), query: query()}
	z.rules.RefuseFrozen = d.rarely(4)
	z.spec.Rules = z.rules
	z.spec.Servers = d.servers(1 + d.throw(8))
	location := farms.LocationSpec{Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
	for i := range 1 + d.throw(4) {
		f := farms.FarmSpec{Name: fmt.Sprintf("f%d", i), Policy: farms.Policy(d.throw(4)), Assume: d.rarely(8)}
		if d.rarely(3) {
			f.BoundedLoad = 1 + float64(d.throw(4))/4
		}
		for _, s := range z.spec.Servers {
			if d.throw(3) > 0 || len(f.Members) == 0 && s.Name == z.spec.Servers[len(z.spec.Servers)-1].Name {
				f.Members = append(f.Members, farms.MemberSpec{Server: s.Name, Weight: [...]float64{1, 1, 2, 0.5, 0}[d.throw(5)]})
			}
		}
		z.spec.Farms = append(z.spec.Farms, f)
		location.Farms = append(location.Farms, f.Name)
	}
	z.spec.Locations = []farms.LocationSpec{location}
	table, err := farms.Build(&z.spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	z.table = table
	z.fake = d.knowledge(table)
	z.world = farms.World{Facts: &z.fake, Loads: &z.fake, Overrides: d.overrides(table)}
	z.opt = farms.Options{Final: d.throw(2) == 0, Widen: d.throw(2) == 0, Busy: d.rarely(4)}
	q := &z.query
	q.Secure = d.rarely(4)
	q.Reach = farms.Reach(1 + d.throw(2))
	q.Content.Kind = [...]farms.Kind{farms.KindLive, farms.KindLive, farms.KindVoD, farms.KindChild}[d.throw(4)]
	q.Session, q.Draw, q.Sticky = d.uint64(), d.uint64(), d.throw(2) == 0
	if i := d.throw(2 * len(table.Servers)); i < len(table.Servers) {
		q.Prior = table.Servers[i].ID
	}
	if i := d.throw(4 * len(table.Servers)); i < len(table.Servers) {
		q.Avoid = table.Servers[i].ID
	}
	return z
}

func (d *dice) servers(n int) []farms.ServerSpec {
	var list []farms.ServerSpec
	for i := range n {
		s := farms.ServerSpec{Name: fmt.Sprintf("s%d", i), LastResort: d.rarely(8)}
		s.URL = fmt.Sprintf([...]string{"http://s%d.example", "http://s%d.example", "https://s%d.example", "http://192.0.2.%d", "http://[2001:db8::%d]"}[d.throw(5)], i)
		if d.rarely(3) {
			s.HTTPSURL = fmt.Sprintf("https://s%d.example", i)
		}
		if d.rarely(6) {
			s.State, s.DrainUntil = farms.State(1+d.throw(2)), d.when()
		}
		list = append(list, s)
	}
	return list
}

func (d *dice) knowledge(table *farms.Table) fakeWorld {
	w := fakeWorld{health: map[farms.Endpoint]*farms.Health{}, loads: map[farms.ServerID]float64{}, known: &farms.Known{}}
	for _, s := range table.Servers {
		w.loads[s.ID] = float64(d.throw(20))
		if !d.rarely(5) {
			h := &farms.Health{Condition: farms.ConditionUp, Since: d.when(), RTT: time.Duration(d.throw(20)) * 10 * time.Millisecond}
			if d.rarely(4) {
				h.Condition = farms.ConditionDown
			}
			if d.rarely(3) {
				h.WarmFrom = d.when()
			}
			h.Reach = farms.Reach(d.throw(4))
			w.health[s.Endpoint] = h
		}
		if d.rarely(3) {
			continue
		}
		f := farms.Fact{Endpoint: s.Endpoint, Presence: farms.Presence([...]int{1, 1, 1, 2, 2, 3, 4, 0}[d.throw(8)])}
		f.FreshUntil, f.ServeUntil, f.HeldAt, f.MovedAt = now().Add(time.Second), now().Add(time.Second), d.when(), d.when()
		if d.rarely(3) {
			f.FreshUntil, f.ServeUntil = d.when(), d.when()
		}
		if f.Presence == farms.Present {
			f.Kind, f.Frozen = farms.Kind(d.throw(2)), d.rarely(4)
		}
		w.learn(f)
	}
	return w
}

func (d *dice) overrides(table *farms.Table) farms.Overrides {
	if !d.rarely(3) {
		return nil
	}
	o := farms.Overrides{}
	for _, s := range table.Servers {
		if d.rarely(3) {
			o[s.Name] = farms.Override{State: farms.State(d.throw(3)), Until: d.when()}
		}
	}
	return o
}

// FuzzChooseEvery holds what every decision must hold in any world: explain
// does not change it, no hard gate is passed, every candidate's why is true,
// and the order of a file's servers decides nothing.
func FuzzChooseEvery(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("pointsman"))
	random := rand.New(rand.NewPCG(11, 12))
	for range 20 {
		f.Add(randomBytes(random))
	}
	f.Fuzz(checkWorld)
}

// TestChooseInRandomWorlds is the fuzz target over many worlds, so that every
// run of the tests sees more than the seeds.
func TestChooseInRandomWorlds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 14))
	for range 5_000 {
		checkWorld(t, randomBytes(random))
	}
}

func randomBytes(random *rand.Rand) []byte {
	b := make([]byte, 100+random.IntN(200))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func checkWorld(t *testing.T, data []byte) {
	z := fuzzedWorld(t, data)
	order := z.table.Locations[0].Farms
	every := z.opt
	every.Every = true
	var plain, all farms.Scratch
	c := farms.Choose(order, &z.query, &z.world, &z.rules, z.opt, &plain)
	e := farms.Choose(order, &z.query, &z.world, &z.rules, every, &all)
	if !same(c, e) {
		t.Fatalf("judging every farm changes the decision: %s and %s\n%s", tell(c), tell(e), whysOf(&all))
	}
	if again := farms.Choose(order, &z.query, &z.world, &z.rules, z.opt, &plain); !same(c, again) {
		t.Fatalf("asked twice: %s and %s", tell(c), tell(again))
	}
	z.checkShape(t, c)
	if c.Chosen != nil {
		if why := z.closed(c.Chosen.Member.Server); why != "" {
			t.Fatalf("%s is chosen although it is %s", nameOf(c.Chosen), why)
		}
		z.checkBest(t, order, c)
	}
	z.checkWhys(t, order, e, &all)
	z.checkFileOrder(t, c)
}

func same(a, b farms.Choice) bool {
	if (a.Chosen == nil) != (b.Chosen == nil) || a.Reason != b.Reason || a.Good != b.Good || a.Open != b.Open || a.AskFarm != b.AskFarm ||
		!slices.Equal(a.Ask, b.Ask) || !slices.Equal(a.Refresh, b.Refresh) {
		return false
	}
	return a.Chosen == nil || a.Chosen.Member == b.Chosen.Member && a.Chosen.Why == b.Chosen.Why
}

func tell(c farms.Choice) string {
	return fmt.Sprintf("{%s %s, ask %q, refresh %q, good %d, open %d}", nameOf(c.Chosen), c.Reason, names(c.Ask), names(c.Refresh), c.Good, c.Open)
}

// checkShape holds what a door relies on without looking at the world.
func (z *fuzzed) checkShape(t *testing.T, c farms.Choice) {
	t.Helper()
	switch {
	case c.Chosen != nil && c.Reason != farms.ReasonOK, c.Chosen != nil && c.Good < 1:
		t.Fatalf("somebody is chosen: %s", tell(c))
	case c.Chosen == nil && z.opt.Final == (c.Reason == farms.ReasonOK):
		t.Fatalf("nobody is chosen, final %v: %s", z.opt.Final, tell(c))
	case len(c.Ask) > 0 && (z.opt.Final || z.query.Content.Kind == farms.KindChild):
		t.Fatalf("nobody may be asked: %s", tell(c))
	}
	if order := z.table.Locations[0].Farms; c.Chosen == nil && len(c.Ask) > 0 && !holds(order[c.AskFarm], c.Ask[0]) {
		t.Fatalf("%s is asked first and not of farm %d", c.Ask[0].Name, c.AskFarm)
	}
	for _, s := range c.Ask {
		if why := z.closed(s); why != "" {
			t.Fatalf("%s is asked although it is %s", s.Name, why)
		}
		if f := z.fake.known.Of(s.Endpoint); f != nil && f.Presence != farms.Unasked && z.query.Now.Before(f.FreshUntil) {
			if f.Presence != farms.Present {
				t.Fatalf("%s is asked although its answer %s is fresh", s.Name, f.Presence)
			}
		}
	}
}

func holds(f *farms.Farm, s *farms.Server) bool {
	return slices.ContainsFunc(f.Members, func(m farms.Member) bool { return m.Server == s })
}

// closed names the hard gate that is closed for s, read from the design once
// more and without regard to the farm.
func (z *fuzzed) closed(s *farms.Server) string {
	state, until := s.State, s.DrainUntil
	if o, ok := z.world.Overrides[s.Name]; ok {
		if o.State == farms.StateDraining || o.Until.IsZero() || o.Until.After(z.query.Now) {
			state, until = o.State, o.Until
		}
	}
	h := z.fake.health[s.Endpoint]
	switch {
	case state == farms.StateDisabled:
		return "disabled"
	case state == farms.StateDraining && !until.IsZero() && !until.After(z.query.Now):
		return "disabled"
	case state == farms.StateDraining && z.query.Prior != s.ID:
		return "draining"
	case h != nil && h.Condition == farms.ConditionDown:
		return "down"
	case z.query.Secure && s.HTTPSURL == "" && s.URL[:5] != "https":
		return "scheme"
	}
	return ""
}

func (z *fuzzed) outOfReach(s *farms.Server) bool {
	h := z.fake.health[s.Endpoint]
	switch base := s.Base(z.query.Secure); base[:min(9, len(base))] {
	case "http://19":
		return z.query.Reach == farms.ReachV6
	case "http://[2":
		return z.query.Reach == farms.ReachV4
	}
	return h != nil && h.Reach != farms.ReachUnknown && h.Reach&z.query.Reach == 0
}

// plain tells whether a member is as good as can be: open, in reach, no last
// resort, and confirmed without any doubt.
func (z *fuzzed) plain(f *farms.Farm, m *farms.Member) bool {
	if z.closed(m.Server) != "" || z.outOfReach(m.Server) || m.LastResort || z.query.Avoid == m.Server.ID {
		return false
	}
	if f.Assume {
		return true
	}
	fact := z.fake.known.Of(m.Server.Endpoint)
	return fact != nil && fact.Presence == farms.Present && !fact.Frozen && fact.Kind == farms.KindLive && z.query.Now.Before(fact.FreshUntil)
}

// checkBest holds the class: where anybody is as good as can be, nobody of less
// is chosen, and nobody who said no.
func (z *fuzzed) checkBest(t *testing.T, order []*farms.Farm, c farms.Choice) {
	t.Helper()
	s, fact := c.Chosen.Member.Server, c.Chosen.Fact
	asked := !c.Chosen.Farm.Assume
	if asked && fact != nil && fact.Presence == farms.Absent && z.query.Now.Before(fact.FreshUntil) {
		t.Fatalf("%s is chosen although it said no", s.Name)
	}
	if z.query.Content.Kind == farms.KindChild {
		return
	}
	if asked && (fact == nil || fact.Presence == farms.Unasked || fact.Presence == farms.Absent) {
		t.Fatalf("%s is chosen without a yes", s.Name)
	}
	for _, f := range order {
		for i := range f.Members {
			if !z.plain(f, &f.Members[i]) {
				continue
			}
			if c.Chosen.Member.LastResort || z.outOfReach(s) || asked && (fact.Presence != farms.Present || fact.Frozen) {
				t.Fatalf("%s (%s) is chosen although %s of farm %s is as good as can be", s.Name, c.Chosen.Why, f.Members[i].Server.Name, f.Name)
			}
		}
	}
}

// checkWhys holds that every candidate is there once and its why is true.
func (z *fuzzed) checkWhys(t *testing.T, order []*farms.Farm, c farms.Choice, all *farms.Scratch) {
	t.Helper()
	at := 0
	for _, f := range order {
		for i := range f.Members {
			if at >= len(all.Candidates) || all.Candidates[at].Member != &f.Members[i] || all.Candidates[at].Farm != f {
				t.Fatalf("candidate %d is not server %d of farm %s: %s", at, i, f.Name, whysOf(all))
			}
			at++
		}
	}
	if at != len(all.Candidates) {
		t.Fatalf("%d candidates, expected %d", len(all.Candidates), at)
	}
	for i := range all.Candidates {
		k := &all.Candidates[i]
		if !z.whyIsTrue(k, c) {
			t.Fatalf("%s of farm %s cannot be %s: %s\n%s", nameOf(k), k.Farm.Name, k.Why, tell(c), whysOf(all))
		}
	}
}

func (z *fuzzed) whyIsTrue(k *farms.Candidate, c farms.Choice) bool {
	s := k.Member.Server
	gate := z.closed(s)
	var fact farms.Fact
	if k.Fact != nil {
		fact = *k.Fact
	}
	if gate != "" {
		return k.Why.String() == gate
	}
	if k == c.Chosen {
		switch k.Why {
		case farms.WhyChosen:
			return true
		case farms.WhyKept:
			return z.query.Prior == s.ID
		case farms.WhyGuarded, farms.WhyStale, farms.WhyFrozen:
			return z.answerIs(k.Why, fact)
		}
		return false
	}
	switch k.Why {
	case farms.WhyNotPicked:
		return c.Chosen == nil || c.Chosen.Farm == k.Farm || z.query.Content.Kind == farms.KindChild
	case farms.WhyNotNeeded:
		return c.Chosen != nil
	case farms.WhyFamily:
		return z.outOfReach(s)
	case farms.WhyLastResort:
		return k.Member.LastResort
	case farms.WhyWarming:
		return k.Health != nil && !k.Health.WarmFrom.IsZero() && z.query.Now.Sub(k.Health.WarmFrom) < z.rules.SlowStart
	case farms.WhyOverBound:
		return k.Farm.BoundedLoad > 0 && z.query.Prior != s.ID
	case farms.WhyAvoided:
		return z.query.Avoid == s.ID
	}
	return z.answerIs(k.Why, fact)
}

// answerIs tells whether what the server said agrees with the why.
func (z *fuzzed) answerIs(why farms.Why, f farms.Fact) bool {
	switch why {
	case farms.WhyAbsent:
		return f.Presence == farms.Absent
	case farms.WhyEnded:
		return f.Presence == farms.Present && f.Kind == farms.KindVoD
	case farms.WhyGuarded:
		return f.Presence == farms.Guarded
	case farms.WhyStale:
		return f.Presence != farms.Absent && z.query.Now.Sub(f.HeldAt) <= z.rules.StaleIfError
	case farms.WhyTrouble:
		return f.Presence == farms.Trouble
	case farms.WhyUnanswered:
		return f.Presence != farms.Guarded && (f.Presence == farms.Unasked || !z.query.Now.Before(f.FreshUntil))
	case farms.WhyFrozen:
		return f.Frozen
	}
	return false
}

// checkFileOrder turns the servers of the file around. Where chance has no part
// (first_response) and nobody is equally fresh (frozen), that changes nothing.
func (z *fuzzed) checkFileOrder(t *testing.T, c farms.Choice) {
	t.Helper()
	spec := z.spec
	spec.Servers = slices.Clone(spec.Servers)
	slices.Reverse(spec.Servers)
	spec.Farms = slices.Clone(spec.Farms)
	for i := range spec.Farms {
		if spec.Farms[i].Policy == farms.FirstResponse {
			return
		}
		spec.Farms[i].Members = slices.Clone(spec.Farms[i].Members)
		slices.Reverse(spec.Farms[i].Members)
	}
	table, err := farms.Build(&spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	var scratch farms.Scratch
	r := farms.Choose(table.Locations[0].Farms, &z.query, &z.world, &z.rules, z.opt, &scratch)
	if r.Chosen != nil && r.Chosen.Fact != nil && r.Chosen.Fact.Frozen {
		return
	}
	if nameOf(r.Chosen) != nameOf(c.Chosen) || r.Reason != c.Reason || r.Good != c.Good || r.Open != c.Open {
		t.Fatalf("the file turned around changes the decision: %s and %s", tell(c), tell(r))
	}
	sorted := func(servers []*farms.Server) []string {
		var list []string
		for _, s := range servers {
			list = append(list, s.Name)
		}
		slices.Sort(list)
		return list
	}
	if !slices.Equal(sorted(r.Ask), sorted(c.Ask)) || !slices.Equal(sorted(r.Refresh), sorted(c.Refresh)) {
		t.Fatalf("the file turned around changes the questions: %s and %s", tell(c), tell(r))
	}
}
