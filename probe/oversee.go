package probe

import (
	"cmp"
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// This file is what an operator looks at and asks for: nothing in it is on the
// way of a decision.

// recentProbes is how many status probes of a server are remembered.
const recentProbes = 30

// recent is the response times of the last status probes, 0 for one without a
// good answer.
type recent struct {
	ring [recentProbes]time.Duration
	n    int // probes so far
}

func (r *recent) add(d time.Duration) {
	r.ring[r.n%recentProbes] = d
	r.n++
}

// list returns the response times, the newest last.
func (r *recent) list() []time.Duration {
	have := min(r.n, recentProbes)
	out := make([]time.Duration, 0, have)
	for i := r.n - have; i < r.n; i++ {
		out = append(out, r.ring[i%recentProbes])
	}
	return out
}

// Recent returns the response times of the last status probes of an endpoint,
// the newest last and 0 for one without a good answer.
func (b *Board) Recent(ep farms.Endpoint) []time.Duration {
	s := b.byEndpoint.Load().Get(ep)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recent.list()
}

// maxRecordings bounds the facts that [Board.Recordings] returns.
const maxRecordings = 10_000

// Recordings returns what servers told of the recordings of a channel, by its
// name or by their own: the facts with ranges, of every window that was asked
// for.
func (b *Board) Recordings(channel string) []farms.Fact {
	var out []farms.Fact
	b.contents.byContent.Range(func(key farms.Content, c *content) bool {
		if !key.Kind.Windowed() || key.Channel != channel && key.Stream != channel {
			return true
		}
		for _, f := range c.view.Load().Facts {
			if recorded(&f) {
				out = append(out, f)
			}
		}
		return len(out) < maxRecordings
	})
	return out[:min(len(out), maxRecordings)]
}

// recorded tells whether a fact says what a server has recorded, or had when it
// could be asked.
func recorded(f *farms.Fact) bool {
	return len(f.Ranges) > 0 && (f.Presence == farms.Present || f.Presence == farms.Trouble)
}

// Recorded lists the channels that some server has recordings of, as far as is
// known, in the order of their names; at most the first limit that are found.
func (b *Board) Recorded(limit int) []string {
	found := map[string]bool{}
	b.contents.byContent.Range(func(key farms.Content, c *content) bool {
		if key.Kind.Windowed() && !found[key.Channel] {
			facts := c.view.Load().Facts
			if slices.ContainsFunc(facts, func(f farms.Fact) bool { return recorded(&f) }) {
				found[key.Channel] = true
			}
		}
		return len(found) < limit
	})
	out := make([]string, 0, len(found))
	for channel := range found {
		out = append(out, channel)
	}
	slices.Sort(out)
	return out
}

// The bounds of one recheck.
const (
	recheckEvery    = time.Second // of one server
	recheckWanted   = time.Minute // contents that no viewer wanted since are not asked for
	recheckContents = 64
)

// Recheck asks a server anew because the operator wants to know: its status, and
// what it has of the contents that viewers wanted last, as far as its rate has
// places. Its other facts are taken for old, so that the next viewer has it
// asked. It returns how many contents it is asked about; ok is false when the
// last recheck was less than a second ago, or the server is not there.
func (b *Board) Recheck(fs *farms.Server) (contents int, ok bool) {
	s := (*b.servers.Load())[fs.Endpoint]
	if s == nil {
		return 0, false
	}
	now := time.Now()
	last := s.rechecked.Load()
	if now.UnixNano()-last < int64(recheckEvery) || !s.rechecked.CompareAndSwap(last, now.UnixNano()) {
		return 0, false
	}
	s.recheck()
	var wanted []*content
	b.contents.byContent.Range(func(_ farms.Content, c *content) bool {
		f := c.view.Load().Of(s.endpoint)
		switch {
		case f == nil:
		case now.UnixNano()-c.used.Load() < int64(recheckWanted):
			wanted = append(wanted, c)
		default:
			c.expire(s.endpoint, now)
		}
		return true
	})
	slices.SortFunc(wanted, func(x, y *content) int { return cmp.Compare(y.used.Load(), x.used.Load()) })
	for i, c := range wanted {
		if i < recheckContents {
			if asked := b.Ask(c.key, []*farms.Server{fs}, true); asked.Opened+asked.Joined > 0 {
				contents++
				continue
			}
		}
		c.expire(s.endpoint, now)
	}
	return contents, true
}

// expire ends the age of what one server said, so that it is asked again.
func (c *content) expire(ep farms.Endpoint, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.view.Load().Of(ep); f != nil && now.Before(f.FreshUntil) {
		old := *f
		old.FreshUntil = now
		c.put(old)
	}
}

// Forget forgets all that is known of a channel, by its name or by the servers'
// own, so that the next viewer has everybody asked. It returns how many contents
// were forgotten.
func (b *Board) Forget(channel string) int {
	var mine []*content
	b.contents.byContent.Range(func(key farms.Content, c *content) bool {
		if key.Channel == channel || key.Stream != "" && key.Stream == channel {
			mine = append(mine, c)
		}
		return true
	})
	for _, c := range mine {
		b.contents.drop(c)
	}
	return len(mine)
}
