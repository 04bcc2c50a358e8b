// Package probe asks the servers. It knows two things about them: whether they
// are up (status probes, on a schedule) and what content they have (content
// probes, on demand), and publishes both as immutable views that a decision
// reads without waiting: [Board] implements farms.Facts.
//
// A question is one content asked of one server; however many viewers wait for
// it, it is asked once. Every question is paced: so many a second and so many
// in flight per server, and a bucket for content that nobody has ever had, so
// that invented channels cost neither the servers nor the known channels.
//
// What an answer means is decided by pure functions (verdict.go, damper.go,
// motion.go); the rest is loops and bookkeeping.
package probe
