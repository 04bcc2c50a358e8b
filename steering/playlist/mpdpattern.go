package playlist

import "math/bits"

// maxPatternEntries bounds the entries of the patterns of one SegmentTimeline.
const maxPatternEntries = 4096

// durationPattern is a Pattern of a SegmentTimeline: the lengths of segments
// that an S repeats in turn instead of giving one (ISO/IEC 23009-1, 6th edition,
// §5.3.9.6).
type durationPattern struct {
	id       uint64
	runs     []patternRun
	segments uint64 // of one round
	length   uint64 // of one round, in units of the timescale
	longest  uint64 // of a segment
}

// patternRun is a P: so many segments of one length.
type patternRun struct{ length, segments uint64 }

func readPattern(xml *xmlReader, parent element, room int) (durationPattern, error) {
	id, err := parent.number("id", 0)
	p := durationPattern{id: id}
	if err != nil {
		return p, err
	}
	err = xml.children(func(child element) error {
		if child.Name.Local != "P" {
			return nil
		}
		length, err := child.number("d", 0)
		if err != nil {
			return err
		}
		repeat, err := child.number("r", 0)
		switch {
		case err != nil:
			return err
		case length == 0:
			return child.fail("P has no duration, expected d with the length of a segment")
		case repeat > maxRepeat:
			return child.fail("P@r is %d, expected at most %d", repeat, maxRepeat)
		case len(p.runs) == room:
			return child.fail("the patterns have more than %d entries", maxPatternEntries)
		}
		end, ok := addRun(p.length, repeat+1, length)
		if !ok {
			return child.fail("Pattern is longer than 2^63 units")
		}
		p.runs = append(p.runs, patternRun{length, repeat + 1})
		p.segments, p.length, p.longest = p.segments+repeat+1, end, max(p.longest, length)
		return nil
	})
	if err == nil && len(p.runs) == 0 {
		return p, parent.fail("Pattern has no entry, expected P with the length of a segment")
	}
	return p, err
}

// of returns how long n segments are, the first of which is the pattern's segment
// number from, counted from 0 and round again.
func (p *durationPattern) of(from, n uint64) (length uint64, ok bool) {
	hi, rounds := bits.Mul64(n/p.segments, p.length)
	if hi != 0 {
		return 0, false
	}
	from, n = from%p.segments, n%p.segments
	for i := 0; n > 0; i = (i + 1) % len(p.runs) {
		run := p.runs[i]
		if from >= run.segments {
			from -= run.segments
			continue
		}
		take := min(run.segments-from, n)
		length += take * run.length
		n, from = n-take, 0
	}
	length, carry := bits.Add64(length, rounds, 0)
	return length, carry == 0 && length < 1<<63
}
