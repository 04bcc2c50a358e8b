package test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The size of the operator that TestMemory plays.
const (
	memoryPrefixes  = 100_000
	memoryLocations = 1_000
	memoryServers   = 1_000
	memoryFarms     = 50
	memoryChannels  = 10_000

	maxResident = 256 << 10 // KiB
)

// TestMemory: 100,000 prefixes, 1,000 servers and 10,000 watched channels stay
// within 256 MiB of resident memory, after a reload, while which two tables and
// a parsed document are there at once.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 channels take a quarter of a minute")
	}
	c := memoryConfig(t, memoryOrigins(t))
	p := rig.Start(t, c)
	t.Logf("ready: %s", resident(t, p))

	start := time.Now()
	answers := p.Load(t.Context(), rig.Load{Connections: 64, Count: memoryChannels}, func(i int) rig.Ask {
		return rig.Ask{Target: fmt.Sprintf("/channel-%05d/index.m3u8?token=abcdef0123456789", i), Header: []string{
			"User-Agent", "player/1.0 (set-top box)", "X-Forwarded-For", memoryViewer(i),
		}}
	})
	for i, a := range answers {
		if a.Err != nil || a.Status != http.StatusFound {
			t.Fatalf("channel %d: %v", i, a)
		}
	}
	if known, _ := p.Metric("pointsman_known_contents"); known != memoryChannels {
		t.Fatalf("%v contents are known, want %d", known, memoryChannels)
	}
	t.Logf("%d channels after %v: %s", memoryChannels, time.Since(start).Round(time.Millisecond), resident(t, p))

	from := len(p.Log())
	p.Signal(syscall.SIGHUP)
	p.WaitLog(30*time.Second, "configuration loaded", from)
	text := resident(t, p)
	t.Logf("reloaded: %s", text)
	var kib int
	if _, err := fmt.Sscan(text, &kib); err != nil {
		t.Fatal(err)
	}
	if kib > maxResident {
		t.Errorf("%d KiB are resident, want at most %d", kib, maxResident)
	}
	if known, _ := p.Metric("pointsman_known_contents"); known != memoryChannels {
		t.Errorf("%v contents are known after the reload, want %d", known, memoryChannels)
	}
	if s := p.Status(); s.Generation != 2 || !s.Ready {
		t.Errorf("generation %d, ready %v", s.Generation, s.Ready)
	}
	if file := os.Getenv("POINTSMAN_HEAP"); file != "" { // for looking where it is
		if err := os.WriteFile(file, []byte(p.Operator("GET", "/debug/pprof/heap", "").Body), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// resident returns the resident memory of a running instance and its greatest so
// far, in KiB.
func resident(t *testing.T, p *rig.Pointsman) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Skipf("resident memory is read from /proc: %v", err)
	}
	value := func(name string) string {
		_, rest, _ := strings.Cut(string(b), "\n"+name+":")
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSuffix(strings.TrimSpace(line), " kB")
	}
	return fmt.Sprintf("%s KiB resident, %s at most", value("VmRSS"), value("VmHWM"))
}

// memoryOrigins starts the streaming servers: listeners on addresses of their
// own, which have every channel.
func memoryOrigins(t *testing.T) []string {
	t.Helper()
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/index.m3u8"):
			_, _ = fmt.Fprint(rw, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nlow.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2400000\nmid.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=5000000\nhigh.m3u8\n")
		case strings.HasSuffix(r.URL.Path, ".m3u8"):
			_, _ = fmt.Fprint(rw, rig.MediaPlaylist(rig.Live, time.Now()))
		default:
			_, _ = fmt.Fprintln(rw, "ok")
		}
	})}
	var urls []string
	var serving sync.WaitGroup
	for i := range memoryServers {
		l, err := net.Listen("tcp", fmt.Sprintf("127.7.%d.%d:0", i/250, 1+i%250))
		if err != nil {
			t.Fatal(err)
		}
		serving.Go(func() { _ = srv.Serve(l) })
		urls = append(urls, "http://"+l.Addr().String())
	}
	t.Cleanup(func() {
		_ = srv.Close()
		serving.Wait()
	})
	return urls
}

// memoryPrefix is the n-th of the viewers' networks, memoryViewer an address in
// one of channel i's location.
func memoryPrefix(n int) string {
	return fmt.Sprintf("%d.%d.%d.0/24", 11+n>>16, n>>8&0xff, n&0xff)
}

func memoryViewer(i int) string {
	n := i * 7 % memoryPrefixes
	return fmt.Sprintf("%d.%d.%d.77", 11+n>>16, n>>8&0xff, n&0xff)
}

func memoryConfig(t *testing.T, urls []string) rig.Config {
	t.Helper()
	var farmList, locations []rig.Config
	for f := range memoryFarms {
		var servers []rig.Config
		for s := f; s < len(urls); s += memoryFarms {
			servers = append(servers, rig.Config{
				"url": urls[s], "name": fmt.Sprintf("edge-%04d.farm-%02d.example", s, f), "weight": 1 + s%3, "tags": rig.Config{"site": fmt.Sprintf("site-%d", f)},
			})
		}
		farmList = append(farmList, rig.Config{"name": fmt.Sprintf("farm-%02d", f), "policy": "content_id", "servers": servers})
	}
	for l := range memoryLocations {
		var prefixes []string
		for n := l; n < memoryPrefixes; n += memoryLocations {
			prefixes = append(prefixes, memoryPrefix(n))
		}
		locations = append(locations, rig.Config{
			"name": fmt.Sprintf("location-%04d", l), "ip_mask": prefixes, "uri_regex": ".*",
			"farms": []string{fmt.Sprintf("farm-%02d", l%memoryFarms), fmt.Sprintf("farm-%02d", (l+1)%memoryFarms)},
		})
	}
	locations = append(locations, rig.Config{"name": "everybody", "ip_mask": []string{"0.0.0.0/0", "::/0"}, "farms": []string{"farm-00"}})
	return rig.Config{
		"core": rig.Config{"trusted_proxies": []string{"127.0.0.1/32"}, "state_dir": t.TempDir()},
		"log":  rig.Config{"decisions": false},
		// So that ten thousand channels are asked about in seconds.
		"probe": rig.Config{
			"unknown_channels_per_sec": 100_000, "unknown_channels_burst": 100_000, "max_per_sec_per_server": 40,
		},
		"redirection": rig.Config{
			"uri_path": "/", "channel_regex": "([^/]+)/.*", "decision_timeout_sec": 15, "request_timeout_sec": 15,
			"farms": farmList, "locations": locations,
		},
	}
}
