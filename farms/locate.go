package farms

import (
	"net/netip"
	"slices"
)

// Locate returns the location of a viewer, or nil. addr is unmapped and without
// zone, host is lower case and without port, path is percent-decoded, after
// uri_path and with its leading slash.
func (t *Table) Locate(addr netip.Addr, host, path string) *Location {
	for _, l := range t.ranges.candidates(addr) {
		if l.takes(host, path) {
			return l
		}
	}
	return nil
}

// Candidates returns every location whose prefixes hold addr, in the order in
// which they are tried. The slice is shared and must not be changed.
func (t *Table) Candidates(addr netip.Addr) []*Location { return t.ranges.candidates(addr) }

func (l *Location) takes(host, path string) bool {
	if len(l.hosts) > 0 && !slices.Contains(l.hosts, host) {
		return false
	}
	return l.uri == nil || l.uri.MatchString(path)
}

// splitBuckets is the resolution of locations[].split.
const splitBuckets = 1 << 32

// Order returns the location's farms in the order in which a session tries
// them: the farm its split bucket names first, then the configured order.
// buf is used for the result when it is large enough.
func Order(l *Location, session uint64, buf []*Farm) []*Farm {
	if len(l.split) == 0 {
		return l.Farms
	}
	bucket := mix(session, splitSalt) >> 32
	for _, s := range l.split {
		if bucket >= s.upTo {
			continue
		}
		if s.farm == 0 {
			return l.Farms
		}
		out := append(buf[:0], l.Farms[s.farm])
		for i, f := range l.Farms {
			if i != s.farm {
				out = append(out, f)
			}
		}
		return out
	}
	return l.Farms
}

// splitSalt keeps the split's draw apart from the rendezvous draws of the same
// session, so that a farm's servers stay evenly used under any percentage.
const splitSalt ServerID = 0x53504c4954
