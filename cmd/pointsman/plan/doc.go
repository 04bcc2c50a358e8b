// Package plan computes what each server carries, and what it would carry when
// another server, a whole farm or a site fails, or when the configuration became
// another one.
//
// It replays a population of viewers, recorded or made up by [Synthetic], through
// the chooser that answers viewers: [farms.Order] and [farms.Choose]. In the world
// that it shows the chooser every enabled server is up and has every content; what
// fails is down. So a plan tells what configuration and policy do, not what probes
// find.
//
// Who was not on a server that fails keeps his own. Under the policies that rank
// servers that is what rendezvous hashing promises, and under first_response what
// stickiness does. So each failure costs only the viewers that it hits, and all
// failures of single servers together cost as much as one replay of everybody.
//
// The package is pure: no I/O, no clock, and chance comes from a fixed seed, so
// that the same input gives the same report.
package plan
