// Package farms is the domain of Pointsman: what farms, servers and locations
// are, how a viewer is located, and how a server is chosen for a viewer.
//
// Everything here is pure. A [Table] is compiled once from a [Spec] and never
// changes; [Choose] walks the farms of a location and judges each server from
// what is known about it ([Facts]), the clock and the random draw it is given.
// It does no I/O, holds no memory between calls and never waits: when it must
// know more first, it says whom to ask ([Choice.Ask]) and the caller asks.
//
// The words are those of the design: a farm is a group of servers with the same
// content, a location is a group of viewers with an ordered list of farms, a
// channel is a content id, a fact is what is known about (server, content).
package farms
