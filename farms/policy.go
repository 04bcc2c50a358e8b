package farms

import "time"

// picked is what a farm's policy makes of its candidates of one base rank.
type picked struct {
	best   *Candidate // the choice; of the base rank itself, or guarded, or stale
	frozen *Candidate // the freshest of those whose playlist stands still
	good   int        // candidates of best's rank
	open   int        // candidates that have not answered
	asks   bool       // questions were added that the choice waits for
}

// pick applies the farm's policy to its candidates of one base rank and, where
// answers are missing that could change the choice, lists whom to ask.
func (d *decision) pick(f *Farm, sp span, base rank) picked {
	cands := d.scratch.Candidates[sp.from:sp.to]
	p := d.best(f, cands, base)
	if d.opt.Final || p.open == 0 || p.best != nil && p.best.Why == WhyKept {
		return p
	}
	confirmed := p.best != nil && p.best.rank == base
	if f.Policy == FirstResponse {
		if confirmed {
			d.askPrior(cands, base)
		} else {
			p.asks = d.askAll(cands, base)
		}
		return p
	}
	if d.opt.Hurry && !confirmed {
		p.asks = d.askAll(cands, base)
	} else {
		p.asks = d.askRanked(f, cands, base, p.best, confirmed)
	}
	return p
}

// best finds the policy's choice among the candidates that answered.
func (d *decision) best(f *Farm, cands []Candidate, base rank) picked {
	var p picked
	ranked := f.Policy != FirstResponse || d.query.isChild()
	for i := range cands {
		c := &cands[i]
		if c.rank == rankNone || c.rank.base() != base || c.answer == answerNo {
			continue
		}
		d.prepare(f, c)
		if c.answer == answerOpen {
			p.open++
			continue
		}
		if c.rank&rankFrozen != 0 {
			if p.frozen == nil || fresher(c, p.frozen) {
				p.frozen = c
			}
			continue
		}
		switch {
		case p.best == nil || c.rank < p.best.rank || c.rank == p.best.rank && p.best.soft && !c.soft:
			p.best, p.good = c, 1
		case c.rank == p.best.rank && c.soft == p.best.soft:
			p.good++
			if ranked && d.before(f, c, p.best) {
				p.best = c
			}
		}
	}
	if p.best == nil {
		return p
	}
	if kept := d.kept(f, cands, p.best); kept != nil {
		p.best = kept
		if kept.rank == base { // else it is a fallback: another farm may have better
			kept.Why = WhyKept
		}
		return p
	}
	if !ranked {
		p.best = d.fastest(cands, p.best, p.good)
	}
	if p.best.rank == base {
		p.best.Why = WhyChosen
	}
	return p
}

// prepare computes what ranks c under the farm's policy.
func (d *decision) prepare(f *Farm, c *Candidate) {
	switch {
	case f.Policy == ContentID || d.query.isChild():
		c.score = scoreOf(d.channelKey(), c.Member)
	case f.Policy == Share:
		c.score = scoreOf(d.query.Session, c.Member)
	case f.Policy == ByWeight:
		c.score = score{cost: negLog2(mix(d.query.Session, c.Member.Server.ID)), weight: 1, id: c.Member.Server.ID}
	}
}

// before tells whether a ranks before b under the farm's policy.
func (d *decision) before(f *Farm, a, b *Candidate) bool {
	if a.soft != b.soft {
		return b.soft
	}
	if f.Policy == ByWeight && !d.query.isChild() && a.Member.Weight != b.Member.Weight {
		return a.Member.Weight > b.Member.Weight
	}
	return a.score.before(b.score)
}

// kept returns the candidate where the session was before, when it may stay:
// it is as good as the best, and the session is remembered by the policy
// (first_response) or by a drain (those already there stay).
func (d *decision) kept(f *Farm, cands []Candidate, best *Candidate) *Candidate {
	q := d.query
	if q.Prior == 0 {
		return nil
	}
	for i := range cands {
		c := &cands[i]
		if c.Member.Server.ID != q.Prior || c.rank == rankNone || c.answer != answerYes {
			continue
		}
		if c.rank != best.rank {
			return nil
		}
		draining := d.world.Overrides.State(c.Member.Server, q.Now) == StateDraining
		if draining || f.Policy == FirstResponse && q.Sticky {
			return c
		}
	}
	return nil
}

// fastest draws two of the n candidates that are as good as first and returns
// the one with the shorter response time; times within 20 % or 5 ms of each
// other are equal, then the higher weight, then chance.
func (d *decision) fastest(cands []Candidate, first *Candidate, n int) *Candidate {
	if n < 2 {
		return first
	}
	i := int(d.query.Draw & 0xffffffff * uint64(n) >> 32)
	j := int(d.query.Draw >> 32 * uint64(n-1) >> 32)
	if j >= i {
		j++
	}
	var a, b *Candidate
	k := 0
	for at := range cands {
		c := &cands[at]
		if c.rank != first.rank || c.answer != answerYes || c.soft != first.soft {
			continue
		}
		switch k {
		case i:
			a = c
		case j:
			b = c
		}
		k++
	}
	switch x, y := rtt(a), rtt(b); {
	case !alike(x, y) && x < y:
		return a
	case !alike(x, y):
		return b
	case b.Member.Weight > a.Member.Weight:
		return b
	default:
		return a // the draw's order is chance already
	}
}

func rtt(c *Candidate) time.Duration {
	if c.Health == nil {
		return 0
	}
	return c.Health.RTT
}

// alike tells whether two response times are too close to prefer one; an
// unknown time (0) is like any other.
func alike(a, b time.Duration) bool {
	if a == 0 || b == 0 {
		return true
	}
	lo, hi := min(a, b), max(a, b)
	return hi-lo <= 5*time.Millisecond || hi-lo <= hi/5
}

// askAll lists every candidate of the base rank that has not answered.
func (d *decision) askAll(cands []Candidate, base rank) bool {
	asked := false
	for i := range cands {
		if c := &cands[i]; c.answer == answerOpen && c.rank != rankNone && c.rank.base() == base {
			d.scratch.ask = append(d.scratch.ask, c.Member.Server)
			asked = true
		}
	}
	return asked
}

// askPrior lists the server the session is to keep when that has not answered,
// so that nobody is moved because a fact grew old.
func (d *decision) askPrior(cands []Candidate, base rank) {
	if !d.query.Sticky {
		return
	}
	for i := range cands {
		c := &cands[i]
		if c.Member.Server.ID == d.query.Prior && c.answer == answerOpen && c.rank == base {
			d.scratch.ask = append(d.scratch.ask, c.Member.Server)
		}
	}
}

// askRanked lists those of the best two of the rank that have not answered, so
// that a channel costs its anchor's questions and not the whole farm's. With a
// confirmed choice only those before it count, and an answer that has merely
// grown old ("no") is refreshed without waiting. It returns whether the choice
// waits for the answers.
func (d *decision) askRanked(f *Farm, cands []Candidate, base rank, best *Candidate, confirmed bool) bool {
	var first, second *Candidate
	for i := range cands {
		c := &cands[i]
		if c.rank == rankNone || c.rank.base() != base || c.answer == answerNo {
			continue
		}
		if c.answer == answerYes && c.rank != base {
			continue // guarded, stale or frozen: the next is asked instead
		}
		if confirmed && c.Fact != nil && c.Fact.Presence == Absent {
			continue // addRefresh sees to it
		}
		switch {
		case first == nil || d.before(f, c, first):
			first, second = c, first
		case second == nil || d.before(f, c, second):
			second = c
		}
	}
	asked := false
	for _, c := range [...]*Candidate{first, second} {
		if c == nil || c.answer != answerOpen || confirmed && !d.before(f, c, best) {
			continue
		}
		d.scratch.ask = append(d.scratch.ask, c.Member.Server)
		asked = true
	}
	return asked && !confirmed
}

// channelKey is the rendezvous key of the channel.
func (d *decision) channelKey() uint64 {
	if d.channel == 0 {
		d.channel = hashChannel(d.query.Content.Channel)
	}
	return d.channel
}
