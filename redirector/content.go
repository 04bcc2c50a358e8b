package redirector

import (
	"regexp"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
)

// channelRule names the channel of a path. The zero rule takes the folder.
type channelRule struct {
	regex *regexp.Regexp // searched, not anchored, in the path without its leading slash
	group int
	first bool // regex and group name the first folder: no regex engine is needed
}

// newChannelRule makes a rule of redirection.channel_regex and its index.
func newChannelRule(regex *regexp.Regexp, group int) channelRule {
	r := channelRule{regex: regex, group: group}
	if regex != nil && group == 1 {
		switch regex.String() {
		case `([^/]+)/.*`, `^([^/]+)/.*`, `([^/]+)/`, `^([^/]+)/`, `^/?([^/]+)/.*`, `^/?([^/]+)/`:
			r.first = true // what nearly every configuration has
		}
	}
	return r
}

// channel returns the channel of a plain path (percent-decoded, after uri_path,
// with its leading slash): what the operator's regex names, else the folder,
// else, for a file without one, its name without extension.
func (r channelRule) channel(plain string) string {
	if name, ok := r.named(plain); ok {
		return name
	}
	p := strings.TrimPrefix(plain, "/")
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	name, _, _ := strings.Cut(p, ".")
	return name
}

// named returns what the operator's regex names in a plain path, if it does.
func (r channelRule) named(plain string) (name string, ok bool) {
	p := strings.TrimPrefix(plain, "/")
	if r.first && p != "" && p[0] != '/' { // a path with an empty first folder is left to the regex
		if i := strings.IndexByte(p, '/'); i > 0 {
			return p[:i], true
		}
	} else if r.regex != nil {
		if m := r.regex.FindStringSubmatchIndex(p); m != nil && m[2*r.group] >= 0 && m[2*r.group] < m[2*r.group+1] {
			return p[m[2*r.group]:m[2*r.group+1]], true
		}
	}
	return "", false
}

// contentOf reads what a viewer's path asks for. plain is the path as regexes
// see it, raw the same path as the viewer wrote it.
func contentOf(rule channelRule, plain, raw string) farms.Content {
	protocol, kind := protocolOf(plain)
	return farms.Content{Channel: rule.channel(plain), Path: raw, Protocol: protocol, Kind: kind}
}

// protocolOf tells a manifest by its name. What is no manifest is a child: a
// segment or a file that belongs to one.
func protocolOf(plain string) (farms.Protocol, farms.Kind) {
	i := strings.LastIndexByte(plain, '/')
	folder, name := plain[:max(i, 0)], plain[i+1:]
	switch {
	case hasSuffixFold(name, ".m3u8"), hasSuffixFold(name, ".m3u"):
		return farms.ProtocolHLS, farms.KindLive
	case hasSuffixFold(name, ".mpd"):
		return farms.ProtocolDASH, farms.KindLive
	case hasPrefixFold(name, "manifest(format=m3u8"): // SmoothStreaming servers package HLS under this name
		return farms.ProtocolHLS, farms.KindLive
	case hasPrefixFold(name, "manifest(format=mpd"):
		return farms.ProtocolDASH, farms.KindLive
	case strings.EqualFold(name, "manifest"):
		return farms.ProtocolSmooth, farms.KindLive
	case name == "mpegts", strings.Trim(folder, "/") == "" && hasSuffixFold(name, ".ts"):
		// A segment lies in its channel's folder; a stream may be a file of its own.
		return farms.ProtocolMPEGTS, farms.KindLive
	default:
		return farms.ProtocolOther, farms.KindChild
	}
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isRefresh tells whether a query marks the reload of an HLS media playlist
// (low-latency delivery directives, RFC 8216bis §6.2.5): the playlist belongs to
// a session that plays already, so it is treated as a child.
func isRefresh(query string) bool {
	return strings.Contains(query, "_HLS_msn=") || strings.Contains(query, "_HLS_part=") || strings.Contains(query, "_HLS_skip=")
}
