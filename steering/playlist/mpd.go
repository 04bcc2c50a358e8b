package playlist

import (
	"cmp"
	"strings"
	"time"
)

const (
	rootMPD   = "MPD"
	maxRepeat = 1 << 31 // segments one S may stand for, so that a count of them cannot overflow
)

// MPD is what a judge needs to know of a DASH manifest (ISO/IEC 23009-1).
type MPD struct {
	// Dynamic is type="dynamic": live, or an event that is still being recorded.
	Dynamic bool
	// AvailabilityStart is the instant that Period times count from, in UTC; zero when absent. MistServer leaves the zone
	// out, which means UTC, and writes another instant on every request.
	AvailabilityStart time.Time
	// Duration is mediaPresentationDuration; for a static MPD without it, the sum of the Periods, each as long as it says
	// or as the longest timeline in it. 0 when unknown.
	Duration time.Duration
	// TimeShiftBufferDepth is how far back a live viewer can go; 0 means without limit.
	TimeShiftBufferDepth time.Duration
	// MinimumUpdatePeriod is how often players look again; 0 when absent or when it says at once.
	MinimumUpdatePeriod time.Duration
	// MaxSegmentDuration is MPD@maxSegmentDuration or, without it, the longest segment of any timeline; 0 when unknown.
	MaxSegmentDuration time.Duration
	Periods            int
	Representations    int
	// Timeline says whether there is any SegmentTimeline; without one nothing in a live MPD has to move.
	Timeline bool
	// Segments counts what all timelines list together. A Timeline without any is nothing to play.
	Segments int
	// Edge is the wall-clock end of the last segment of a dynamic MPD, the latest of its timelines. Zero when no timeline
	// says it: $Number$ alone, a last S with r="-1", or no availabilityStartTime.
	Edge time.Time
	// Signature moves when the Periods or their timelines do. publishTime and availabilityStartTime are not part of it:
	// MistServer writes both anew on every request, and livesim2 publishes 1970 for ever. When Edge is zero, a Signature
	// that stays the same proves nothing.
	Signature uint64
}

// ParseMPD reads a DASH manifest in UTF-8 or UTF-16. It ignores what it does not know, and refuses numbers and durations
// that cannot be read where it would have used them. Remote Periods (xlink) are not followed.
func ParseMPD(body []byte) (*MPD, error) {
	reader := newXMLReader(body)
	root, err := reader.rootNamed(rootMPD)
	if err != nil {
		return nil, err
	}
	p := mpdParser{xml: reader, signature: fingerprintStart, lengthKnown: true, period: beforeFirstPeriod()}
	if err := p.header(root); err != nil {
		return nil, err
	}
	err = reader.children(func(child element) error {
		if child.Name.Local == "Period" {
			return p.readPeriod(child)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.Duration == 0 && !p.Dynamic && p.lengthKnown {
		p.Duration = p.length
	}
	p.MaxSegmentDuration = cmp.Or(p.MaxSegmentDuration, p.longestSegment)
	p.Signature = uint64(p.signature.number(uint64(p.Periods)))
	return &p.MPD, nil
}

type mpdParser struct {
	MPD
	xml            *xmlReader
	signature      fingerprint
	longestSegment time.Duration

	length      time.Duration // of all Periods so far
	lengthKnown bool

	period          periodTimes
	longestTimeline time.Duration // of this Period
}

// periodTimes is where a Period stands on the presentation's clock (ISO/IEC 23009-1 §5.3.2.1).
type periodTimes struct {
	start, duration time.Duration
	startKnown      bool
	durationKnown   bool
}

// beforeFirstPeriod ends at 0, where the first Period starts that does not say.
func beforeFirstPeriod() periodTimes { return periodTimes{startKnown: true, durationKnown: true} }

// next moves on to the Period that follows. Without a start it begins where the one before ends; when that is open too,
// the Period is announced early and nothing in it has a time yet.
func (t *periodTimes) next(period element) error {
	start, hasStart, err := period.duration("start")
	if err != nil {
		return err
	}
	duration, hasDuration, err := period.duration("duration")
	if err != nil {
		return err
	}
	if !hasStart {
		start, hasStart = addDuration(t.start, t.duration), t.startKnown && t.durationKnown
	}
	*t = periodTimes{start: start, duration: duration, startKnown: hasStart, durationKnown: hasDuration}
	return nil
}

// addressing is what SegmentTemplate and SegmentList say for the levels below them (ISO/IEC 23009-1 §5.3.9.1).
type addressing struct{ timescale, offset uint64 }

// add takes over what parent says itself.
func (a *addressing) add(parent element) (err error) {
	if a.timescale, err = parent.timescale("timescale", a.timescale); err == nil {
		a.offset, err = parent.number("presentationTimeOffset", a.offset)
	}
	return err
}

// header reads the attributes of the root element.
func (m *MPD) header(root element) (err error) {
	kind, _ := root.text("type")
	m.Dynamic = kind == "dynamic"
	if text, present := root.text("availabilityStartTime"); present {
		start, ok := parseDateTime(text)
		if !ok && m.Dynamic { // a static MPD has no use for it
			return root.fail("MPD@availabilityStartTime is %s, expected a date and time such as 2026-01-31T12:00:00Z", quote(text))
		}
		m.AvailabilityStart = start
	}
	for _, attribute := range []struct {
		name string
		into *time.Duration
	}{
		{"mediaPresentationDuration", &m.Duration},
		{"timeShiftBufferDepth", &m.TimeShiftBufferDepth},
		{"minimumUpdatePeriod", &m.MinimumUpdatePeriod},
		{"maxSegmentDuration", &m.MaxSegmentDuration},
	} {
		if *attribute.into, _, err = root.duration(attribute.name); err != nil {
			return err
		}
	}
	return nil
}

func (p *mpdParser) readPeriod(period element) error {
	if err := p.period.next(period); err != nil {
		return err
	}
	p.Periods++
	p.longestTimeline = 0
	id, _ := period.text("id")
	p.signature = p.signature.text([]byte(id)).number(uint64(p.period.start))

	if err := p.level(period, addressing{timescale: 1}); err != nil {
		return err
	}

	duration := p.period.duration
	if !p.period.durationKnown {
		duration = p.longestTimeline
	}
	p.length = addDuration(p.length, duration)
	p.lengthKnown = p.lengthKnown && duration > 0
	return nil
}

// level reads a Period, an AdaptationSet or a Representation: each hands its addressing down to the next.
func (p *mpdParser) level(parent element, inherited addressing) error {
	return p.xml.children(func(child element) error {
		switch child.Name.Local {
		case "AdaptationSet":
			if parent.Name.Local == "Period" {
				return p.level(child, inherited)
			}
		case "Representation":
			if parent.Name.Local == "AdaptationSet" {
				p.Representations++
				return p.level(child, inherited)
			}
		case "SegmentTemplate", "SegmentList":
			return p.segments(child, &inherited)
		}
		return nil
	})
}

func (p *mpdParser) segments(parent element, how *addressing) error {
	if err := how.add(parent); err != nil {
		return err
	}
	return p.xml.children(func(child element) error {
		if child.Name.Local == "SegmentTimeline" {
			return p.timeline(*how)
		}
		return nil
	})
}

func (p *mpdParser) timeline(how addressing) error {
	var run timeline
	err := p.xml.children(func(child element) error {
		switch child.Name.Local {
		case "Pattern":
			return run.pattern(p.xml, child)
		case "S":
			return run.add(child)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.Timeline = true
	p.Segments += int(run.segments)
	p.signature = p.signature.number(how.timescale).number(how.offset).number(run.first).number(run.end).number(run.segments)
	if segment, ok := unitsToDuration(run.longest, how.timescale); ok {
		p.longestSegment = max(p.longestSegment, segment)
	}
	if run.open || run.segments == 0 {
		return nil
	}
	inPeriod, ok := unitsToDuration(max(run.end, how.offset)-min(run.end, how.offset), how.timescale)
	if run.end < how.offset {
		inPeriod = -inPeriod
	}
	if !ok {
		return nil // centuries away: no time to judge by
	}
	if listed, ok := unitsToDuration(run.end-min(run.first, run.end), how.timescale); ok {
		p.longestTimeline = max(p.longestTimeline, listed)
	}
	if p.Dynamic && p.period.startKnown && !p.AvailabilityStart.IsZero() {
		edge := p.AvailabilityStart.Add(addDuration(p.period.start, inPeriod))
		if edge.After(p.Edge) {
			p.Edge = edge
		}
	}
	return nil
}

// timeline adds up a SegmentTimeline (ISO/IEC 23009-1 §5.3.9.6) in units of its timescale.
type timeline struct {
	first, end uint64
	segments   uint64
	longest    uint64
	open       bool // the last S repeats until further notice

	start, length uint64 // of the S read last: where it begins, and how long each of its segments is

	patterns []durationPattern
	entries  int // of all patterns
}

func (t *timeline) pattern(xml *xmlReader, parent element) error {
	p, err := readPattern(xml, parent, maxPatternEntries-t.entries)
	if err == nil {
		t.patterns = append(t.patterns, p)
		t.entries += len(p.runs)
	}
	return err
}

// lengths returns how long the segments of an S are and, where a pattern says
// so, which one and where in it they begin.
func (t *timeline) lengths(s element) (length uint64, by *durationPattern, from uint64, err error) {
	if length, err = s.number("d", 0); err != nil || length > 0 {
		return length, nil, 0, err
	}
	if _, has := s.text("p"); !has {
		return 0, nil, 0, s.fail("S has no duration, expected d with the length of a segment")
	}
	id, err := s.number("p", 0)
	if err != nil {
		return 0, nil, 0, err
	}
	if from, err = s.number("pE", 0); err != nil {
		return 0, nil, 0, err
	}
	for i := range t.patterns {
		if p := &t.patterns[i]; p.id == id {
			return p.longest, p, from, nil
		}
	}
	return 0, nil, 0, s.fail("S@p is %d, expected the id of a Pattern before it", id)
}

func (t *timeline) add(s element) error {
	start, err := s.number("t", t.end)
	if err != nil {
		return err
	}
	length, pattern, from, err := t.lengths(s)
	if err != nil {
		return err
	}
	if _, hasStart := s.text("t"); hasStart {
		t.open = false
	}
	if t.segments == 0 {
		t.first = start
	}
	repeat := uint64(0)
	if text, _ := s.text("r"); strings.HasPrefix(text, "-") {
		t.open = true
	} else if repeat, err = s.number("r", 0); err != nil {
		return err
	} else if repeat > maxRepeat {
		return s.fail("S@r is %d, expected at most %d", repeat, maxRepeat)
	}
	end, ok := addRun(start, repeat+1, length)
	if pattern != nil {
		var all uint64
		all, ok = pattern.of(from, repeat+1)
		end = start + all
		ok = ok && end < 1<<63
	}
	if !ok {
		return s.fail("SegmentTimeline ends beyond 2^63 units, expected t + (r+1)·d to be a time")
	}
	t.end, t.segments, t.longest = end, t.segments+repeat+1, max(t.longest, length)
	t.start, t.length = start, length
	return nil
}
