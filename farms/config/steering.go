package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// SteeringLevel says what a pathway of content steering is.
type SteeringLevel string

// The levels.
const (
	SteerFarms   SteeringLevel = "farm"
	SteerServers SteeringLevel = "server"
)

// Steering is content steering for HLS and DASH: a steering manifest tells a
// player which pathways it may use, in order. Off unless the section is there.
type Steering struct {
	// Path on the viewer listener under which the steering manifest of a channel is;
	// the channel follows it.
	Path string `json:"path" default:"/steering" limits:"2..256"`
	// Scheme and host, with a port if need be, under which viewers reach us for the
	// next steering manifest. Absent: as they came, which is checked against
	// `core.hosts` when that is set.
	PublicURL string `json:"public_url" limits:"1..2048"`
	// When a player asks again. Whole seconds, as all TTLs.
	TTL time.Duration `json:"ttl_sec" default:"300" limits:"1..86400"`
	// The same while anything that its location uses is not well.
	DegradedTTL time.Duration `json:"degraded_ttl_sec" default:"30" limits:"1..86400"`
	// No TTL is less, whatever the jitter.
	MinTTL time.Duration `json:"min_ttl_sec" default:"2" limits:"1..86400"`
	// No TTL is more, whatever the load.
	MaxTTL time.Duration `json:"max_ttl_sec" default:"3600" limits:"1..86400"`
	// Part of the TTL by which it is made longer or shorter by chance, so that players
	// do not ask in step.
	Jitter float64 `json:"jitter" default:"0.1" limits:"0..0.5"`
	// Media type of steering manifests.
	ContentType string `json:"content_type" default:"application/vnd.apple.steering-list" limits:"3..128"`
	// What a pathway is. `farm`: each farm; `server`: each server, by its `name`.
	Level SteeringLevel `json:"level" default:"farm" enum:"farm,server"`
	// Answer requests for multivariant playlists and MPDs with the playlist itself,
	// with everything in it that steering needs, instead of sending the viewer on.
	Decorate bool `json:"decorate" default:"false"`
	// Moves a session away from a pathway that gives it too little. Absent: off.
	Feedback *Feedback `json:"feedback"`
	// Pathways that players make of others, by changing their URLs.
	Clones []Clone `json:"clones" limits:"0..32"`
	// Channels that are over for ever: players are told, with 410, never to ask for
	// their steering again.
	Retired []string `json:"retired" limits:"0..10000"`
	// File with the keys that sign sessions; made when it is not there; relative to
	// this file. Several instances need the same one. Absent: `steering.keys` in
	// `core.state_dir`, and without that keys of each start's own.
	KeysFile string `json:"keys_file" limits:"1..4096"`
	// Milliseconds after which the default order is sent rather than a better one
	// waited for.
	DeadlineMS int `json:"deadline_ms" default:"300" limits:"10..5000"`
}

// Feedback is what players report about throughput, and what follows.
type Feedback struct {
	// Throughput below which a report is low, in bits a second. Required.
	LowBPS int `json:"low_bps" limits:"1..1000000000000"`
	// Low reports in a row that move the session.
	Polls int `json:"polls" default:"2" limits:"1..100"`
	// How long a session stays where it was moved before it may be moved again.
	Dwell time.Duration `json:"dwell_sec" default:"60" limits:"0..86400"`
}

// Deadline is deadline_ms as a duration.
func (s *Steering) Deadline() time.Duration { return time.Duration(s.DeadlineMS) * time.Millisecond }

// DefaultKeysFile is where the keys are in core.state_dir.
const DefaultKeysFile = "steering.keys"

func (l *loader) checkSteering(n *node, d *Document) {
	s := d.Steering
	if s == nil || n.failed {
		return
	}
	l.checkSteeringPath(n.get("path"), d)
	l.checkSteeringURL(n.get("public_url"), s)
	l.checkTTLs(n, s)
	if at := n.get("content_type"); at.present() && !isMediaType(s.ContentType) {
		l.errorf(at, "is %s, expected a media type without parameters such as application/json", quote(s.ContentType))
	}
	if at := n.get("feedback"); s.Feedback != nil && at.present() && at.get("low_bps").kind == kindAbsent {
		l.errorf(at.get("low_bps"), "is missing, expected the bits a second below which a report is low")
	}
	l.checkRetired(n.get("retired"), s.Retired)
	if n.get("keys_file").kind == kindAbsent && d.Core.StateDir != "" {
		s.KeysFile = filepath.Join(d.Core.StateDir, DefaultKeysFile)
	} else {
		s.KeysFile = l.resolve(s.KeysFile)
	}
	l.checkClones(n, d, l.checkPathways(n, d))
}

// checkSteeringPath keeps the path of steering manifests apart from what else is
// on the viewer listener. One below redirection.uri_path takes a channel's name
// and is the operator's choice.
func (l *loader) checkSteeringPath(n *node, d *Document) {
	path := d.Steering.Path
	if n.failed {
		return
	}
	problem := checkPath(path)
	if problem == "" && strings.HasSuffix(path, "/") {
		problem = "ends with /"
	}
	health, own := strings.TrimSuffix(d.Core.HealthPath, "/"), d.Redirection.URIPath
	says := "is"
	if n.kind == kindAbsent {
		says = "is absent, which means"
	}
	switch {
	case problem != "":
		l.errorf(n, "is %s, which %s; expected a path such as /steering", quote(path), problem)
	case isWithin(path, health) || isWithin(health, path):
		l.errorf(n, "%s %s, which is not apart from core.health_path %s; expected neither within the other", says, quote(path), quote(health))
	case own != "/" && isWithin(own, path):
		l.errorf(n, "%s %s, which takes every request under redirection.uri_path %s; expected another path", says, quote(path), quote(own))
	}
}

// isWithin tells whether path is root or below it.
func isWithin(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == '/')
}

func (l *loader) checkSteeringURL(n *node, s *Steering) {
	if !n.present() {
		return
	}
	u, problem := parseWebAddress(s.PublicURL)
	if problem == "" && u.path != "" {
		problem = "has a path, expected scheme, host and port only; the path is steering.path"
	}
	if problem != "" {
		l.errorf(n, "%s", problem)
		return
	}
	s.PublicURL = u.String()
}

// checkTTLs holds the TTLs to whole seconds (a manifest's TTL is an integer) and
// within their bounds.
func (l *loader) checkTTLs(n *node, s *Steering) {
	ttls := map[string]time.Duration{"ttl_sec": s.TTL, "degraded_ttl_sec": s.DegradedTTL, "min_ttl_sec": s.MinTTL, "max_ttl_sec": s.MaxTTL}
	for key, ttl := range ttls {
		if at := n.get(key); at.present() && ttl%time.Second != 0 {
			l.errorf(at, "is %s, expected whole seconds; the TTL of a steering manifest is an integer", formatNumber(ttl.Seconds()))
		}
	}
	ordered := func(low, high string) {
		x, y := formatNumber(ttls[low].Seconds()), formatNumber(ttls[high].Seconds())
		switch lower, higher := n.get(low), n.get(high); {
		case lower.failed || higher.failed || ttls[low] <= ttls[high]:
		case lower.kind == kindAbsent:
			l.errorf(higher, "is %s, less than %s, which is %s", y, low, x)
		default:
			l.errorf(lower, "is %s, more than %s, which is %s", x, high, y)
		}
	}
	ordered("min_ttl_sec", "max_ttl_sec")
	for _, key := range [...]string{"ttl_sec", "degraded_ttl_sec"} {
		ordered("min_ttl_sec", key)
		ordered(key, "max_ttl_sec")
	}
}

// isMediaType takes type/subtype without parameters (RFC 9110 §8.3.1).
func isMediaType(s string) bool {
	typ, subtype, _ := strings.Cut(s, "/")
	return typ != "" && subtype != "" && strings.Trim(typ, tokenBytes) == "" && strings.Trim(subtype, tokenBytes) == ""
}

// maxChannelBytes is beyond any channel's name in use.
const maxChannelBytes = 1024

func (l *loader) checkRetired(n *node, channels []string) {
	entries := n.items()
	first := make(map[string]bool, len(channels))
	for i, channel := range channels {
		switch at := entries[i]; {
		case at.failed:
		case channel == "" || len(channel) > maxChannelBytes || hasControl(channel):
			l.errorf(at, "is %s, expected a channel's name of 1 to %d bytes without control characters", quote(channel), maxChannelBytes)
		case first[channel]:
			l.errorf(at, "is %s, which is in the list already", quote(channel))
		}
		first[channel] = true
	}
}

// warnSteering looks for what steering can hardly have been meant to do.
func (l *loader) warnSteering(d *Document) {
	s, n := d.Steering, l.root.get("steering")
	if s == nil {
		return
	}
	u, problem := parseWebAddress(s.PublicURL)
	switch at := n.get("public_url"); {
	case at.kind == kindAbsent && len(d.Core.Hosts) == 0:
		l.warnf(at, "is missing and core.hosts is empty, so that RELOAD-URI carries whatever Host a viewer sends; expected one of them")
	case problem == "" && len(d.Core.Hosts) > 0 && !slices.Contains(d.Core.Hosts, u.host):
		l.warnf(at, "has the host %s, which is not in core.hosts, so that players who ask there again get 421 unknown_host", quote(u.host))
	}
	if s.KeysFile == "" {
		l.warnf(n.get("keys_file"), "is missing and so is core.state_dir, so that keys are made anew at every start: all sessions are then new, and a second instance takes none of ours")
	}
	l.warnPathways(d)
	l.warnClones(n.get("clones"), d)
}
