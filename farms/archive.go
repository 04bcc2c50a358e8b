package farms

import (
	"slices"
	"time"
)

// walkArchive is the walk for an archive window: the greatest coverage wins,
// whichever farm has it; among equals the earliest farm, then its policy. A farm
// whose best holds enough ends the search. Every usable server of a farm is
// asked, because coverage must be compared; one that holds it all ends the wait.
//
// Of a window that plays on, a recording that does not go on comes behind one
// that does and holds nearly as much, and ends neither search nor wait.
func (d *decision) walkArchive(order []*Farm) Choice {
	for _, base := range bases {
		var fallback *Candidate
		var all, going time.Duration // the greatest coverage; and of those whose recording goes on
		holders, unresolved := 0, -1
		var only picked // the choice of the only farm that holds any
		for i, f := range order {
			if i == len(d.scratch.spans) {
				d.judgeFarm(f)
			}
			d.readAs(f)
			need := d.need.Asked()
			cands := d.candidatesOf(i)
			most := d.setBackLess(cands, base)
			p := d.best(f, cands, base)
			confirmed := p.best != nil && p.best.rank == base
			goes := confirmed && !p.best.ended
			full := goes && alikeHeld(p.best, need, most)
			if !d.opt.Final && p.open > 0 && !full && d.askAll(cands, base) {
				if unresolved < 0 {
					unresolved = i
				}
				if !d.opt.Widen {
					return Choice{AskFarm: i}
				}
				continue
			}
			switch {
			case confirmed:
				holders++
				only, all = p, max(all, most)
			case p.best != nil && p.best.rank&rankFrozen == 0 && (fallback == nil || p.best.rank < fallback.rank):
				fallback = p.best
			}
			if goes {
				if going = max(going, most); full || float64(most) >= d.rules.GoodEnough*float64(need) {
					break
				}
			}
		}
		switch {
		case unresolved >= 0:
			return Choice{AskFarm: unresolved}
		case holders > 1:
			return d.chosenArchive(order, d.earliest(order, base, all, going))
		case holders == 1:
			return d.chosenArchive(order, only)
		case fallback != nil && fallback.rank&rankStale != 0: // what they held last is compared like coverage
			all, going = mostHeld(d.scratch.Candidates, fallback.rank)
			if p := d.earliest(order, fallback.rank, all, going); p.best != nil {
				fallback = p.best
			}
			return d.chosenArchive(order, picked{best: fallback, good: 1})
		case fallback != nil:
			return d.chosenArchive(order, picked{best: fallback, good: 1})
		}
	}
	return Choice{}
}

// earliest picks from the first farm that has a server of a rank that is as good
// as the greatest coverage of all: the best of two farms may both be as good as
// that of a third and not as good as each other.
func (d *decision) earliest(order []*Farm, r rank, all, going time.Duration) picked {
	for i := range d.scratch.spans {
		d.setBack(d.candidatesOf(i), r, all, going)
	}
	for i := range d.scratch.spans {
		if p := d.best(order[i], d.candidatesOf(i), r.base()); p.best != nil && p.best.rank == r {
			return p
		}
	}
	return picked{}
}

func (d *decision) candidatesOf(i int) []Candidate {
	sp := d.scratch.spans[i]
	return d.scratch.Candidates[sp.from:sp.to]
}

func (d *decision) chosenArchive(order []*Farm, p picked) Choice {
	d.addRefresh(p.best.Farm, d.spanOf(order, p.best.Farm), p.best)
	d.addReturning(d.scratch.spans[:slices.Index(order, p.best.Farm)], p.best.rank.base())
	return Choice{Chosen: p.best, Reason: ReasonOK, Good: max(p.good, 1), Open: p.open}
}

// mostHeld returns the greatest coverage among the candidates of a rank that
// have any, and the greatest among those whose recording goes on.
func mostHeld(cands []Candidate, r rank) (all, going time.Duration) {
	for i := range cands {
		if c := &cands[i]; c.rank == r && c.answer == answerYes {
			if all = max(all, c.Held); !c.ended {
				going = max(going, c.Held)
			}
		}
	}
	return all, going
}

// setBackLess takes out the candidates of a rank that come behind another one of
// the same farm, and returns the greatest coverage of those that are left.
func (d *decision) setBackLess(cands []Candidate, r rank) time.Duration {
	all, going := mostHeld(cands, r)
	return d.setBack(cands, r, all, going)
}

// setBack takes out the candidates of a rank that hold less than the greatest
// coverage. Where one whose recording goes on holds enough of that, those whose
// recording does not go on are taken out first.
func (d *decision) setBack(cands []Candidate, r rank, all, going time.Duration) (greatest time.Duration) {
	greatest = all
	play := going > 0 && float64(going) >= d.rules.GoodEnough*float64(all)
	if play {
		greatest = going
	}
	for i := range cands {
		c := &cands[i]
		switch {
		case c.rank != r || c.answer != answerYes:
		case c.Held < greatest && !alikeHeld(c, greatest, c.Held):
			c.answer, c.Why = answerNo, WhyHoldsLess
		case play && c.ended:
			c.answer, c.Why = answerNo, WhyEnded
		}
	}
	return greatest
}

// alikeHeld tells whether two coverages are equal: within one segment of the
// candidate's or one percent of the greater.
func alikeHeld(c *Candidate, a, b time.Duration) bool {
	diff := (a - b).Abs()
	var segment time.Duration
	if c.Fact != nil {
		segment = c.Fact.Segment
	}
	return diff <= segment || diff <= max(a, b)/100
}
