package test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringReload shows the checks of RELOAD-URI.
func TestSteeringReload(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, quiet)
	const path = "/steering/ch/index.m3u8"
	s.known(path, "a", "b")

	t.Run("check_09_RELOAD_URI_is_the_public_address", func(t *testing.T) {
		for _, c := range []struct {
			host, scheme, begins string
		}{
			{"tv.example.net", "", "http://tv.example.net/steering/ch/index.m3u8?"},
			{"tv.example.net:8080", "https", "https://tv.example.net:8080/steering/ch/index.m3u8?"},
			{"[2001:db8::1]:80", "", "http://[2001:db8::1]:80/steering/ch/index.m3u8?"},
			{"[2001:db8::1]", "https", "https://[2001:db8::1]/steering/ch/index.m3u8?"},
			{"192.0.2.7:80", "", "http://192.0.2.7:80/steering/ch/index.m3u8?"},
			{"", "", ""},                       // HTTP/1.0 without Host: nobody knows our name
			{"tv.example.net/x", "", ""},       // net/http refuses it
			{"user@tv.example.net", "", ""},    // another site's name in front
			{strings.Repeat("h", 900), "", ""}, // beyond any name
			// No URL can have these.
			{`ev"il`, "", ""},
			{"a:b:c", "", ""},
			{":80", "", ""},
			{"x:99999", "", ""},
			{"x:", "", ""},
			{"x:8a", "", ""},
			{"%41", "", ""},
			{"[::1", "", ""},
			{"[::1]x", "", ""},
			{"[zz]", "", ""},
			{"[192.0.2.1]", "", ""},
			{"[[::1]]", "", ""},
			{"[]", "", ""},
			{"::1", "", ""},
			{"x]:80", "", ""},
		} {
			lines := []string{"X-Forwarded-Proto: " + c.scheme}
			x := rig.Exchange{Addr: s.Addr(), Send: "GET " + path + " HTTP/1.0\r\nHost: " + c.host + "\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n", Within: waitLong}
			res, err := x.Do()
			if err != nil {
				t.Fatalf("Host %q: %v", c.host, err)
			}
			if res.StatusCode == 400 && c.begins == "" {
				continue
			}
			m, err := rig.ReadManifest(res.Body)
			if err != nil || res.StatusCode != 200 || c.begins == "" && m.Reload != "" || !strings.HasPrefix(m.Reload, c.begins) {
				t.Errorf("Host %q, scheme %q: %d %s %v, expected %q", c.host, c.scheme, res.StatusCode, res.Body, err, c.begins)
			}
		}
	})
	t.Run("check_09_the_scheme_that_anybody_claims", func(t *testing.T) {
		x := rig.Exchange{Addr: s.Addr(), From: "127.0.0.2", Send: rawGet(path, "X-Forwarded-Proto: https"), Within: waitLong}
		res, err := x.Do()
		if err != nil {
			t.Fatal(err)
		}
		if m, err := rig.ReadManifest(res.Body); err != nil || !strings.HasPrefix(m.Reload, "http://tv.example.net/") {
			t.Errorf("from no proxy of ours: %v %s", err, res.Body)
		}
	})
	t.Run("check_09_public_url_wins", func(t *testing.T) {
		t.Parallel()
		other := newSteered(t, 2, steeringKeys(rig.Config{"public_url": "https://steer.example.net:8443"}), quiet)
		m := other.Steer(path, "Host", "internal.example", "X-Forwarded-Host", "evil.example")
		if !strings.HasPrefix(m.Reload, "https://steer.example.net:8443/steering/ch/index.m3u8?pm_sid=") {
			t.Errorf("RELOAD-URI is %q", m.Reload)
		}
	})
	t.Run("check_10_nothing_of_the_players_report", func(t *testing.T) {
		m := s.Steer(path + "?_HLS_pathway=a&keep=1&_HLS_throughput=5&_DASH_pathway=b&_DASH_throughput=6&CMCD=bl%3D1&_HLS_msn=7&%5FHLS_pathway=a&also=2")
		_, query, _ := strings.Cut(m.Reload, "?")
		if !strings.HasPrefix(query, "keep=1&also=2&pm_sid=") || strings.Count(query, "&") != 2 {
			t.Errorf("RELOAD-URI is %q", m.Reload)
		}
	})
	t.Run("check_11_a_thousand_hops", func(t *testing.T) {
		m := s.Steer(path+"?token=a~b", from(7)...)
		first := m
		for hop := range 1000 {
			// From elsewhere each time: the session is what counts.
			m = s.Again(m, fmt.Sprintf("_HLS_pathway=%s&_HLS_throughput=%d", m.First(), 1000+hop), from(hop)...)
			if m.Reload != first.Reload || !slices.Equal(m.Priority, first.Priority) {
				t.Fatalf("hop %d: %+v, expected %+v", hop, m, first)
			}
		}
	})
	t.Run("check_12_characters_and_length", func(t *testing.T) {
		m := s.Steer(path)
		if token := m.Session(); !regexp.MustCompile(`^[A-Za-z0-9_-]{20,200}$`).MatchString(token) {
			t.Errorf("the session is %q", token)
		}
		for _, n := range []int{100, 1500, 1800, 1990, 2100, 6000} {
			if m := s.Steer(path + "?t=" + strings.Repeat("x", n)); len(m.Reload) > 2000 || n <= 1500 && m.Reload == "" {
				t.Errorf("with a query of %d bytes RELOAD-URI has %d", n, len(m.Reload))
			}
		}
	})
	t.Run("check_13_foreign_parameters_byte_for_byte", func(t *testing.T) {
		for _, query := range []string{
			"hdnea=exp=1~acl=/*~hmac=a%2Fb", "a=%zz&b=%", "x;y=1;z", "sig=A%2bB+C%2BD", "empty=&&flag", "utf=%C3%BC&bad=%ff%00", "q=?&r=/../", "token=" + strings.Repeat("k", 800), "pm_sidx=1&xpm_sid=2", "url=http://x/?y=1",
		} {
			m := s.Steer(path + "?_HLS_pathway=a&" + query + "&_HLS_throughput=5")
			if want := "/steering/ch/index.m3u8?" + query + "&pm_sid="; !strings.Contains(m.Reload, want) {
				t.Errorf("RELOAD-URI is %q, expected %q in it", m.Reload, want)
			}
			if again := s.Again(m, "_HLS_pathway=b"); again.Reload != m.Reload {
				t.Errorf("the second RELOAD-URI is %q, the first %q", again.Reload, m.Reload)
			}
		}
		// What no URL may hold is escaped, and nothing else.
		x := rig.Exchange{Addr: s.Addr(), Send: rawGet(path + "?a=\"<>\\^`{|}\xff&b=~'()*"), Within: waitLong}
		res, err := x.Do()
		if err != nil {
			t.Fatal(err)
		}
		if m, err := rig.ReadManifest(res.Body); err != nil || !strings.Contains(m.Reload, "?a=%22%3C%3E%5C%5E%60%7B%7C%7D%FF&b=~'()*&pm_sid=") {
			t.Errorf("%v, %s", err, res.Body)
		}
	})
}
