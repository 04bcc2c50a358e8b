package config

import "strings"

// Level is the least weight of a log line that is written.
type Level string

// The levels.
const (
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Log is what is written about the service's own doings.
type Log struct {
	// Least weight of a line that is written.
	Level Level `json:"level" default:"info" enum:"debug,info,warn,error"`
	// One line for every decision.
	Decisions bool `json:"decisions" default:"true"`
	// File that takes the lines of decisions instead of standard error. It is opened
	// anew on SIGHUP and every other reload, for logrotate. One that cannot be opened is
	// an error at the start; at a reload the one before stays.
	DecisionsFile string `json:"decisions_file" limits:"1..4096"`
	// Part of the decisions that are written, drawn by lot: 1 is all, 0.1 one in ten;
	// such lines say so (`"sample":0.1`). Refusals are always written, of each reason up
	// to 500 a second; what a flood leaves out is counted in a line of its own.
	Sample float64 `json:"sample" default:"1" limits:"0..1"`
	// Write viewers' addresses as their networks: the first 24 bits of an IPv4 address,
	// 48 of an IPv6 one, then zeros.
	MaskAddresses bool `json:"mask_addresses" default:"false"`
	// Query parameters whose values are not written, beside `token tkn sig signature
	// auth hdnts hdnea password pass key pm_ticket pm_sid`; upper and lower case alike.
	Redact []string `json:"redact" limits:"0..100"`
}

// RedactedNames returns every query parameter name whose value is not to be
// logged, in lower case: the built-in ones and those of the document.
func (g Log) RedactedNames() []string {
	names := strings.Fields("token tkn sig signature auth hdnts hdnea password pass key pm_ticket pm_sid")
	for _, name := range g.Redact {
		names = append(names, strings.ToLower(name))
	}
	return names
}

func (l *loader) checkLog(n *node, g *Log) {
	g.DecisionsFile = l.resolve(g.DecisionsFile)
	entries := n.get("redact").items()
	for i, name := range g.Redact {
		if !entries[i].failed && (name == "" || len(name) > maxQuotedBytes) {
			l.errorf(entries[i], "has %d bytes, expected a query parameter name of 1 to %d", len(name), maxQuotedBytes)
		}
	}
}
