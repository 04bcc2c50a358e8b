package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Bounds of one answer. What a server sends beyond them is cut off at the old
// end, where the fewest viewers are, and the answer's detail says so.
const (
	maxPage   = 1 << 20 // bytes of one response
	maxPages  = 64      // responses of one question
	maxRanges = 100_000 // ranges kept
)

// maxTime is where believable time ends: the year 3000, in unix milliseconds.
const maxTime = 32_503_680_000_000

// cutShort is the word of an answer that met a bound.
const cutShort = "cut short at the old end"

// span returns the range that begins at from and ends at to, both in unix
// milliseconds. It is false for times that no recording has: not finite, not
// after 1970 (an absent field reads as 0), after the year 3000, or not in order.
func span(from, to float64) (farms.Range, bool) {
	if !(from > 0 && from < to && to <= maxTime) { // not what its negation says: NaN fails every comparison
		return farms.Range{}, false
	}
	r := farms.Range{From: int64(math.Round(from)), To: int64(math.Round(to))}
	return r, r.From > 0 && r.From < r.To
}

// normalise makes rs what an [Answer] promises: valid, ascending, disjoint,
// with those that touch or overlap joined. Of more than maxRanges the newest are
// kept, and cut is true. It works in the memory of rs.
func normalise(rs []farms.Range) (out []farms.Range, cut bool) {
	slices.SortFunc(rs, func(a, b farms.Range) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	out = rs[:0]
	for _, r := range rs {
		if r.From >= r.To {
			continue
		}
		if n := len(out); n > 0 && r.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	if n := len(out) - maxRanges; n > 0 {
		return out[n:], true
	}
	return out, false
}

// recorded is the answer to a question for ranges. unread is how many entries
// made no sense. Nothing readable among them is trouble and not "absent", and so
// is a wish for what an answer that met a bound may have left out.
func recorded(q Question, rs []farms.Range, unread int, cut bool) Answer {
	rs, over := normalise(rs)
	cut = cut || over
	switch {
	case len(rs) == 0 && unread > 0:
		return say(farms.Trouble, "none of its %d ranges can be read", unread)
	case len(rs) == 0 && !cut:
		return Answer{Presence: farms.Absent, All: true, Detail: "it has no recordings"}
	case cut && !meet(rs, q.Need):
		return say(farms.Trouble, "it has more recordings than can be read: %s", cutShort)
	}
	a := say(farms.Present, "%d ranges, %s to %s", len(rs), stamp(rs[0].From), stamp(rs[len(rs)-1].To))
	a.Ranges, a.All = slices.Clone(rs), !cut // what is kept must not hold on to all that was read
	if cut {
		a.Detail += ", " + cutShort
	}
	if unread > 0 {
		a.Detail += fmt.Sprintf(", %d more unreadable", unread)
	}
	return a
}

// meet tells whether some range holds a part of need.
func meet(rs []farms.Range, need farms.Range) bool {
	return slices.ContainsFunc(rs, func(r farms.Range) bool { return r.From < need.To && need.From < r.To })
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
