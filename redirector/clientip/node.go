package clientip

import (
	"net/netip"
	"strings"
)

// ParsePeer returns the address of a peer, unmapped and without zone. It reads
// host:port and [v6%zone]:port as net/http writes them, and the bare address
// that a FastCGI server may give.
func ParsePeer(remoteAddr string) (netip.Addr, bool) {
	return parseNode(remoteAddr)
}

// parseNode reads an address with or without a port: 192.0.2.1, 192.0.2.1:80,
// 2001:db8::1, [2001:db8::1] and [2001:db8::1]:80. netip.ParseAddr alone decides
// what an address is, so 010.0.0.1, 10.1 and 0x0a000001 are none.
func parseNode(s string) (netip.Addr, bool) {
	host, port, hasPort := s, "", false
	inside, bracketed := strings.CutPrefix(s, "[")
	switch {
	case bracketed:
		var rest string
		var closed bool
		if host, rest, closed = strings.Cut(inside, "]"); !closed {
			return netip.Addr{}, false
		}
		if port, hasPort = strings.CutPrefix(rest, ":"); !hasPort && rest != "" {
			return netip.Addr{}, false
		}
	case strings.Count(s, ":") == 1: // more than one belong to a bare IPv6 address
		host, port, hasPort = strings.Cut(s, ":")
	}
	if hasPort && !isPort(port) {
		return netip.Addr{}, false
	}

	addr, err := netip.ParseAddr(host)
	if err != nil || bracketed && addr.Is4() {
		return netip.Addr{}, false
	}
	return normalize(addr), true
}

// normalize drops what would keep an address from matching a prefix: IPv4
// mapping and zones.
func normalize(a netip.Addr) netip.Addr {
	return a.WithZone("").Unmap()
}

func isPort(s string) bool {
	if s == "" || len(s) > len("65535") {
		return false
	}
	port := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		port = port*10 + int(s[i]-'0')
	}
	return port <= 65535
}

// trimSpace cuts the optional white space of RFC 9110 §5.6.3 off both ends.
func trimSpace(s string) string {
	return strings.Trim(s, " \t")
}
