package plan

import (
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// chooser asks the real chooser for one viewer after the other. It is one
// goroutine's.
type chooser struct {
	side    *side
	now     time.Time
	world   farms.World
	query   farms.Query
	scratch farms.Scratch
	order   []*farms.Farm
	load    loads // nil when no farm has a bounded load
}

// newChooser makes a chooser for the world where the endpoints of down fail;
// load is what the servers carry already, nil when no farm has a bounded load.
func newChooser(s *side, now time.Time, down map[farms.Endpoint]bool, load loads) *chooser {
	c := &chooser{side: s, now: now, load: load}
	c.world.Facts = newWorld(s.table, down, s.known)
	if load != nil {
		c.world.Loads = load
	}
	return c
}

// choose returns the slot that a viewer is given, or nowhere and why.
func (c *chooser) choose(viewer int, draw uint64) (int32, farms.Reason) {
	return c.chooseFrom(viewer, draw, 0)
}

// chooseFrom is choose for a viewer who watches on the server prior already.
func (c *chooser) chooseFrom(viewer int, draw uint64, prior farms.ServerID) (int32, farms.Reason) {
	v := &c.side.viewers[viewer]
	if v.location == nowhere {
		return nowhere, v.reason
	}
	l := c.side.table.Locations[v.location]
	c.query = farms.Query{
		Content: farms.Content{Channel: c.side.channels[v.channel], Kind: farms.KindLive},
		Secure:  v.secure, Reach: v.reach, Session: v.session, Draw: draw, Now: c.now,
	}
	c.order = append(c.order[:0], farms.Order(l, v.session, c.order)...)
	choice := c.ask()
	if choice.Chosen != nil && choice.Chosen.Farm.Policy == farms.FirstResponse {
		if prior == 0 {
			prior = c.measured(v, choice.Chosen.Farm)
		}
		if prior != 0 && prior != choice.Chosen.Member.Server.ID {
			c.query.Prior, c.query.Sticky = prior, true
			choice = c.ask()
		}
	}
	if choice.Chosen == nil {
		return nowhere, choice.Reason
	}
	if c.load != nil {
		c.load[choice.Chosen.Member.Server.ID]++
	}
	return c.slot(choice.Chosen), farms.ReasonOK
}

func (c *chooser) ask() farms.Choice {
	return farms.Choose(c.order, &c.query, &c.world, &c.side.table.Rules, farms.Options{Final: true}, &c.scratch)
}

func (c *chooser) slot(chosen *farms.Candidate) int32 {
	f := chosen.Farm
	for i := range f.Members {
		if &f.Members[i] == chosen.Member {
			return c.side.first[f.Index] + int32(i)
		}
	}
	return nowhere
}

// measured returns the server of a first_response farm on which the log puts a
// viewer: his own, else one drawn in proportion to what each was given. Response
// times made those shares, and a plan knows no times. It is 0 without a log.
func (c *chooser) measured(v *seen, f *farms.Farm) farms.ServerID {
	if c.side.logged == nil {
		return 0
	}
	total := uint64(0)
	for i := range f.Members {
		m := &f.Members[i]
		if !c.takes(m) {
			continue
		}
		if v.logged == int32(m.Server.Index) {
			return m.Server.ID
		}
		total += uint64(c.side.logged[m.Server.Index])
	}
	if total == 0 {
		return 0
	}
	at := chance(int(c.query.Draw>>1), 0) % total
	for i := range f.Members {
		m := &f.Members[i]
		if !c.takes(m) {
			continue
		}
		n := uint64(c.side.logged[m.Server.Index])
		if at < n {
			return m.Server.ID
		}
		at -= n
	}
	return 0
}

// takes tells whether a member takes viewers in this world.
func (c *chooser) takes(m *farms.Member) bool {
	return regular(m, c.now) && c.world.Facts.Health(m.Server.Endpoint).Condition != farms.ConditionDown
}

// regular tells whether a member takes viewers when all is well.
func regular(m *farms.Member, now time.Time) bool {
	return !m.LastResort && farms.Overrides(nil).State(m.Server, now) == farms.StateEnabled
}
