package archive

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Coverage: how much of a window a server holds. Servers tell their recordings
// in seconds, milliseconds or fractions; here they are whole milliseconds.

// MaxRanges bounds a normalized list. A recording with more holes than that is
// no recording.
const MaxRanges = 4096

// The bounds of a range: 1970 to the end of the year 9999. Sums of lengths
// within them cannot overflow.
const maxMilli = maxUnix*1000 + 999

// Range is a range of time in Unix milliseconds, To not included.
type Range = farms.Range

// RangeOf returns the range from start to end.
func RangeOf(start, end time.Time) Range {
	return Range{From: start.UnixMilli(), To: end.UnixMilli()}
}

// RangeAfter returns the range of a length that begins at from, both in Unix
// milliseconds. Nonsense, which servers do say, gives an empty range.
func RangeAfter(from, length int64) Range {
	if from < 0 || from > maxMilli || length <= 0 {
		return Range{}
	}
	return Range{From: from, To: from + min(length, maxMilli-from)}
}

func milli(r Range) int64 {
	if r.Empty() {
		return 0
	}
	return r.To - r.From
}

// clip returns what of r is within bounds.
func clip(r, bounds Range) Range {
	return Range{From: max(r.From, bounds.From), To: min(r.To, bounds.To)}
}

func duration(milli int64) time.Duration {
	if milli > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(milli) * time.Millisecond
}

// Need returns what a server must hold to serve a window: all of it, up to lag
// before now. The last segments are not written yet, and what has not happened
// cannot be held. The second result is false when nothing is left: then it is
// the live channel that must be there.
func Need(w Window, now time.Time, lag time.Duration) (Range, bool) {
	end := w.End
	if last := now.Add(-lag); end.After(last) {
		end = last
	}
	r := clip(RangeOf(w.Start, end), Range{From: 0, To: maxMilli})
	return r, !r.Empty()
}

// Normalize sorts ranges, drops the empty ones and joins those that overlap,
// touch or are no further apart than tolerance. The result is a new list. When
// it would be longer than [MaxRanges], the newest are kept: what is dropped is
// not claimed.
func Normalize(ranges []Range, tolerance time.Duration) []Range {
	bounds := Range{From: 0, To: maxMilli}
	sorted := make([]Range, 0, len(ranges))
	for _, r := range ranges {
		if r = clip(r, bounds); !r.Empty() {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b Range) int { return cmp.Compare(a.From, b.From) })

	slack := max(tolerance, 0).Milliseconds()
	joined := sorted[:0]
	for _, r := range sorted {
		if n := len(joined); n > 0 && r.From-joined[n-1].To <= slack {
			joined[n-1].To = max(joined[n-1].To, r.To)
		} else {
			joined = append(joined, r)
		}
	}
	return slices.Clone(joined[max(0, len(joined)-MaxRanges):])
}

// Held returns how much of need normalized ranges hold in all.
func Held(need Range, ranges []Range) time.Duration {
	first := firstOf(need, ranges)
	if first < len(ranges) && ranges[first].From <= need.From && ranges[first].To >= need.To {
		return duration(milli(need)) // what most servers hold of most programmes: all, in one piece
	}
	var sum int64
	for _, r := range ranges[first:] {
		if r.From >= need.To {
			break
		}
		sum += milli(clip(r, need))
	}
	return duration(sum)
}

// HeldContiguous returns how long normalized ranges hold need from its start
// without a hole: what a server that stops at a hole can play. A hole, or a
// recording that begins late, of up to tolerance is none. It is 0 when the start
// is not held.
func HeldContiguous(need Range, ranges []Range, tolerance time.Duration) time.Duration {
	slack := max(tolerance, 0).Milliseconds()
	end := need.From
	var sum int64
	for _, r := range within(need, ranges) {
		part := clip(r, need)
		if part.From-end > slack {
			break
		}
		sum += milli(part)
		end = part.To
	}
	return duration(sum)
}

// Gaps returns what of need normalized ranges do not hold.
func Gaps(need Range, ranges []Range) []Range {
	if need.Empty() {
		return nil
	}
	var gaps []Range
	from := need.From
	for _, r := range within(need, ranges) {
		if gap := (Range{From: from, To: r.From}); !gap.Empty() {
			gaps = append(gaps, gap)
		}
		from = r.To
	}
	if rest := (Range{From: from, To: need.To}); !rest.Empty() {
		gaps = append(gaps, rest)
	}
	return gaps
}

// within returns the normalized ranges that have a part of need.
func within(need Range, ranges []Range) []Range {
	if need.Empty() {
		return nil
	}
	first := firstOf(need, ranges)
	end := first
	for end < len(ranges) && ranges[end].From < need.To {
		end++
	}
	return ranges[first:end]
}

// firstOf returns the index of the first normalized range that ends behind the
// start of need. (A library's search would call a function for each step.)
func firstOf(need Range, ranges []Range) int {
	lo, hi := 0, len(ranges)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); ranges[mid].To <= need.From {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// AsGood reports whether a server that holds so much is as good as the one that
// holds the most: within one segment, or 1 % of the most.
func AsGood(held, most, segment time.Duration) bool {
	return held >= most-max(segment, most/100)
}
