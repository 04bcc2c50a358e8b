package archive

import "time"

// Window is a range of time, in UTC. The zero Window is none. Any other has
// Start before End.
type Window struct {
	Start time.Time
	End   time.Time // not part of the window
	// Open says that the window has no end yet: it plays on, ends now, or ends
	// in the future. End is then now, the end that was asked for, or for a point
	// in time a minute behind Start.
	Open bool
}

// IsZero reports whether there is no window.
func (w Window) IsZero() bool { return w.Start.IsZero() && w.End.IsZero() }

// Request is what a viewer's URL asks for. Copying it is cheap; it is never
// changed after it was made.
type Request struct {
	Dialect  string // name of the dialect that read the URL
	Channel  string // content id as the dialect sees it, percent-decoded once
	Kind     Kind
	Protocol Protocol
	// Container is the packaging that the URL insists on ("ts", "fmp4", "ll"),
	// or of a plain file its extension; else empty. The same window in another
	// container may be another recording.
	Container string
	// Window is zero for live and VoD, and for a [KindWindow] that asks for all
	// a server has.
	Window Window
	// Relative says that the window's start moves as time goes: the URL counts
	// back from now.
	Relative bool
	// Local says that the window was written without a zone and read in the
	// server's: a farm in another zone reads another window.
	Local bool
	// Bare says that only a file's extension speaks, without a manifest. The
	// file may well be a segment; the caller knows better what it has seen.
	Bare bool

	form   *form // how the window is written; nil when nothing of it is
	secret span  // credentials in the plain path
}

// Verdict says whether a URL could be read. Detail is for the viewer's problem
// document and the log: it says what is wrong and repeats no bytes of the URL.
type Verdict struct {
	Outcome Outcome
	Detail  string // empty for OK and NoMatch
}

// span is a part of a string: s[from:to].
type span struct{ from, to int }
