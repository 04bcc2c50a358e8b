package redirector

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/status"
)

// recentSeconds is how long /status looks back.
const recentSeconds = 60

// recent is the last minute of the counters of decisions, read once a second. A
// decision pays nothing for it: it has counted already.
type recent struct {
	mu    sync.Mutex
	table *farms.Table // whose servers the samples are of
	ring  [recentSeconds + 1]sample
	n     int // samples so far
}

// sample is the counters at one time. A server's wraps around: only differences
// of a minute are of interest.
type sample struct {
	reasons []uint64 // by farms.Reason
	servers []uint32 // by farms.Server.Index
}

// CountSeconds keeps the last minute of decisions for /status until ctx ends.
func (e *Engine) CountSeconds(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	e.sample()
	for {
		select {
		case <-tick.C:
			e.sample()
		case <-ctx.Done():
			return
		}
	}
}

// sample reads the counters once.
func (e *Engine) sample() {
	v := e.view.Load()
	if v == nil {
		return
	}
	e.recent.take(v.table, v.counters.read())
}

// read reads the counters of a table.
func (c *tableCounters) read() sample {
	s := sample{reasons: make([]uint64, len(farms.Reasons())), servers: make([]uint32, len(c.servers))}
	for _, door := range []*doorCounters{&c.http, &c.steering} {
		for _, counter := range door.farms {
			s.reasons[farms.ReasonOK] += countOf(counter)
		}
		for reason, counter := range door.refusals {
			if counter != nil {
				s.reasons[reason] += countOf(counter)
			}
		}
	}
	for i, counter := range c.servers {
		s.servers[i] = uint32(countOf(counter))
	}
	return s
}

func countOf(c prometheus.Counter) uint64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0 // a counter of ours always can be written
	}
	return uint64(m.GetCounter().GetValue())
}

func (r *recent) take(t *farms.Table, s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.table != t {
		r.follow(t, s)
	}
	r.ring[r.n%len(r.ring)] = s
	r.n++
}

// follow brings the samples into the order of another table's servers. A server
// that is new has begun now.
func (r *recent) follow(t *farms.Table, now sample) {
	old := map[farms.ServerID]int{}
	if r.table != nil {
		for _, s := range r.table.Servers {
			old[s.ID] = s.Index
		}
	}
	r.table = t
	for i := range min(r.n, len(r.ring)) {
		was := r.ring[i].servers
		next := slices.Clone(now.servers)
		for _, s := range t.Servers {
			if at, ok := old[s.ID]; ok {
				next[s.Index] = was[at]
			}
		}
		r.ring[i].servers = next
	}
}

// grown is how much a wrapping counter has grown; one that was begun anew has
// not.
func grown(from, to uint32) uint64 {
	if d := to - from; d < math.MaxInt32 {
		return uint64(d)
	}
	return 0
}

// lastMinute returns the decisions of the last minute, and how often each server
// of t was given, by its index.
func (r *recent) lastMinute(t *farms.Table) (status.Decisions, []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	given := make([]uint64, len(t.Servers))
	out := status.Decisions{Rates: []status.Rate{}}
	have := min(r.n, len(r.ring))
	if have < 2 {
		return out, given
	}
	at := func(i int) *sample { return &r.ring[(r.n-have+i)%len(r.ring)] }
	out.Seconds = have - 1
	first, last := at(0), at(have-1)
	if r.table == t {
		for i := range given {
			given[i] = grown(first.servers[i], last.servers[i])
		}
	}
	for _, reason := range farms.Reasons() {
		total := last.reasons[reason] - first.reasons[reason]
		if last.reasons[reason] <= first.reasons[reason] {
			continue
		}
		rate := status.Rate{Reason: reason.String(), Total: total, PerSecond: make([]uint32, have-1)}
		for i := range rate.PerSecond {
			from, to := at(i).reasons[reason], at(i + 1).reasons[reason]
			rate.PerSecond[i] = uint32(min(to-min(from, to), math.MaxUint32))
		}
		out.Total += total
		out.Rates = append(out.Rates, rate)
	}
	slices.SortStableFunc(out.Rates, func(a, b status.Rate) int { return cmp.Compare(b.Total, a.Total) })
	return out, given
}
