package plan

import (
	"iter"
	"slices"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
)

// Run replays a population through a configuration, then again without each
// server, farm and site. With another configuration in against it also says who
// would move to where.
func Run(now Side, against *Side, population iter.Seq[Viewer], opt Options) *Report {
	s := newSide(&now, opt)
	sides := []*side{s}
	if against != nil {
		sides = append(sides, newSide(against, opt))
	}
	r := &Report{Population: gather(sides, population, opt), Viewers: len(s.viewers)}
	for _, one := range sides {
		one.replay(opt)
	}
	base := s.tally()
	s.describe(r, base, opt)
	r.Failures = s.failures(base, opt)
	r.Warnings = s.warnings(r, opt)
	if against != nil {
		r.Against = compare(s, sides[1], opt)
	}
	return r
}

// replay chooses for everybody while nothing fails. Where a farm has a bounded
// load each choice depends on those before it, so that one goroutine makes them
// all, in order.
func (s *side) replay(opt Options) {
	s.chosen, s.reason = make([]int32, len(s.viewers)), make([]farms.Reason, len(s.viewers))
	workers := opt.Workers
	if s.bounded {
		workers = 1
	}
	parallel(workers, len(s.viewers), func(from, to int) {
		var load loads
		if s.bounded {
			load = loads{}
		}
		c := newChooser(s, opt.Now, nil, load)
		for i := from; i < to; i++ {
			s.chosen[i], s.reason[i] = c.choose(i, chance(i, 0))
		}
	})
}

// tally is how many viewers everybody carries.
type tally struct {
	slots    []int // by slot
	servers  []int // by [farms.Server.Index]
	served   int
	refused  map[farms.Reason]int
	fallback int
}

func (s *side) tally() *tally {
	t := &tally{slots: make([]int, len(s.slots)), servers: make([]int, len(s.table.Servers)), refused: map[farms.Reason]int{}}
	for i, at := range s.chosen {
		if at == nowhere {
			t.refused[s.reason[i]]++
			if s.fallsBack(i) {
				t.fallback++
			}
			continue
		}
		t.served++
		t.slots[at]++
		t.servers[s.slots[at].member.Server.Index]++
	}
	return t
}

// fallsBack tells whether a refused viewer is sent to his location's fallback_url.
func (s *side) fallsBack(viewer int) bool {
	l := s.viewers[viewer].location
	return l != nowhere && s.table.Locations[l].FallbackURL != ""
}

// describe writes down what everybody carries while nothing fails.
func (s *side) describe(r *Report, base *tally, opt Options) {
	r.Refused = make(map[string]int, len(base.refused))
	for reason, n := range base.refused {
		r.Refused[reason.String()] = n
	}
	r.Fallback = base.fallback
	room := s.room(base, opt)
	for i, server := range s.table.Servers {
		out := Server{
			Name: server.Name, Site: server.Tags[siteTag], State: farms.Overrides(nil).State(server, opt.Now).String(),
			Viewers: base.servers[i], Share: part(base.servers[i], base.served),
			Room: room[i], Farms: []string{},
		}
		if s.logged != nil {
			logged := part(s.logged[i], s.loggedTotal())
			out.Logged = &logged
		}
		r.Servers = append(r.Servers, out)
	}
	for _, f := range s.table.Farms {
		out := Farm{Name: f.Name, Policy: f.Policy.String()}
		for i := range f.Members {
			m := &f.Members[i]
			if regular(m, opt.Now) {
				out.Regular++
			}
			out.Viewers += base.slots[s.first[f.Index]+int32(i)]
			at := &r.Servers[m.Server.Index]
			at.Farms = append(at.Farms, f.Name)
		}
		out.Share = part(out.Viewers, base.served)
		r.Farms = append(r.Farms, out)
	}
}

func (s *side) loggedTotal() int {
	total := s.unlisted
	for _, n := range s.logged {
		total += n
	}
	return total
}

// room returns, by server, the multiple of its normal load that it is to have
// room for. A farm's survivors share what one of its N servers carried, so that
// each takes 1/(N−1) more of what it has in that farm. It is 0 where nothing is to
// be expected: of an idle server, and of one that is alone in its farms.
func (s *side) room(base *tally, opt Options) []float64 {
	out := make([]float64, len(s.table.Servers))
	for _, f := range s.table.Farms {
		n := 0
		for i := range f.Members {
			if regular(&f.Members[i], opt.Now) {
				n++
			}
		}
		if n < 2 {
			continue
		}
		for i := range f.Members {
			m := &f.Members[i]
			if carries := base.slots[s.first[f.Index]+int32(i)]; carries > 0 && regular(m, opt.Now) {
				out[m.Server.Index] += part(carries, base.servers[m.Server.Index]) / float64(n-1)
			}
		}
	}
	for i := range out {
		if out[i] > 0 {
			out[i]++
		}
	}
	return out
}

// part returns n/of, 0 of nothing.
func part(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// siteTag is the tag that says where a server stands.
const siteTag = "site"

// sites lists the sites of a table, sorted.
func sites(t *farms.Table) []string {
	var out []string
	for _, s := range t.Servers {
		if site := s.Tags[siteTag]; site != "" {
			out = append(out, site)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return slices.Compact(out)
}
