package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"
)

// LocationMatch is the rule by which one of several matching locations wins.
type LocationMatch string

// The rules.
const (
	MatchSpecific LocationMatch = "specific"
	MatchOrder    LocationMatch = "order"
)

// ReturnEvidence is what follows when a viewer asks again for what he was just
// sent to.
type ReturnEvidence string

// The kinds of return evidence.
const (
	EvidenceCheck ReturnEvidence = "check"
	EvidenceMove  ReturnEvidence = "move"
	EvidenceOff   ReturnEvidence = "off"
)

// Redirection is what is served by whom, to whom.
type Redirection struct {
	// Path prefix that is ours; it is taken off before servers are asked and viewers
	// sent on. SmartMEDIA's default was `/hls`.
	URIPath string `json:"uri_path" default:"/" limits:"1..1024" smartmedia:"yes"`
	// Regular expression (RE2) that is searched in the path after `uri_path`, without
	// leading slash; its group names the channel. Absent or no match: the path's folder.
	ChannelRegex string `json:"channel_regex" limits:"0..1024" smartmedia:"yes"`
	// Group of `channel_regex` that is the channel; 0 is the whole match.
	ChannelRegexIndex int `json:"channel_regex_index" default:"1" limits:"0..100" smartmedia:"yes"`
	// Deadline of one probe.
	RequestTimeout time.Duration `json:"request_timeout_sec" default:"5" limits:"0.05..60" smartmedia:"yes"`
	// The longest a viewer waits for a decision.
	DecisionTimeout time.Duration `json:"decision_timeout_sec" default:"1.5" limits:"0.05..60"`
	// How often each server's status is asked.
	ServerStatusCacheTime time.Duration `json:"server_status_cache_time_sec" default:"30" limits:"0.1..3600" smartmedia:"yes"`
	// How long it is believed that a server has a live channel.
	LiveCacheTime time.Duration `json:"live_cache_time_sec" default:"10" limits:"0.1..3600" smartmedia:"yes"`
	// How long it is believed that a server has a VoD file or a closed archive window.
	VoDRangeCacheTime time.Duration `json:"vod_range_cache_time_sec" default:"20" limits:"0.1..86400" smartmedia:"yes"`
	// How long it is believed what a server holds of an archive window, as a fraction
	// of the window's length (never below 1 s or above 10 min).
	RangeCacheTimeFraction float64 `json:"range_cache_time_fraction" default:"0.05" limits:"0..1" smartmedia:"yes"`
	// How often expired entries are swept out.
	ClearCacheInterval time.Duration `json:"clear_cache_interval_sec" default:"60" limits:"0.1..86400" smartmedia:"yes"`
	// Which location wins when several match. `specific`: one with a real `uri_regex`
	// before one without, then the longest prefix, then the order of the array.
	// `order`: the order of the array alone.
	LocationMatch LocationMatch `json:"location_match" default:"specific" enum:"specific,order"`
	// Query parameters of which the first that a request has identifies the viewer.
	// Absent or none in the request: address and User-Agent do.
	SessionKey []string `json:"session_key" limits:"0..16"`
	// How long after its last request a session keeps its server under
	// `first_response`; 0 switches it off.
	Sticky time.Duration `json:"sticky_sec" default:"60" limits:"0..86400"`
	// What follows when a session asks for the same HLS multivariant playlist again
	// within 30 s. `check`: the server it was given is asked at once. `move`: a third
	// request within 60 s gets the next server, too, for five minutes.
	ReturnEvidence ReturnEvidence `json:"return_evidence" default:"check" enum:"check,move,off"`
	// How long a channel that was seen once is `off_air` rather than missing.
	OffAir time.Duration `json:"off_air_sec" default:"600" limits:"0..604800"`
	// Groups of servers with the same content. Required.
	Farms []Farm `json:"farms" limits:"1..1000" smartmedia:"yes"`
	// Groups of viewers and the farms that serve them. Required.
	Locations []Location `json:"locations" limits:"1..10000" smartmedia:"yes"`
}

func (l *loader) checkRedirection(n *node, d *Document) {
	r := &d.Redirection
	if p := n.get("uri_path"); p.present() {
		if problem := checkPath(r.URIPath); problem != "" {
			l.errorf(p, "is %s, which %s", quote(r.URIPath), problem)
		}
		if r.URIPath != "/" {
			r.URIPath = strings.TrimSuffix(r.URIPath, "/")
		}
	}
	l.checkChannelRegex(n, r)
	l.checkParameters(n.get("session_key"), r.SessionKey)
	l.checkFarms(n, d)
	l.checkLocations(n, d)
}

func (l *loader) checkChannelRegex(n *node, r *Redirection) {
	pattern := n.get("channel_regex")
	if !pattern.present() || r.ChannelRegex == "" {
		return
	}
	re, problem := compilePattern(r.ChannelRegex)
	if problem != "" {
		l.errorf(pattern, "%s", problem)
		return
	}
	index := n.get("channel_regex_index")
	if index.failed || r.ChannelRegexIndex <= re.NumSubexp() {
		return
	}
	said := "is"
	if index.kind == kindAbsent {
		said = "is absent, which means"
	}
	l.errorf(index, "%s %d, beyond the groups of channel_regex; expected at most %d (0 is the whole match)", said, r.ChannelRegexIndex, re.NumSubexp())
}

// maxPatternSteps bounds the compiled size of a regular expression: matching
// takes time in proportion to it, and every viewer pays.
const maxPatternSteps = 10_000

// compilePattern compiles a regular expression of at most maxPatternBytes.
func compilePattern(s string) (re *regexp.Regexp, problem string) {
	re, err := regexp.Compile(s)
	if err != nil {
		if bad, ok := err.(*syntax.Error); ok {
			return nil, fmt.Sprintf("is no regular expression (RE2): %s at %s", bad.Code, quote(bad.Expr))
		}
		return nil, "is no regular expression (RE2)"
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, "is no regular expression (RE2)"
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxPatternSteps {
		return nil, fmt.Sprintf("is a regular expression of more than %d steps, expected a smaller one", maxPatternSteps)
	}
	return re, ""
}

// checkParameters checks a list of query parameter names.
func (l *loader) checkParameters(n *node, names []string) {
	entries := n.items()
	first := make(map[string]bool, len(names))
	for i, name := range names {
		switch {
		case entries[i].failed:
		case name == "" || len(name) > maxQuotedBytes || strings.Trim(name, parameterBytes) != "":
			l.errorf(entries[i], "is %s, expected a query parameter name of 1 to %d letters, digits and -._~", quote(name), maxQuotedBytes)
		case first[name]:
			l.errorf(entries[i], "is %s, which is in the list already", quote(name))
		}
		first[name] = true
	}
}

// parameterBytes are the bytes that need no escaping in a query (RFC 3986 §2.3).
const parameterBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
