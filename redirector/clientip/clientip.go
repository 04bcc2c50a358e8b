// Package clientip finds out where a viewer is: which address a request came
// from and whether the viewer speaks https, when proxies that the operator
// trusts may stand between.
//
// There are three witnesses. The TCP peer is always true, but is the proxy's
// when there is one. The PROXY protocol ([ProxyListener]) replaces the peer
// before the first request is read. One configured header, X-Forwarded-For or
// Forwarded, lists the hops; it is read from the right, because each proxy
// appends the address it saw while everything further left is whatever the
// viewer liked to write. The first hop from the right that is not a trusted
// proxy is the viewer; nothing left of it is ever believed.
//
// Every other header (X-Real-IP, True-Client-IP, X-Forwarded-Host, ...) has no
// effect. A chain that cannot be read leads to the peer's address, never to a
// guess. Addresses come out without IPv4 mapping and without zone, so that they
// match the operator's subnets and stay bounded as map keys. They steer viewers
// to servers; they authenticate nobody.
package clientip

import (
	"fmt"
	"net/http"
	"net/netip"
)

// Header names the one forwarding header that trusted proxies write.
type Header uint8

const (
	// XForwardedFor is X-Forwarded-For, with X-Forwarded-Proto as its companion.
	XForwardedFor Header = iota
	// Forwarded is RFC 7239's header, which carries proto= itself.
	Forwarded
)

// Names in the canonical form under which net/http files headers, so that a look
// into the map costs no allocation.
const (
	forwardedForName   = "X-Forwarded-For"
	forwardedProtoName = "X-Forwarded-Proto"
	forwardedName      = "Forwarded"
)

const (
	// maxHops bounds how many elements are walked. Real chains have two or three;
	// a viewer may send a thousand.
	maxHops = 64
	// maxHeaderBytes bounds all lines of the header together.
	maxHeaderBytes = 8 << 10
)

// Resolver finds viewers' addresses. It is immutable and safe for concurrent use.
type Resolver struct {
	trusted networks
	header  Header
}

// Viewer is what is known about where a request came from.
type Viewer struct {
	// Addr is the viewer's address, unmapped and without zone. It is invalid only
	// when the peer's own address is not one.
	Addr netip.Addr
	// Peer is the address the connection came from, or the one its PROXY line
	// gave, unmapped and without zone.
	Peer netip.Addr
	// HTTPS says that the viewer speaks https, to us or to a trusted proxy.
	HTTPS bool
	// Forwarded says that Addr was taken from the header.
	Forwarded bool
	// Suspect says that there was a forwarding header and it was not believed: it
	// cannot be read, or its sender is not trusted.
	Suspect bool
}

// New returns a resolver that believes the given header from peers in trusted.
// Without trusted networks it never looks at a header. Host bits are masked off,
// and IPv4-mapped networks count as IPv4.
func New(trusted []netip.Prefix, header Header) (*Resolver, error) {
	if header != XForwardedFor && header != Forwarded {
		return nil, fmt.Errorf("making client address resolver: header %d is neither X-Forwarded-For nor Forwarded", header)
	}
	ranger, err := recordNetworks(trusted)
	if err != nil {
		return nil, fmt.Errorf("making client address resolver: %w", err)
	}
	compiled, err := compileNetworks(ranger)
	if err != nil {
		return nil, fmt.Errorf("making client address resolver: %w", err)
	}
	return &Resolver{trusted: compiled, header: header}, nil
}

// Trusted reports whether a is in a trusted network.
func (r *Resolver) Trusted(a netip.Addr) bool {
	return r.trusted.contain(normalize(a))
}

// Resolve returns the viewer behind a request. remoteAddr is the request's
// RemoteAddr in any form that [ParsePeer] reads, tls says whether the request
// came to us over TLS, and h is its header.
func (r *Resolver) Resolve(remoteAddr string, tls bool, h http.Header) Viewer {
	peer, _ := ParsePeer(remoteAddr)
	v := Viewer{Addr: peer, Peer: peer, HTTPS: tls}
	if len(r.trusted) == 0 {
		return v
	}

	name := forwardedForName
	if r.header == Forwarded {
		name = forwardedName
	}
	lines := h[name]
	if !r.trusted.contain(peer) {
		v.Suspect = len(lines) > 0
		return v
	}

	var proto string
	if r.header == XForwardedFor {
		proto = rightmostProto(h[forwardedProtoName])
	}
	if len(lines) > 0 {
		found, ok := r.walk(lines)
		v.Forwarded, v.Suspect = ok, !ok
		if ok {
			v.Addr = found.addr
		}
		if r.header == Forwarded {
			proto = found.proto
		}
	}
	switch {
	case equalFoldASCII(proto, "https"):
		v.HTTPS = true
	case equalFoldASCII(proto, "http"):
		// The viewer's scheme counts, even where the proxy speaks TLS to us.
		v.HTTPS = false
	}
	return v
}

// hop is one believed element of a forwarding header.
type hop struct {
	addr  netip.Addr
	proto string // of Forwarded; else empty
}

// walk returns the rightmost hop that is not trusted, or the leftmost when all
// are. It fails when it meets an element that it cannot read, or too many.
func (r *Resolver) walk(lines []string) (hop, bool) {
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	if size > maxHeaderBytes {
		return hop{}, false
	}
	if r.header == Forwarded {
		return r.walkForwarded(lines)
	}
	return r.walkForwardedFor(lines)
}

// equalFoldASCII reports whether s is lower in any mixture of cases.
// strings.EqualFold would also take "httpſ" for https.
func equalFoldASCII(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		b := s[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}
