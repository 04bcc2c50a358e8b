package config

import (
	"net/netip"
	"slices"
	"strconv"
)

// listener is an address and port of ours.
type listener struct {
	key  string // its port's key
	addr netip.Addr
	port int
}

// overlaps tells whether two listeners want the same address and port.
func (a listener) overlaps(b listener) bool {
	return a.port == b.port && (a.addr == b.addr || a.addr.IsUnspecified() || b.addr.IsUnspecified())
}

// listeners returns every listener the document asks for.
func (d *Document) listeners() []listener {
	out := []listener{{"core.port", d.Core.Interface, d.Core.Port}, {"admin.port", d.Admin.Interface, d.Admin.Port}}
	if d.Core.TLS != nil {
		out = append(out, listener{"core.tls.port", d.Core.Interface, d.Core.TLS.Port})
	}
	return out
}

// ownListener returns the key of the listener that u leads back to, or "".
// Redirecting a viewer there would have him ask us again, for ever.
func (l *loader) ownListener(d *Document, u webAddress) string {
	for _, own := range d.listeners() {
		if u.effectivePort() != strconv.Itoa(own.port) {
			continue
		}
		if slices.Contains(d.Core.Hosts, u.host) && own.key != "admin.port" || l.reaches(own.addr, u) {
			return own.key
		}
	}
	return ""
}

// reaches tells whether a host, as this machine sees it, ends at an address
// that a listener of ours binds.
func (l *loader) reaches(bound netip.Addr, u webAddress) bool {
	loopback := u.host == "localhost" || u.literal.IsLoopback()
	switch {
	case bound.IsUnspecified():
		return loopback || slices.Contains(l.src.LocalAddrs, u.literal)
	case bound.IsLoopback():
		return u.host == "localhost" || u.literal == bound
	default:
		return u.literal == bound
	}
}
