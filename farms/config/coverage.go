package config

import (
	"fmt"
	"net/netip"

	"github.com/pointsman-tv/pointsman/farms"
)

// coverage finds out which locations can win where. It asks the compiled table
// itself, at one address of every stretch between two prefix bounds: within a
// stretch all addresses have the same candidates.
type coverage struct {
	doc     *Document
	table   *farms.Table
	ordered *farms.Table // the same locations under plain array order; nil: not of interest

	judged  map[**farms.Location]bool    // candidate lists already looked at
	pairs   map[[2]**farms.Location]bool // and pairs of lists of both tables
	reached []bool                       // locations that win for some request
	hole    [2]netip.Addr                // an address without catch-all: IPv4, IPv6
	swaps   []swap
	swapped map[[2]int]bool
	steps   int // spent on looking; see maxSteps
}

// maxSteps bounds the looking in documents made to be slow: tens of thousands
// of locations and hosts on the same addresses.
const maxSteps = 10_000_000

// swap is a stretch in which plain array order would have another winner.
type swap struct {
	winner, other int
	example       netip.Addr
}

// maxSwaps bounds the warnings about array order; they come in crowds, since
// one location at the wrong place changes the winner over many others.
const maxSwaps = 20

func (l *loader) warnLocations(d *Document, table *farms.Table) {
	c := &coverage{
		doc: d, table: table,
		judged:  map[**farms.Location]bool{},
		pairs:   map[[2]**farms.Location]bool{},
		reached: make([]bool, len(d.Redirection.Locations)),
		swapped: map[[2]int]bool{},
	}
	if d.Redirection.LocationMatch == MatchSpecific && len(d.Redirection.Locations) > 1 {
		spec := locationsOnly(d.Spec())
		spec.ArrayOrder = true
		if ordered, err := farms.Build(spec, 0); err == nil {
			c.ordered = ordered
		}
	}
	c.walk()

	list := l.root.get("redirection").get("locations")
	entries := list.items()
	for family, name := range [...]string{"IPv4", "IPv6"} {
		if a := c.hole[family]; a.IsValid() {
			l.warnf(list, "no location takes every path of every %s viewer: %s, for one, can be answered 403 no_location", name, a)
		}
	}
	if c.steps >= maxSteps {
		l.warnf(list, "so many locations with uri_regex or hosts share addresses that those which can never match were not looked for")
		return
	}
	for i, reached := range c.reached {
		if !reached {
			l.warnf(entries[i], "can never match%s", c.whyUnreached(i))
		}
	}
	for _, s := range c.swaps {
		l.warnf(entries[s.winner], "wins over redirection.locations[%d] as the more specific one, for %s for one; by the order of the array, as with location_match \"order\", it would not", s.other, s.example)
	}
}

// locationsOnly keeps of a spec what locating needs.
func locationsOnly(spec *farms.Spec) *farms.Spec {
	out := &farms.Spec{
		Servers: []farms.ServerSpec{{Name: "any", URL: "http://any.invalid"}},
		Farms:   []farms.FarmSpec{{Name: "any", Members: []farms.MemberSpec{{Server: "any", Weight: 1}}}},
	}
	for _, loc := range spec.Locations {
		out.Locations = append(out.Locations, farms.LocationSpec{
			Farms: []string{"any"}, URIRegex: loc.URIRegex, Prefixes: loc.Prefixes, Hosts: loc.Hosts,
		})
	}
	return out
}

// walk visits the beginning of every stretch.
func (c *coverage) walk() {
	c.visit(netip.IPv4Unspecified())
	c.visit(netip.IPv6Unspecified())
	for _, loc := range c.doc.Redirection.Locations {
		for _, p := range loc.Prefixes {
			c.visit(p.Addr())
			if next := lastOf(p).Next(); next.IsValid() {
				c.visit(next)
			}
		}
	}
}

// lastOf returns the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		if bit%8 == 0 {
			b[bit/8] = 0xff
			bit += 7
			continue
		}
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func (c *coverage) visit(a netip.Addr) {
	list := c.table.Candidates(a)
	key := keyOf(list)
	if !c.judged[key] && c.steps < maxSteps {
		c.judged[key] = true
		c.judge(list)
	}
	family := 0
	if a.Is6() {
		family = 1
	}
	if n := len(list); !c.hole[family].IsValid() && (n == 0 || c.location(list[n-1]).specific()) {
		c.hole[family] = a
	}
	if c.ordered != nil && len(c.swaps) < maxSwaps && c.steps < maxSteps {
		c.compare(a, list)
	}
}

// keyOf identifies a candidate list; equal lists of a table share their memory.
func keyOf(list []*farms.Location) **farms.Location {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

func (c *coverage) location(l *farms.Location) *Location {
	return &c.doc.Redirection.Locations[l.Index]
}

// judge marks the locations of a candidate list that win for some request: all
// whose paths and hosts are not taken, each, by an earlier one with the same
// uri_regex or with none.
func (c *coverage) judge(list []*farms.Location) {
	type claim struct{ regex, host string } // "" is every path, every host
	taken := make(map[claim]bool)
	for _, candidate := range list {
		loc := c.location(candidate)
		regex := loc.URIRegex
		if loc.anyPath() {
			regex = ""
		}
		covered := func(host string) bool {
			return taken[claim{regex, ""}] || taken[claim{"", ""}] || taken[claim{regex, host}] || taken[claim{"", host}]
		}
		hosts := loc.Hosts
		if len(hosts) == 0 {
			hosts = []string{""}
		}
		c.steps += len(hosts)
		for _, host := range hosts {
			if !covered(host) {
				c.reached[candidate.Index] = true
				taken[claim{regex, host}] = true
			}
		}
	}
}

// compare looks for the first place at which both orders differ; a request
// that both locations take there has another winner.
func (c *coverage) compare(a netip.Addr, list []*farms.Location) {
	ordered := c.ordered.Candidates(a)
	key := [2]**farms.Location{keyOf(list), keyOf(ordered)}
	if c.pairs[key] {
		return
	}
	c.pairs[key] = true
	for i := range min(len(list), len(ordered)) {
		winner, other := list[i].Index, ordered[i].Index
		if winner == other {
			continue
		}
		pair := [2]int{winner, other}
		if !c.swapped[pair] {
			c.swapped[pair] = true
			if c.shareHost(winner, other) {
				c.swaps = append(c.swaps, swap{winner, other, a})
			}
		}
		return
	}
}

// shareHost tells whether some host belongs to both locations.
func (c *coverage) shareHost(a, b int) bool {
	x, y := c.doc.Redirection.Locations[a].Hosts, c.doc.Redirection.Locations[b].Hosts
	if len(x) == 0 || len(y) == 0 {
		return true
	}
	c.steps += len(x) * len(y)
	for _, h := range x {
		for _, g := range y {
			if h == g {
				return true
			}
		}
	}
	return false
}

// whyUnreached says who takes a location's viewers.
func (c *coverage) whyUnreached(i int) string {
	loc := &c.doc.Redirection.Locations[i]
	if len(loc.Prefixes) == 0 {
		return ": its ip_mask_files hold no network"
	}
	for _, candidate := range c.table.Candidates(loc.Prefixes[0].Addr()) {
		if candidate.Index == i {
			break // those behind it take nobody from it
		}
		other := c.location(candidate)
		samePaths := other.URIRegex == loc.URIRegex || other.anyPath()
		if samePaths && (len(other.Hosts) == 0 || len(loc.Hosts) == 1 && c.shareHost(i, candidate.Index)) {
			return fmt.Sprintf(": its viewers, %s for one, are taken by redirection.locations[%d]", loc.Prefixes[0].Addr(), candidate.Index)
		}
	}
	return ": its viewers are taken by others before it"
}
