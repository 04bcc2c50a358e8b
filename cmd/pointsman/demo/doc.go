// Package demo holds what a redirector needs around it to be seen at work: small streaming servers and
// a page with a player.
//
// A [Server] is a whole live HLS server on one address. All servers loop the same short test pictures by
// the wall clock, so any two of them publish the same media sequence numbers, discontinuities and dates
// at the same moment, as a farm fed by one encoder does, and a player that is sent from one to the other
// plays on. A server may carry only some of the channels, and it can be stopped and started again on the
// same address while viewers watch.
//
// [Page] is the page, in two tabs. One plays a channel through a redirector that sends viewers on, names
// the server that serves, and has the buttons that stop and start each one. The other plays it through a
// redirector that steers: it shows the pathways in the order of the player's steering manifest, each with
// its why, which of them the player's own requests go to, and the buttons that override the order.
//
// The package knows nothing of the redirectors: whoever wires the demo hands in the links, and a handler
// for what the override buttons call.
package demo
