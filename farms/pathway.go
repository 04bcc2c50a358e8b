package farms

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Pathway is what content steering calls the unit a player prefers or leaves: a
// farm, or under [Spec].PathwayPerServer each server.
type Pathway struct {
	ID     string
	Hash   uint64  // fixed hash of ID
	Farm   *Farm   // nil when it is a server
	Server *Server // nil when it is a farm
}

// Base returns the URL, without trailing slash, under which viewers of the given
// scheme find the pathway's content; "" when it cannot serve that scheme.
func (p *Pathway) Base(secure bool) string {
	switch {
	case p.Server != nil:
		return p.Server.Base(secure)
	case p.Farm.PublicURL == "":
		return p.Farm.Members[0].Server.Base(secure)
	case secure && !strings.HasPrefix(p.Farm.PublicURL, "https:"):
		return ""
	default:
		return p.Farm.PublicURL
	}
}

func newPathway(id string, f *Farm, s *Server) *Pathway {
	return &Pathway{ID: id, Hash: PathwayHash(id), Farm: f, Server: s}
}

// PathwayHash is the hash of a pathway's id, as [Pathway.Hash] has it.
func PathwayHash(id string) uint64 { return xxhash.Sum64String("pathway\x00" + id) }

// Pathway returns the pathway that the candidate belongs to.
func (c *Candidate) Pathway() *Pathway {
	if p := c.Member.Server.Pathway; p != nil {
		return p
	}
	return c.Farm.Pathway
}

// PathwayAction is what the operator wants of a pathway.
type PathwayAction uint8

// The actions.
const (
	PathwayPin     PathwayAction = iota // before all others, while it is well
	PathwayExclude                      // not at all, while another remains
	PathwayDrain                        // after all others that are well
)

var pathwayActionNames = [...]string{"pin", "exclude", "drain"}

// String returns the action's word in the admin API.
func (a PathwayAction) String() string { return nameOf(pathwayActionNames[:], uint8(a)) }

// ParsePathwayAction is the inverse of [PathwayAction.String].
func ParsePathwayAction(s string) (PathwayAction, bool) {
	i := slices.Index(pathwayActionNames[:], s)
	return PathwayAction(max(i, 0)), i >= 0
}

// PathwayScope is for whom a [PathwayOverride] holds; an empty part is all.
type PathwayScope struct {
	Location string // name or index
	Channel  string
}

// PathwayOverride is the operator's word about a pathway at run time. It binds
// redirects and steering manifests alike.
type PathwayOverride struct {
	Pathway string
	Action  PathwayAction
	Until   time.Time // zero: without end
}

// Ended tells whether the override no longer counts at now.
func (o *PathwayOverride) Ended(now time.Time) bool {
	return !o.Until.IsZero() && !now.Before(o.Until)
}

// Steered is what operator and player feedback say of the pathways, for one
// decision.
type Steered struct {
	pinned            string   // "" none
	excluded, drained []string // ids
	slow              uint64   // hash of the pathway that gives this session too little, 0 none
}

// PathwayOverrides are the overrides of pathways in force, by scope. An immutable
// view.
type PathwayOverrides map[PathwayScope][]PathwayOverride

// Steered collects what holds for a channel's viewers in l at now; slow is the
// hash of the pathway that feedback has set aside for this session, 0 none. Of
// several pins the one whose scope says more wins; when every pathway would be
// excluded, none is. It returns nil when nothing holds.
func (os PathwayOverrides) Steered(l *Location, channel string, slow uint64, now time.Time) *Steered {
	if len(os) == 0 && slow == 0 {
		return nil
	}
	s := &Steered{slow: slow}
	for i, scope := range [...]PathwayScope{{l.Name, channel}, {"", channel}, {l.Name, ""}, {"", ""}} {
		if channel == "" && i >= 2 {
			break // looked at already
		}
		for i := range os[scope] {
			o := &os[scope][i]
			if o.Ended(now) {
				continue
			}
			switch o.Action {
			case PathwayPin:
				if s.pinned == "" {
					s.pinned = o.Pathway
				}
			case PathwayExclude:
				s.excluded = append(s.excluded, o.Pathway)
			case PathwayDrain:
				s.drained = append(s.drained, o.Pathway)
			}
		}
	}
	if len(s.excluded) > 0 && !s.leaves(l) {
		s.excluded = nil
	}
	if s.pinned == "" && s.excluded == nil && s.drained == nil && slow == 0 {
		return nil
	}
	return s
}

// leaves tells whether a pathway of l is not excluded.
func (s *Steered) leaves(l *Location) bool {
	for _, f := range l.Farms {
		for i := range f.Members {
			c := Candidate{Farm: f, Member: &f.Members[i]}
			if !slices.Contains(s.excluded, c.Pathway().ID) {
				return true
			}
		}
	}
	return false
}

// Pins tells whether the pathway of this id was pinned.
func (s *Steered) Pins(id string) bool { return s != nil && s.pinned == id }

// Excludes tells whether the pathway of this id was excluded.
func (s *Steered) Excludes(id string) bool { return s != nil && slices.Contains(s.excluded, id) }

// Drains tells whether the pathway of this id was drained.
func (s *Steered) Drains(id string) bool { return s != nil && slices.Contains(s.drained, id) }

// Slow tells whether feedback has set the pathway of this id aside.
func (s *Steered) Slow(id string) bool { return s != nil && s.slow != 0 && s.slow == PathwayHash(id) }

// of returns what s says of a pathway: WhyExcluded, WhySetAside, WhySlow, or
// WhyNotPicked for nothing. A pin sets every other aside.
func (s *Steered) of(p *Pathway) Why {
	switch {
	case slices.Contains(s.excluded, p.ID):
		return WhyExcluded
	case s.pinned != "" && s.pinned != p.ID, slices.Contains(s.drained, p.ID):
		return WhySetAside
	case s.slow != 0 && s.slow == p.Hash && s.pinned != p.ID:
		return WhySlow
	default:
		return WhyNotPicked
	}
}

// Standing is one pathway's place in a steering manifest.
type Standing struct {
	Pathway *Pathway
	Why     Why     // of its best candidate
	Well    bool    // it serves or may serve the content
	Open    *Server // whose answer would tell more about it, nil when it is known
	class   class
	at      int // of its best candidate, in the order judged
	score   score
}

// class orders pathways, best first. The list of a manifest is never empty, so
// that those that are not well stand at its end.
type class uint8

const (
	classChosen     class = iota
	classGood             // has the content
	classOpen             // has not answered
	classSetAside         // by the operator, by feedback, or because this viewer came back from it
	classLastResort       // only when nobody else is left
	classDoubtful         // guarded, stale, frozen, out of the viewer's address family
	classNotWell          // down, draining, without the content
	classOmitted          // excluded, disabled, or of the wrong scheme
)

// MaxPathways bounds the pathways of one manifest.
const MaxPathways = 16

// RankPathways orders the pathways of the candidates that a [Choose] with
// Options.Every judged: the choice's first, then those that are well in the
// order of the farms, then the others. Under a level of servers those of one
// farm follow in the order of a rendezvous draw, so that sessions whose first
// fails spread. At most [MaxPathways] are returned, in buf when it is large
// enough; none only when there are no candidates.
func RankPathways(cands []Candidate, chosen *Candidate, session uint64, buf []Standing) []Standing {
	out := buf[:0]
	for i := range cands {
		c := &cands[i]
		st := Standing{Pathway: c.Pathway(), Why: c.Why, class: c.class(c == chosen), at: i}
		if st.class == classOpen || st.class == classDoubtful && c.refresh {
			st.Open = c.Member.Server
		}
		if n := len(out); n > 0 && out[n-1].Pathway == st.Pathway { // of one farm
			if st.class < out[n-1].class {
				st.at = out[n-1].at
				out[n-1] = st
			}
			continue
		}
		if st.Pathway.Server != nil {
			st.at, st.score = c.Farm.Index, scoreOf(session, c.Member)
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b Standing) int {
		if o := cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.at, b.at)); o != 0 || a.Pathway.Server == nil {
			return o
		}
		if a.score.before(b.score) {
			return -1
		}
		return 1
	})
	n := 0
	for _, st := range out {
		if st.class == classOmitted && n > 0 || n == MaxPathways {
			break
		}
		if slices.ContainsFunc(out[:n], func(o Standing) bool { return o.Pathway == st.Pathway }) {
			continue // a server of two farms
		}
		st.Well = st.class <= classLastResort
		out[n] = st
		n++
	}
	return out[:n]
}

// Degraded tells whether something that the pathways' viewers use is not well: a
// pathway, or a server that is down, in trouble or stands still. A server that
// merely lacks a channel is no sign of trouble.
func Degraded(cands []Candidate, standing []Standing) bool {
	for i := range standing {
		if !standing[i].Well {
			return true
		}
	}
	for i := range cands {
		switch cands[i].Why {
		case WhyDown, WhyTrouble, WhyStale, WhyFrozen:
			return true
		}
	}
	return false
}

func (c *Candidate) class(chosen bool) class {
	switch {
	case chosen:
		return classChosen
	case c.Why == WhyExcluded, c.Why == WhyDisabled, c.Why == WhyScheme:
		return classOmitted
	case c.rank == rankNone, c.answer == answerNo:
		return classNotWell
	case c.rank&rankStale != 0 && c.Why != WhyStale && c.Why != WhyChosen:
		return classOpen // a child's: nothing is known of its channel
	case c.rank&(rankGuarded|rankStale|rankFrozen|rankFamily) != 0:
		return classDoubtful
	case c.rank&rankLastResort != 0:
		return classLastResort
	case c.rank&rankAvoided != 0:
		return classSetAside
	case c.answer == answerOpen:
		return classOpen
	default:
		return classGood
	}
}

// Pathways lists the pathways of a location in the configured order, whatever
// their state.
func (l *Location) Pathways() []*Pathway {
	var out []*Pathway
	for _, f := range l.Farms {
		for i := range f.Members {
			c := Candidate{Farm: f, Member: &f.Members[i]}
			if p := c.Pathway(); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
