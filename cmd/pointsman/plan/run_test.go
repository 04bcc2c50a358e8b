package plan

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

const everybody = "location all 10.0.0.0/8 main"

// Small farms of which every number is known.
func TestRunExact(t *testing.T) {
	t.Parallel()
	const n = 1000
	for _, row := range []struct {
		name    string
		lines   []string
		carries map[string]int
		fails   string // "KIND NAME"
		want    Failure
	}{
		{
			"last_resort_takes_all",
			[]string{"farm main share a b,last", everybody},
			map[string]int{"a": n, "b": 0},
			"server a",
			Failure{Hit: n, Survivors: 1, Gains: []Gain{{Server: "b", After: n}}},
		},
		{
			"weight_zero_is_a_last_resort",
			[]string{"farm main share a b,w0", everybody},
			map[string]int{"a": n, "b": 0},
			"server b",
			Failure{Gains: []Gain{}},
		},
		{
			"next_farm_takes_all",
			[]string{"farm main share a", "farm second share b", "location all 10.0.0.0/8 main second"},
			map[string]int{"a": n, "b": 0},
			"farm main",
			Failure{Hit: n, OtherFarm: n, Survivors: 1, Gains: []Gain{{Server: "b", After: n}}},
		},
		{
			"nobody_left",
			[]string{"farm main weight a", everybody},
			map[string]int{"a": n},
			"server a",
			Failure{Hit: n, Refused: n, Gains: []Gain{}},
		},
		{
			"fallback_url",
			[]string{"farm main weight a,site:x b,w0.5,site:x", everybody + " fallback"},
			map[string]int{"a": n, "b": 0},
			"site x",
			Failure{Hit: n, Refused: n, Fallback: n, Gains: []Gain{}},
		},
		{
			"highest_weight",
			[]string{"farm main weight a,w2 b c,w0.5", everybody},
			map[string]int{"a": n, "b": 0, "c": 0},
			"server a",
			Failure{Hit: n, Survivors: 1, Gains: []Gain{{Server: "b", After: n}}},
		},
		{
			"same_address_fails_together",
			[]string{"farm main weight a,w2,url:one.example b,url:one.example c,w0.5", everybody},
			map[string]int{"a": n, "b": 0, "c": 0},
			"server b",
			Failure{Hit: n, Survivors: 1, Gains: []Gain{{Server: "c", After: n}}},
		},
		{
			"disabled_and_draining_take_nobody",
			[]string{"farm main share a,disabled b c,draining", everybody},
			map[string]int{"a": 0, "b": n, "c": 0},
			"server b",
			Failure{Hit: n, Refused: n, Gains: []Gain{}},
		},
		{
			"one_server_in_two_farms",
			[]string{"farm main share a", "farm second share a b,last", "location all 10.0.0.0/8 main second"},
			map[string]int{"a": n, "b": 0},
			"farm main",
			Failure{Hit: n, OtherFarm: n, Survivors: 1, Gains: []Gain{{Server: "b", After: n}}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := Run(newTestSide(t, network(t, row.lines...)), nil, crowd(n, 7), options(n))
			if got := carried(r); !reflect.DeepEqual(got, row.carries) {
				t.Errorf("servers carry %v, expected %v", got, row.carries)
			}
			kind, name, _ := strings.Cut(row.fails, " ")
			got := *failure(t, r, kind, name)
			got.Kind, got.Name, got.Servers = "", "", nil
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("%s fails: %+v, expected %+v", row.fails, got, row.want)
			}
		})
	}
}

// The part that the issue asks for: each survivor of an N-server farm carries 1 +
// 1/(N−1) of its normal load, and nothing else is flagged.
func TestSurvivorsShareAlike(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"share", "weight", "first_response"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := Run(newTestSide(t, network(t, "farm main "+policy+" a b c d e", everybody)), nil, crowd(100_000, 10), options(100_000))
			for i := range r.Failures {
				f := &r.Failures[i]
				if f.Kind != FailServer {
					continue
				}
				if f.Over != 0 || f.Survivors != 4 || f.Refused != 0 {
					t.Errorf("%s: %d over, %d survivors, %d refused, expected 0, 4, 0: %+v", f.Name, f.Over, f.Survivors, f.Refused, f.Gains)
				}
				for _, g := range f.Gains {
					if math.Abs(g.Factor-1.25) > 0.02 || g.Room != 1.25 {
						t.Errorf("%s fails: %s carries %.3f with room for %.3f, expected 1.25 and 1.25", f.Name, g.Server, g.Factor, g.Room)
					}
				}
			}
		})
	}
}

// A survivor that has to carry more than its room is flagged: of a server that
// weighs more than the others, and of a site.
func TestFlagged(t *testing.T) {
	t.Parallel()
	r := Run(newTestSide(t, network(t, "farm main share a,w3,site:x b,site:x c d,site:y", everybody)), nil, crowd(60_000, 10), options(60_000))
	for _, row := range []struct {
		kind, name string
		over       int
		factor     float64
	}{
		{FailServer, "a", 3, 2},
		{FailServer, "b", 0, 1.2},
		{FailServer, "d", 0, 1.2},
		{FailSite, "x", 2, 3},
		{FailSite, "y", 0, 1.2},
		{FailFarm, "main", 0, 0},
	} {
		f := failure(t, r, row.kind, row.name)
		factor := 0.0
		for _, g := range f.Gains {
			factor = max(factor, g.Factor)
		}
		if f.Over != row.over || math.Abs(factor-row.factor) > 0.05 {
			t.Errorf("%s %s fails: %d over, %.2f at most, expected %d and %.2f", row.kind, row.name, f.Over, factor, row.over, row.factor)
		}
	}
}

// Who is not on what fails keeps his server: replaying everybody tells the same as
// replaying those who are hit.
func TestNobodyElseMoves(t *testing.T) {
	t.Parallel()
	spec := network(t,
		"farm one share a,site:x b,w2,site:y c,w0.5 z,last", "farm two content_id d e,site:x f,w3", "farm three weight g h i,w0.5 a",
		"location first 10.0.0.0/10 one two", "location second 10.64.0.0/10 two=30 three one=20", "location third 10.128.0.0/9 three two",
	)
	config := newTestSide(t, spec)
	opt := options(30_000)
	s := newSide(&config, opt)
	spread := func(yield func(Viewer) bool) {
		for v := range crowd(30_000, 50) {
			b := v.Addr.As4()
			b[1] = b[3]
			v.Addr = netip.AddrFrom4(b)
			if !yield(v) {
				return
			}
		}
	}
	gather([]*side{s}, spread, opt)
	s.replay(opt)
	base := s.tally()
	for i, f := range s.failures(base, opt) {
		down := map[farms.Endpoint]bool{}
		for _, name := range f.Servers {
			down[s.table.Servers[s.servers[name]].Endpoint] = true
		}
		c := newChooser(s, opt.Now, down, nil)
		after, refused := make([]int, len(s.table.Servers)), 0
		for v := range s.viewers {
			at, _ := c.choose(v, chance(v, i+1))
			if was := s.slots[s.chosen[v]].member.Server; !down[was.Endpoint] && at != s.chosen[v] {
				t.Fatalf("%s %s fails: viewer %d is moved away from %s", f.Kind, f.Name, v, was.Name)
			}
			if at == nowhere {
				refused++
			} else {
				after[s.slots[at].member.Server.Index]++
			}
		}
		if refused != f.Refused {
			t.Errorf("%s %s fails: %d are refused, all replayed %d", f.Kind, f.Name, f.Refused, refused)
		}
		gains := map[string]int{}
		for _, g := range f.Gains {
			gains[g.Server] = g.After
		}
		for j, n := range after {
			name := s.table.Servers[j].Name
			if want, gained := gains[name]; gained && n != want || !gained && n != base.servers[j] && n != 0 {
				t.Errorf("%s %s fails: %s carries %d, all replayed %d", f.Kind, f.Name, name, want, n)
			}
		}
	}
}

// A report depends on nothing but its input.
func TestRunIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "share", "content_id", "content_id/bound1.1"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			lines := []string{"farm main " + policy + " a b c,site:x d,site:x", everybody}
			reports := make([]string, 2)
			for i := range reports {
				s, other := newTestSide(t, network(t, lines...)), newTestSide(t, network(t, lines[1], "farm main "+policy+" a b,w2 c e"))
				opt := options(5000)
				opt.Workers = 1 + 6*i
				r := Run(s, &other, crowd(7000, 20), opt)
				b, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				reports[i] = string(b)
			}
			if reports[0] != reports[1] {
				t.Errorf("one worker:\n%s\nseven:\n%s", reports[0], reports[1])
			}
		})
	}
}

// Under first_response the log stands for response times.
func TestLogUnderFirstResponse(t *testing.T) {
	t.Parallel()
	logged := func(yield func(Viewer) bool) {
		i := 0
		for v := range crowd(20_000, 10) {
			v.Server = [...]string{"a", "a", "a", "a", "a", "a", "b", "b", "b", "c"}[i%10]
			if i++; !yield(v) {
				return
			}
		}
	}
	r := Run(newTestSide(t, network(t, "farm main first_response a b c", everybody)), nil, logged, options(20_000))
	if got, want := carried(r), map[string]int{"a": 12_000, "b": 6000, "c": 2000}; !reflect.DeepEqual(got, want) {
		t.Errorf("servers carry %v, expected %v", got, want)
	}
	for _, g := range failure(t, r, FailServer, "a").Gains {
		if math.Abs(g.Factor-2.5) > 0.05 {
			t.Errorf("server a fails: %s carries %.2f times its load, expected 2.5: three quarters and a quarter of what a had", g.Server, g.Factor)
		}
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "first_response") }) {
		t.Errorf("no warning about first_response: %q", r.Warnings)
	}
}

// A bounded load holds while nothing fails, and when a server does.
func TestBoundedLoad(t *testing.T) {
	t.Parallel()
	const n, bound = 20_000, 1.25
	r := Run(newTestSide(t, network(t, fmt.Sprintf("farm main content_id/bound%v a b c d", bound), everybody)), nil, crowd(n, 3), options(n))
	for name, carries := range carried(r) {
		if most := bound*n/4 + 2; float64(carries) > most {
			t.Errorf("%s carries %d, expected at most %.0f", name, carries, most)
		}
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		if f.Kind != FailServer {
			continue
		}
		for _, g := range f.Gains {
			if most := bound*n/3 + 2; float64(g.After) > most {
				t.Errorf("%s fails: %s carries %d, expected at most %.0f", f.Name, g.Server, g.After, most)
			}
		}
	}
}

// Of a population that is longer than what is kept an even sample is.
func TestSample(t *testing.T) {
	t.Parallel()
	const n, kept = 50_000, 5000
	halves := func(yield func(Viewer) bool) {
		i := 0
		for v := range crowd(n, 10) {
			if i++; i > n/2 {
				v.Addr = netip.MustParseAddr("11.0.0.1")
			}
			if !yield(v) {
				return
			}
		}
	}
	r := Run(newTestSide(t, network(t, "farm main share a", "farm late share b", everybody, "location late 11.0.0.0/8 late")), nil, halves, options(kept))
	got := carried(r)
	if r.Population != n || r.Viewers != kept || got["a"]+got["b"] != kept || got["a"] < kept*45/100 || got["b"] < kept*45/100 {
		t.Errorf("of %d viewers %d are kept, %v, expected half of each", r.Population, r.Viewers, got)
	}
}

// Who no location takes is refused, and no failure changes that.
func TestRefused(t *testing.T) {
	t.Parallel()
	r := Run(newTestSide(t, network(t, "farm main share a", "location all 192.0.2.0/24 main")), nil, crowd(10, 1), options(10))
	if want := map[string]int{"no_location": 10}; !reflect.DeepEqual(r.Refused, want) {
		t.Errorf("refused %v, expected %v", r.Refused, want)
	}
	if f := failure(t, r, FailServer, "a"); f.Hit != 0 || f.Refused != 0 {
		t.Errorf("server a fails: %+v, expected nobody hit", f)
	}
}

// An empty population is no reason to fail.
func TestEmptyPopulation(t *testing.T) {
	t.Parallel()
	var none iter.Seq[Viewer] = func(func(Viewer) bool) {}
	s := newTestSide(t, network(t, "farm main share a b", everybody))
	if r := Run(s, &s, none, options(1)); r.Viewers != 0 || r.Against.Moved != 0 {
		t.Errorf("%+v", r)
	}
}

// BenchmarkPlan is the figure that the issue bounds: a million viewers, 20
// servers in two farms, every failure.
func BenchmarkPlan(b *testing.B) {
	servers := make([]string, 20)
	for i := range servers {
		servers[i] = fmt.Sprintf("edge%d,site:s%d", i, i%4)
	}
	for _, policy := range []string{"share", "content_id", "first_response"} {
		b.Run(policy, func(b *testing.B) {
			spec := network(b,
				"farm one "+policy+" "+strings.Join(servers[:10], " "), "farm two "+policy+" "+strings.Join(servers[10:], " "),
				"location a 10.0.0.0/9 one two", "location b 10.128.0.0/9 two one")
			side := newTestSide(b, spec)
			for b.Loop() {
				population, _ := Synthetic(spec, side, SyntheticOptions{Viewers: 1_000_000, Channels: 200})
				if r := Run(side, nil, population, options(1_000_000)); r.Viewers != 1_000_000 {
					b.Fatal(r.Viewers)
				}
			}
		})
	}
}
