package redirector

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestSessionHashIsFixed: every instance and every release must give a viewer
// the same identity, or a rolling upgrade would move everybody. When a row
// fails, the hash has changed: do not write the new value here.
func TestSessionHashIsFixed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name              string
		keys              []string
		query, addr, ua   string
		channel           string
		identity, session uint64
	}{
		{"ipv4", nil, "", "192.0.2.1", "player/1.0", "sports1", 0x322df281afd1efc6, 0x77c7837e418a4e59},
		{"ipv6", nil, "", "2001:db8:1:2::1", "player/1.0", "sports1", 0x215ac253d65a19c, 0x9e187498346af5e1},
		{"key", []string{"sid"}, "sid=abc", "192.0.2.1", "player/1.0", "sports1", 0xbfb716af0a07a3e5, 0xa62e9988b1a46646},
		{"nothing", nil, "", "0.0.0.0", "", "", 0xa7f33174bf53a78d, 0x5be830c2fce0a498},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			identity := identityOf(row.keys, row.query, netip.MustParseAddr(row.addr), row.ua)
			if session := sessionOf(identity, row.channel); identity != row.identity || session != row.session {
				t.Errorf("identity %#x, session %#x; want %#x, %#x", identity, session, row.identity, row.session)
			}
		})
	}
	if got, want := hashPair(1, 2), uint64(0x4b180fec3ef3d4ac); got != want {
		t.Errorf("pair %#x, want %#x", got, want)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	type who struct {
		keys  []string
		query string
		addr  string
		ua    string
	}
	keys := []string{"sid", "uid"}
	for _, row := range []struct {
		name string
		a, b who
		same bool
	}{
		{"same_/64", who{addr: "2001:db8:0:1::1", ua: "p"}, who{addr: "2001:db8:0:1:ffff::2", ua: "p"}, true},
		{"other_/64", who{addr: "2001:db8:0:1::1", ua: "p"}, who{addr: "2001:db8:0:2::1", ua: "p"}, false},
		{"other_ipv4", who{addr: "192.0.2.1", ua: "p"}, who{addr: "192.0.2.2", ua: "p"}, false},
		{"other_agent", who{addr: "192.0.2.1", ua: "p"}, who{addr: "192.0.2.1", ua: "q"}, false},
		{"key_beats_address", who{keys, "sid=1", "192.0.2.1", "p"}, who{keys, "sid=1", "198.51.100.7", "q"}, true},
		{"other_value", who{keys, "sid=1", "192.0.2.1", "p"}, who{keys, "sid=2", "192.0.2.1", "p"}, false},
		{"first_configured_key_counts", who{keys, "uid=7&sid=1", "192.0.2.1", "p"}, who{keys, "sid=1&uid=8", "192.0.2.1", "p"}, true},
		{"second_key_where_the_first_is_absent", who{keys, "uid=7", "192.0.2.1", "p"}, who{keys, "uid=7&x=y", "192.0.2.9", "q"}, true},
		{"empty_value_is_absent", who{keys, "sid=&uid=7", "192.0.2.1", "p"}, who{keys, "uid=7", "192.0.2.1", "p"}, true},
		{"no_value_is_absent", who{keys, "sid", "192.0.2.1", "p"}, who{keys, "", "192.0.2.1", "p"}, true},
		{"names_are_exact", who{keys, "SID=1", "192.0.2.1", "p"}, who{keys, "sid=1", "192.0.2.1", "p"}, false},
		{"not_a_suffix", who{keys, "asid=1", "192.0.2.1", "p"}, who{keys, "asid=2", "192.0.2.1", "p"}, true},
		{"semicolons_are_part_of_the_value", who{keys, "sid=1;x", "192.0.2.1", "p"}, who{keys, "sid=1;y", "192.0.2.1", "p"}, false},
		{"semicolon_elsewhere", who{keys, "a=1;b&sid=1", "192.0.2.1", "p"}, who{keys, "sid=1", "192.0.2.2", "p"}, true},
		{"equals_in_the_value", who{keys, "sid=1=x", "192.0.2.1", "p"}, who{keys, "sid=1=y", "192.0.2.1", "p"}, false},
		{"first_of_two", who{keys, "sid=1&sid=2", "192.0.2.1", "p"}, who{keys, "sid=1&sid=3", "192.0.2.1", "p"}, true},
		{"not_configured", who{nil, "sid=1", "192.0.2.1", "p"}, who{nil, "sid=2", "192.0.2.1", "p"}, true},
		{"a_key_is_no_address", who{keys, "sid=\xc0\x00\x02\x01p", "192.0.2.2", ""}, who{keys, "", "192.0.2.1", "p"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := identityOf(row.a.keys, row.a.query, netip.MustParseAddr(row.a.addr), row.a.ua)
			b := identityOf(row.b.keys, row.b.query, netip.MustParseAddr(row.b.addr), row.b.ua)
			if (a == b) != row.same {
				t.Errorf("the same viewer: %v, want %v", a == b, row.same)
			}
		})
	}
}

func TestSessionDependsOnTheChannel(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	for i := range 2000 {
		for _, channel := range []string{"", "a", "b"} {
			s := sessionOf(uint64(i), channel)
			if who := seen[s]; who != "" {
				t.Fatalf("%d/%s and %s are one session", i, channel, who)
			}
			seen[s] = fmt.Sprint(i, "/", channel)
		}
	}
}
