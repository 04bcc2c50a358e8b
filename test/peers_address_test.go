package test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

func TestPeersAddresses(t *testing.T) {
	t.Parallel()
	o := liveOrigin(t, "o")
	names := []string{"lan", "def", "A", "B", "C"}
	var farms []rig.Config
	for _, name := range names {
		farms = append(farms, assumed(name, "first_response", name+" "+o.URL()+"/"+name))
	}
	p := rig.Start(t, rig.Config{
		"core": trusting(),
		"redirection": redirection(farms, []rig.Config{
			place("def", "def", "127.0.0.0/8", "203.0.113.0/24"),
			place("C", "C", "10.79.0.0/16"), place("A", "A", "10.79.55.0/24"), place("lan", "lan", "10.0.0.0/8", "fc00::/7"),
			place("B", "B", "10.79.6.0/24"),
		}),
	})
	farmOf := func(res rig.Response) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(res.Location(), o.URL()+"/"), "/")
		return name
	}

	for _, c := range []struct{ name, header, want string }{
		{"D21_trusted_proxy", "10.1.1.1", "lan"},
		{"D22_rightmost_untrusted", "10.1.1.1, 203.0.113.9", "def"},
		{"D22_trusted_at_the_right", "203.0.113.9, 10.1.1.1, 127.0.0.1", "lan"},
		{"D22_all_trusted", "127.0.0.1, 127.0.0.1", "def"},
		{"D24_mapped", "::ffff:10.1.1.1", "lan"},
		{"D25_IPv6", "fc00::1", "lan"},
		{"D26_most_specific_first", "10.79.55.2", "A"},
		{"D26_most_specific_last", "10.79.6.9", "B"},
		{"D26_between", "10.79.7.1", "C"},
		{"D26_around", "10.80.0.1", "lan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := follow(p, c.header, "/ch/index.m3u8")
			if got := farmOf(res); got != c.want {
				t.Errorf("%s goes to farm %q, expected %q (%d)", c.header, got, c.want, res.StatusCode)
			}
		})
	}
	t.Run("D21_untrusted_peer", func(t *testing.T) {
		x := rig.Exchange{Addr: p.Addr(), From: "127.0.0.2", Send: rawGet("/ch/index.m3u8", "X-Forwarded-For: 10.1.1.1")}
		if res, err := x.Do(); err != nil || farmOf(res) != "def" {
			t.Errorf("%v, %v; expected farm def", res.Response, err)
		}
	})
	t.Run("D28_no_location", func(t *testing.T) {
		for _, addr := range []string{"198.51.100.1", "2001:db8::1"} {
			if res := follow(p, addr, "/ch/index.m3u8"); res.StatusCode != 403 || res.Reason() != "no_location" || res.Location() != "" {
				t.Errorf("%s: %v, reason %q", addr, res.Response, res.Reason())
			}
		}
	})
	t.Run("D29_peer_and_address_in_the_log", func(t *testing.T) {
		follow(p, "203.0.113.77", "/ch/index.m3u8", "User-Agent", "D29")
		var lines []map[string]any
		rig.Eventually(t, 2e9, func() error {
			if lines = p.Decisions("D29"); len(lines) == 0 {
				return fmt.Errorf("no log line")
			}
			return nil
		})
		if lines[0]["client"] != "203.0.113.77" || lines[0]["peer"] != "127.0.0.1" {
			t.Errorf("the log says %v, expected client 203.0.113.77 and peer 127.0.0.1", lines[0])
		}
	})
}

// TestPeersProxyProtocol holds the same addresses behind PROXY lines.
func TestPeersProxyProtocol(t *testing.T) {
	t.Parallel()
	o := liveOrigin(t, "o")
	core := trusting()
	core["proxy_protocol"] = true
	core["trusted_proxies"] = []string{"127.0.0.1/32", "192.0.2.0/24"}
	p := rig.Start(t, rig.Config{
		"core": core,
		"redirection": redirection(
			[]rig.Config{assumed("lan", "first_response", "lan "+o.URL()+"/lan"), assumed("def", "first_response", "def "+o.URL()+"/def")},
			[]rig.Config{place("lan", "lan", "10.0.0.0/8", "fc00::/7"), place("def", "def", everywhere...)}),
	})
	for _, c := range []struct{ name, proxy, header, want string }{
		{"D21_PROXY_line", "PROXY TCP4 10.1.1.1 192.0.2.1 4711 80", "", "lan"},
		{"D21_PROXY_line_IPv6", "PROXY TCP6 fc00::1 2001:db8::1 4711 80", "", "lan"},
		{"D24_PROXY_line_mapped", "PROXY TCP6 ::ffff:10.1.1.1 ::ffff:192.0.2.1 4711 80", "", "lan"},
		{"D22_header_of_an_untrusted_viewer", "PROXY TCP4 203.0.113.1 192.0.2.1 4711 80", "10.1.1.1", "def"},
		{"D22_header_of_a_trusted_proxy_behind", "PROXY TCP4 192.0.2.77 192.0.2.1 4711 80", "10.1.1.1", "lan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := rig.Exchange{Addr: p.Addr(), Send: c.proxy + "\r\n" + rawGet("/ch/index.m3u8", "X-Forwarded-For: "+c.header)}
			if c.header == "" {
				x.Send = c.proxy + "\r\n" + rawGet("/ch/index.m3u8")
			}
			if res, err := x.Do(); err != nil || !strings.HasPrefix(res.Location(), o.URL()+"/"+c.want+"/") {
				t.Errorf("%v, %v; expected farm %s", res.Response, err, c.want)
			}
		})
	}
}

// TestPeersManyPrefixes is D27: a hundred thousand prefixes, judged against
// looking at every one of them.
func TestPeersManyPrefixes(t *testing.T) {
	t.Parallel()
	const (
		locations = 20
		each      = 5000
		viewers   = 400
	)
	random := rand.New(rand.NewPCG(27, 27))
	o := liveOrigin(t, "o")
	dir := t.TempDir()
	var farms, places []rig.Config
	var all []netip.Prefix
	owner := map[netip.Prefix]int{}
	for i := range locations {
		name := fmt.Sprintf("f%d", i)
		farms = append(farms, assumed(name, "first_response", name+" "+o.URL()+"/"+name))
		var file strings.Builder
		for n := 0; n < each; {
			prefix := randomPrefix(random)
			if _, taken := owner[prefix]; taken {
				continue
			}
			owner[prefix] = i
			all = append(all, prefix)
			fmt.Fprintln(&file, prefix)
			n++
		}
		path := filepath.Join(dir, name+".txt")
		if err := os.WriteFile(path, []byte("# prefixes\n"+file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		places = append(places, rig.Config{"name": name, "farms": []string{name}, "ip_mask_files": []string{path}})
	}
	for i, edge := range []string{"0.0.0.0/0", "198.51.100.7/32", "2001:db8::7/128"} {
		prefix := netip.MustParsePrefix(edge)
		owner[prefix] = i
		all = append(all, prefix)
		places[i]["ip_mask"] = []string{edge}
	}
	p := rig.Start(t, rig.Config{"core": trusting(), "redirection": redirection(farms, places), "log": rig.Config{"decisions": false}})

	k := p.KeepAlive()
	for i := range viewers {
		addr := randomAddr(random, all)
		switch i {
		case 0:
			addr = netip.MustParseAddr("198.51.100.7")
		case 1:
			addr = netip.MustParseAddr("2001:db8::7")
		case 2:
			addr = netip.MustParseAddr("255.255.255.255")
		}
		want, longest := "", -1
		for _, prefix := range all {
			if prefix.Bits() > longest && prefix.Contains(addr) {
				longest, want = prefix.Bits(), fmt.Sprintf("%s/f%d/ch/index.m3u8", o.URL(), owner[prefix])
			}
		}
		res, err := k.Get("/ch/index.m3u8", "X-Forwarded-For: "+addr.String())
		if err != nil || res.Location() != want {
			t.Errorf("%s: %v, %q, expected %q", addr, err, res.Location(), want)
		}
	}

	t.Run("duplicate_names_both_lines", func(t *testing.T) {
		path := filepath.Join(dir, "twice.txt")
		if err := os.WriteFile(path, []byte("192.0.2.0/24\n\n198.51.100.0/24 # site\n192.0.2.0/24\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		places[0]["ip_mask_files"] = []string{path}
		p.Write(rig.Config{"redirection": redirection(farms, places)})
		out, _, status := rig.Run(t, "", "check", "-config", p.File)
		if status != 1 || !strings.Contains(out, "line 1") || !strings.Contains(out, "line 4") {
			t.Errorf("check exits %d and says %q, expected 1, line 1 and line 4", status, out)
		}
	})
}

func randomPrefix(random *rand.Rand) netip.Prefix {
	if random.IntN(2) == 0 {
		b := [4]byte{byte(1 + random.IntN(223)), byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())}
		return netip.PrefixFrom(netip.AddrFrom4(b), 8+random.IntN(25)).Masked()
	}
	var b [16]byte
	for i := range 8 {
		b[i] = byte(random.Uint32())
	}
	b[0] = 0x20 | b[0]&0x1f
	return netip.PrefixFrom(netip.AddrFrom16(b), 16+random.IntN(49)).Masked()
}

// randomAddr draws from all addresses of a family or from within a prefix.
func randomAddr(random *rand.Rand, all []netip.Prefix) netip.Addr {
	prefix := all[random.IntN(len(all))]
	b := prefix.Addr().AsSlice()
	keep := prefix.Bits()
	if random.IntN(4) == 0 {
		keep = 3
	}
	for bit := keep; bit < len(b)*8; bit++ {
		if random.IntN(2) == 0 {
			b[bit/8] ^= 0x80 >> (bit % 8)
		}
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr.Unmap()
}
