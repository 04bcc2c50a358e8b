package farms

import "time"

// walkArchive is the walk for an archive window: the greatest coverage wins,
// whichever farm has it; among equals the earliest farm, then its policy. A farm
// whose best holds enough ends the search. Every usable server of a farm is
// asked, because coverage must be compared; one that holds it all ends the wait.
func (d *decision) walkArchive(order []*Farm) Choice {
	need := d.query.Need.Asked()
	for _, base := range bases {
		var fallback *Candidate
		var greatest time.Duration
		holders, unresolved := 0, -1
		var only picked // the choice of the only farm that holds any
		for i, f := range order {
			if i == len(d.scratch.spans) {
				d.judgeFarm(f)
			}
			cands := d.candidatesOf(i)
			most := mostHeld(cands, base)
			setBackLess(cands, base, most)
			p := d.best(f, cands, base)
			confirmed := p.best != nil && p.best.rank == base
			full := confirmed && alikeHeld(p.best, need, most)
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
				only, greatest = p, max(greatest, most)
			case p.best != nil && p.best.rank&rankFrozen == 0 && (fallback == nil || p.best.rank < fallback.rank):
				fallback = p.best
			}
			if confirmed && (full || float64(most) >= d.rules.GoodEnough*float64(need)) {
				break
			}
		}
		switch {
		case unresolved >= 0:
			return Choice{AskFarm: unresolved}
		case holders > 1:
			return d.chosenArchive(order, d.earliest(order, base, greatest))
		case holders == 1:
			return d.chosenArchive(order, only)
		case fallback != nil:
			return d.chosenArchive(order, picked{best: fallback, good: 1})
		}
	}
	return Choice{}
}

// earliest picks from the first farm that has a server as good as the greatest
// coverage of all: the best of two farms may both be as good as that of a third
// and not as good as each other.
func (d *decision) earliest(order []*Farm, base rank, greatest time.Duration) picked {
	for i := range d.scratch.spans {
		setBackLess(d.candidatesOf(i), base, greatest)
	}
	for i := range d.scratch.spans {
		if p := d.best(order[i], d.candidatesOf(i), base); p.best != nil && p.best.rank == base {
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
	return Choice{Chosen: p.best, Reason: ReasonOK, Good: max(p.good, 1), Open: p.open}
}

// mostHeld returns the greatest coverage that a candidate of a base rank
// confirmed.
func mostHeld(cands []Candidate, base rank) (most time.Duration) {
	for i := range cands {
		if c := &cands[i]; c.rank == base && c.answer == answerYes {
			most = max(most, c.Held)
		}
	}
	return most
}

// setBackLess takes out the candidates of a base rank that confirmed and hold
// less than the greatest coverage.
func setBackLess(cands []Candidate, base rank, greatest time.Duration) {
	for i := range cands {
		if c := &cands[i]; c.rank == base && c.answer == answerYes && !alikeHeld(c, greatest, c.Held) {
			c.answer, c.Why = answerNo, WhyHoldsLess
		}
	}
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
