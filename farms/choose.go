package farms

import "slices"

// Options of one call of [Choose].
type Options struct {
	Final bool // choose or refuse with what is known: nobody will be asked any more
	Widen bool // the first farm was asked: ask all the others at once
	Hurry bool // half the time is gone: ask everybody of a ranked farm, not the best two alone
	Busy  bool // the question budget was spent: what is unanswered was never asked
	Every bool // judge every farm and give every candidate its why; the choice stays the same
}

// Choice is what [Choose] found.
type Choice struct {
	Chosen *Candidate // nil: nobody, or nobody yet
	Reason Reason     // ReasonOK, or with Options.Final why nobody is chosen

	// Ask lists the servers whose answers could still change the choice. With
	// Chosen set they rank before it and are worth a short wait; without, the
	// choice waits for them. The slice belongs to the scratch.
	Ask []*Server

	// AskFarm is the position in the order of the first farm that Ask belongs
	// to, when Chosen is nil.
	AskFarm int

	// Refresh lists servers worth asking without waiting for them.
	Refresh []*Server

	// Good counts the servers that were as good a choice as Chosen, itself
	// included; Open counts those of its farm that have not answered.
	Good, Open int
}

// Scratch is the memory of one call of [Choose]; it may be used again for the
// next. Its candidates are valid until then.
type Scratch struct {
	// Candidates are the judged servers, farm by farm in the order tried.
	Candidates []Candidate

	decision decision
	spans    []span
	ask      []*Server
	refresh  []*Server
}

// span is the part of the candidates that belongs to one farm.
type span struct{ from, to int }

// decision is what the steps of one Choose share.
type decision struct {
	query   *Query
	world   *World
	rules   *Rules
	opt     Options
	known   *Known // of the content, as the farm at hand reads the URL
	need    Need   // the same of the window
	scratch *Scratch
	channel uint64 // hash of the channel, 0 not yet computed
}

// Choose picks a server for q from the farms in order. It is pure and never
// waits: when it must know more it returns whom to ask, and the caller calls
// again when there are answers, in the end with [Options.Final].
//
// The walk is by rank before farm: servers that are last resorts or out of the
// viewer's address family are looked at only when no farm has another; guarded
// and stale servers only when no farm has one that confirmed the content.
func Choose(order []*Farm, q *Query, w *World, rules *Rules, opt Options, s *Scratch) Choice {
	s.Candidates, s.spans, s.ask, s.refresh = s.Candidates[:0], s.spans[:0], s.ask[:0], s.refresh[:0]
	s.decision = decision{query: q, world: w, rules: rules, opt: opt, known: w.Facts.Content(q.Content), need: q.Need, scratch: s}
	d := &s.decision
	total := 0
	for _, f := range order {
		total += len(f.Members)
	}
	if cap(s.Candidates) < total { // grown at once: pointers to candidates are kept during the walk
		s.Candidates = make([]Candidate, 0, total)
	}
	var choice Choice
	if q.Need != nil {
		choice = d.walkArchive(order)
	} else {
		choice = d.walk(order)
	}
	if choice.Chosen == nil && opt.Final {
		choice.Reason = d.refusal() // before explain, which gives other whys
	}
	if opt.Every {
		for len(s.spans) < len(order) {
			d.judgeFarm(order[len(s.spans)])
		}
		d.explain(&choice)
	}
	choice.Ask, choice.Refresh = s.ask, s.refresh
	return choice
}

// bases are the parts of a rank that are known without asking, best first.
var bases = [...]rank{
	0, rankAvoided, rankLastResort, rankLastResort | rankAvoided,
	rankFamily, rankFamily | rankAvoided, rankFamily | rankLastResort, rankFamily | rankLastResort | rankAvoided,
}

func (d *decision) walk(order []*Farm) Choice {
	if c := d.parent(order); c != nil {
		return Choice{Chosen: c, Reason: ReasonOK, Good: 1}
	}
	var frozen *Candidate
	for _, base := range bases {
		if base == rankFamily && frozen != nil && !d.rules.RefuseFrozen {
			break // a still picture is better than a server out of reach
		}
		var fallback *Candidate // guarded or stale
		unresolved := -1
		for i, f := range order {
			if i == len(d.scratch.spans) {
				d.judgeFarm(f)
			}
			p := d.pick(f, d.scratch.spans[i], base)
			if p.best != nil && p.best.rank == base {
				d.addRefresh(f, d.scratch.spans[i], p.best)
				d.addReturning(d.scratch.spans[:i], base)
				return Choice{Chosen: p.best, Reason: ReasonOK, Good: p.good, Open: p.open}
			}
			if p.best != nil && p.best.rank&rankFrozen == 0 && (fallback == nil || p.best.rank < fallback.rank) {
				fallback = p.best
			}
			if p.frozen != nil && (frozen == nil || fresher(p.frozen, frozen)) {
				frozen = p.frozen
			}
			if p.asks {
				if !d.opt.Widen {
					return Choice{AskFarm: i}
				}
				if unresolved < 0 {
					unresolved = i
				}
			}
		}
		if unresolved >= 0 {
			return Choice{AskFarm: unresolved}
		}
		if fallback != nil {
			if d.query.Content.Kind == KindChild && fallback.Why != WhyGuarded {
				fallback.Why = WhyChosen // nothing is known of it, as of most children
			}
			d.addRefresh(fallback.Farm, d.spanOf(order, fallback.Farm), fallback)
			return Choice{Chosen: fallback, Reason: ReasonOK, Good: 1}
		}
	}
	if frozen != nil && !d.rules.RefuseFrozen {
		d.addRefresh(frozen.Farm, d.spanOf(order, frozen.Farm), frozen)
		return Choice{Chosen: frozen, Reason: ReasonOK, Good: 1}
	}
	return Choice{}
}

// parent returns the candidate that serves the manifest which a child belongs
// to: the session's server, in whatever farm and of whatever rank, because the
// playlists of another name other segments. Nil when it is not known or takes
// nobody.
func (d *decision) parent(order []*Farm) *Candidate {
	if d.query.Content.Kind != KindChild || d.query.Prior == 0 {
		return nil
	}
	for i, f := range order {
		d.judgeFarm(f)
		for at := d.scratch.spans[i].from; at < d.scratch.spans[i].to; at++ {
			c := &d.scratch.Candidates[at]
			if d.query.Moves && c.rank&rankAvoided != 0 {
				continue // its pathway was set aside
			}
			if c.Member.Server.ID == d.query.Prior && c.rank != rankNone && c.answer == answerYes {
				c.Why = WhyKept
				return c
			}
		}
	}
	return nil
}

// fresher compares two frozen candidates: first the lower rank, then the one
// that moved last.
func fresher(a, b *Candidate) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return a.Fact.MovedAt.After(b.Fact.MovedAt)
}

func (d *decision) spanOf(order []*Farm, f *Farm) span {
	for i, o := range order {
		if o == f {
			return d.scratch.spans[i]
		}
	}
	return span{}
}

// readAs turns to what f makes of the URL.
func (d *decision) readAs(f *Farm) {
	q := d.query
	if len(q.Others) == 0 {
		return
	}
	content, need := q.Content, q.Need
	for i := range q.Others {
		if slices.Contains(q.Others[i].Farms, f) {
			content, need = q.Others[i].Content, q.Others[i].Need
		}
	}
	d.known, d.need = d.world.Facts.Content(content), need
}

// judgeFarm appends the candidates of f.
func (d *decision) judgeFarm(f *Farm) {
	d.readAs(f)
	s := d.scratch
	from := len(s.Candidates)
	s.Candidates = s.Candidates[:from+len(f.Members)]
	live, ended := false, false
	for i := range f.Members {
		c := &s.Candidates[from+i]
		*c = Candidate{Farm: f, Member: &f.Members[i], Why: WhyNotPicked}
		d.judge(c)
		if c.rank != rankNone && c.answer == answerYes && c.Fact != nil && c.Fact.Presence == Present {
			live = live || c.Fact.Kind == KindLive && !c.Fact.Frozen
			ended = ended || c.Fact.Kind == KindVoD
		}
	}
	cands := s.Candidates[from:]
	if live && ended && d.query.Content.Kind == KindLive {
		for i := range cands {
			if c := &cands[i]; c.rank != rankNone && c.answer == answerYes && c.Fact != nil && c.Fact.Kind == KindVoD {
				c.answer, c.Why = answerNo, WhyEnded
			}
		}
	}
	if f.BoundedLoad > 0 && d.world.Loads != nil {
		d.boundLoad(f, cands)
	}
	s.spans = append(s.spans, span{from, from + len(cands)})
}

// boundLoad puts the servers over their bound behind the others. The bound is
// a multiple of the server's fair share of the load of the farm's usable
// servers, the session about to start included. Last resorts stand idle and
// do not count: they would pull the mean down until everybody else is over it.
func (d *decision) boundLoad(f *Farm, cands []Candidate) {
	var load, weight float64
	for i := range cands {
		if c := &cands[i]; c.rank != rankNone && !c.Member.LastResort {
			load += d.world.Loads.Load(c.Member.Server.ID)
			weight += f.loadWeight(c.Member)
		}
	}
	for i := range cands {
		c := &cands[i]
		if c.rank == rankNone || c.Member.LastResort || weight == 0 {
			continue
		}
		bound := f.BoundedLoad * (load + 1) * f.loadWeight(c.Member) / weight
		if d.world.Loads.Load(c.Member.Server.ID)+1 > max(bound, 1) && d.query.Prior != c.Member.Server.ID {
			c.setBack(WhyOverBound)
		}
	}
}

// loadWeight is a member's part in the fair share: its weight under the
// policies that share by weight, else the same for all.
func (f *Farm) loadWeight(m *Member) float64 {
	if f.Policy == Share || f.Policy == ContentID {
		return float64(m.Weight)
	}
	return 1
}

// addRefresh lists the servers of f whose facts are past their age and worth
// keeping: under first_response all that may serve, else those that rank up to
// the chosen one.
func (d *decision) addRefresh(f *Farm, sp span, chosen *Candidate) {
	if f.Assume || d.query.Content.Kind == KindChild {
		return
	}
	for i := sp.from; i < sp.to; i++ {
		c := &d.scratch.Candidates[i]
		if c.rank == rankNone || c.rank.base() > chosen.rank.base() {
			continue
		}
		stale := c.refresh && c.answer != answerOpen || c.answer == answerOpen
		if stale && (f.Policy == FirstResponse || c == chosen || c.refresh && d.before(f, c, chosen)) {
			d.scratch.refresh = append(d.scratch.refresh, c.Member.Server)
		}
	}
}

// addReturning lists the servers of the farms before the chosen one that are
// guarded or stale, and were so long enough ago: nobody else would ask them, and
// the viewers would stay away from a farm that is well again.
func (d *decision) addReturning(before []span, base rank) {
	if d.query.Content.Kind == KindChild {
		return
	}
	for _, sp := range before {
		for i := sp.from; i < sp.to; i++ {
			c := &d.scratch.Candidates[i]
			if c.rank != rankNone && c.rank.base() <= base && c.answer == answerYes && c.refresh && !c.Farm.Assume {
				d.scratch.refresh = append(d.scratch.refresh, c.Member.Server)
			}
		}
	}
}

// refusal says why nobody is chosen. Only what was judged counts: every farm
// has been walked.
func (d *decision) refusal() Reason {
	var might, seen, refused bool
	now := d.query.Now
	for i := range d.scratch.Candidates {
		c := &d.scratch.Candidates[i]
		fact := c.Fact
		if fact == nil {
			d.readAs(c.Farm)
			fact = d.known.Of(c.Member.Server.Endpoint)
		}
		held := fact != nil && !fact.HeldAt.IsZero()
		seen = seen || held && now.Sub(fact.HeldAt) <= d.rules.OffAir
		switch c.Why {
		case WhyDown:
			might = might || held || now.Sub(c.Health.Since) < d.rules.OffAir
		case WhyUnanswered:
			might = might || !d.opt.Busy
		case WhyTrouble:
			might = true
		case WhyScheme:
			might = might || held // it plays there, only not for this viewer
		case WhyAbsent, WhyEnded:
			refused = true
		case WhyFrozen:
			seen = true
		}
	}
	switch {
	case might:
		return ReasonFarmDown
	case d.opt.Busy:
		return ReasonBusy
	case d.query.Need != nil && refused:
		return ReasonArchiveMissing
	case seen:
		return ReasonOffAir
	case refused:
		return ReasonContentMissing
	default:
		return ReasonFarmDown // nobody said no: nobody could be asked
	}
}

// explain gives every candidate its why after the choice was made.
func (d *decision) explain(choice *Choice) {
	for i := range d.scratch.Candidates {
		c := &d.scratch.Candidates[i]
		if c == choice.Chosen || c.rank == rankNone || c.answer == answerNo {
			continue
		}
		switch {
		case c.rank&rankFamily != 0:
			c.Why = WhyFamily
		case c.answer == answerOpen && c.Fact != nil && c.Fact.Presence == Absent && choice.Chosen != nil:
			c.Why = WhyAbsent // its last word, past its age
		case c.answer == answerOpen && choice.Chosen != nil:
			c.Why = WhyNotNeeded
		case c.answer == answerOpen || c.soft || c.rank&^(rankLastResort|rankAvoided) != 0:
		case c.Why == WhySetAside, c.Why == WhySlow:
		case c.rank&rankAvoided != 0:
			c.Why = WhyAvoided
		case c.rank&rankLastResort != 0:
			c.Why = WhyLastResort
		case choice.Chosen != nil && c.Farm != choice.Chosen.Farm:
			c.Why = WhyNotNeeded
		}
	}
}
