package test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The channels of a real field. News is HLS with dates, and DASH; sport is HLS
// without dates.
const (
	realNews     = "news"
	realNewsHLS  = "/tv/news/index.m3u8"
	realNewsDASH = "/tv/news/manifest.mpd"
	realSport    = "sport"
	realSportHLS = "/tv/sport/index.m3u8"
)

// realField is two farms of two nginx each, every server with an ffmpeg for
// each of its channels, so that each can be killed, frozen or taken away alone.
type realField struct {
	servers []*realServer // near-1, near-2, far-1, far-2
	*rig.Pointsman
}

// realServer is one nginx with its encoders.
type realServer struct {
	name string
	*rig.Nginx
	encoders map[string]*rig.Encoder // by channel
}

// realServers starts the servers and waits until they have every channel.
func realServers(t *testing.T) []*realServer {
	t.Helper()
	var servers []*realServer
	for _, s := range []struct{ name, host string }{
		{"near-1", "127.0.0.11"}, {"near-2", "127.0.0.12"}, {"far-1", "127.0.0.21"}, {"far-2", "127.0.0.22"},
	} {
		n := rig.NewNginx(t, s.host, rig.Files)
		servers = append(servers, &realServer{s.name, n, map[string]*rig.Encoder{
			realNews:  rig.NewEncoder(t, filepath.Join(n.Root, realNews), rig.Form{HLS: true, DASH: true, Dates: true}),
			realSport: rig.NewEncoder(t, filepath.Join(n.Root, realSport), rig.Form{HLS: true}),
		}})
	}
	for _, s := range servers {
		s.encoders[realNews].Wait("index.m3u8")
		s.encoders[realNews].Wait("seg2.ts") // three segments are what a player begins with
		s.encoders[realNews].Wait("manifest.mpd")
		s.encoders[realSport].Wait("seg2.ts")
	}
	return servers
}

// realConfig is a configuration over the servers with the policies of its two
// farms. Viewers' addresses come in X-Forwarded-For from 127.0.0.1, so that a
// thousand viewers are a thousand sessions.
func realConfig(servers []*realServer, near, far string) rig.Config {
	member := func(i int) rig.Config {
		return rig.Config{"name": servers[i].name, "url": servers[i].URL()}
	}
	return rig.Config{
		"core":  rig.Config{"trusted_proxies": []string{"127.0.0.1/32"}},
		"probe": rig.Config{"slow_start_sec": 0},
		"redirection": rig.Config{
			"uri_path": "/tv", "channel_regex": "^([^/]+)/",
			"server_status_cache_time_sec": 1, "live_cache_time_sec": 1, "request_timeout_sec": 1,
			"farms": []rig.Config{
				{"name": "near", "policy": near, "servers": []rig.Config{member(0), member(1)}},
				{"name": "far", "policy": far, "servers": []rig.Config{member(2), member(3)}},
			},
			"locations": []rig.Config{
				{"name": "far-first", "farms": []string{"far", "near"}, "ip_mask": []string{"127.0.0.42/32"}},
				{"name": "everybody", "farms": []string{"near", "far"}, "ip_mask": []string{"0.0.0.0/0", "::/0"}},
			},
		},
	}
}

// server returns a server by name.
func (f *realField) server(name string) *realServer {
	i := slices.IndexFunc(f.servers, func(s *realServer) bool { return s.name == name })
	return f.servers[i]
}

// viewers sends n viewers for a path, each a session of its own beginning with
// the address 198.18.0.0 + from, and counts them by the server they are sent
// to. Everybody must be sent somewhere.
func (f *realField) viewers(t *testing.T, path string, from, n int) map[string]int {
	t.Helper()
	got := map[string]int{}
	for i := range n {
		v := from + i
		address := netip.AddrFrom4([4]byte{198, 18, byte(v >> 8), byte(v)})
		r, err := rig.Do("GET", f.Viewers+path, "", "X-Forwarded-For", address.String(), "User-Agent", "real-viewer")
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for _, s := range f.servers {
			if r.Location() == s.URL()+strings.TrimPrefix(path, "/tv") {
				name = s.name
			}
		}
		if r.StatusCode != 302 || name == "" {
			t.Fatalf("viewer %d of %s: status %d, Location %q, body %s", v, path, r.StatusCode, r.Location(), r.Body)
		}
		got[name]++
	}
	return got
}

// why returns what explain says of a server for a path, with its words.
func (f *realField) why(t *testing.T, server, path string) (why, detail string) {
	t.Helper()
	x := realExplain(t, f.Pointsman, path)
	for _, farm := range x.Farms {
		for _, s := range farm.Servers {
			if s.Name == server {
				return s.Why, s.Detail
			}
		}
	}
	t.Fatalf("explain of %s names no server %q", path, server)
	return "", ""
}

// awaitWhy waits until explain gives a server this why, with viewers coming:
// a server that nobody would be sent to is not asked.
func (f *realField) awaitWhy(t *testing.T, d time.Duration, server, path, want string) {
	t.Helper()
	begun := time.Now()
	rig.Eventually(t, d, func() error {
		f.viewers(t, path, 3000, 20)
		why, detail := f.why(t, server, path)
		if why != want {
			return fmt.Errorf("%s is %s for %s (%s), expected %s", server, why, path, detail, want)
		}
		t.Logf("%s is %s for %s after %v: %s", server, why, path, time.Since(begun).Round(100*time.Millisecond), detail)
		return nil
	})
}

// realExplanation is what these tests read of explain.
type realExplanation struct {
	Status  int
	Reason  string
	Server  string
	Content struct{ Channel, Kind, Protocol string }
	Farms   []struct {
		Name    string
		Servers []struct {
			Name, Why, Detail string
			Chosen            bool
		}
	}
}

// realExplain asks a running instance to explain a path.
func realExplain(t *testing.T, p *rig.Pointsman, path string) realExplanation {
	t.Helper()
	r := p.Operator("GET", "/explain?ip=198.51.100.7&url="+url.QueryEscape(path), "")
	var x realExplanation
	if err := json.Unmarshal([]byte(r.Body), &x); err != nil {
		t.Fatalf("explain of %s answered %d %s: %v", path, r.StatusCode, r.Body, err)
	}
	return x
}

// awaitState waits until /status gives a server this state.
func (f *realField) awaitState(t *testing.T, server, want string) {
	t.Helper()
	rig.Eventually(t, 20*time.Second, func() error {
		if got := f.Status().State(server); got != want {
			return fmt.Errorf("%s is %s, expected %s", server, got, want)
		}
		return nil
	})
}

// awaitViewers waits until a server is given viewers again.
func (f *realField) awaitViewers(t *testing.T, server, path string) {
	t.Helper()
	rig.Eventually(t, 20*time.Second, func() error {
		if got := f.viewers(t, path, 4000, 50); got[server] == 0 {
			return fmt.Errorf("50 viewers of %s: %v, expected some on %s", path, got, server)
		}
		return nil
	})
}
