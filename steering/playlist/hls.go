package playlist

import (
	"bytes"
	"strings"
	"time"
)

const (
	maxVariants    = 128 // kept of a multivariant playlist; real ladders have a dozen, times pathways
	maxRenditions  = 256
	maxServerError = 200 // bytes kept of EXT-X-ERROR
)

// HLS is what a judge needs to know of an HLS playlist (RFC 8216 and its successor draft-pantos-hls-rfc8216bis).
type HLS struct {
	// Multivariant says that the playlist lists variants and renditions; then the fields about segments mean nothing.
	Multivariant bool
	// Variants are those of EXT-X-STREAM-INF in order, the first 128.
	Variants []Variant
	// Renditions are the URIs of EXT-X-MEDIA and EXT-X-I-FRAME-STREAM-INF in order, the first 256.
	Renditions []string

	// TargetDuration is EXT-X-TARGETDURATION, or the longest EXTINF to the second above when the tag is missing or 0.
	TargetDuration time.Duration
	// MediaSequence is the number of the first segment. It starts again when an encoder does.
	MediaSequence         uint64
	DiscontinuitySequence uint64
	// Segments counts the segments listed that a player can fetch; those marked EXT-X-GAP are not among them.
	Segments int
	// Parts counts the EXT-X-PARTs after the last full segment that a player can fetch (LL-HLS).
	Parts int
	// Duration is the sum of EXTINF over Segments.
	Duration time.Duration
	// EndList says that nothing will be added.
	EndList bool
	// Type is EXT-X-PLAYLIST-TYPE: "EVENT", "VOD" or "".
	Type string
	// LastURI is the last of Segments as it is written, or the last of Parts when there is no segment.
	LastURI string
	// End is the wall-clock end, in UTC, of the last segment or part that a player can fetch: the last
	// EXT-X-PROGRAM-DATE-TIME and the durations since. Zero when there is no date, when it cannot be read, or when a
	// discontinuity since has made it meaningless.
	End time.Time
	// ServerError is the text of EXT-X-ERROR, never empty when the tag is there: MistServer answers 200 with it.
	ServerError string
	// BOM says that the playlist begins with a byte order mark. RFC 8216 §4 forbids it and strict players refuse it.
	BOM bool
	// LowLatency says that the playlist offers partial segments or blocking reload.
	LowLatency bool
	// DeltaUpdate says that EXT-X-SKIP stands for segments that were listed before.
	DeltaUpdate bool
	// Signature moves with every new segment or part, and stays when the same playlist is served under other session
	// names. The media and discontinuity sequence, the number of segments and the number of parts make it. Only when the
	// media sequence is 0 or missing do the last URIs count too: Wowza and Nimble write the session of each request into
	// every URI, so that a frozen playlist never repeats itself.
	Signature uint64
}

// Variant is one EXT-X-STREAM-INF with the URI below it.
type Variant struct {
	URI string
	// Bandwidth is BANDWIDTH in bits per second, 0 when it is missing or unreadable.
	Bandwidth int64

	audioOnly bool
}

// LowestVariant returns the variant that costs least to ask for: the lowest BANDWIDTH whose URI can be asked at all.
// Variants of audio alone are taken only when there is nothing else, since a server may well hold the sound without the
// picture; those without a BANDWIDTH come after those that have one. A URI with a variable of EXT-X-DEFINE in it cannot
// be asked.
func (h *HLS) LowestVariant() (Variant, bool) {
	var best *Variant
	for i := range h.Variants {
		v := &h.Variants[i]
		if v.URI == "" || strings.Contains(v.URI, "{$") || checkReference(v.URI) != nil {
			continue
		}
		if best == nil || v.cheaper(best) {
			best = v
		}
	}
	if best == nil {
		return Variant{}, false
	}
	return *best, true
}

func (v *Variant) cheaper(than *Variant) bool {
	if v.audioOnly != than.audioOnly {
		return than.audioOnly
	}
	return v.Bandwidth > 0 && (than.Bandwidth == 0 || v.Bandwidth < than.Bandwidth)
}

// ParseHLS reads a multivariant or media playlist. Unknown tags are passed over; a number that cannot be read is an error
// where it would have counted, with its line and what was expected. A BOM and blank lines before #EXTM3U are tolerated.
func ParseHLS(body []byte) (*HLS, error) {
	text, hasBOM := stripBOM(body)
	p := hlsParser{HLS: HLS{BOM: hasBOM}, lines: newLineScanner(text)}
	if err := readHeader(p.lines); err != nil {
		return nil, err
	}
	for {
		line, ok, err := p.lines.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch {
		case len(line) == 0:
		case line[0] != '#':
			p.uri(line)
		case bytes.HasPrefix(line, []byte("#EXT")):
			if err := p.tag(line); err != nil {
				return nil, err
			}
		}
	}
	p.finish()
	return &p.HLS, nil
}
