package clientip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/yl2chen/cidranger"
)

// network is a normalised prefix as an entry of cidranger.
type network struct {
	prefix netip.Prefix
}

// Network implements [cidranger.RangerEntry].
func (n network) Network() net.IPNet {
	addr := n.prefix.Addr()
	return net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(n.prefix.Bits(), addr.BitLen())}
}

// recordNetworks puts prefixes into the table of record. They are normalised
// first: cidranger folds an IPv4-mapped address to four bytes but not its mask,
// and a prefix with host bits contains nothing.
func recordNetworks(prefixes []netip.Prefix) (cidranger.Ranger, error) {
	ranger := cidranger.NewPCTrieRanger()
	for _, p := range prefixes {
		if !p.IsValid() {
			return nil, fmt.Errorf("adding trusted network: %v is not a network", p)
		}
		if addr := p.Addr(); addr.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(addr.Unmap(), p.Bits()-96)
		}
		if err := ranger.Insert(network{prefix: p.Masked()}); err != nil {
			return nil, fmt.Errorf("adding trusted network %s: %w", p, err)
		}
	}
	return ranger, nil
}

// networks is a set of disjoint prefixes in ascending order, IPv4 first. A look
// into it allocates nothing, where cidranger takes two slices for every address.
type networks []netip.Prefix

// compileNetworks flattens the table of record.
func compileNetworks(ranger cidranger.Ranger) (networks, error) {
	var all networks
	for _, family := range []*net.IPNet{cidranger.AllIPv4, cidranger.AllIPv6} {
		entries, err := ranger.CoveredNetworks(*family)
		if err != nil {
			return nil, fmt.Errorf("listing trusted networks: %w", err)
		}
		for _, entry := range entries {
			addr, _ := netip.AddrFromSlice(entry.Network().IP)
			bits, _ := entry.Network().Mask.Size()
			all = append(all, netip.PrefixFrom(addr, bits))
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})

	// Two prefixes are disjoint or one holds the other, so whatever is not in the
	// last one kept is disjoint from all of them.
	var disjoint networks
	for _, p := range all {
		if n := len(disjoint); n == 0 || !disjoint[n-1].Contains(p.Addr()) {
			disjoint = append(disjoint, p)
		}
	}
	return disjoint, nil
}

// contain reports whether the normalised address a is in one of the networks.
func (n networks) contain(a netip.Addr) bool {
	i, found := slices.BinarySearchFunc(n, a, func(p netip.Prefix, a netip.Addr) int {
		return p.Addr().Compare(a)
	})
	return found || i > 0 && n[i-1].Contains(a)
}
