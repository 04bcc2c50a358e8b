package farms_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// shares counts who is chosen in n decisions, each with a session and a draw of
// its own.
func shares(t *testing.T, s *scene, n int) map[string]float64 {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	count := map[string]float64{}
	var scratch farms.Scratch
	for range n {
		q := query()
		q.Session, q.Draw = random.Uint64(), random.Uint64()
		count[nameOf(s.choose(&q, farms.Options{}, &scratch).Chosen)] += 1 / float64(n)
	}
	return count
}

func TestPolicyShares(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, farm string
		want       map[string]float64
	}{
		{
			"first_response: equals by chance", "first_response a:present b:present c:present d:present",
			map[string]float64{"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25},
		},
		{
			"first_response: alike within 20 % by chance", "first_response a:present,rtt100 b:present,rtt110 c:present,rtt90",
			map[string]float64{"a": 1. / 3, "b": 1. / 3, "c": 1. / 3},
		},
		{
			"first_response: the fastest wins where it is drawn, and never takes all", "first_response a:present,rtt10 b:present,rtt90 c:present,rtt90 d:present,rtt90",
			map[string]float64{"a": 0.5, "b": 0.5 / 3, "c": 0.5 / 3, "d": 0.5 / 3},
		},
		{
			"first_response: the slowest of many wins nowhere", "first_response a:present,rtt10 b:present,rtt10 c:present,rtt90",
			map[string]float64{"a": 0.5, "b": 0.5, "c": 0},
		},
		{
			"first_response: among equals the higher weight where it is drawn", "first_response a:present,w2 b:present c:present",
			map[string]float64{"a": 2. / 3, "b": 1. / 6, "c": 1. / 6},
		},
		{
			"first_response: only the best class is drawn from", "first_response a:guarded b:present c:frozen1 d:present",
			map[string]float64{"b": 0.5, "d": 0.5},
		},
		{
			"weight: equal weights share evenly", "weight a:present,w2 b:present c:present,w2",
			map[string]float64{"a": 0.5, "b": 0, "c": 0.5},
		},
		{
			"share: in proportion to weight", "share a:present b:present c:present,w2 d:present,w5",
			map[string]float64{"a": 1. / 9, "b": 1. / 9, "c": 2. / 9, "d": 5. / 9},
		},
		{
			"content_id: one channel, one server", "content_id a:present b:present c:present d:present",
			map[string]float64{"a": 1},
		},
		{
			"warming up: a quarter of its share after a quarter of the time", "share a:present b:present,warm7.5",
			map[string]float64{"a": 1 - 0.125, "b": 0.125},
		},
		{
			"warming up: half of its share after half of the time", "share a:present b:present,warm15",
			map[string]float64{"a": 0.75, "b": 0.25},
		},
		{
			"warming up: for every policy", "weight a:present b:present,w2,warm15",
			map[string]float64{"a": 0.5, "b": 0.5},
		},
		{
			"never failed: no warming up", "share a:present b:present",
			map[string]float64{"a": 0.5, "b": 0.5},
		},
	} {
		t.Run(strings.ReplaceAll(tc.farm, " ", "_"), func(t *testing.T) {
			t.Parallel()
			got := shares(t, newScene(t, tc.farm), 30_000)
			for name, want := range tc.want {
				if math.Abs(got[name]-want) > 0.01 {
					t.Errorf("%s: %s is chosen for %.3f, expected %.3f: %v", tc.rule, name, got[name], want, got)
				}
			}
			for name := range got {
				if _, ok := tc.want[name]; !ok {
					t.Errorf("%s: %s is chosen for %.3f, expected never", tc.rule, name, got[name])
				}
			}
		})
	}
}

// TestWarmingNeverSendsBack holds that the ramp only adds sessions: one that
// was due for the warming server stays due.
func TestWarmingNeverSendsBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, "share a:present b:present,warm0")
	var scratch farms.Scratch
	random := rand.New(rand.NewPCG(1, 9))
	for range 500 {
		q := query()
		q.Session = random.Uint64()
		there := false
		for elapsed := range 31 {
			q.Now = now().Add(time.Duration(elapsed) * time.Second)
			s.fake.health[s.table.Servers[1].Endpoint].WarmFrom = now()
			s.fake.known.Facts[0].FreshUntil, s.fake.known.Facts[1].FreshUntil = q.Now.Add(time.Hour), q.Now.Add(time.Hour)
			on := nameOf(s.choose(&q, farms.Options{}, &scratch).Chosen) == "b"
			if there && !on {
				t.Fatalf("session %d left the warming server at second %d", q.Session, elapsed)
			}
			there = on
		}
	}
}

// TestBoundedLoad plays an evening: channels of very unequal popularity, each
// with its anchor, and no server may get more than 1.25 times the mean.
func TestBoundedLoad(t *testing.T) {
	t.Parallel()
	const channels, sessions, bound = 500, 20_000, 1.25
	for _, servers := range []string{
		"a b c d e f g h i j",
		"a b c d e f g h i j k:last l:last",
		"a b c",
		"a b c d e:down",
	} {
		t.Run(strings.ReplaceAll(servers, " ", "_"), func(t *testing.T) {
			t.Parallel()
			bounded, plain := newScene(t, "content_id/bound1.25 "+servers), newScene(t, "content_id "+servers)
			for _, s := range []*scene{bounded, plain} {
				for _, server := range s.table.Servers {
					if s.fake.known.Of(server.Endpoint) == nil {
						s.fake.learn(farms.Fact{Endpoint: server.Endpoint, Presence: farms.Present, HeldAt: now(), FreshUntil: now().Add(time.Second)})
					}
				}
			}
			zipf := newZipf(channels, 1.0)
			random := rand.New(rand.NewPCG(5, 6))
			var scratch farms.Scratch
			anchored := 0
			for range sessions {
				q := query()
				q.Session, q.Content.Channel = random.Uint64(), fmt.Sprintf("channel-%d", zipf.draw(random))
				chosen := bounded.choose(&q, farms.Options{}, &scratch).Chosen.Member.Server
				anchor := plain.choose(&q, farms.Options{}, &scratch).Chosen.Member.Server
				if chosen.ID == anchor.ID {
					anchored++
				} else if load, mean := bounded.fake.loads[anchor.ID], bounded.mean(); load+1 <= bound*mean {
					t.Fatalf("%s went to %s although its anchor %s has %v sessions and the mean is %.1f", q.Content.Channel, chosen.Name, anchor.Name, load, mean)
				}
				bounded.fake.loads[chosen.ID]++
				plain.fake.loads[anchor.ID]++
			}
			if got, mean := bounded.most(), bounded.mean(); got > bound*mean+1 {
				t.Errorf("the fullest server has %.3f of the mean, expected at most %v: %v", got/mean, bound, bounded.fake.loads)
			}
			if got, mean := plain.most(), plain.mean(); got < bound*mean {
				t.Errorf("without a bound the fullest has %.3f of the mean: these channels show nothing", got/mean)
			}
			if anchored < sessions/2 {
				t.Errorf("%d of %d sessions went to their channel's anchor, expected most", anchored, sessions)
			}
		})
	}
}

// mean is the mean load of the servers that share it.
func (s *scene) mean() float64 {
	var load float64
	n := 0
	for _, server := range s.table.Servers {
		if h := s.fake.health[server.Endpoint]; server.LastResort || h.Condition == farms.ConditionDown {
			continue
		}
		load += s.fake.loads[server.ID]
		n++
	}
	return load / float64(n)
}

func (s *scene) most() float64 {
	var most float64
	for _, load := range s.fake.loads {
		most = max(most, load)
	}
	return most
}

// zipf draws from 0 to n-1, the k-th in proportion to 1/(k+1)^s.
type zipf struct{ upTo []float64 }

func newZipf(n int, s float64) zipf {
	var z zipf
	var sum float64
	for k := range n {
		sum += math.Pow(float64(k+1), -s)
		z.upTo = append(z.upTo, sum)
	}
	return z
}

func (z zipf) draw(random *rand.Rand) int {
	return sort.SearchFloat64s(z.upTo, random.Float64()*z.upTo[len(z.upTo)-1])
}

// splitLocation is a location whose farms f0, f1 and so on get these parts.
func splitLocation(t *testing.T, percent ...float64) *farms.Location {
	t.Helper()
	l := farms.LocationSpec{Prefixes: []netip.Prefix{netip.MustParsePrefix("::/0")}}
	spec := farms.Spec{Servers: []farms.ServerSpec{{Name: "a", URL: "http://a.example"}, {Name: "b", URL: "http://b.example"}}}
	for i, p := range percent {
		name := fmt.Sprintf("f%d", i)
		spec.Farms = append(spec.Farms, farms.FarmSpec{
			Name: name, Policy: farms.Share, Assume: true, Members: []farms.MemberSpec{{Server: "a", Weight: 1}, {Server: "b", Weight: 1}},
		})
		l.Farms = append(l.Farms, name)
		if p >= 0 {
			l.Split = append(l.Split, farms.SplitSpec{Farm: name, Percent: p})
		}
	}
	slices.Reverse(l.Split) // an object's keys come in any order
	spec.Locations = []farms.LocationSpec{l}
	table, err := farms.Build(&spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	return table.Locations[0]
}

func TestOrderSplit(t *testing.T) {
	t.Parallel()
	const sessions = 10_000
	for _, tc := range []struct {
		name    string
		percent []float64 // -1: not in the split
		want    []float64
	}{
		{"70_30", []float64{70, 30}, []float64{70, 30}},
		{"rest_to_the_first", []float64{-1, 30}, []float64{70, 30}},
		{"less_than_100", []float64{50, 30}, []float64{70, 30}},
		{"three", []float64{20, 30, 50}, []float64{20, 30, 50}},
		{"nothing_to_the_first", []float64{0, 100}, []float64{0, 100}},
		{"no_split", []float64{-1, -1}, []float64{100, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := splitLocation(t, tc.percent...)
			random := rand.New(rand.NewPCG(8, 8))
			count := make([]float64, len(l.Farms))
			var buf []*farms.Farm
			for range sessions {
				session := random.Uint64()
				order := slices.Clone(farms.Order(l, session, buf))
				count[order[0].Index]++
				if again := farms.Order(l, session, order[:0:0]); again[0] != order[0] {
					t.Fatalf("session %d: first %s, then %s", session, order[0].Name, again[0].Name)
				}
				rest := slices.DeleteFunc(slices.Clone(l.Farms), func(f *farms.Farm) bool { return f == order[0] })
				if !slices.Equal(order[1:], rest) {
					t.Fatalf("session %d: behind %s the farms are not in the configured order", session, order[0].Name)
				}
			}
			for i, want := range tc.want {
				if got := count[i] / sessions * 100; math.Abs(got-want) > 1.5 {
					t.Errorf("farm %d is first for %.2f %%, expected %v ± 1.5", i, got, want)
				}
			}
		})
	}
}

func TestOrderSplitMovesOnlyTheDifference(t *testing.T) {
	t.Parallel()
	const sessions = 10_000
	before, after := splitLocation(t, 70, 30), splitLocation(t, 60, 40)
	random := rand.New(rand.NewPCG(8, 8))
	moved := 0.
	for range sessions {
		session := random.Uint64()
		b, a := farms.Order(before, session, nil)[0].Index, farms.Order(after, session, nil)[0].Index
		if b == 1 && a == 0 {
			t.Fatalf("session %d moved to the farm that lost a tenth", session)
		}
		if a != b {
			moved++
		}
	}
	if got := moved / sessions * 100; math.Abs(got-10) > 1.5 {
		t.Errorf("70 to 60 percent moved %.2f %% of the sessions, expected 10 ± 1.5", got)
	}
}

// TestSplitAndShareAreIndependent holds that the sessions of one farm's part
// still spread evenly over its servers.
func TestSplitAndShareAreIndependent(t *testing.T) {
	t.Parallel()
	l := splitLocation(t, 80, 20)
	random := rand.New(rand.NewPCG(2, 2))
	w := farms.World{Facts: &fakeWorld{}}
	r := rules()
	count := map[string]float64{}
	var scratch farms.Scratch
	for range 40_000 {
		q := query()
		q.Session = random.Uint64()
		order := farms.Order(l, q.Session, nil)
		c := farms.Choose(order, &q, &w, &r, farms.Options{}, &scratch).Chosen
		count[c.Farm.Name+c.Member.Server.Name]++
	}
	for _, farm := range []string{"f0", "f1"} {
		if a, b := count[farm+"a"], count[farm+"b"]; math.Abs(a/(a+b)-0.5) > 0.02 {
			t.Errorf("farm %s: %v to %v, expected halves", farm, a, b)
		}
	}
}
