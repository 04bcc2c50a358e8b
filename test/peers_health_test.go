package test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

func TestPeersAllDown(t *testing.T) {
	t.Parallel()
	a, b := liveOrigin(t, "a"), liveOrigin(t, "b")
	fallback := place("fallback", "dead", "10.0.0.0/8")
	fallback["fallback_url"] = "http://fallback.example/live"
	section := redirection([]rig.Config{probed("dead", "first_response", "a "+a.URL(), "b "+b.URL())},
		[]rig.Config{fallback, place("rest", "dead", everywhere...)})
	section["server_status_cache_time_sec"] = 0.5
	p := rig.Start(t, rig.Config{"core": trusting(), "redirection": section})
	a.Stop()
	b.Stop()
	rig.Eventually(t, 10*time.Second, func() error {
		if s := p.Status(); s.State("a") != "down" || s.State("b") != "down" {
			return fmt.Errorf("states %s and %s, expected down", s.State("a"), s.State("b"))
		}
		return nil
	})
	t.Run("D32_503", func(t *testing.T) {
		res := p.Get("/ch/index.m3u8")
		if res.StatusCode != 503 || res.Reason() != "farm_down" || res.Header.Get("Retry-After") == "" || res.Location() != "" {
			t.Errorf("%v, reason %q", res.Response, res.Reason())
		}
	})
	t.Run("D32_fallback_url", func(t *testing.T) {
		res := follow(p, "10.1.1.1", "/ch/index.m3u8?a=%2F")
		if res.StatusCode != 302 || res.Location() != "http://fallback.example/live/ch/index.m3u8?a=%2F" || res.Header.Get("Retry-After") != "" {
			t.Errorf("%v", res.Response)
		}
	})
	t.Run("D32_back_again", func(t *testing.T) {
		a.Start()
		rig.Eventually(t, 10*time.Second, func() error {
			if res := p.Get("/ch/index.m3u8"); !strings.HasPrefix(res.Location(), a.URL()) {
				return fmt.Errorf("%v", res.Response)
			}
			return nil
		})
	})
}

func TestPeersAvailability(t *testing.T) {
	t.Parallel()
	a, b := liveOrigin(t, "a"), liveOrigin(t, "b")
	section := redirection([]rig.Config{probed("farm", "weight", "a "+a.URL(), "b "+b.URL())}, []rig.Config{place("all", "farm", everywhere...)})
	section["farms"].([]rig.Config)[0]["servers"].([]rig.Config)[0]["weight"] = 10
	section["live_cache_time_sec"] = 0.5
	p := rig.Start(t, rig.Config{"redirection": section})
	a.Set("other", rig.Missing)

	t.Run("D33_channel_missing_on_one_server", func(t *testing.T) {
		for range 3 {
			if res := p.Get("/other/index.m3u8"); !strings.HasPrefix(res.Location(), b.URL()) {
				t.Errorf("the channel that a lacks: %v, expected b", res.Response)
			}
			if res := p.Get("/ch/index.m3u8"); !strings.HasPrefix(res.Location(), a.URL()) {
				t.Errorf("another channel: %v, expected a", res.Response)
			}
		}
	})
	t.Run("D39_absent_expires", func(t *testing.T) {
		a.Set("late", rig.Missing)
		b.Set("late", rig.Missing)
		if res := p.Get("/late/index.m3u8"); res.StatusCode != 404 || res.Reason() != "content_missing" {
			t.Fatalf("%v, reason %q", res.Response, res.Reason())
		}
		b.Set("late", rig.Live)
		start := time.Now()
		rig.Eventually(t, 3*time.Second, func() error {
			if res := p.Get("/late/index.m3u8"); !strings.HasPrefix(res.Location(), b.URL()) {
				return fmt.Errorf("%v", res.Response)
			}
			return nil
		})
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the channel was found after %v, expected within its age of half a second", took)
		}
	})
}

func TestPeersStates(t *testing.T) {
	t.Parallel()
	var servers []string
	var origins []*rig.Origin
	for i := range 4 {
		o := liveOrigin(t, fmt.Sprintf("s%d", i))
		origins = append(origins, o)
		servers = append(servers, o.Name+" "+o.URL())
	}
	config := func(names ...string) rig.Config {
		section := redirection([]rig.Config{assumed("farm", "content_id", names...)}, []rig.Config{place("all", "farm", everywhere...)})
		section["server_status_cache_time_sec"] = 0.5
		return section
	}
	core := rig.Config{}
	admin := rig.Config{}
	probe := rig.Config{"slow_start_sec": 0}
	write := func(p *rig.Pointsman, section rig.Config) {
		p.Write(rig.Config{"core": core, "admin": admin, "probe": probe, "redirection": section})
	}
	p := rig.Start(t, rig.Config{"core": core, "admin": admin, "probe": probe, "redirection": config(servers...)})
	reload := func() {
		t.Helper()
		if res := p.Operator("POST", "/admin/reload", ""); res.StatusCode != 200 {
			t.Fatalf("reload: %v %s", res.Response, res.Body)
		}
	}
	homes := func() map[string]string {
		out := map[string]string{}
		for i := range 60 {
			channel := fmt.Sprintf("/ch%d/index.m3u8", i)
			u, err := url.Parse(p.Get(channel).Location())
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range origins {
				if o.Addr == u.Host {
					out[channel] = o.Name
				}
			}
		}
		return out
	}
	before := homes()
	moved := func(t *testing.T, gone string) {
		t.Helper()
		for channel, server := range homes() {
			switch was := before[channel]; {
			case server == gone || server == "":
				t.Errorf("%s goes to %q", channel, server)
			case was != gone && was != server:
				t.Errorf("%s moved from %s to %s although only %s has gone", channel, was, server, gone)
			}
		}
	}

	t.Run("D46_disabled", func(t *testing.T) {
		section := config(servers...)
		section["farms"].([]rig.Config)[0]["servers"].([]rig.Config)[1]["state"] = "disabled"
		write(p, section)
		reload()
		moved(t, "s1")
		if got := p.Status().State("s1"); got != "disabled" {
			t.Errorf("/status says %q, expected disabled", got)
		}
		origins[1].Stop()
		rig.Eventually(t, 10*time.Second, func() error {
			if up, n := p.Metric(`pointsman_server_up{server="s1"}`); n != 1 || up != 0 {
				return fmt.Errorf("a disabled server that is down counts as up: it is not probed")
			}
			return nil
		})
		origins[1].Start()
	})
	t.Run("D46_draining", func(t *testing.T) {
		section := config(servers...)
		section["farms"].([]rig.Config)[0]["servers"].([]rig.Config)[2]["state"] = "draining"
		write(p, section)
		reload()
		rig.Eventually(t, 10*time.Second, func() error {
			if s := p.Status(); s.State("s1") != "up" && s.State("s1") != "warming" {
				return fmt.Errorf("s1 is %q", s.State("s1"))
			}
			return nil
		})
		for i := range 60 {
			res := p.Get(fmt.Sprintf("/ch%d/index.m3u8", i), "User-Agent", "new viewer")
			if strings.HasPrefix(res.Location(), origins[2].URL()) || res.StatusCode != 302 {
				t.Errorf("a new viewer: %v", res.Response)
			}
		}
		if got := p.Status().State("s2"); got != "draining" {
			t.Errorf("/status says %q, expected draining", got)
		}
	})
	t.Run("D46_removed", func(t *testing.T) {
		write(p, config(servers[0], servers[1], servers[2]))
		reload()
		moved(t, "s3")
		if got := p.Status().State("s3"); got != "" {
			t.Errorf("/status still has s3, %q", got)
		}
		if _, n := p.Metric(`pointsman_server_up{server="s3"}`); n != 0 {
			t.Error("the metrics still have s3")
		}
	})
	t.Run("D46_added_again", func(t *testing.T) {
		write(p, config(servers...))
		reload()
		for channel, server := range homes() {
			if server != before[channel] {
				t.Errorf("%s goes to %s, before it was %s", channel, server, before[channel])
			}
		}
	})
}

func TestPeersChildren(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "content_id", "share"} {
		t.Run("D48_"+policy, func(t *testing.T) {
			t.Parallel()
			var servers []string
			var origins []*rig.Origin
			for i := range 3 {
				o := liveOrigin(t, fmt.Sprintf("s%d", i))
				origins = append(origins, o)
				servers = append(servers, o.Name+" "+o.URL())
			}
			section := redirection([]rig.Config{probed("farm", policy, servers...)}, []rig.Config{place("all", "farm", everywhere...)})
			section["channel_regex"] = "^([^/]+)"
			p := rig.Start(t, rig.Config{"redirection": section})
			for i := range 12 {
				channel := fmt.Sprintf("/ch%d", i)
				base, _, _ := strings.Cut(p.Get(channel+"/index.m3u8").Location(), channel)
				for _, child := range []string{"/media.m3u8", "/media.m3u8?_HLS_msn=7&_HLS_part=1", "/seg1.ts", "/720p/seg1.m4s", "/init.mp4"} {
					if res := p.Get(channel + child); base == "" || res.Location() != base+channel+child {
						t.Errorf("%s%s: %v, its multivariant playlist is at %s", channel, child, res.Response, base)
					}
				}
			}
			for _, o := range origins {
				for _, seen := range o.Seen() {
					// The probe itself reads the media playlist.
					if strings.Contains(seen.URI, "seg1") || strings.Contains(seen.URI, "init") || strings.Contains(seen.URI, "_HLS") {
						t.Errorf("%s was asked for a child: %s", o.Name, seen.URI)
					}
				}
			}
		})
	}
}
