package probe

import (
	"fmt"
	"net/http"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// verdict is what one answer says about a content.
type verdict struct {
	presence     farms.Presence
	kind         farms.Kind
	multivariant bool
	signature    uint64        // of a live playlist: changes when it moves; 0: nothing that moves can be seen
	fresh        bool          // the playlist proves by its own time that it is live
	target       time.Duration // target duration of a live playlist
	soon         bool          // not to be believed for long: not there yet
	detail       string
	next         string   // a multivariant playlist: the media playlist to judge, as an absolute URL
	children     []string // a multivariant playlist: its media playlists, as absolute URLs
	word         string   // for the counter, when not the presence's

	// Of a window.
	ranges   []farms.Range
	unplaced time.Duration
	segment  time.Duration
	source   string
	until    int64 // end of what is recorded, in unix milliseconds; 0 unknown
	ended    bool  // nothing will be added
	generic  bool  // the interface does not speak of recordings: ask for the playlist
}

func no(format string, args ...any) verdict {
	return verdict{presence: farms.Absent, detail: fmt.Sprintf(format, args...)}
}

// liveSlack is how far behind the clock the end of a live playlist may be and
// still prove that it is live, whatever its target duration.
const liveSlack = 15 * time.Second

// smoothTarget stands for the target duration of manifests that name none.
const smoothTarget = 4 * time.Second

// clockSkew is the difference between our clock and a server's Date header from
// which on its playlists are compared with its own clock.
const clockSkew = 2 * time.Second

// judgeStatus judges a status code; done is false when the body must be read.
func judgeStatus(status int) (v verdict, done bool) {
	switch {
	case status == http.StatusOK, status == http.StatusPartialContent:
		return verdict{}, false
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return verdict{presence: farms.Guarded, detail: fmt.Sprintf("answered %d: it may have it", status)}, true
	case status == http.StatusTooManyRequests, status >= 500:
		return verdict{presence: farms.Trouble, detail: fmt.Sprintf("answered %d", status)}, true
	case status == http.StatusTooEarly:
		v = no("answered 425: not yet")
		v.soon = true
		return v, true
	default:
		return no("answered %d", status), true
	}
}

// judgeBody judges a manifest's body: status codes and content types lie
// (a page that says "not found" with 200, MistServer's error playlist with 200,
// a balancer's word FULL with 200). at is the server's time, url where the body
// came from.
func judgeBody(want farms.Protocol, body []byte, url string, at time.Time) verdict {
	format := playlist.Sniff(body)
	switch want {
	case farms.ProtocolHLS:
		if format == playlist.HLSMultivariant || format == playlist.HLSMedia {
			return judgeHLS(body, url, at)
		}
	case farms.ProtocolDASH:
		if format == playlist.DASH {
			return judgeMPD(body, at)
		}
	case farms.ProtocolSmooth:
		if format == playlist.SmoothStreaming {
			return judgeSmooth(body)
		}
	case farms.ProtocolMPEGTS:
		if playlist.IsTS(body) {
			return verdict{presence: farms.Present, detail: "transport stream"}
		}
	}
	if len(body) == 0 {
		return no("answered 200 with an empty body")
	}
	return no("answered 200 with %s, expected %s", describe(format, body), expected(want))
}

func expected(p farms.Protocol) string {
	switch p {
	case farms.ProtocolHLS:
		return "an HLS playlist"
	case farms.ProtocolDASH:
		return "a DASH MPD"
	case farms.ProtocolSmooth:
		return "a SmoothStreaming manifest"
	default:
		return "a transport stream"
	}
}

// describe says in a few words what a body is that was not expected.
func describe(f playlist.Format, body []byte) string {
	if f != playlist.FormatUnknown {
		return f.String()
	}
	for _, b := range body {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '<':
			return "a page of HTML or XML"
		case '{', '[':
			return "JSON"
		}
		break
	}
	return fmt.Sprintf("%d bytes of something else", len(body))
}

func unreadable(err error) verdict {
	return no("its playlist cannot be read: %v", err)
}

func judgeHLS(body []byte, url string, at time.Time) verdict {
	h, err := playlist.ParseHLS(body)
	switch {
	case err != nil:
		return unreadable(err)
	case h.ServerError != "":
		return no("its playlist says: %s", h.ServerError)
	case h.Multivariant:
		return judgeMultivariant(h, url)
	case h.Segments == 0 && h.Parts == 0:
		return no("its playlist has no segments")
	case h.EndList || h.Type == "VOD":
		return verdict{
			presence: farms.Present, kind: farms.KindVoD,
			detail: fmt.Sprintf("VoD of %v", h.Duration.Round(time.Second)),
		}
	}
	v := verdict{presence: farms.Present, kind: farms.KindLive, signature: h.Signature, target: max(h.TargetDuration, time.Second)}
	v.detail = fmt.Sprintf("live, media sequence %d, %d segments", h.MediaSequence, h.Segments)
	v.judgeEnd(h.End, at, time.Duration(frozenAfter*float64(v.target)))
	return v
}

// judgeEnd compares the end of a live playlist with the server's time. Only an
// end near it proves anything: one in the past may be a wrong clock, and one
// far in the future is.
func (v *verdict) judgeEnd(end, at time.Time, slack time.Duration) {
	if end.IsZero() {
		return
	}
	slack = max(slack, liveSlack)
	behind := at.Sub(end)
	v.fresh = behind <= slack && behind >= -slack
	v.detail += fmt.Sprintf(", ends %v ago", behind.Round(time.Second))
}

// maxChildren bounds how many media playlists of a multivariant playlist are
// remembered as its children.
const maxChildren = 64

func judgeMultivariant(h *playlist.HLS, url string) verdict {
	v := verdict{presence: farms.Present, kind: farms.KindLive, multivariant: true, detail: "multivariant playlist"}
	low, ok := h.LowestVariant()
	if !ok {
		return no("its multivariant playlist has no variants")
	}
	next, err := playlist.Resolve(url, low.URI)
	if err != nil {
		return no("its multivariant playlist names a variant that cannot be asked: %v", err)
	}
	v.next = next
	for _, variant := range h.Variants {
		v.addChild(url, variant.URI)
	}
	for _, uri := range h.Renditions {
		v.addChild(url, uri)
	}
	return v
}

func (v *verdict) addChild(url, ref string) {
	if len(v.children) == maxChildren {
		return
	}
	if child, err := playlist.Resolve(url, ref); err == nil {
		v.children = append(v.children, child)
	}
}

func judgeMPD(body []byte, at time.Time) verdict {
	m, err := playlist.ParseMPD(body)
	switch {
	case err != nil:
		return unreadable(err)
	case m.Representations == 0:
		return no("its MPD has no representations")
	case m.Timeline && m.Segments == 0:
		return no("its MPD lists no segments")
	case !m.Dynamic:
		return verdict{
			presence: farms.Present, kind: farms.KindVoD,
			detail: fmt.Sprintf("VoD of %v", m.Duration.Round(time.Second)),
		}
	case m.AvailabilityStart.After(at.Add(liveSlack)):
		v := no("its MPD begins in %v", m.AvailabilityStart.Sub(at).Round(time.Second))
		v.soon = true
		return v
	}
	// @publishTime proves nothing: MistServer writes now into every answer,
	// others the time of the first for ever.
	v := verdict{presence: farms.Present, kind: farms.KindLive, detail: "live MPD", target: m.MaxSegmentDuration}
	if v.target <= 0 {
		v.target = smoothTarget
	}
	if m.Timeline && !m.Edge.IsZero() {
		v.signature = m.Signature
		v.judgeEnd(m.Edge, at, 3*v.target)
		return v
	}
	// $Number$ alone, or a timeline that repeats to its end: nothing moves in it,
	// only its bounds can be checked.
	v.fresh = true
	if m.Duration > 0 && !m.AvailabilityStart.IsZero() && m.AvailabilityStart.Add(m.Duration).Before(at.Add(-liveSlack)) {
		return no("its MPD ended %v ago", at.Sub(m.AvailabilityStart.Add(m.Duration)).Round(time.Second))
	}
	return v
}

func judgeSmooth(body []byte) verdict {
	s, err := playlist.ParseSmooth(body)
	switch {
	case err != nil:
		return unreadable(err)
	case s.Streams == 0 || s.Chunks == 0:
		return no("its SmoothStreaming manifest has no chunks")
	case !s.Live:
		return verdict{presence: farms.Present, kind: farms.KindVoD, detail: fmt.Sprintf("VoD of %v", s.Duration.Round(time.Second))}
	}
	return verdict{
		presence: farms.Present, kind: farms.KindLive, signature: s.Signature, target: smoothTarget,
		detail: fmt.Sprintf("live, %d chunks", s.Chunks),
	}
}
