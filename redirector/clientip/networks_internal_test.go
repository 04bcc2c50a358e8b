package clientip

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// TestNetworksAgreeWithRecord holds the compiled set equal to cidranger and to
// looking at every prefix in turn, on random nested sets.
func TestNetworksAgreeWithRecord(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(1, 2))
	// Addresses from a corner of each family, so that prefixes nest and hit.
	randomAddr := func() netip.Addr {
		if random.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte{10, byte(random.IntN(4)), byte(random.IntN(256)), byte(random.IntN(256))})
		}
		a := netip.MustParseAddr("2001:db8::").As16()
		a[15], a[14], a[4] = byte(random.IntN(256)), byte(random.IntN(256)), byte(random.IntN(4))
		return netip.AddrFrom16(a)
	}
	edges := []netip.Addr{
		netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("255.255.255.255"), netip.MustParseAddr("::"),
		netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), netip.MustParseAddr("::1"),
	}

	for round := range 200 {
		var prefixes []netip.Prefix
		for range random.IntN(20) {
			a := randomAddr()
			prefixes = append(prefixes, netip.PrefixFrom(a, a.BitLen()-random.IntN(18)))
		}
		if round%10 == 9 {
			prefixes = append(prefixes, netip.MustParsePrefix([]string{"0.0.0.0/0", "::/0"}[round%2]))
		}
		ranger, err := recordNetworks(prefixes)
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := compileNetworks(ranger)
		if err != nil {
			t.Fatal(err)
		}

		addrs := append([]netip.Addr{}, edges...)
		for range 200 {
			addrs = append(addrs, randomAddr())
		}
		for _, p := range prefixes {
			addrs = append(addrs, p.Masked().Addr(), p.Masked().Addr().Prev(), p.Addr())
		}
		for _, a := range addrs {
			if !a.IsValid() {
				continue // before the first address there is none
			}
			want := false
			for _, p := range prefixes {
				want = want || p.Contains(a)
			}
			recorded, err := ranger.Contains(a.AsSlice())
			if err != nil {
				t.Fatal(err)
			}
			if got := compiled.contain(a); got != want || recorded != want {
				t.Fatalf("%v in %v: compiled %v, recorded %v, want %v", a, prefixes, got, recorded, want)
			}
		}
	}
}

func TestMappedNetworksCountAsIPv4(t *testing.T) {
	t.Parallel()

	for _, prefix := range []string{"::ffff:10.1.2.3/104", "::ffff:0:0/96"} {
		r, err := New([]netip.Prefix{netip.MustParsePrefix(prefix)}, XForwardedFor)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []string{"10.9.9.9", "::ffff:10.9.9.9"} {
			if !r.Trusted(netip.MustParseAddr(a)) {
				t.Errorf("%s does not hold %s", prefix, a)
			}
		}
		if r.Trusted(netip.MustParseAddr("::1")) || r.Trusted(netip.Addr{}) {
			t.Errorf("%s holds ::1 or no address", prefix)
		}
	}
}
