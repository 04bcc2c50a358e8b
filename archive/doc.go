// Package archive reads what a viewer's URL asks for: channel, kind, protocol,
// container and, for a recording, the time window. It also holds the arithmetic
// of coverage: how much of a window a server's recordings hold.
//
// Streaming servers agree on playlists and not on how a URL names a recording.
// Each vendor's grammar is a dialect, one vendor a file, its grammar at the top
// of the file. A [Parser] tries them in the documented order ([Names]), specific
// before generic, times in the path before times in the query; the first that
// matches wins. What looks like an archive and is none that a dialect reads is a
// bad window and never live: a viewer who asked for yesterday's match must not
// be shown today's news.
//
//	URL ── take apart once (input) ── dialect (hit: texts and where they stand)
//	                                     │
//	                          read times (times.go, local.go, window.go)
//	                                     │
//	                Request ── Asked (grid.go) ── Target (format.go): the probe's URL
//
// A dialect returns the texts of its times and their places in the URL, not only
// their meaning. So any request can be written again for a slightly wider window
// in the spelling that its server understands, and thousands of viewers whose
// programme guides differ by seconds share one question.
//
// The package is pure: no I/O, and the time is an argument.
package archive
