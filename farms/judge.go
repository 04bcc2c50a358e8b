package farms

import "time"

// Query is one viewer's question as the core needs it. Doors translate.
type Query struct {
	Content Content
	Secure  bool      // the viewer came by https
	Reach   Reach     // the viewer's address family, ReachV4 or ReachV6
	Session uint64    // hash of the viewer's identity and the channel
	Prior   ServerID  // the server this session was given last, 0 none
	Sticky  bool      // Prior was given within the sticky time
	Avoid   ServerID  // a server this viewer came back from, 0 none
	Draw    uint64    // randomness of this decision
	Now     time.Time // with a monotonic reading: ages are measured against it
	Need    Need      // the archive window, nil for live and VoD
	Steered *Steered  // what operator and feedback say of pathways, nil nothing
	Moves   bool      // a steering manifest is wanted: what plays can go on elsewhere
	Others  []Reading // how some farms read the same URL otherwise
}

// Reading is what a URL asks of farms that read it otherwise than [Query] says: a
// time that is written without its zone is each farm's own.
type Reading struct {
	Farms   []*Farm
	Content Content
	Need    Need
}

// isChild tells whether the channel, and not the session, says who serves: its
// segments are where their playlist is. A steering manifest is for the session,
// also where nothing but the channel's name is known.
func (q *Query) isChild() bool { return q.Content.Kind == KindChild && !q.Moves }

// Need is the archive window that a viewer asks for, as the core needs it.
type Need interface {
	// Asked is the length of the window, as far as it can be recorded by now.
	Asked() time.Duration
	// Held is how much of it a fact covers, in the way a farm counts.
	Held(f *Fact, opt ArchiveOptions) time.Duration
	// GoesOn tells of a window that plays on whether what comes will be there,
	// too: the recording goes on. Of any other window it is true.
	GoesOn(f *Fact) bool
}

// World is what a decision reads; each view is taken once.
type World struct {
	Facts     Facts
	Loads     Loads // may be nil when no farm has a bounded load
	Overrides Overrides
}

// Candidate is one server of one farm, judged for one query.
type Candidate struct {
	Farm   *Farm
	Member *Member
	Health *Health       // nil: nothing is known
	Fact   *Fact         // nil: nothing is known, or the farm's content is assumed
	Why    Why           // complete only after a decision that judged every farm
	Held   time.Duration // of an archive window: how much of it the server holds

	rank    rank
	answer  answer
	soft    bool // behind the others of its rank: warming, over its bound
	ended   bool // of a window that plays on: its recording does not
	refresh bool // its fact is past its age
	score   score
}

// rank orders candidates across farms: the lower the better. Within a rank the
// earlier farm wins, within a farm its policy decides.
type rank uint8

// The parts of a rank, from the weakest to the strongest reason to come last.
// A server out of the viewer's reach is useless to him, so it comes behind
// everything; a frozen playlist shows a still picture; a last resort is what
// the word says; a server that this viewer came back from does not play for
// him, whatever it does for others, and one whose pathway was set aside waits
// like it until nobody else is left.
const (
	rankGuarded    rank = 1
	rankStale      rank = 2
	rankAvoided    rank = 4
	rankLastResort rank = 8
	rankFrozen     rank = 16
	rankFamily     rank = 32
	rankNone       rank = 255 // not usable
)

// base is the part of a rank that is known without any answer.
func (r rank) base() rank { return r & (rankAvoided | rankLastResort | rankFamily) }

// answer is what the facts say of a candidate that passed the hard gates.
type answer uint8

const (
	answerYes  answer = iota // usable at its rank
	answerNo                 // absent, ended, or of no use for now
	answerOpen               // must be asked before it can be judged
)

// Open tells whether a candidate must be asked before it can be judged.
func (c *Candidate) Open() bool { return c.rank != rankNone && c.answer == answerOpen }

// judge fills in c for its server: hard gates, rank, soft gates, answer.
func (d *decision) judge(c *Candidate) {
	m, q := c.Member, d.query
	s := m.Server
	c.Health = d.world.Facts.Health(s.Endpoint)
	if !d.gate(c) {
		c.rank = rankNone
		return
	}
	if s.outOfReach(q, c.Health) {
		c.rank |= rankFamily
	}
	if q.Avoid == s.ID && q.Avoid != 0 {
		c.rank |= rankAvoided
	}
	if q.Steered != nil {
		if why := q.Steered.of(c.Pathway()); why != WhyNotPicked {
			c.rank |= rankAvoided
			c.Why = why
		}
	}
	if m.LastResort {
		c.rank |= rankLastResort
	}
	switch {
	case c.Farm.Assume:
		c.answer = answerYes
		if d.need != nil {
			c.Held = d.need.Asked()
		}
	case q.Content.Kind == KindChild:
		d.judgeChild(c)
	default:
		d.judgeFact(c)
	}
	if d.warming(c) {
		c.setBack(WhyWarming)
	}
}

// setBack puts c behind the others of its rank. What its server answered stays
// the better why: refusals and alarms are told from it.
func (c *Candidate) setBack(why Why) {
	c.soft = true
	if c.Why == WhyNotPicked {
		c.Why = why
	}
}

// gate applies the hard gates and leaves the why of the one that closed.
func (d *decision) gate(c *Candidate) bool {
	s := c.Member.Server
	switch d.world.Overrides.State(s, d.query.Now) {
	case StateDisabled:
		c.Why = WhyDisabled
		return false
	case StateDraining:
		if d.query.Prior != s.ID {
			c.Why = WhyDraining
			return false
		}
	}
	switch {
	case d.query.Steered != nil && d.query.Steered.of(c.Pathway()) == WhyExcluded:
		c.Why = WhyExcluded
	case c.Health != nil && c.Health.Condition == ConditionDown:
		c.Why = WhyDown
	case s.Base(d.query.Secure) == "":
		c.Why = WhyScheme
	default:
		return true
	}
	return false
}

// outOfReach tells whether the viewer cannot reach s in his address family: its
// URL is a literal of the other one, or its name resolves only there.
func (s *Server) outOfReach(q *Query, h *Health) bool {
	f := s.family
	if q.Secure && s.HTTPSURL != "" {
		f = s.familyHTTPS
	}
	switch f {
	case familyV4:
		return q.Reach == ReachV6
	case familyV6:
		return q.Reach == ReachV4
	}
	return h != nil && h.Reach != ReachUnknown && q.Reach != ReachUnknown && h.Reach&q.Reach == 0
}

// judgeFact judges a candidate by what it said about the content, with the ages
// of the design: believed while fresh, served at most one further age while it
// is refreshed, stale while it cannot be asked.
func (d *decision) judgeFact(c *Candidate) {
	f := d.known.Of(c.Member.Server.Endpoint)
	c.Fact = f
	if f == nil || f.Presence == Unasked {
		c.answer, c.Why = answerOpen, WhyUnanswered
		return
	}
	now := d.query.Now
	c.refresh = !now.Before(f.FreshUntil)
	switch f.Presence {
	case Present:
		switch {
		case c.refresh && !now.Before(f.ServeUntil):
			d.judgeUnanswered(c)
		case f.Frozen:
			c.rank |= rankFrozen
			c.Why = WhyFrozen
		}
		d.judgeHeld(c)
	case Guarded:
		c.rank |= rankGuarded
		c.Why = WhyGuarded
	case Absent:
		c.answer, c.Why = answerNo, WhyAbsent
		if c.refresh {
			c.answer, c.Why = answerOpen, WhyUnanswered
		}
	case Trouble:
		d.judgeUnanswered(c)
		if !c.refresh && c.answer == answerOpen {
			c.answer, c.Why = answerNo, WhyTrouble // asked a moment ago
		}
	}
}

// judgeHeld measures how much of an archive window a candidate holds; who holds
// nothing worth serving has not got it.
func (d *decision) judgeHeld(c *Candidate) {
	if d.need == nil || c.answer != answerYes {
		return
	}
	opt := &c.Farm.Archive
	c.Held = d.need.Held(c.Fact, *opt)
	if c.Held <= 0 || opt.MinCoverage > 0 && float64(c.Held) < opt.MinCoverage*float64(d.need.Asked()) {
		c.answer, c.Why = answerNo, WhyAbsent
		return
	}
	c.ended = !d.need.GoesOn(c.Fact)
}

// judgeUnanswered judges a candidate whose last answer is too old or no answer
// at all. It is stale when it had the content lately and trouble is what it
// answered since (or, in the end, when no answer came in time).
func (d *decision) judgeUnanswered(c *Candidate) {
	f := c.Fact
	held := !f.HeldAt.IsZero() && d.query.Now.Sub(f.HeldAt) <= d.rules.StaleIfError
	if held && (f.Presence == Trouble || d.opt.Final) {
		c.rank |= rankStale
		c.Why = WhyStale
		d.judgeHeld(c)
		if f.Frozen {
			c.rank |= rankFrozen
		}
		return
	}
	c.answer, c.Why = answerOpen, WhyUnanswered
}

// judgeChild judges a candidate for a segment or media playlist, which is never
// asked for: a server known to have the channel, then one about which nothing
// is known.
func (d *decision) judgeChild(c *Candidate) {
	c.Fact = d.known.Of(c.Member.Server.Endpoint)
	c.soft = c.Fact == nil || c.Fact.HeldAt.IsZero() // behind those that had the channel
	switch {
	case c.Fact == nil || c.Fact.Presence == Unasked || c.Fact.Presence == Trouble:
		c.rank |= rankStale
	case c.Fact.Presence == Absent && d.query.Now.Before(c.Fact.FreshUntil):
		c.answer, c.Why = answerNo, WhyAbsent
	case c.Fact.Presence == Absent:
		c.rank |= rankStale
	case c.Fact.Presence == Guarded:
		c.rank |= rankGuarded
		c.Why = WhyGuarded
	case c.Fact.Frozen:
		c.rank |= rankFrozen
		c.Why = WhyFrozen
	}
}

// warming tells whether a server that came back lately is not yet due for this
// session: it takes hash(session, server) < ramp.
func (d *decision) warming(c *Candidate) bool {
	h := c.Health
	if h == nil || h.WarmFrom.IsZero() || d.rules.SlowStart <= 0 {
		return false
	}
	elapsed := d.query.Now.Sub(h.WarmFrom)
	if elapsed >= d.rules.SlowStart {
		return false
	}
	draw := mix(d.query.Session, c.Member.Server.ID^warmSalt) >> 32
	return float64(draw) >= float64(elapsed)/float64(d.rules.SlowStart)*(1<<32)
}

// warmSalt keeps the slow start's draw apart from the rendezvous draw of the
// same session and server.
const warmSalt ServerID = 0x5741524d
