package playlist

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"time"
)

// hlsParser is a playlist being read. It keeps slices of the body and makes strings only of what it hands out.
type hlsParser struct {
	HLS
	lines *lineScanner
	next  upcoming

	listed         uint64 // segments, with the gaps and what EXT-X-SKIP stands for
	listedParts    uint64 // parts after the last segment, with the gaps
	longestSegment time.Duration
	clock          playlistClock // at the start of the next segment
	partsDuration  time.Duration // of the parts after the last segment
	end            playlistClock // at the end of the last segment or part that can be fetched

	lastSegment, lastPart           []byte // URIs, of any kind
	fetchableSegment, fetchablePart []byte // URIs that can be fetched
}

// upcoming is what tags have said about the next URI line.
type upcoming struct {
	isVariant bool
	variant   Variant
	isSegment bool
	duration  time.Duration
	gap       bool
	dated     bool
}

// playlistClock is a date, read only when it turns out to be the last one, and the durations since. No date means that
// the time is not known.
type playlistClock struct {
	date  []byte
	since time.Duration
}

func (c playlistClock) plus(d time.Duration) playlistClock {
	return playlistClock{c.date, addDuration(c.since, d)}
}

// isHeader says whether a playlist can begin like this. Lists of channels have attributes behind the tag.
func isHeader(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("#EXTM3U"))
	return found && (len(rest) == 0 || rest[0] <= ' ')
}

func splitTag(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte{':'})
	return trimBlanks(name), trimBlanks(value)
}

func isMultivariantTag(name []byte) bool {
	switch string(name) {
	case "#EXT-X-STREAM-INF", "#EXT-X-MEDIA", "#EXT-X-I-FRAME-STREAM-INF":
		return true
	default:
		return false
	}
}

// readHeader reads up to #EXTM3U, before which only blank lines may stand.
func readHeader(lines *lineScanner) error {
	for {
		line, ok, err := lines.next()
		switch {
		case err != nil:
			return err
		case !ok:
			return errors.New("the body is empty, expected #EXTM3U")
		case isHeader(line):
			return nil
		case len(line) > 0:
			return lineError(lines.number, "is %s, expected #EXTM3U", quote(string(line[:min(len(line), maxQuoted+1)])))
		}
	}
}

func (p *hlsParser) tag(line []byte) (err error) {
	name, value := splitTag(line)
	if isMultivariantTag(name) {
		p.multivariantTag(name, value)
		return nil
	}
	switch string(name) {
	case "#EXTINF":
		p.next.duration, err = p.lines.segmentDuration(name, value)
		p.next.isSegment = true
		p.longestSegment = max(p.longestSegment, p.next.duration)
	case "#EXT-X-PROGRAM-DATE-TIME":
		p.clock = playlistClock{date: value}
		p.next.dated = true
	case "#EXT-X-PART":
		err = p.part(value)
	case "#EXT-X-GAP":
		p.next.gap = true
	case "#EXT-X-DISCONTINUITY":
		// The time stamps start anew here, and often so does the programme: the durations no longer lead on from the date
		// before. A date of its own may stand on either side of the tag.
		if !p.next.dated {
			p.clock = playlistClock{}
		}
	case "#EXT-X-TARGETDURATION":
		p.TargetDuration, err = p.lines.seconds(name, value)
	case "#EXT-X-MEDIA-SEQUENCE":
		p.MediaSequence, err = p.lines.whole(name, value)
	case "#EXT-X-DISCONTINUITY-SEQUENCE":
		p.DiscontinuitySequence, err = p.lines.whole(name, value)
	case "#EXT-X-PLAYLIST-TYPE":
		if string(value) == "EVENT" || string(value) == "VOD" {
			p.Type = string(value)
		}
	case "#EXT-X-ENDLIST":
		p.EndList = true
	case "#EXT-X-PART-INF":
		p.LowLatency = true
	case "#EXT-X-SERVER-CONTROL":
		blocks := attributes(value).get("CAN-BLOCK-RELOAD")
		p.LowLatency = p.LowLatency || string(blocks) == "YES"
	case "#EXT-X-SKIP":
		p.DeltaUpdate = true
		skipped, _ := parseWhole(attributes(value).get("SKIPPED-SEGMENTS"))
		p.listed += skipped
		p.clock = playlistClock{}
	case "#EXT-X-ERROR":
		p.ServerError = cmp.Or(clip(value, maxServerError), "no reason given")
	}
	return err
}

func (p *hlsParser) multivariantTag(name, value []byte) {
	p.Multivariant = true
	if string(name) == "#EXT-X-STREAM-INF" {
		p.next.isVariant, p.next.variant = true, readVariant(value)
		return
	}
	if uri := attributes(value).get("URI"); len(uri) > 0 && len(p.Renditions) < maxRenditions {
		p.Renditions = append(p.Renditions, string(uri))
	}
}

func readVariant(list attributes) (v Variant) {
	var codecs []byte
	hasPicture := false
	for name, value, ok := list.next(); ok; name, value, ok = list.next() {
		switch string(name) {
		case "BANDWIDTH":
			if bandwidth, ok := parseWhole(value); ok && bandwidth <= math.MaxInt64 {
				v.Bandwidth = int64(bandwidth)
			}
		case "CODECS":
			codecs = value
		case "RESOLUTION", "FRAME-RATE", "VIDEO":
			hasPicture = true
		}
	}
	v.audioOnly = !hasPicture && len(codecs) > 0 && !namesVideo(codecs)
	return v
}

// namesVideo says whether a CODECS list (RFC 6381) names anything but sound and text. What nobody knows counts as video.
func namesVideo(codecs []byte) bool {
	for codec := range bytes.SplitSeq(codecs, []byte{','}) {
		codec = bytes.ToLower(trimBlanks(codec))
		name, _, _ := bytes.Cut(codec, []byte{'.'})
		switch string(name) {
		case "", "mp4a", "mp3", "ac-3", "ec-3", "ac-4", "opus", "vorbis", "flac", "alac", "dtsc", "dtse", "dtsh", "dtsl", "dtsx",
			"mha1", "mhm1", "stpp", "wvtt":
		default:
			return true
		}
	}
	return false
}

// uri reads a line that is neither empty nor a comment. What it is, the tags before it have said; without any it is
// nothing a player fetches, since every segment has an EXTINF (RFC 8216 §4.3.2.1).
func (p *hlsParser) uri(line []byte) {
	switch {
	case p.next.isVariant:
		if len(p.Variants) < maxVariants {
			p.next.variant.URI = string(line)
			p.Variants = append(p.Variants, p.next.variant)
		}
	case p.next.isSegment:
		p.segment(line)
	default:
		return
	}
	p.next = upcoming{}
}

func (p *hlsParser) segment(line []byte) {
	p.listed++
	p.lastSegment = line
	p.clock = p.clock.plus(p.next.duration)
	// The parts listed so far were pieces of this segment.
	p.listedParts, p.Parts, p.partsDuration, p.lastPart = 0, 0, 0, nil
	if !p.next.gap {
		p.Segments++
		p.Duration = addDuration(p.Duration, p.next.duration)
		p.fetchableSegment, p.end = line, p.clock
	}
}

// hlsPart is an EXT-X-PART, a piece of the segment whose URI line comes later or not yet.
type hlsPart struct {
	duration time.Duration
	uri      []byte
	gap      bool
}

func readPart(lines *lineScanner, list attributes) (part hlsPart, err error) {
	for name, value, ok := list.next(); ok; name, value, ok = list.next() {
		switch string(name) {
		case "DURATION":
			if part.duration, ok = parseSeconds(value); !ok {
				return hlsPart{}, lines.badSeconds("EXT-X-PART DURATION", value)
			}
		case "URI":
			part.uri = value
		case "GAP":
			part.gap = string(value) == "YES"
		}
	}
	return part, nil
}

func (p *hlsParser) part(list attributes) error {
	part, err := readPart(p.lines, list)
	if err != nil {
		return err
	}
	p.LowLatency = true
	p.listedParts++
	p.lastPart = part.uri
	p.partsDuration = addDuration(p.partsDuration, part.duration)
	if !part.gap {
		p.Parts++
		p.fetchablePart, p.end = part.uri, p.clock.plus(p.partsDuration)
	}
	return nil
}

func (p *hlsParser) finish() {
	if p.TargetDuration == 0 {
		p.TargetDuration = p.longestSegment.Truncate(time.Second)
		if p.TargetDuration < p.longestSegment {
			p.TargetDuration += time.Second // parseSeconds leaves room for it
		}
	}
	p.LastURI = string(p.fetchableSegment)
	if p.Segments == 0 && p.Parts > 0 {
		p.LastURI = string(p.fetchablePart)
	}
	if at, ok := parseDateTime(string(p.end.date)); ok {
		p.End = at.Add(p.end.since)
	}
	signature := fingerprintStart.number(p.MediaSequence).number(p.DiscontinuitySequence).
		number(p.listed).number(p.listedParts)
	if p.MediaSequence == 0 {
		signature = signature.text(p.lastSegment).text(p.lastPart)
	}
	p.Signature = uint64(signature)
}
