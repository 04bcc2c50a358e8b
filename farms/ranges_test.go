package farms_test

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"testing"

	"github.com/yl2chen/cidranger"

	"github.com/pointsman-tv/pointsman/farms"
)

// oracle finds the location with cidranger and the words of the design, and
// without anything of ours.
type oracle struct {
	ranger     cidranger.Ranger
	list       []farms.LocationSpec
	uri        []*regexp.Regexp // nil: every path
	arrayOrder bool
}

// network is a prefix and the locations that list it. cidranger keeps one entry
// a network, so that the locations are in it.
type network struct {
	ipNet     net.IPNet
	locations []int
}

func (n *network) Network() net.IPNet { return n.ipNet }

func newOracle(t testing.TB, list []farms.LocationSpec, arrayOrder bool) *oracle {
	t.Helper()
	o := &oracle{ranger: cidranger.NewPCTrieRanger(), list: list, uri: make([]*regexp.Regexp, len(list)), arrayOrder: arrayOrder}
	networks := map[netip.Prefix]*network{}
	for i := range list {
		if s := list[i].URIRegex; s != "" && s != ".*" {
			o.uri[i] = regexp.MustCompile(s)
		}
		for _, p := range list[i].Prefixes {
			p = p.Masked()
			n := networks[p]
			if n == nil {
				n = &network{ipNet: net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
				networks[p] = n
				if err := o.ranger.Insert(n); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Contains(n.locations, i) {
				n.locations = append(n.locations, i)
			}
		}
	}
	return o
}

// locate walks the containing networks from the longest to the shortest. Among
// the locations that take the viewer, a real uri_regex beats none, then the
// longest prefix, then array order; or plain array order.
func (o *oracle) locate(t testing.TB, addr netip.Addr, host, path string) int {
	t.Helper()
	entries, err := o.ranger.ContainingNetworks(addr.AsSlice())
	if err != nil {
		t.Fatal(err)
	}
	best, bestRegex, bestBits := -1, false, -1
	for _, e := range slices.Backward(entries) {
		n := e.(*network)
		bits, _ := n.ipNet.Mask.Size()
		for _, i := range n.locations {
			l := &o.list[i]
			isRegex := o.uri[i] != nil
			switch {
			case isRegex && !o.uri[i].MatchString(path),
				len(l.Hosts) > 0 && !slices.Contains(l.Hosts, host):
				continue
			case best < 0:
			case o.arrayOrder && i > best:
				continue
			case o.arrayOrder:
			case isRegex != bestRegex && bestRegex, isRegex == bestRegex && bits < bestBits,
				isRegex == bestRegex && bits == bestBits && i > best:
				continue
			}
			best, bestRegex, bestBits = i, isRegex, bits
		}
	}
	return best
}

// prefix makes a prefix out of bytes that often lies near an earlier one.
func (d *dice) prefix(earlier []netip.Prefix) netip.Prefix {
	var addr netip.Addr
	switch how := d.throw(8); {
	case how < 3 && len(earlier) > 0:
		addr = earlier[d.throw(len(earlier))].Addr()
	case how < 5:
		addr = netip.AddrFrom4([4]byte(d.bytes(4)))
	case how < 7:
		addr = netip.AddrFrom16([16]byte(d.bytes(16)))
	case d.throw(2) == 0:
		addr = netip.AddrFrom4([4]byte{255, 255, 255, 255})
	default:
		addr = netip.AddrFrom16([16]byte(slices.Repeat([]byte{255}, 16)))
	}
	return netip.PrefixFrom(addr, d.throw(addr.BitLen()+1)).Masked()
}

func (d *dice) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.throw(256))
	}
	return b
}

// around returns the addresses of a prefix's ends and those beside them.
func around(p netip.Prefix) []netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return []netip.Addr{p.Addr(), p.Addr().Prev(), p.Addr().Next(), last, last.Prev(), last.Next()}
}

// FuzzRangesAgainstCidranger holds that the compiled ranges locate every viewer
// as cidranger and the rule do: in both families, both match orders, on both
// sides of every boundary.
func FuzzRangesAgainstCidranger(f *testing.F) {
	f.Add([]byte{})
	random := rand.New(rand.NewPCG(21, 22))
	for range 20 {
		f.Add(randomBytes(random))
	}
	f.Fuzz(checkRanges)
}

func TestRangesOfRandomLocations(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(23, 24))
	for range 500 {
		checkRanges(t, randomBytes(random))
	}
}

func checkRanges(t *testing.T, data []byte) {
	d := &dice{data}
	arrayOrder := d.rarely(3)
	list := make([]farms.LocationSpec, 1+d.throw(7))
	var prefixes []netip.Prefix
	for i := range list {
		l := &list[i]
		l.URIRegex = [...]string{"", "", ".*", "^/live/", `\.mpd$`, "^/(live|vod)/"}[d.throw(6)]
		l.Hosts = [...][]string{nil, nil, nil, {"a.example"}, {"b.example", "a.example"}}[d.throw(5)]
		for range d.throw(6) {
			p := d.prefix(prefixes)
			if p.Addr().Is4In6() {
				continue // the configuration unmaps them; cidranger and we must not be asked
			}
			prefixes = append(prefixes, p)
			l.Prefixes = append(l.Prefixes, p)
		}
	}
	table, o := locationTable(t, arrayOrder, list), newOracle(t, list, arrayOrder)
	addrs := []netip.Addr{
		netip.IPv4Unspecified(), netip.IPv6Unspecified(),
		netip.AddrFrom4([4]byte(d.bytes(4))), netip.AddrFrom16([16]byte(d.bytes(16))),
	}
	for _, p := range prefixes {
		addrs = append(addrs, around(p)...)
	}
	for _, addr := range addrs {
		if !addr.IsValid() || addr.Is4In6() {
			continue
		}
		for _, host := range []string{"", "a.example", "b.example"} {
			for _, path := range []string{"/live/a.mpd", "/vod/a.m3u8", "/x"} {
				got, want := indexOf(table.Locate(addr, host, path)), o.locate(t, addr, host, path)
				if got != want {
					t.Fatalf("%v host %q path %q: location %d, expected %d, array order %v, of %+v", addr, host, path, got, want, arrayOrder, list)
				}
			}
		}
	}
}

// manyPrefixes spreads n prefixes over 50 locations, the first of which takes
// everything that is left.
func manyPrefixes(n int, v6 bool) []farms.LocationSpec {
	random := rand.New(rand.NewPCG(31, uint64(n)))
	list := make([]farms.LocationSpec, 50)
	for i := range list {
		if i%10 == 9 {
			list[i].URIRegex = "^/vod/"
		}
	}
	list[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	if v6 {
		list[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("::/0")}
	}
	for range n - 1 {
		l := &list[random.IntN(len(list))]
		addr := randomAddr(random, v6)
		bits := 10 + random.IntN(15)
		if v6 {
			bits = 20 + random.IntN(45)
		}
		l.Prefixes = append(l.Prefixes, netip.PrefixFrom(addr, bits).Masked())
	}
	return list
}

func randomAddr(random *rand.Rand, v6 bool) netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	if !v6 {
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	b[0], b[1], b[2] = 0x20, b[1]&3, b[2]&7 // close together, so that they nest
	return netip.AddrFrom16(b)
}

// TestRangesOf100000Prefixes compares with a walk over all prefixes.
func TestRangesOf100000Prefixes(t *testing.T) {
	t.Parallel()
	for name, v6 := range map[string]bool{"v4": false, "v6": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := manyPrefixes(100_000, v6)
			table := locationTable(t, false, list)
			random := rand.New(rand.NewPCG(41, 42))
			for range 150 {
				l := list[random.IntN(len(list))]
				addrs := append(around(l.Prefixes[random.IntN(len(l.Prefixes))]), randomAddr(random, v6))
				addr := addrs[random.IntN(len(addrs))]
				if !addr.IsValid() {
					continue
				}
				for _, path := range []string{"/live/x", "/vod/x"} {
					if got, want := indexOf(table.Locate(addr, "", path)), bruteForce(list, addr, path == "/vod/x"); got != want {
						t.Fatalf("%v %s: location %d, expected %d", addr, path, got, want)
					}
				}
			}
		})
	}
}

func bruteForce(list []farms.LocationSpec, addr netip.Addr, vod bool) int {
	best, bestRegex, bestBits := -1, false, -1
	for i := range list {
		isRegex := list[i].URIRegex != ""
		if isRegex && !vod {
			continue
		}
		for _, p := range list[i].Prefixes {
			if p.Contains(addr) && (isRegex && !bestRegex || isRegex == bestRegex && p.Bits() > bestBits) {
				best, bestRegex, bestBits = i, isRegex, p.Bits()
			}
		}
	}
	return best
}
