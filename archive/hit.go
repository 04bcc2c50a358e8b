package archive

import "time"

// unit says how the text of a time or a length is read and written.
type unit uint8

const (
	unitNone       unit = iota
	unitSeconds         // Unix time or a length, in seconds
	unitMillis          // the same in milliseconds
	unitMicros          // ... microseconds
	unitNanos           // ... nanoseconds
	unitMinutes         // a length in minutes
	unitGoDuration      // a length in seconds or as "1m30s"
	unitNow             // the word "now" for an end
	unitAuto            // a time by its looks: digits by their number, else a calendar form
	unitISO             // a time as RFC 3339 or ISO 8601, with or without a zone
	unitDigits          // a time as YYYYMMDDHHMMSS
	unitXtream          // a time as panels write it, or Unix seconds
	unitWowza           // a time as YYYYMMDDHHMMSS or YYYY-MM-DD-HH:MM:SS
	unitMist            // Unix seconds, or up to 36000 seconds from now
)

// reading is one text of a URL that says a time or a length, and where it
// stands.
type reading struct {
	text string // empty: not there, or nothing in it
	unit unit
	// in and from are its place: in 0, the plain path; in n, the value of
	// parameter n-1 of the hit.
	in   int
	from int
}

// pair is a query parameter that belongs to a window: a probe sends these and no
// other of the viewer's.
type pair struct{ name, value string }

// hint is what a dialect says about the kind before any time is read.
type hint uint8

const (
	hintNone      hint = iota // by what the URL says about its window
	hintLive                  // live, unless it asks for a window
	hintTimeshift             // a start means timeshift
	hintWindow                // all that a server has
	hintVoD
)

// hit is what a dialect reads from a URL. A dialect fills it only when all of
// the URL fits.
type hit struct {
	channel   string
	protocol  Protocol
	container string
	hint      hint
	bare      bool

	zone *time.Location // of times without one; nil: the server's

	start, end, length reading
	offset             reading // a point so long before now
	window             reading // the last so much up to now

	params  [4]pair
	nparams int
}

// file sets protocol and container by a file name extension.
func (h *hit) file(ext string) {
	h.protocol = protocolOf(ext)
	if h.protocol == ProtocolFile || ext == "fmp4" {
		h.container = ext
	}
}

// keep says that a probe must send a parameter, and returns the place of its
// value.
func (h *hit) keep(name, value string) (in int) {
	if h.nparams == len(h.params) {
		return 0 // no grammar has so many
	}
	h.params[h.nparams] = pair{name, value}
	h.nparams++
	return h.nparams
}

// query reads the first of some parameters that is there. An empty value is
// nothing: players that have no time to say leave their template's place empty.
func (h *hit) query(in *input, u unit, params ...param) (r reading) {
	p := in.query.first(params...)
	if p == paramNone {
		return r
	}
	r.text = in.query.value(p)
	if r.text == "" {
		return r
	}
	r.unit = u
	r.in = h.keep(paramNames[p], r.text)
	return r
}
