package config

import (
	"net/netip"
	"strings"
	"time"
)

// Depth says how far a content probe looks.
type Depth string

// The depths.
const (
	DepthMedia    Depth = "media"
	DepthPlaylist Depth = "playlist"
	DepthStatus   Depth = "status"
)

// Frozen says what becomes of a live channel whose playlists no longer move.
type Frozen string

// What becomes of it.
const (
	FrozenLastResort Frozen = "last_resort"
	FrozenRefuse     Frozen = "refuse"
)

// Probe is how servers are asked.
type Probe struct {
	// Good status answers in a row that bring a server back.
	Rise int `json:"rise" default:"1" limits:"1..100"`
	// Bad status answers in a row that take a server out; a refused connection does
	// so alone.
	Fall int `json:"fall" default:"2" limits:"1..100"`
	// How far a content probe looks. `media`: into a media playlist, so that a
	// standing stream is noticed; `playlist`: at what the manifest URL gives;
	// `status`: at its status code.
	Depth Depth `json:"depth" default:"media" enum:"media,playlist,status"`
	// When every server's live playlist stands still: `last_resort` sends viewers to
	// the freshest, `refuse` answers `503 off_air`.
	Frozen Frozen `json:"frozen" default:"last_resort" enum:"last_resort,refuse"`
	// How long a server that had the content serves on while it cannot be asked.
	StaleIfError time.Duration `json:"stale_if_error_sec" default:"600" limits:"0..86400"`
	// Time over which a server that came back takes its sessions again.
	SlowStart time.Duration `json:"slow_start_sec" default:"30" limits:"0..3600"`
	// Probes of one server at the same time.
	MaxInFlightPerServer int `json:"max_in_flight_per_server" default:"8" limits:"1..1000"`
	// Probes of one server a second; beyond it answers are believed for longer.
	MaxPerSecPerServer float64 `json:"max_per_sec_per_server" default:"20" limits:"0.1..100000"`
	// Questions a second about content never seen before, of all servers together; one
	// question counts once, however many servers it asks.
	UnknownChannelsPerSec float64 `json:"unknown_channels_per_sec" default:"50" limits:"0.1..100000"`
	// How many such questions may come at once.
	UnknownChannelsBurst int `json:"unknown_channels_burst" default:"500" limits:"1..1000000"`
	// URLs outside that answer while our own connection works. When one fails, servers
	// that time out are believed to be up for 60 s.
	SelfCheck []string `json:"self_check" limits:"0..16"`
	// Networks to which a server's name may resolve, checked at every connection.
	// Absent: any.
	AllowNetworks []netip.Prefix `json:"allow_networks" limits:"0..10000"`
	// User-Agent of every probe. Absent: `pointsman-probe/` and the version.
	UserAgent string `json:"user_agent" limits:"1..256"`
}

func (l *loader) checkProbe(n *node, p *Probe) {
	entries := n.get("self_check").items()
	for i, s := range p.SelfCheck {
		if entries[i].failed {
			continue
		}
		u, problem := parseWebAddress(s)
		if problem != "" {
			l.errorf(entries[i], "%s", problem)
			continue
		}
		p.SelfCheck[i] = u.String()
	}
	p.AllowNetworks = l.distinctNetworks(n.get("allow_networks"), p.AllowNetworks)
	if at := n.get("user_agent"); at.present() {
		if strings.ContainsFunc(p.UserAgent, func(c rune) bool { return c < ' ' || c > '~' }) || strings.TrimSpace(p.UserAgent) == "" {
			l.errorf(at, "is %s, expected visible ASCII characters and spaces", quote(p.UserAgent))
		}
	}
}
