// Package redirector is the edge: it turns a viewer's request into a decision
// and the decision into an answer.
//
// A request reads each view once (table, health, facts, overrides, sessions),
// walks pure steps, and leaves as one [Decision], which is answered, logged,
// counted and explained from the same value. Viewers and operators have
// listeners of their own: [Engine.Viewers] and [Engine.Admin].
package redirector
