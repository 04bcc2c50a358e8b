package plan

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pointsman-tv/pointsman/farms"
)

// failures replays what happens without each server, each farm and each site.
func (s *side) failures(base *tally, opt Options) []Failure {
	list := s.listFailures()
	on := s.byServer(base)
	room := s.room(base, opt)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range opt.Workers {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return
				}
				s.fail(&list[i], i+1, base, on, room, opt)
			}
		})
	}
	wait.Wait()
	return list
}

// listFailures lists what may fail, in the order of the configuration.
func (s *side) listFailures() []Failure {
	var list []Failure
	for _, server := range s.table.Servers {
		list = append(list, Failure{Kind: FailServer, Name: server.Name, Servers: []string{server.Name}})
	}
	for _, f := range s.table.Farms {
		out := Failure{Kind: FailFarm, Name: f.Name}
		for i := range f.Members {
			out.Servers = append(out.Servers, f.Members[i].Server.Name)
		}
		list = append(list, out)
	}
	for _, site := range sites(s.table) {
		out := Failure{Kind: FailSite, Name: site}
		for _, server := range s.table.Servers {
			if server.Tags[siteTag] == site {
				out.Servers = append(out.Servers, server.Name)
			}
		}
		list = append(list, out)
	}
	return list
}

// byServer lists the viewers on each server, by index.
func (s *side) byServer(base *tally) [][]int32 {
	on := make([][]int32, len(base.servers))
	for i, n := range base.servers {
		on[i] = make([]int32, 0, n)
	}
	for i, at := range s.chosen {
		if at != nowhere {
			server := s.slots[at].member.Server.Index
			on[server] = append(on[server], int32(i))
		}
	}
	return on
}

// fail replays one failure for the viewers that it hits.
func (s *side) fail(f *Failure, replay int, base *tally, on [][]int32, room []float64, opt Options) {
	down := make(map[farms.Endpoint]bool, len(f.Servers))
	for _, name := range f.Servers {
		down[s.table.Servers[s.servers[name]].Endpoint] = true
	}
	after := slices.Clone(base.servers)
	var load loads
	if s.bounded {
		load = make(loads, len(after))
	}
	for i, server := range s.table.Servers {
		switch {
		case down[server.Endpoint]:
			after[i] = 0
		case s.bounded:
			load[server.ID] = float64(after[i])
		}
	}
	c := newChooser(s, opt.Now, down, load)
	for i, server := range s.table.Servers {
		if !down[server.Endpoint] {
			continue
		}
		for _, viewer := range on[i] {
			f.Hit++
			at, _ := c.choose(int(viewer), chance(int(viewer), replay))
			if at == nowhere {
				f.Refused++
				if s.fallsBack(int(viewer)) {
					f.Fallback++
				}
				continue
			}
			if s.slots[at].farm != s.slots[s.chosen[viewer]].farm {
				f.OtherFarm++
			}
			after[s.slots[at].member.Server.Index]++
		}
	}
	f.judge(s.table, base.servers, after, room)
}

// judge writes down what the survivors carry.
func (f *Failure) judge(t *farms.Table, before, after []int, room []float64) {
	f.Gains = []Gain{}
	for i, server := range t.Servers {
		if after[i] <= before[i] {
			continue
		}
		g := Gain{Server: server.Name, Before: before[i], After: after[i], Room: room[i], Factor: part(after[i], before[i])}
		g.Over = room[i] > 0 && exceeds(before[i], after[i], room[i])
		if g.Over {
			f.Over++
		}
		f.Gains = append(f.Gains, g)
	}
	f.Survivors = len(f.Gains)
	slices.SortStableFunc(f.Gains, func(a, b Gain) int {
		if (a.Before == 0) != (b.Before == 0) { // of an idle one no factor can be told
			if a.Before == 0 {
				return 1
			}
			return -1
		}
		return cmp.Or(-cmp.Compare(a.Factor, b.Factor), -cmp.Compare(a.After, b.After))
	})
	f.Gains = slices.Clip(f.Gains[:min(len(f.Gains), MaxGains)])
}

// Tolerance is how much of its normal load a survivor may carry beyond its room
// without being named: hashing spreads evenly, not exactly.
const Tolerance = 0.05

// exceeds tells whether a survivor carries more than its room, by more than the
// tolerance and by more than chance explains in so few viewers.
func exceeds(before, after int, room float64) bool {
	beyond := float64(after) - room*float64(before)
	return beyond > Tolerance*float64(before) && beyond > 3*math.Sqrt(float64(after))
}
