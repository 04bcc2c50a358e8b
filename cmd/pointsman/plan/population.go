package plan

import (
	"iter"
	"math/rand/v2"
	"sync"

	"github.com/pointsman-tv/pointsman/farms"
)

// seen is a viewer as one side sees him, kept small: there are a million.
type seen struct {
	session  uint64
	channel  int32 // index into side.channels
	location int32 // index into the table's, nowhere when he is refused
	logged   int32 // index of the server that the log says he was sent to, or nowhere
	reason   farms.Reason
	reach    farms.Reach
	secure   bool
}

// nowhere stands for no location, no server, no slot.
const nowhere int32 = -1

// slot is a member of a farm; a choice is kept as the index of one.
type slot struct {
	farm   *farms.Farm
	member *farms.Member
}

// side is one configuration with what it makes of the population.
type side struct {
	table    *farms.Table
	place    func(*Viewer) Place
	known    *farms.Known
	slots    []slot
	first    []int32 // slot of each farm's first member, by [farms.Farm.Index]
	bounded  bool    // a farm has a bounded load
	viewers  []seen
	channels []string
	numbers  map[string]int32 // of the channels
	servers  map[string]int32 // indices by name
	logged   []int            // viewers that the log says each server was given, by index; nil without a log
	unlisted int              // viewers that the log says were sent to servers of other names

	chosen []int32        // slots, by viewer; nowhere: refused
	reason []farms.Reason // by viewer: why he is refused
}

func newSide(s *Side, opt Options) *side {
	out := &side{
		table: s.Table, place: s.Place, known: hasAll(s.Table, opt.Now),
		numbers: map[string]int32{}, servers: make(map[string]int32, len(s.Table.Servers)),
	}
	for i, server := range s.Table.Servers {
		out.servers[server.Name] = int32(i)
	}
	for _, f := range s.Table.Farms {
		out.first = append(out.first, int32(len(out.slots)))
		for i := range f.Members {
			out.slots = append(out.slots, slot{f, &f.Members[i]})
		}
		out.bounded = out.bounded || f.BoundedLoad > 0
	}
	return out
}

// batch is how many viewers are read before they are kept.
const batch = 8192

// gatherer reads a population for all sides.
type gatherer struct {
	sides   []*side
	opt     Options
	viewers []Viewer
	at      []int // where each is kept
	places  [][]Place
	total   int // of the population
	sample  *rand.Rand
}

// gather reads the population and returns its size.
func gather(sides []*side, population iter.Seq[Viewer], opt Options) int {
	g := &gatherer{sides: sides, opt: opt, places: make([][]Place, len(sides)), sample: rand.New(rand.NewPCG(7, 11))}
	for i := range g.places {
		g.places[i] = make([]Place, batch)
	}
	for v := range population {
		g.count(&v)
		at := g.total
		if g.total++; at >= opt.Viewers {
			// Reservoir sampling: each of the population stays with the same chance.
			if at = g.sample.IntN(g.total); at >= opt.Viewers {
				continue
			}
		}
		g.viewers, g.at = append(g.viewers, v), append(g.at, at)
		if len(g.viewers) == batch {
			g.keep()
		}
	}
	g.keep()
	return g.total
}

// count notes where the log says that a viewer was sent.
func (g *gatherer) count(v *Viewer) {
	if v.Server == "" {
		return
	}
	s := g.sides[0]
	if s.logged == nil {
		s.logged = make([]int, len(s.table.Servers))
	}
	if i, ok := s.servers[v.Server]; ok {
		s.logged[i]++
	} else {
		s.unlisted++
	}
}

// keep reads the viewers of the batch, side by side, and keeps what is needed.
func (g *gatherer) keep() {
	parallel(g.opt.Workers, len(g.viewers), func(from, to int) {
		for i := from; i < to; i++ {
			for n, s := range g.sides {
				g.places[n][i] = s.place(&g.viewers[i])
			}
		}
	})
	for n, s := range g.sides {
		for i := range g.viewers {
			s.keep(g.at[i], &g.viewers[i], &g.places[n][i])
		}
	}
	g.viewers, g.at = g.viewers[:0], g.at[:0]
}

func (s *side) keep(at int, v *Viewer, p *Place) {
	out := seen{session: p.Session, location: nowhere, logged: nowhere, reason: p.Reason, reach: p.Reach, secure: v.Secure}
	if i, ok := s.servers[v.Server]; ok {
		out.logged = i
	}
	if p.Location != nil {
		out.location = int32(p.Location.Index)
		name := p.Channel
		if v.Channel != "" {
			name = v.Channel
		}
		number, ok := s.numbers[name]
		if !ok {
			number = int32(len(s.channels))
			name = string([]byte(name)) // a part of the target would keep all of it
			s.numbers[name] = number
			s.channels = append(s.channels, name)
		}
		out.channel = number
	}
	if at == len(s.viewers) {
		s.viewers = append(s.viewers, out)
	} else {
		s.viewers[at] = out
	}
}

// parallel calls f for consecutive parts of n, one for each worker, and waits.
func parallel(workers, n int, f func(from, to int)) {
	var wait sync.WaitGroup
	for i := range workers {
		if from, to := i*n/workers, (i+1)*n/workers; from < to {
			wait.Go(func() { f(from, to) })
		}
	}
	wait.Wait()
}
