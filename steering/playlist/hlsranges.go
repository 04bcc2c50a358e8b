package playlist

import (
	"bytes"
	"cmp"
	"time"
)

// maxTrailingParts bounds the parts kept of a segment that is not finished; at a third of a second each they make a segment of five minutes.
const maxTrailingParts = 1000

// ReadHLS reads which stretches of time a media playlist holds, from EXT-X-PROGRAM-DATE-TIME and the durations since.
//
//   - Every date restarts the clock. Segments before the first date are placed by counting back from it, as
//     draft-pantos-hls-rfc8216bis §4.4.4.6 has players do.
//   - EXT-X-DISCONTINUITY stops the clock, because the durations no longer lead on from the date before; a date for the
//     same segment, on either side of the tag, starts it again. Until one comes, segments are Unplaced: they may be a
//     minute or a day after those before.
//   - EXT-X-GAP lets the clock go on and records nothing. EXT-X-SKIP stops it: what was skipped is not known here.
//   - Parts after the last segment count (LL-HLS).
//   - A multivariant playlist is returned as such at its first tag that says so, unread.
//
// It refuses what [ParseHLS] refuses of these tags, and a recording in more than 10,000 pieces.
func ReadHLS(body []byte) (*Recorded, error) {
	text, _ := stripBOM(body)
	r := hlsRecording{lines: newLineScanner(text), leading: true}
	if err := readHeader(r.lines); err != nil {
		return nil, err
	}
	for {
		line, ok, err := r.lines.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch {
		case len(line) == 0:
		case line[0] != '#':
			if r.next.isSegment { // anything else is nothing a player fetches
				r.segment()
			}
		case bytes.HasPrefix(line, []byte("#EXT")):
			name, value := splitTag(line)
			if isMultivariantTag(name) {
				return &Recorded{Multivariant: true}, nil
			}
			if err := r.tag(name, value); err != nil {
				return nil, err
			}
		}
	}
	r.trailingParts()
	return r.finish()
}

// hlsRecording is a media playlist being read for what it holds.
type hlsRecording struct {
	recording
	lines *lineScanner
	next  upcomingSegment
	clock wallClock // at the start of the next segment

	// leading says that neither a date nor a discontinuity has come yet, and lead is what was listed so far, in
	// milliseconds from the start of the playlist.
	leading bool
	lead    spanList
	leadFor wallClock // at the end of lead, counted from 0

	parts []hlsPart // since the last segment
}

// upcomingSegment is what tags have said about the next URI line.
type upcomingSegment struct {
	isSegment bool
	duration  time.Duration
	gap       bool
	dated     bool
	cut       bool // the time of the segments before does not lead on to this one
}

func (r *hlsRecording) tag(name, value []byte) (err error) {
	switch string(name) {
	case "#EXTINF":
		r.next.duration, err = r.lines.segmentDuration(name, value)
		r.next.isSegment = true
	case "#EXT-X-PROGRAM-DATE-TIME":
		r.clock = readWallClock(value)
		r.next.dated = true
	case "#EXT-X-GAP":
		r.next.gap = true
	case "#EXT-X-DISCONTINUITY":
		r.next.cut = true
		if !r.next.dated {
			r.clock = wallClock{}
		}
	case "#EXT-X-SKIP":
		r.next.cut = true
		r.clock = wallClock{}
	case "#EXT-X-PART":
		var part hlsPart
		if part, err = readPart(r.lines, value); err == nil && len(r.parts) < maxTrailingParts {
			r.parts = append(r.parts, part)
		}
	case "#EXT-X-PLAYLIST-TYPE":
		r.Ended = r.Ended || string(value) == "VOD"
	case "#EXT-X-ENDLIST":
		r.Ended = true
	case "#EXT-X-ERROR":
		r.ServerError = cmp.Or(clip(value, maxServerError), "no reason given")
	}
	return err
}

// segment adds what the tags have said at its URI line.
func (r *hlsRecording) segment() {
	r.settle()
	r.Segment = max(r.Segment, r.next.duration)
	r.stretch(r.next.duration, r.next.gap)
	r.next = upcomingSegment{}
	r.parts = r.parts[:0] // they were pieces of this segment
}

// stretch moves the clock on by a segment or part.
func (r *hlsRecording) stretch(length time.Duration, gap bool) {
	switch {
	case gap:
		r.placed.cut()
		r.lead.cut()
	case r.clock.known:
		r.place(r.clock.after(0), r.clock.after(length), length/2)
	case r.leading:
		r.lead.add(r.leadFor.after(0), r.leadFor.after(length), (length / 2).Milliseconds())
	default:
		r.unplaced(length)
	}
	r.clock.since = addDuration(r.clock.since, length)
	r.leadFor.since = addDuration(r.leadFor.since, length)
}

// settle places what came before the first date or discontinuity, now that one of them stands before the next segment.
func (r *hlsRecording) settle() {
	if r.leading && (r.next.dated || r.next.cut && r.leadFor.since > 0) { // ffmpeg begins with a discontinuity
		r.placeLead(r.clock.known && !r.next.cut)
	}
}

func (r *hlsRecording) placeLead(known bool) {
	r.leading = false
	shift := r.clock.after(0) - r.leadFor.after(0)
	for _, span := range r.lead.spans {
		if known {
			r.place(span.From+shift, span.To+shift, 0)
		} else {
			r.unplaced(time.Duration(span.To-span.From) * time.Millisecond)
		}
	}
	r.placed.bridge = r.lead.bridge
	r.placed.full = r.placed.full || r.lead.full
}

// trailingParts adds the beginning of a segment that is not finished, and what never got a date.
func (r *hlsRecording) trailingParts() {
	if len(r.parts) > 0 {
		r.settle()
	}
	for _, part := range r.parts {
		r.stretch(part.duration, part.gap)
	}
	if r.leading {
		r.placeLead(false)
	}
}
