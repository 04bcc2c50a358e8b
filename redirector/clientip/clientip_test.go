package clientip_test

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

const (
	proxy     = "192.0.2.10:40000"          // trusted
	proxy6    = "[2001:db8:f::10]:40000"    // trusted
	stranger  = "198.51.100.7:40000"        // not trusted
	linkLocal = "[fe80::1%eth0]:40000"      // trusted
	mapped    = "[::ffff:192.0.2.10]:40000" // trusted
)

func newResolver(tb testing.TB, header clientip.Header) *clientip.Resolver {
	tb.Helper()

	r, err := clientip.New([]netip.Prefix{
		netip.MustParsePrefix("192.0.2.77/24"), // host bits set
		netip.MustParsePrefix("2001:db8:f::/48"),
		netip.MustParsePrefix("fe80::/10"),
		netip.MustParsePrefix("::ffff:100.64.0.0/106"), // 100.64.0.0/10
	}, header)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestResolveForwardedFor names lines of the bad-input matrix (B) and of the
// peers' trackers (D).
func TestResolveForwardedFor(t *testing.T) {
	t.Parallel()

	thousand := strings.TrimSuffix(strings.Repeat("192.0.2.1, ", 1000), ", ")
	tests := []struct {
		name  string
		peer  string
		lines []string
		want  string // Addr
		how   string // "peer", "header" or "suspect"
	}{
		{"D21_B48_stranger", stranger, []string{"10.1.1.1"}, "198.51.100.7", "suspect"},
		{"D21_trusted", proxy, []string{"10.1.1.1"}, "10.1.1.1", "header"},
		{"D22_rightmost_untrusted", proxy, []string{"10.1.1.1, 203.0.113.9"}, "203.0.113.9", "header"},
		{"D22_two_trusted_hops", proxy, []string{"10.1.1.1, 203.0.113.9, 192.0.2.11"}, "203.0.113.9", "header"},
		{"D24_mapped_peer", "[::ffff:10.1.1.1]:1", nil, "10.1.1.1", "peer"},
		{"no_header", proxy, nil, "192.0.2.10", "peer"},
		{"mapped_trusted_peer", mapped, []string{"203.0.113.9"}, "203.0.113.9", "header"},
		{"mapped_trusted_network", "100.127.0.1:1", []string{"203.0.113.9"}, "203.0.113.9", "header"},
		{"trusted_peer_with_zone", linkLocal, []string{"203.0.113.9"}, "203.0.113.9", "header"},
		{"bare_trusted_peer", "2001:db8:f::10", []string{"203.0.113.9"}, "203.0.113.9", "header"},
		{"all_trusted", proxy, []string{"192.0.2.1, 2001:db8:f::2, 192.0.2.3"}, "192.0.2.1", "header"},
		{"B47_garbage_nearest", proxy, []string{"1.1.1.1, garbage"}, "192.0.2.10", "suspect"},
		{"garbage_beyond_viewer", proxy, []string{"garbage, 1.1.1.1"}, "1.1.1.1", "header"},
		{"garbage_beyond_trusted", proxy, []string{"1.1.1.1, garbage, 192.0.2.1"}, "192.0.2.10", "suspect"},
		{"B49_three_lines", proxy, []string{"9.9.9.9", "203.0.113.9, 192.0.2.1", "192.0.2.2"}, "203.0.113.9", "header"},
		{"B50_mapped", proxy, []string{"::ffff:10.0.0.1"}, "10.0.0.1", "header"},
		{"B50_mapped_trusted", proxy, []string{"203.0.113.9, ::ffff:192.0.2.1"}, "203.0.113.9", "header"},
		{"B50_zone", proxy, []string{"2001:db8::1%eth0"}, "2001:db8::1", "header"},
		{"B50_mapped_zone", proxy, []string{"::ffff:10.0.0.1%eth0"}, "10.0.0.1", "header"},
		{"B50_leading_zero", proxy, []string{"010.0.0.1"}, "192.0.2.10", "suspect"},
		{"B50_short_form", proxy, []string{"10.1"}, "192.0.2.10", "suspect"},
		{"B50_number", proxy, []string{"0x0a000001"}, "192.0.2.10", "suspect"},
		{"B50_port", proxy, []string{"203.0.113.9:4711"}, "203.0.113.9", "header"},
		{"B50_port6", proxy, []string{"[2001:db8::1]:4711"}, "2001:db8::1", "header"},
		{"brackets", proxy, []string{"[2001:db8::1]"}, "2001:db8::1", "header"},
		{"bad_port", proxy, []string{"203.0.113.9:65536"}, "192.0.2.10", "suspect"},
		{"signed_port", proxy, []string{"203.0.113.9:+80"}, "192.0.2.10", "suspect"},
		{"empty_port", proxy, []string{"203.0.113.9:"}, "192.0.2.10", "suspect"},
		{"brackets_around_ipv4", proxy, []string{"[203.0.113.9]:80"}, "192.0.2.10", "suspect"},
		{"text_after_bracket", proxy, []string{"[2001:db8::1]80"}, "192.0.2.10", "suspect"},
		{"open_bracket", proxy, []string{"[2001:db8::1"}, "192.0.2.10", "suspect"},
		{"quotes", proxy, []string{`"203.0.113.9"`}, "192.0.2.10", "suspect"},
		{"tabs_and_spaces", proxy, []string{" \t203.0.113.9\t "}, "203.0.113.9", "header"},
		{"other_space", proxy, []string{"\u00a0203.0.113.9"}, "192.0.2.10", "suspect"},
		{"empty_element", proxy, []string{"203.0.113.9, "}, "192.0.2.10", "suspect"},
		{"empty_line", proxy, []string{"203.0.113.9", ""}, "192.0.2.10", "suspect"},
		{"B50_thousand_trusted", proxy, []string{thousand}, "192.0.2.10", "suspect"},
		{"sixty_four_trusted", proxy, []string{"203.0.113.9" + strings.Repeat(",192.0.2.1", 63)}, "203.0.113.9", "header"},
		{"sixty_five", proxy, []string{"203.0.113.9" + strings.Repeat(",192.0.2.1", 64)}, "192.0.2.10", "suspect"},
		{"sixty_five_lines", proxy, slices.Repeat([]string{"192.0.2.1"}, 65), "192.0.2.10", "suspect"},
		{"many_but_viewer_is_near", proxy, []string{strings.Repeat("9.9.9.9,", 500) + "203.0.113.9"}, "203.0.113.9", "header"},
		{"too_many_bytes", proxy, []string{strings.Repeat("9.9.9.9,", 1024), "203.0.113.9"}, "192.0.2.10", "suspect"},
	}
	r := newResolver(t, clientip.XForwardedFor)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			h := http.Header{"Forwarded": {"for=8.8.8.8"}, "X-Real-Ip": {"8.8.8.8"}, "X_forwarded_for": {"8.8.8.8"}}
			if tt.lines != nil {
				h["X-Forwarded-For"] = tt.lines
			}
			checkViewer(t, r.Resolve(tt.peer, false, h), tt.want, tt.how)
		})
	}
}

func TestResolveForwarded(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		peer  string
		lines []string
		want  string
		how   string
	}{
		{"plain", proxy, []string{"for=203.0.113.9"}, "203.0.113.9", "header"},
		{"stranger", stranger, []string{"for=10.1.1.1"}, "198.51.100.7", "suspect"},
		{"quoted_ipv6_and_port", proxy, []string{`for="[2001:db8::1]:4711"`}, "2001:db8::1", "header"},
		{"unquoted_port", proxy, []string{"for=203.0.113.9:4711"}, "203.0.113.9", "header"},
		{"unquoted_ipv6", proxy, []string{"for=[2001:db8::1]:4711"}, "2001:db8::1", "header"},
		{"rightmost_untrusted", proxy, []string{"for=10.1.1.1, for=203.0.113.9;by=192.0.2.1, for=192.0.2.11"}, "203.0.113.9", "header"},
		{"all_trusted", proxy, []string{"for=192.0.2.1", `for="[2001:db8:f::2]", for=192.0.2.3`}, "192.0.2.1", "header"},
		{"capitals", proxy, []string{"By=192.0.2.1;FOR=203.0.113.9;Proto=HTTP"}, "203.0.113.9", "header"},
		{"white_space", proxy, []string{" \tfor=203.0.113.9 ; proto=http ;; "}, "203.0.113.9", "header"},
		{"quoted_pair", proxy, []string{`for="\2\03.0.113.9"`}, "203.0.113.9", "header"},
		{"separators_in_quotes", proxy, []string{`for=203.0.113.9;host="a,b;c\",for=9.9.9.9"`}, "203.0.113.9", "header"},
		{"mapped", proxy, []string{`for="[::ffff:10.0.0.1]"`}, "10.0.0.1", "header"},
		{"B51_two_for", proxy, []string{`for="[2001:db8::1]:4711";for=unknown`}, "192.0.2.10", "suspect"},
		{"unknown", proxy, []string{"for=203.0.113.9, for=unknown"}, "192.0.2.10", "suspect"},
		{"unknown_beyond_viewer", proxy, []string{"for=unknown, for=203.0.113.9"}, "203.0.113.9", "header"},
		{"obfuscated", proxy, []string{"for=_gazonk"}, "192.0.2.10", "suspect"},
		{"no_for", proxy, []string{"for=203.0.113.9, by=192.0.2.1;proto=https"}, "192.0.2.10", "suspect"},
		{"B51_open_quote", proxy, []string{`for="203.0.113.9`}, "192.0.2.10", "suspect"},
		{"open_quote_swallows_its_line", proxy, []string{`for="x, for=203.0.113.9`}, "192.0.2.10", "suspect"},
		{"open_quote_spares_next_line", proxy, []string{`for="x`, "for=203.0.113.9"}, "203.0.113.9", "header"},
		{"quote_closed_by_proxy", proxy, []string{`for=9.9.9.9;x=", for="[2001:db8::1]"`}, "192.0.2.10", "suspect"},
		{"escaped_closing_quote", proxy, []string{`for="203.0.113.9\"`}, "192.0.2.10", "suspect"},
		{"text_after_quote", proxy, []string{`for="203.0.113.9"x`}, "192.0.2.10", "suspect"},
		{"empty_value", proxy, []string{"for="}, "192.0.2.10", "suspect"},
		{"empty_name", proxy, []string{"=203.0.113.9"}, "192.0.2.10", "suspect"},
		{"no_equals", proxy, []string{"203.0.113.9"}, "192.0.2.10", "suspect"},
		{"space_around_equals", proxy, []string{"for = 203.0.113.9"}, "192.0.2.10", "suspect"},
		{"two_protos", proxy, []string{"for=203.0.113.9;proto=http;proto=https"}, "192.0.2.10", "suspect"},
		{"empty_element", proxy, []string{"for=203.0.113.9,"}, "192.0.2.10", "suspect"},
		{"empty", proxy, []string{""}, "192.0.2.10", "suspect"},
		{"sixty_four", proxy, []string{"for=203.0.113.9" + strings.Repeat(",for=192.0.2.1", 63)}, "203.0.113.9", "header"},
		{"sixty_five", proxy, []string{"for=203.0.113.9" + strings.Repeat(",for=192.0.2.1", 64)}, "192.0.2.10", "suspect"},
		{"sixty_five_on_two_lines", proxy, []string{"for=203.0.113.9" + strings.Repeat(",for=192.0.2.1", 60), "for=192.0.2.1,for=192.0.2.1,for=192.0.2.1,for=192.0.2.1"}, "192.0.2.10", "suspect"},
		{"many_but_viewer_is_near", proxy, []string{strings.Repeat("for=9.9.9.9,", 500) + "for=203.0.113.9"}, "203.0.113.9", "header"},
	}
	r := newResolver(t, clientip.Forwarded)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			h := http.Header{"Forwarded": tt.lines, "X-Forwarded-For": {"8.8.8.8"}}
			checkViewer(t, r.Resolve(tt.peer, false, h), tt.want, tt.how)
		})
	}
}

func checkViewer(t *testing.T, got clientip.Viewer, addr, how string) {
	t.Helper()

	want := clientip.Viewer{
		Addr:      netip.MustParseAddr(addr),
		Peer:      got.Peer,
		Forwarded: how == "header",
		Suspect:   how == "suspect",
	}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if how != "header" && got.Addr != got.Peer {
		t.Errorf("address %v is neither from the header nor the peer %v", got.Addr, got.Peer)
	}
}

func TestResolveProto(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		header clientip.Header
		peer   string
		tls    bool
		h      http.Header
		want   bool
	}{
		{"plain", clientip.XForwardedFor, stranger, false, nil, false},
		{"tls", clientip.XForwardedFor, stranger, true, nil, true},
		{"B46_stranger_says_https", clientip.XForwardedFor, stranger, false, http.Header{"X-Forwarded-Proto": {"https"}}, false},
		{"stranger_says_http", clientip.XForwardedFor, stranger, true, http.Header{"X-Forwarded-Proto": {"http"}}, true},
		{"trusted_says_https", clientip.XForwardedFor, proxy, false, http.Header{"X-Forwarded-Proto": {"https"}}, true},
		{"trusted_says_http", clientip.XForwardedFor, proxy, true, http.Header{"X-Forwarded-Proto": {"http"}}, false},
		{"capitals", clientip.XForwardedFor, proxy6, false, http.Header{"X-Forwarded-Proto": {" HTTPS "}}, true},
		{"rightmost", clientip.XForwardedFor, proxy, true, http.Header{"X-Forwarded-Proto": {"https", "https, http"}}, false},
		{"nonsense", clientip.XForwardedFor, proxy, true, http.Header{"X-Forwarded-Proto": {"http2"}}, true},
		{"nonsense_is_not_https", clientip.XForwardedFor, proxy, false, http.Header{"X-Forwarded-Proto": {"httpſ"}}, false},
		{"with_unreadable_chain", clientip.XForwardedFor, proxy, false, http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-For": {"?"}}, true},
		{"other_header", clientip.XForwardedFor, proxy, false, http.Header{"Forwarded": {"for=1.1.1.1;proto=https"}}, false},
		{"forwarded", clientip.Forwarded, proxy, false, http.Header{"Forwarded": {`for=1.1.1.1;proto="https"`}}, true},
		{"forwarded_http", clientip.Forwarded, proxy, true, http.Header{"Forwarded": {"for=1.1.1.1;proto=http"}}, false},
		{"forwarded_chosen_element", clientip.Forwarded, proxy, false, http.Header{"Forwarded": {"for=9.9.9.9;proto=http, for=1.1.1.1;proto=https, for=192.0.2.1;proto=http"}}, true},
		{"forwarded_silent", clientip.Forwarded, proxy, true, http.Header{"Forwarded": {"for=1.1.1.1"}}, true},
		{"forwarded_unreadable", clientip.Forwarded, proxy, false, http.Header{"Forwarded": {"for=unknown;proto=https"}}, false},
		{"forwarded_stranger", clientip.Forwarded, stranger, false, http.Header{"Forwarded": {"for=1.1.1.1;proto=https"}}, false},
		{"forwarded_without_companion", clientip.Forwarded, proxy, false, http.Header{"X-Forwarded-Proto": {"https"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			if got := newResolver(t, tt.header).Resolve(tt.peer, tt.tls, tt.h).HTTPS; got != tt.want {
				t.Errorf("got https %v, want %v", got, tt.want)
			}
		})
	}
}

func TestResolveWithoutTrustedNeverLooksAtHeaders(t *testing.T) {
	t.Parallel()

	r, err := clientip.New(nil, clientip.XForwardedFor)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Resolve(proxy, false, http.Header{"X-Forwarded-For": {"1.1.1.1"}, "X-Forwarded-Proto": {"https"}})
	peer := netip.MustParseAddr("192.0.2.10")
	if want := (clientip.Viewer{Addr: peer, Peer: peer}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestResolveWithoutPeerAddress(t *testing.T) {
	t.Parallel()

	got := newResolver(t, clientip.XForwardedFor).Resolve("@", true, http.Header{"X-Forwarded-For": {"1.1.1.1"}})
	if want := (clientip.Viewer{HTTPS: true, Suspect: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParsePeer(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, in, want string }{
		{"ipv4", "192.0.2.1:80", "192.0.2.1"},
		{"ipv6", "[2001:db8::1]:80", "2001:db8::1"},
		{"zone", "[fe80::1%eth0]:80", "fe80::1"},
		{"mapped", "[::ffff:192.0.2.1]:80", "192.0.2.1"},
		{"bare_ipv4", "192.0.2.1", "192.0.2.1"},
		{"bare_ipv6", "2001:db8::1", "2001:db8::1"},
		{"bare_zone", "fe80::1%eth0", "fe80::1"},
		{"fastcgi_without_port", "192.0.2.1:0", "192.0.2.1"},
		{"empty", "", ""},
		{"no_host", ":80", ""},
		{"unix", "@", ""},
		{"name", "localhost:80", ""},
		{"service", "192.0.2.1:http", ""},
		{"space", " 192.0.2.1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got, ok := clientip.ParsePeer(tt.in)
			if ok != (tt.want != "") || ok && got != netip.MustParseAddr(tt.want) {
				t.Errorf("ParsePeer(%q) = %v, %v, want %q", tt.in, got, ok, tt.want)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()

	if _, err := clientip.New([]netip.Prefix{{}}, clientip.XForwardedFor); err == nil {
		t.Error("an invalid network was accepted")
	}
	if _, err := clientip.New(nil, clientip.Forwarded+1); err == nil {
		t.Error("an unknown header was accepted")
	}
}

func TestResolveDoesNotAllocate(t *testing.T) {
	tests := []struct {
		name   string
		header clientip.Header
		peer   string
		h      http.Header
	}{
		{"stranger", clientip.XForwardedFor, stranger, http.Header{"X-Forwarded-For": {"1.1.1.1"}}},
		{"forwarded_for", clientip.XForwardedFor, proxy, http.Header{"X-Forwarded-For": {"203.0.113.9, 192.0.2.1"}, "X-Forwarded-Proto": {"https"}}},
		{"forwarded", clientip.Forwarded, proxy6, http.Header{"Forwarded": {`for="[2001:db8::1]:4711";proto=https, for=192.0.2.1`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newResolver(t, tt.header)
			if allocs := testing.AllocsPerRun(100, func() { r.Resolve(tt.peer, false, tt.h) }); allocs != 0 {
				t.Errorf("got %v allocations, want none", allocs)
			}
		})
	}
}

// FuzzResolve holds that nobody can make up an address: the viewer is the peer,
// or stands in a header that a trusted peer sent.
func FuzzResolve(f *testing.F) {
	f.Add(proxy, "10.1.1.1, 203.0.113.9\n192.0.2.1", false)
	f.Add(proxy6, "::ffff:10.0.0.1%eth0, [2001:db8::1]:80, 010.0.0.1", false)
	f.Add(mapped, strings.Repeat("192.0.2.1,", 70), false)
	f.Add(stranger, "1.1.1.1", true)
	f.Add(proxy, `for="[2001:db8::1]:4711";for=unknown, for=192.0.2.1;proto=https`, true)
	f.Add(proxy, `for="\2\03.0.113.9";host="a,b;c\"",for=192.0.2.1`+"\n"+`for="x`, true)
	f.Fuzz(func(t *testing.T, remoteAddr, value string, rfc7239 bool) {
		header, name := clientip.XForwardedFor, "X-Forwarded-For"
		if rfc7239 {
			header, name = clientip.Forwarded, "Forwarded"
		}
		r := newResolver(t, header)
		got := r.Resolve(remoteAddr, false, http.Header{name: strings.Split(value, "\n")})

		peer, ok := clientip.ParsePeer(remoteAddr)
		if got.Peer != peer || ok != peer.IsValid() {
			t.Fatalf("peer is %v, want %v", got.Peer, peer)
		}
		if got.Addr.Zone() != "" || got.Addr.Is4In6() {
			t.Fatalf("address %v has a zone or is mapped", got.Addr)
		}
		switch {
		case got.Forwarded == got.Suspect:
			t.Fatalf("a header is believed or suspect: %+v", got)
		case got.Forwarded && !r.Trusted(peer):
			t.Fatalf("the header of stranger %v was believed: %+v", peer, got)
		case got.Forwarded && !standsIn(value, got.Addr):
			t.Fatalf("address %v does not stand in %q", got.Addr, value)
		case !got.Forwarded && got.Addr != peer:
			t.Fatalf("address %v is not the peer %v", got.Addr, peer)
		case !r.Trusted(peer) && got.HTTPS:
			t.Fatalf("proto of stranger %v was believed", peer)
		}
	})
}

// standsIn looks for addr between the separators of both headers' grammars.
func standsIn(value string, addr netip.Addr) bool {
	words := strings.FieldsFunc(strings.ReplaceAll(value, `\`, ""), func(r rune) bool {
		return strings.ContainsRune("\n,;=%\" \t", r) // a zone may hold anything
	})
	return slices.ContainsFunc(words, func(word string) bool {
		host := word
		if h, _, err := net.SplitHostPort(word); err == nil {
			if a, err := netip.ParseAddr(h); err == nil && a.WithZone("").Unmap() == addr {
				return true
			}
		}
		a, err := netip.ParseAddr(strings.Trim(host, "[]"))
		return err == nil && a.WithZone("").Unmap() == addr
	})
}

func BenchmarkResolve(b *testing.B) {
	for _, bb := range []struct {
		name   string
		header clientip.Header
		peer   string
		h      http.Header
	}{
		{"untrusted", clientip.XForwardedFor, stranger, http.Header{}},
		{"one_hop", clientip.XForwardedFor, proxy, http.Header{"X-Forwarded-For": {"203.0.113.9"}, "X-Forwarded-Proto": {"https"}}},
		{"one_hop_rfc7239", clientip.Forwarded, proxy, http.Header{"Forwarded": {`for="[2001:db8::1]:4711";proto=https`}}},
		{"unreadable", clientip.XForwardedFor, proxy, http.Header{"X-Forwarded-For": {"unknown"}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			r := newResolver(b, bb.header)
			b.ReportAllocs()
			for b.Loop() {
				r.Resolve(bb.peer, false, bb.h)
			}
		})
	}
}
