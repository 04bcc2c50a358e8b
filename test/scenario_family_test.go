package test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// Servers of one and of both address families, viewers of both: nobody is sent
// to an address of the other family while another server is left.
func TestScenario8AddressFamilies(t *testing.T) {
	t.Parallel()
	probe, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 on loopback:", err)
	}
	_ = probe.Close()
	// A name's families are what it resolves to: on some machines localhost is
	// both, on others IPv4 alone.
	both := localhostHas(t, 4) && localhostHas(t, 16)
	for _, policy := range []string{"first_response", "share", "content_id", "weight"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			v4 := liveServers(t, "four", 2)
			six := rig.NewOrigin(t, "six", "[::1]:0")
			wide := []*rig.Origin{rig.NewOrigin(t, "wide", "")}
			_, port, _ := net.SplitHostPort(wide[0].Addr)
			if both {
				wide = append(wide, rig.NewOrigin(t, "wide", net.JoinHostPort("::1", port)))
			}
			for _, o := range append(wide, six) {
				o.SetRest(rig.Live)
			}

			farm := farmOf("main", policy, append([]*rig.Origin{six}, v4...))
			name := "http://localhost:" + port
			farm["servers"] = append(farm["servers"].([]any), rig.Config{"name": "wide", "url": name})
			c := with(scene(farm), "redirection", fastStatus())
			p := rig.Start(t, with(c, "core", rig.Config{"interface": "::", "trusted_proxies": []any{"127.0.0.0/8", "::1/128"}}))
			waitState(t, p, 5*time.Second, "up", six)

			load := func(family string) map[string]int {
				answers := p.Load(t.Context(), rig.Load{Connections: 8, Count: 400}, func(i int) rig.Ask {
					from := fmt.Sprintf("192.0.2.%d", i%250+1)
					if family == "IPv6" {
						from = fmt.Sprintf("2001:db8:%x::1", i)
					}
					return rig.Ask{Target: fmt.Sprintf("/ch%d/index.m3u8", i%10), Header: []string{"X-Forwarded-For", from}}
				})
				got := map[string]int{}
				for _, a := range answers {
					switch {
					case a.Status != 302:
						got[a.String()]++
					case strings.HasPrefix(a.Location, v4[0].URL()+"/"), strings.HasPrefix(a.Location, v4[1].URL()+"/"):
						got["IPv4"]++
					case strings.HasPrefix(a.Location, six.URL()+"/"):
						got["IPv6"]++
					case strings.HasPrefix(a.Location, name+"/"):
						got["name"]++
					default:
						got[a.String()]++
					}
				}
				return got
			}
			rig.Eventually(t, 5*time.Second, func() error { // until every server has answered for every channel
				load("IPv6")
				if got := load("IPv4"); got["IPv4"]+got["name"] != 400 {
					return fmt.Errorf("IPv4 viewers: %v", got)
				}
				return nil
			})
			four, sixes := load("IPv4"), load("IPv6")
			t.Logf("localhost in both families: %v; IPv4 viewers %v, IPv6 viewers %v", both, four, sixes)
			if four["IPv4"]+four["name"] != 400 {
				t.Errorf("IPv4 viewers: %v, expected none at the IPv6 address", four)
			}
			if want := sixes["IPv6"] + map[bool]int{true: sixes["name"]}[both]; want != 400 {
				t.Errorf("IPv6 viewers: %v, expected none at an IPv4 address", sixes)
			}
			// Now the IPv4 servers are all that is left, and better than nothing.
			six.Stop()
			for _, o := range wide {
				o.Stop()
			}
			waitState(t, p, 5*time.Second, "down", six, wide[0])
			if got := load("IPv6"); got["IPv4"] != 400 {
				t.Errorf("only IPv4 servers are left, IPv6 viewers: %v", got)
			}
		})
	}
}

// localhostHas tells whether localhost has an address of so many bytes.
func localhostHas(t testing.TB, size int) bool {
	t.Helper()
	addrs, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if len(a.Unmap().AsSlice()) == size {
			return true
		}
	}
	return false
}
