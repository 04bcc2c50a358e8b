package playlist

import (
	"cmp"
	"strings"
	"time"
)

// ReadMPD reads which stretches of time a DASH manifest holds. In every Period it looks at one AdaptationSet, the first of
// video or else the first, and there at the first Representation: what is recorded is recorded in all of them.
//
//   - A segment of a SegmentTimeline begins at availabilityStartTime + Period@start + (t − presentationTimeOffset) /
//     timescale (ISO/IEC 23009-1 §5.3.9.6), and what lies outside its Period is not played, so it does not count.
//   - Segments by number (@duration and $Number$) and single files fill their Period. A Period ends where its duration,
//     the next Period or mediaPresentationDuration says. When nothing says, in a live MPD it goes on: OpenSince.
//   - Without availabilityStartTime, or with one that leads nowhere near our time, all is Unplaced; of a static MPD that
//     lists nothing and bounds no Period, as much as mediaPresentationDuration says.
//   - A Period of a live MPD that is announced early holds nothing yet.
//
// It refuses what [ParseMPD] refuses of these, and a recording in more than 10,000 pieces. xlink is not followed.
func ReadMPD(body []byte) (*Recorded, error) {
	reader := newXMLReader(body)
	root, err := reader.rootNamed(rootMPD)
	if err != nil {
		return nil, err
	}
	r := mpdRecording{xml: reader, period: beforeFirstPeriod()}
	if err := r.header(root); err != nil {
		return nil, err
	}
	err = reader.children(func(child element) error {
		if child.Name.Local == "Period" {
			return r.readPeriod(child)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	presentationEnd := longest
	if r.mpd.Duration > r.period.start {
		presentationEnd = r.mpd.Duration
	}
	r.endPeriod(presentationEnd)
	if r.unbounded && r.Unplaced == 0 && len(r.placed.spans) == 0 {
		r.unplaced(r.mpd.Duration)
	}
	r.Segment = cmp.Or(r.Segment, r.mpd.MaxSegmentDuration)
	return r.finish()
}

// mpdRecording is an MPD being read for what it holds.
type mpdRecording struct {
	recording
	xml *xmlReader
	mpd MPD // the attributes of the root

	period    periodTimes
	media     mpdMedia // of this Period
	unbounded bool     // a static MPD does not say how long something is
}

// mpdMedia is how one AdaptationSet is cut into segments.
type mpdMedia struct {
	found, video bool
	how          addressing
	length       uint64 // of each segment that has a number only; 0 when it is not said
	timeline     *mpdTimeline
}

// mpdTimeline is a SegmentTimeline in units of a timescale.
type mpdTimeline struct {
	spanList
	longest uint64
	open    bool // the last S repeats until further notice
	openAt  uint64
}

func (r *mpdRecording) header(root element) error {
	if err := r.mpd.header(root); err != nil {
		return err
	}
	r.Ended = !r.mpd.Dynamic
	if r.mpd.Dynamic {
		r.Depth = r.mpd.TimeShiftBufferDepth
	}
	return nil
}

func (r *mpdRecording) readPeriod(period element) error {
	next := r.period
	if err := next.next(period); err != nil {
		return err
	}
	start := longest
	if next.startKnown {
		start = next.start
	}
	r.endPeriod(start)
	r.period, r.media = next, mpdMedia{}

	inherited := mpdMedia{how: addressing{timescale: 1}}
	return r.xml.children(func(child element) error {
		switch child.Name.Local {
		case "SegmentTemplate", "SegmentList":
			return r.segments(child, &inherited)
		case "AdaptationSet":
			if r.media.video {
				return nil
			}
			set, err := r.adaptationSet(child, inherited)
			if err == nil && (!r.media.found || set.video) {
				r.media = set
			}
			return err
		}
		return nil
	})
}

// adaptationSet reads a set down to its first Representation.
func (r *mpdRecording) adaptationSet(set element, media mpdMedia) (mpdMedia, error) {
	media.found, media.video = true, isVideo(set)
	first := true
	err := r.xml.children(func(child element) error {
		switch child.Name.Local {
		case "SegmentTemplate", "SegmentList":
			return r.segments(child, &media)
		case "Representation":
			if !first {
				return nil
			}
			first = false
			media.video = media.video || isVideo(child)
			return r.xml.children(func(child element) error {
				if child.Name.Local == "SegmentTemplate" || child.Name.Local == "SegmentList" {
					return r.segments(child, &media)
				}
				return nil
			})
		}
		return nil
	})
	return media, err
}

func isVideo(e element) bool {
	kind, _ := e.text("contentType")
	mime, _ := e.text("mimeType")
	return kind == "video" || strings.HasPrefix(mime, "video/")
}

// segments takes over what a SegmentTemplate or SegmentList says, over what the level above has said.
func (r *mpdRecording) segments(parent element, media *mpdMedia) (err error) {
	if err := media.how.add(parent); err != nil {
		return err
	}
	if media.length, err = parent.number("duration", media.length); err != nil {
		return err
	}
	return r.xml.children(func(child element) (err error) {
		if child.Name.Local == "SegmentTimeline" {
			media.timeline, err = r.timeline()
		}
		return err
	})
}

func (r *mpdRecording) timeline() (*mpdTimeline, error) {
	var list mpdTimeline
	var run timeline
	err := r.xml.children(func(child element) error {
		switch child.Name.Local {
		case "Pattern":
			return run.pattern(r.xml, child)
		case "S":
		default:
			return nil
		}
		before := run
		if err := run.add(child); err != nil {
			return err
		}
		if before.open { // until this S begins, or once when it says the same time again
			list.addRun(before.start, max(run.start, before.end), before.length)
		}
		if !run.open {
			list.addRun(run.start, run.end, run.length)
		}
		return nil
	})
	list.merge()
	list.longest, list.open, list.openAt = run.longest, run.open, run.start
	return &list, err
}

// endPeriod adds what the Period holds, now that it is known where the next one begins at the latest.
func (r *mpdRecording) endPeriod(latest time.Duration) {
	if !r.media.found {
		return
	}
	end, open := latest, latest == longest
	if r.period.durationKnown {
		end, open = min(end, addDuration(r.period.start, r.period.duration)), false
	}
	length := max(0, end-r.period.start)

	segments := r.media.timeline
	if segments == nil {
		segment, _ := unitsToDuration(r.media.length, r.media.how.timescale)
		r.Segment = max(r.Segment, segment)
		r.rule(0, length, open, segment)
		return
	}
	segment, _ := unitsToDuration(segments.longest, r.media.how.timescale)
	r.Segment = max(r.Segment, segment)
	for _, span := range segments.spans {
		from, to := r.media.how.time(uint64(span.From)), r.media.how.time(uint64(span.To))
		r.hold(min(from, length), min(to, length), 0) // the timeline has bridged what is no gap
	}
	r.placed.full = r.placed.full || segments.full
	r.placed.bridge = (segment / 2).Milliseconds() // to the next Period
	if segments.open {
		r.rule(r.media.how.time(segments.openAt), length, open, segment)
	}
}

// rule adds segments of one length that go on to the end of the Period, or without an end.
func (r *mpdRecording) rule(from, to time.Duration, open bool, segment time.Duration) {
	switch {
	case !open:
		r.hold(min(from, to), to, segment/2)
	case !r.mpd.Dynamic:
		r.unbounded = true
	case r.period.startKnown && !r.mpd.AvailabilityStart.IsZero() && r.OpenSince.IsZero():
		r.OpenSince = time.UnixMilli(r.unixMilli(from)).UTC()
	}
}

// time is where in the Period that many units are: not before its start, and longest when it is centuries away.
func (a addressing) time(units uint64) time.Duration {
	if units <= a.offset {
		return 0
	}
	if at, ok := unitsToDuration(units-a.offset, a.timescale); ok {
		return at
	}
	return longest
}

// hold adds a stretch of this Period, after which a hole of up to bridge is no gap.
func (r *mpdRecording) hold(from, to, bridge time.Duration) {
	switch {
	case r.mpd.Dynamic && !r.period.startKnown: // announced early
	case r.mpd.AvailabilityStart.IsZero() || !r.period.startKnown:
		r.unplaced(max(0, to-from))
	default:
		r.place(r.unixMilli(from), r.unixMilli(to), bridge)
	}
}

func (r *mpdRecording) unixMilli(inPeriod time.Duration) int64 {
	return r.mpd.AvailabilityStart.UnixMilli() + addDuration(r.period.start, inPeriod).Milliseconds()
}
