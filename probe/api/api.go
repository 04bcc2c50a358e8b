// Package api asks streaming servers by their vendors' own interfaces what they
// have: whether a channel is live and which stretches of time they have
// recorded. One vendor a file, its requests and its traps at the top.
//
// A vendor's interface answers for every programme of a channel at once, does
// not count as a viewer, and does not start an on-demand source. What it says is
// hostile input like any other: bounded, validated, and judged by the body,
// because status codes lie.
package api

import (
	"context"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// Server is a server as its interface is reached.
type Server struct {
	URL     string         // base URL viewers are sent to, without trailing slash
	API     string         // base URL of the interface, without trailing slash
	User    string         // credentials, empty when there are none
	Secret  string         // never in an error or a detail
	Headers []farms.Header // sent with every request
	Query   string         // raw query added to requests to URL (not to API), without "?"
}

// Question is what is asked about one channel.
type Question struct {
	Channel   string         // content id, percent-decoded
	Path      string         // the viewer's path after uri_path, for vendors whose names are in it
	Protocol  farms.Protocol // what the viewer plays
	Container string         // packaging the URL insists on: "ts", "fmp4", "ll" or ""
	Live      bool           // is it live now? else: which ranges are recorded?
	Need      farms.Range    // with Live false: the range of interest; an interface that gives all ignores it
	Now       time.Time
}

// Answer is what a server said.
type Answer struct {
	// Presence is Present, Absent, Guarded, or Trouble when it says nothing about
	// the content. Unasked means that the interface cannot tell though the server
	// may well have it: the viewer's own manifest must be asked, as of a generic
	// server.
	Presence farms.Presence
	Ranges   []farms.Range // recorded, ascending, disjoint; only with Question.Live false
	All      bool          // Ranges are all there are, not only those in Need
	Moving   uint64        // with Question.Live true: changes when the stream moves; 0 when the interface proves liveness itself
	Ended    bool          // with Question.Live false: the stream is off, so nothing will be added
	Remote   bool          // it has the ranges only by pulling them from another server
	Detail   string        // in words, bounded
}

// Get fetches from a server; a fetch.Client's method.
type Get func(ctx context.Context, r fetch.Request) (*fetch.Response, error)

// Ask asks one server one question. Errors of the fetch itself (refused,
// timeout) are returned as they are; all that came back is an Answer.
type Ask func(ctx context.Context, get Get, s Server, q Question) (Answer, error)
