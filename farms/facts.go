package farms

import (
	"slices"
	"time"
)

// Condition is what the status probes say of a server.
type Condition uint8

// The conditions.
const (
	ConditionUnknown Condition = iota // not asked yet: usable, its content must be asked for
	ConditionUp
	ConditionDown
)

// Reach tells in which address families a server's names resolve.
type Reach uint8

// The reaches. ReachUnknown counts as both.
const (
	ReachUnknown Reach = 0
	ReachV4      Reach = 1
	ReachV6      Reach = 2
	ReachBoth    Reach = 3
)

// Health is what is known about one endpoint, apart from any content.
type Health struct {
	Condition Condition
	Since     time.Time     // when Condition began
	Reason    string        // the last failure in words, bounded
	RTT       time.Duration // smoothed response time of our probes, 0 unknown
	WarmFrom  time.Time     // when it came back up after a failure; zero when it never failed
	Reach     Reach
	Probed    time.Time // end of the last status probe, zero before the first
	Answers   int       // to probes of content, those aside that say nothing about it
	Guarded   int       // of Answers: 401 and 403
}

// Presence is what a server said about one content.
type Presence uint8

// The presences.
const (
	Unasked Presence = iota
	Present          // it has it
	Absent           // it said it has not
	Guarded          // 401 or 403: it may have it
	Trouble          // 5xx, timeout, unreadable: it says nothing about the content
)

var presenceNames = [...]string{"unasked", "present", "absent", "guarded", "trouble"}

// String returns the presence's word.
func (p Presence) String() string { return nameOf(presenceNames[:], uint8(p)) }

// ParsePresence is the inverse of [Presence.String].
func ParsePresence(s string) (Presence, bool) {
	i := slices.Index(presenceNames[:], s)
	return Presence(max(i, 0)), i >= 0
}

// Where the ranges of a fact come from.
const (
	SourceAPI      = "api"      // the vendor's interface
	SourcePlaylist = "playlist" // what the playlist of the window lists
)

// Fact is what is known about (endpoint, content), with its age.
type Fact struct {
	Endpoint     Endpoint
	Presence     Presence
	Kind         Kind      // what the answer turned out to be, when Present
	Frozen       bool      // live, Present, and not moving
	Multivariant bool      // the manifest is an HLS multivariant playlist
	At           time.Time // when the answer came
	FreshUntil   time.Time // end of its age: until then it is believed without question
	ServeUntil   time.Time // a present fact serves until then while it is refreshed
	HeldAt       time.Time // when the server last had the content, zero never
	MovedAt      time.Time // live: when the playlist was last seen to move
	Detail       string    // the answer in words, bounded

	// Of a window.
	Ranges   []Range       // recorded, ascending, disjoint
	Unplaced time.Duration // recorded, position unknown
	Segment  time.Duration // length of a segment: what coverage may be off by
	Source   string        // SourceAPI or SourcePlaylist
	Until    int64         // end of what is recorded, beyond the window too, in unix milliseconds; 0 unknown
	Ended    bool          // nothing will be added, though the window plays on
	ErodedAt time.Time     // when the oldest end was last seen to fall off, zero never
}

// Known is all that is known about one content: an immutable view, replaced as
// a whole when an answer comes.
type Known struct {
	Facts   []Fact        // by ascending Endpoint
	Changed chan struct{} // closed when a newer view has taken this one's place
}

// Of returns the fact of one endpoint, or nil. (The library's binary search
// would copy a whole fact for each comparison.)
func (k *Known) Of(ep Endpoint) *Fact {
	if k == nil {
		return nil
	}
	lo, hi := 0, len(k.Facts)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); k.Facts[mid].Endpoint < ep {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(k.Facts) || k.Facts[lo].Endpoint != ep {
		return nil
	}
	return &k.Facts[lo]
}

// Facts is what Choose reads of the world. Its methods never block, and the
// views they return never change.
type Facts interface {
	// Health returns what is known about an endpoint, nil when nothing is.
	Health(Endpoint) *Health
	// Content returns what is known about a content, nil when nothing is.
	Content(Content) *Known
}

// Loads tells how many sessions each server was given lately.
type Loads interface {
	// Load returns the decaying count of sessions given to a server.
	Load(ServerID) float64
}

// Override is the operator's word about a server at run time; it wins over the
// configuration until it ends.
type Override struct {
	State State
	Until time.Time // zero: without end. For draining: the end of the drain; for the others: of the override
}

// Overrides are the overrides in force, by server name. An immutable view.
type Overrides map[string]Override

// Ended tells whether the override no longer counts at now. A drain's end is
// not the override's: what was drained stays out until the operator says else.
func (o Override) Ended(now time.Time) bool {
	return o.State != StateDraining && !o.Until.IsZero() && !now.Before(o.Until)
}

// State returns the operator's state of s at now: the override, else the
// configuration; a drain that has ended counts as disabled.
func (os Overrides) State(s *Server, now time.Time) State {
	st, until := s.State, s.DrainUntil
	if o, ok := os[s.Name]; ok && !o.Ended(now) {
		st, until = o.State, o.Until
	}
	if st == StateDraining && !until.IsZero() && !now.Before(until) {
		return StateDisabled
	}
	return st
}

// Asked says what became of a wish to ask servers about a content.
type Asked struct {
	Opened   int  // questions that this call began
	Joined   int  // questions that were under way already
	Deferred int  // questions whose server has no place in time
	Busy     bool // the bucket for content never seen is empty: nothing more was begun
}
