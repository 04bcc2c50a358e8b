package farms

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"sort"
)

// ranges answers "which locations hold this address, best first" by one binary
// search. The address space is cut where any prefix begins or ends; each piece
// points to an interned list of candidates, already in the order in which
// [Table.Locate] tries them.
type ranges struct {
	v4starts []uint32
	v4lists  []uint32 // index into lists, one per start
	v6starts []address
	v6lists  []uint32
	lists    [][]*Location
}

// address is a 128-bit address as two words, so that comparing costs two
// compares.
type address struct{ hi, lo uint64 }

func (a address) less(b address) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func addressOf(a netip.Addr) address {
	b := a.As16()
	return address{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// candidates returns the locations that hold addr, best first. addr must be
// unmapped and without a zone.
func (r *ranges) candidates(addr netip.Addr) []*Location {
	var list uint32
	if addr.Is4() {
		b := addr.As4()
		x := binary.BigEndian.Uint32(b[:])
		lo, hi := 0, len(r.v4starts)
		for lo < hi {
			if mid := int(uint(lo+hi) >> 1); r.v4starts[mid] <= x {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo == 0 {
			return nil
		}
		list = r.v4lists[lo-1]
	} else {
		x := addressOf(addr)
		i := sort.Search(len(r.v6starts), func(i int) bool { return x.less(r.v6starts[i]) })
		if i == 0 {
			return nil
		}
		list = r.v6lists[i-1]
	}
	return r.lists[list]
}

// claim is one prefix of one location, as an interval of 128-bit addresses.
type claim struct {
	first, last address
	bits        int
	location    int
}

// compileRanges cuts both address families into ranges. arrayOrder asks for
// plain array order among the candidates of a range.
func compileRanges(specs []LocationSpec, locations []*Location, arrayOrder bool) ranges {
	var v4, v6 []claim
	for i := range specs {
		for _, p := range specs[i].Prefixes {
			c := claimOf(p, i)
			if p.Addr().Is4() {
				v4 = append(v4, c)
			} else {
				v6 = append(v6, c)
			}
		}
	}
	in := newInterner(locations, arrayOrder)
	var r ranges
	sweep(v4, in, func(start address, list uint32) {
		if n := len(r.v4lists); start.lo > math.MaxUint32 || n > 0 && r.v4lists[n-1] == list {
			return
		}
		r.v4starts = append(r.v4starts, uint32(start.lo))
		r.v4lists = append(r.v4lists, list)
	})
	sweep(v6, in, func(start address, list uint32) {
		if n := len(r.v6lists); n > 0 && r.v6lists[n-1] == list {
			return
		}
		r.v6starts = append(r.v6starts, start)
		r.v6lists = append(r.v6lists, list)
	})
	r.v4starts, r.v4lists = slices.Clip(r.v4starts), slices.Clip(r.v4lists)
	r.v6starts, r.v6lists = slices.Clip(r.v6starts), slices.Clip(r.v6lists)
	r.lists = in.locationLists()
	return r
}

// claimOf turns a prefix into an interval; IPv4 lives in the low 32 bits.
func claimOf(p netip.Prefix, location int) claim {
	p = p.Masked()
	if p.Addr().Is4() {
		b := p.Addr().As4()
		first := uint64(binary.BigEndian.Uint32(b[:]))
		return claim{address{0, first}, address{0, first | (1<<(32-p.Bits()) - 1)}, p.Bits(), location}
	}
	first := addressOf(p.Addr())
	last := first
	if host := 128 - p.Bits(); host >= 64 {
		last.lo = ^uint64(0)
		last.hi |= ^uint64(0) >> (128 - host) // host-64 low bits; a shift by 64 gives 0
	} else {
		last.lo |= 1<<host - 1
	}
	return claim{first, last, p.Bits(), location}
}

// frame is an open claim and the candidate list of its inside.
type frame struct {
	last address
	list uint32
}

// sweep walks the claims from the lowest address up and calls emit at every
// address where the candidate list may change. Prefixes nest and never cross,
// so the open ones are a stack, the innermost on top.
func sweep(claims []claim, in *interner, emit func(start address, list uint32)) {
	slices.SortFunc(claims, func(a, b claim) int {
		if a.first != b.first {
			if a.first.less(b.first) {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.bits, b.bits), cmp.Compare(a.location, b.location))
	})
	var stack []frame
	top := func() uint32 {
		if len(stack) == 0 {
			return noCandidates
		}
		return stack[len(stack)-1].list
	}
	closeUntil := func(limit *address) {
		for len(stack) > 0 {
			last := stack[len(stack)-1].last
			if limit != nil && !last.less(*limit) {
				return
			}
			for len(stack) > 0 && stack[len(stack)-1].last == last {
				stack = stack[:len(stack)-1]
			}
			if next, ok := successor(last); ok && (limit == nil || next != *limit) {
				emit(next, top())
			}
		}
	}
	for i, c := range claims {
		closeUntil(&c.first)
		stack = append(stack, frame{c.last, in.extend(top(), c)})
		if i+1 < len(claims) && claims[i+1].first == c.first {
			continue // the innermost claim that begins here speaks for all
		}
		emit(c.first, top())
	}
	closeUntil(nil)
}

// successor returns the address after a; ok is false after the last of IPv6.
// The address after the last of IPv4 is no IPv4 address: emit leaves it out.
func successor(a address) (address, bool) {
	a.lo++
	if a.lo == 0 {
		a.hi++
	}
	return a, a != address{}
}

// noCandidates is the list of an address that no prefix holds.
const noCandidates uint32 = 0

// interner makes one candidate list per distinct set of open claims. A list is
// built from that of the enclosing claim, so that its cost does not grow with
// the depth of the nesting.
type interner struct {
	locations  []*Location
	arrayOrder bool
	lists      [][]candidate
	byContent  map[string]uint32
	extended   map[extension]uint32
	key        []byte
}

// candidate is one location of a list, with the length of its longest open
// prefix.
type candidate struct{ location, bits int }

// extension is one step: list with a further, inner claim.
type extension struct {
	list uint32
	candidate
}

func newInterner(locations []*Location, arrayOrder bool) *interner {
	return &interner{
		locations: locations, arrayOrder: arrayOrder,
		lists:     [][]candidate{noCandidates: nil},
		byContent: map[string]uint32{"": noCandidates},
		extended:  map[extension]uint32{},
	}
}

// extend returns the list that holds inside c, where list holds around it. A
// location's longer prefix takes the place of its shorter one; the list ends
// with the first location that takes every path of every host, because none
// behind it is ever tried.
func (in *interner) extend(list uint32, c claim) uint32 {
	step := extension{list, candidate{c.location, c.bits}}
	if i, ok := in.extended[step]; ok {
		return i
	}
	next := make([]candidate, 0, len(in.lists[list])+1)
	for _, old := range in.lists[list] {
		if old.location != c.location {
			next = append(next, old)
		}
	}
	next = append(next, step.candidate)
	slices.SortStableFunc(next, in.compare)
	for i, c := range next {
		if l := in.locations[c.location]; l.uri == nil && len(l.hosts) == 0 {
			next = next[:i+1]
			break
		}
	}
	in.key = in.key[:0]
	for _, c := range next {
		in.key = binary.AppendUvarint(in.key, uint64(c.location))
		in.key = append(in.key, byte(c.bits))
	}
	i, ok := in.byContent[string(in.key)]
	if !ok {
		i = uint32(len(in.lists))
		in.lists = append(in.lists, slices.Clip(next))
		in.byContent[string(in.key)] = i
	}
	in.extended[step] = i
	return i
}

// compare orders candidates: a real uri_regex before none, then the longest
// prefix, then array order.
func (in *interner) compare(a, b candidate) int {
	if in.arrayOrder {
		return cmp.Compare(a.location, b.location)
	}
	if ra, rb := in.locations[a.location].uri != nil, in.locations[b.location].uri != nil; ra != rb {
		if ra {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.bits, a.bits), cmp.Compare(a.location, b.location))
}

// locationLists returns the lists as locations, sharing one slice between
// lists that differ only in prefix lengths.
func (in *interner) locationLists() [][]*Location {
	out := make([][]*Location, len(in.lists))
	shared := make(map[string][]*Location, len(in.lists))
	for i, list := range in.lists {
		in.key = in.key[:0]
		for _, c := range list {
			in.key = binary.AppendUvarint(in.key, uint64(c.location))
		}
		ls, ok := shared[string(in.key)]
		if !ok {
			for _, c := range list {
				ls = append(ls, in.locations[c.location])
			}
			shared[string(in.key)] = ls
		}
		out[i] = ls
	}
	return out
}
