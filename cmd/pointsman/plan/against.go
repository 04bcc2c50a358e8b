package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pointsman-tv/pointsman/farms"
)

// The causes why a viewer moves. Their strings are an interface: append, never
// rename.
const (
	CauseLocation  = "location_changed"   // he is in another location, or in none
	CauseRead      = "read_otherwise"     // his URL names another channel or session, or is refused in one of both
	CauseRefused   = "refused"            // his server is there and may not take him
	CauseGone      = "server_gone"        // his server is not in his location's farms, or not in his farm, any more
	CauseOut       = "server_out"         // his server was disabled or drained
	CauseFarmOrder = "farm_order_changed" // another farm comes first for him, by order or split
	CausePolicy    = "policy_changed"     // of his farm
	CauseNew       = "new_server"         // which takes its share of his farm
	CauseBack      = "server_back"        // it was disabled, drained or a last resort
	CauseWeight    = "weight_changed"     // of his server or of the one that he goes to, last_resort included
	CauseLoad      = "bounded_load"       // a server in his way is over its bound
	CauseURL       = "url_changed"        // of his server or of the one that he goes to: scheme or address family
	CauseChance    = "chance"             // first_response without stickiness draws anew
	CauseOther     = "other"
)

// mover finds out who moves between two configurations.
type mover struct {
	old, new *side
	opt      Options
}

// edge is a move from slot to slot with its cause.
type edge struct {
	from, to int32
	why      string
}

// compare replays the viewers of one side through another. Those who watch under
// first_response keep their server while it takes them, as they do in service.
func compare(old, other *side, opt Options) *Against {
	m := &mover{old, other, opt}
	to := make([]int32, len(old.viewers))
	workers := opt.Workers
	parallel(workers, len(old.viewers), func(from, until int) {
		c := newChooser(other, opt.Now, nil, nil)
		for i := from; i < until; i++ {
			to[i] = m.goes(c, i)
		}
	})
	a := &Against{Why: []Cause{}, Locations: []LocationMove{}, Farms: []Move{}, Moves: []Move{}, Warnings: m.warnings()}
	edges, why := map[edge]int{}, map[string]int{}
	locations := make([]LocationMove, len(old.table.Locations)+1) // the last: those who had none
	for i := range old.viewers {
		l := &locations[len(locations)-1]
		if at := old.viewers[i].location; at != nowhere {
			l = &locations[at]
		}
		l.Viewers++
		if m.stays(old.chosen[i], to[i]) {
			continue
		}
		l.Moved++
		a.Moved++
		switch {
		case to[i] == nowhere:
			a.Lost++
		case old.chosen[i] == nowhere:
			a.Gained++
		}
		e := edge{old.chosen[i], to[i], m.why(i, to[i])}
		edges[e]++
		why[e.why]++
	}
	a.Share = part(a.Moved, len(old.viewers))
	for cause, n := range why {
		a.Why = append(a.Why, Cause{cause, n})
	}
	slices.SortFunc(a.Why, func(x, y Cause) int { return cmp.Or(-cmp.Compare(x.Viewers, y.Viewers), cmp.Compare(x.Why, y.Why)) })
	for i := range locations {
		l := &locations[i]
		if i < len(old.table.Locations) {
			l.Location = old.table.Locations[i].Name
		}
		if l.Share = part(l.Moved, l.Viewers); l.Viewers > 0 {
			a.Locations = append(a.Locations, *l)
		}
	}
	m.list(a, edges)
	m.outlook(a)
	return a
}

// goes returns the slot of the other side that a viewer comes to.
func (m *mover) goes(c *chooser, viewer int) int32 {
	fresh := m.new.chosen[viewer]
	at := m.old.chosen[viewer]
	if at == nowhere || fresh == nowhere || m.new.slots[fresh].farm.Policy != farms.FirstResponse || m.new.table.Rules.Sticky <= 0 {
		return fresh
	}
	server := m.old.slots[at].member.Server
	if _, there := m.new.servers[server.Name]; !there {
		return fresh
	}
	kept, _ := c.chooseFrom(viewer, chance(viewer, 0), server.ID)
	return kept
}

// stays tells whether both slots are the same server. A server is its name.
func (m *mover) stays(from, to int32) bool {
	if from == nowhere || to == nowhere {
		return from == to
	}
	return m.old.slots[from].member.Server.Name == m.new.slots[to].member.Server.Name
}

// why returns the first cause, from the outermost step of a decision to the
// innermost, that sets both decisions of a viewer apart.
func (m *mover) why(viewer int, to int32) string {
	x, y := &m.old.viewers[viewer], &m.new.viewers[viewer]
	switch {
	case x.location == nowhere && x.reason != farms.ReasonNoLocation, y.location == nowhere && y.reason != farms.ReasonNoLocation:
		return CauseRead
	case m.locationName(m.old, x) != m.locationName(m.new, y):
		return CauseLocation
	}
	from := m.old.chosen[viewer]
	if from == nowhere {
		return m.whyServed(m.old.table.Locations[x.location], m.new.slots[to].member)
	}
	after := memberOf(m.new.table.Locations[y.location].Farms, m.old.slots[from].member.Server.Name)
	switch {
	case after == nil:
		return CauseGone
	case m.state(after) != farms.StateEnabled:
		return CauseOut
	case to == nowhere:
		return CauseRefused
	default:
		return m.whyOther(viewer, from, to)
	}
}

// whyServed is why one who was refused in l is served by a server.
func (m *mover) whyServed(l *farms.Location, by *farms.Member) string {
	switch before := memberOf(l.Farms, by.Server.Name); {
	case before == nil:
		return CauseNew
	case m.state(before) != farms.StateEnabled:
		return CauseBack
	case before.Server.Endpoint != by.Server.Endpoint || before.Server.HTTPSURL != by.Server.HTTPSURL:
		return CauseURL
	default:
		return CauseOther
	}
}

// whyOther is why one who is served by both is given another server though his
// own is still there.
func (m *mover) whyOther(viewer int, from, to int32) string {
	x, y := &m.old.viewers[viewer], &m.new.viewers[viewer]
	oldOrder := farms.Order(m.old.table.Locations[x.location], x.session, nil)
	newOrder := farms.Order(m.new.table.Locations[y.location], y.session, nil)
	a, b := m.old.slots[from], m.new.slots[to]
	if a.farm.Name != b.farm.Name && !sameOrder(oldOrder, newOrder) {
		return CauseFarmOrder
	}
	// Both members on both sides, nil where the farm has not got them.
	aNew := memberOf(named(newOrder, a.farm.Name), a.member.Server.Name)
	bOld := memberOf(named(oldOrder, b.farm.Name), b.member.Server.Name)
	switch {
	case a.farm.Name == b.farm.Name && a.farm.Policy != b.farm.Policy:
		return CausePolicy
	case aNew == nil:
		return CauseGone
	case bOld == nil:
		return CauseNew
	case !regular(bOld, m.opt.Now) && regular(b.member, m.opt.Now):
		return CauseBack
	case x.session != y.session, m.old.channels[x.channel] != m.new.channels[y.channel]:
		return CauseRead
	case aNew.Weight != a.member.Weight, aNew.LastResort != a.member.LastResort, bOld.Weight != b.member.Weight, bOld.LastResort != b.member.LastResort:
		return CauseWeight
	case a.farm.BoundedLoad > 0, b.farm.BoundedLoad > 0:
		return CauseLoad
	case aNew.Server.Endpoint != a.member.Server.Endpoint, bOld.Server.Endpoint != b.member.Server.Endpoint:
		return CauseURL
	case b.farm.Policy == farms.FirstResponse:
		return CauseChance
	default:
		return CauseOther
	}
}

func (m *mover) state(member *farms.Member) farms.State {
	return farms.Overrides(nil).State(member.Server, m.opt.Now)
}

// named returns the farm of this name alone.
func named(list []*farms.Farm, name string) []*farms.Farm {
	for i, f := range list {
		if f.Name == name {
			return list[i : i+1]
		}
	}
	return nil
}

func (m *mover) locationName(s *side, v *seen) string {
	if v.location == nowhere {
		return ""
	}
	return s.table.Locations[v.location].Name
}

// memberOf finds a server among farms by its name.
func memberOf(list []*farms.Farm, name string) *farms.Member {
	for _, f := range list {
		for i := range f.Members {
			if f.Members[i].Server.Name == name {
				return &f.Members[i]
			}
		}
	}
	return nil
}

// sameOrder tells whether two orders name the same farms.
func sameOrder(a, b []*farms.Farm) bool {
	return slices.EqualFunc(a, b, func(x, y *farms.Farm) bool { return x.Name == y.Name })
}

// list writes down the moves, by farm and by server.
func (m *mover) list(a *Against, edges map[edge]int) {
	byFarm := map[Move]int{}
	byServer := map[Move]int{}
	for e, n := range edges {
		out := Move{Why: e.why}
		if e.from != nowhere {
			out.FromFarm, out.FromServer = m.old.slots[e.from].farm.Name, m.old.slots[e.from].member.Server.Name
		}
		if e.to != nowhere {
			out.ToFarm, out.ToServer = m.new.slots[e.to].farm.Name, m.new.slots[e.to].member.Server.Name
		}
		byServer[out] += n
		byFarm[Move{FromFarm: out.FromFarm, ToFarm: out.ToFarm}] += n
	}
	a.Farms, _ = greatest(byFarm)
	a.Moves, a.Other = greatest(byServer)
}

// greatest sorts moves by their viewers and returns the first [MaxMoves], and how
// many viewers the others have.
func greatest(moves map[Move]int) (list []Move, rest int) {
	list = []Move{}
	for move := range maps.Keys(moves) {
		move.Viewers = moves[move]
		list = append(list, move)
	}
	slices.SortFunc(list, func(x, y Move) int {
		return cmp.Or(-cmp.Compare(x.Viewers, y.Viewers), cmp.Compare(x.FromFarm, y.FromFarm), cmp.Compare(x.FromServer, y.FromServer),
			cmp.Compare(x.ToFarm, y.ToFarm), cmp.Compare(x.ToServer, y.ToServer), cmp.Compare(x.Why, y.Why))
	})
	for _, move := range list[min(len(list), MaxMoves):] {
		rest += move.Viewers
	}
	return list[:min(len(list), MaxMoves)], rest
}

// outlook writes down the shares of all servers of both sides.
func (m *mover) outlook(a *Against) {
	before, after := m.old.tally(), m.new.tally()
	for i, server := range m.old.table.Servers {
		out := ServerOutlook{Server: server.Name, Before: part(before.servers[i], before.served)}
		if at, ok := m.new.servers[server.Name]; ok {
			out.After = part(after.servers[at], after.served)
		}
		a.Servers = append(a.Servers, out)
	}
	for i, server := range m.new.table.Servers {
		if _, ok := m.old.servers[server.Name]; !ok {
			a.Servers = append(a.Servers, ServerOutlook{Server: server.Name, After: part(after.servers[i], after.served)})
		}
	}
}

// warnings says what moves by other rules than the hashes.
func (m *mover) warnings() []string {
	out := []string{}
	for _, f := range m.new.table.Farms {
		if f.Policy == farms.FirstResponse && m.new.table.Rules.Sticky > 0 {
			out = append(out, fmt.Sprintf("farm %q has policy first_response: viewers keep their server while it takes them, and only those who come anew are spread; the shares are of those who come anew", f.Name))
		}
	}
	return out
}
