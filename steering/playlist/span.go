package playlist

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// maxSpans bounds the pieces a recording may be in. A month with a fault every five minutes has fewer.
const maxSpans = 10_000

// Span is a stretch of recorded time, in unix milliseconds; To is not part of it.
type Span struct{ From, To int64 }

// Recorded is what an archive playlist holds.
//
// Where one segment does not begin exactly where the one before ended, it still goes on: a step from one segment to the
// next of at most 1.5 times the first one's duration is no gap. Encoders round durations, in old playlists to whole
// seconds, and a lost segment makes a step of 2. A segment marked EXT-X-GAP is a gap however short it is.
type Recorded struct {
	// Spans are the stretches whose place on the wall clock is known: in ascending order, apart from each other, none
	// empty. Where dates jump back (a clock was corrected) stretches overlap and become one. Dates outside 2000 to 2099
	// are no dates.
	Spans []Span
	// Unplaced is the sum of the durations of what is there without any wall clock: nobody can say which part it is.
	Unplaced time.Duration
	// Segment is the longest segment seen, as long as it claims to be; 0 when there is none. Recordings are cut at
	// segments, so that is how exact Spans are.
	Segment time.Duration
	// Ended says that nothing will be added: EXT-X-ENDLIST, a playlist of type VOD, a static MPD, a Smooth manifest that is
	// not live.
	Ended bool
	// OpenSince is where a live MPD begins to promise segments by rule, without a list and without an end ($Number$ alone,
	// a last S with r="-1"). Zero when it does not. Only a caller knows how far that is: see SpansAt.
	OpenSince time.Time
	// Depth is how far back from now such a promise holds, MPD@timeShiftBufferDepth; 0 means without limit.
	Depth time.Duration
	// Multivariant says that this is an HLS multivariant playlist: there are no segments here; judge a variant.
	Multivariant bool
	// ServerError is the text of EXT-X-ERROR, never empty when the tag is there. Then nothing is recorded.
	ServerError string
}

// SpansAt returns Spans and what OpenSince and Depth promise up to now, in unix milliseconds, as Spans are: ascending and
// apart.
func (r *Recorded) SpansAt(now int64) []Span {
	if r.OpenSince.IsZero() {
		return r.Spans
	}
	from := r.OpenSince.UnixMilli()
	if depth := r.Depth.Milliseconds(); depth > 0 {
		from = max(from, now-depth)
	}
	if from >= now {
		return r.Spans
	}
	return mergeSpans(append(slices.Clone(r.Spans), Span{from, now}))
}

// spanList gathers stretches, in milliseconds or in whatever units a document counts. The zero value is empty.
type spanList struct {
	spans  []Span
	bridge int64 // how far on from the last span the next one may begin without a gap
	full   bool  // there are too many pieces, and some are missing here
}

// add appends a stretch after which a hole of up to bridge is no gap.
func (l *spanList) add(from, to, bridge int64) {
	if from >= to || l.full {
		return
	}
	before := l.bridge
	l.bridge = bridge
	if n := len(l.spans); n > 0 {
		last := &l.spans[n-1]
		if last.From <= from && from-last.To <= before {
			last.To = max(last.To, to)
			return
		}
	}
	if l.spans = append(l.spans, Span{from, to}); len(l.spans) > 2*maxSpans {
		l.merge() // pieces that overlap may be many; those that are left are what counts
	}
}

// cut says that whatever comes next does not go on from here unless it begins exactly here.
func (l *spanList) cut() { l.bridge = 0 }

// addRun appends segments of a list that counts units; that none of its times is beyond 63 bits is checked where it is
// read.
func (l *spanList) addRun(from, to, segment uint64) {
	l.add(int64(from), int64(to), int64(segment/2))
}

// merge puts the spans in order and makes one of those that touch or overlap.
func (l *spanList) merge() {
	l.spans = mergeSpans(l.spans)
	l.full = l.full || len(l.spans) > maxSpans
}

// mergeSpans sorts spans in place and makes one of those that touch or overlap.
func mergeSpans(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	merged := spans[:1]
	for _, next := range spans[1:] {
		if last := &merged[len(merged)-1]; next.From <= last.To {
			last.To = max(last.To, next.To)
		} else {
			merged = append(merged, next)
		}
	}
	return merged
}

// recording is a Recorded in the making.
type recording struct {
	Recorded
	placed spanList // unix milliseconds
}

// place adds a stretch of the wall clock, after which a hole of up to bridge is no gap. When that is no time of day, only
// how long it is counts.
func (r *recording) place(from, to int64, bridge time.Duration) {
	if !onWallClock(from) || !onWallClock(to) {
		r.unplaced(time.Duration(min(max(0, to-from), longest.Milliseconds())) * time.Millisecond)
		return
	}
	r.placed.add(from, to, bridge.Milliseconds())
}

func (r *recording) unplaced(length time.Duration) {
	r.Unplaced = addDuration(r.Unplaced, length)
}

// finish makes the result, or says that it is in too many pieces.
func (r *recording) finish() (*Recorded, error) {
	if r.ServerError != "" {
		return &Recorded{ServerError: r.ServerError, Ended: r.Ended}, nil
	}
	if r.placed.merge(); r.placed.full {
		return nil, fmt.Errorf("the recording is in more than %d pieces, expected at most that many", maxSpans)
	}
	r.Spans = r.placed.spans
	return &r.Recorded, nil
}
