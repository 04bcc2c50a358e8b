// Package steering is content steering without the network: what a player says in
// its query, which session it is, what its reports teach, how long it may keep an
// answer, and the answer's bytes. HLS and DASH share one body and one reader.
//
//	query ── ReadParams ── Ring.Open ── Feedback.Observe ── (order: farms) ── TTLRules.Seconds ── AppendManifest
//	     └── Foreign, which goes back in RELOAD-URI with Ring.Seal
//
// Which pathway comes first is decided where redirects are decided, in farms, so
// that the two never disagree. This package keeps players alive around it. Players
// differ from the specifications and from each other: hls.js spins when TTL is
// missing and wraps throughput at 31 bits, dash.js sends lists and repeats what it
// finds in RELOAD-URI, Shaka Player cannot read a relative RELOAD-URI. Each line
// that is so because of one of them says it.
//
// Everything is pure but keyfile.go: no I/O, and time and randomness are arguments.
package steering
