// Package playlist reads the documents that streaming servers hand to players: HLS playlists, DASH MPDs,
// Smooth Streaming manifests and the first bytes of an MPEG transport stream.
//
// It reads them the way a judge does, not the way a player does. A player wants every segment; a judge wants to know
// whether there is something to play, whether it is live or finished, where its end stands on the wall clock, and
// whether it has moved since the last look. So every parser keeps a handful of numbers and forgets the rest, is lenient
// about what it does not know, and is strict where a number decides.
//
// Status codes and content types lie: MistServer says 200 with an #EXT-X-ERROR inside, a balancer says 200 "FULL", a
// proxy says 200 with a page of HTML. [Sniff] tells by content what a body is; the parsers tell what it says.
//
// A judge of archives asks another question: which stretches of time does this playlist hold? [ReadHLS], [ReadMPD] and
// [ReadSmooth] answer it with a [Recorded] in unix milliseconds. They guess nothing: what has no place on the wall clock
// is counted, not placed.
//
// All input is taken as hostile. The caller bounds the body; this package bounds lines, elements, depth, what it
// keeps, and the length of its error messages, and does its arithmetic without overflow. Nothing here does I/O, reads a
// clock or keeps a reference to the body it was given.
//
// The Signature of a document is a fixed, seedless hash of what moves when a live document moves, so that two looks,
// by two machines, years apart, can be compared. It says "changed", never "grew": a restarted encoder starts again at 0.
package playlist
