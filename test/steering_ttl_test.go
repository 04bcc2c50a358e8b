package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// exactTTLs takes the chance out of the TTLs.
func exactTTLs(c rig.Config) {
	with(c, "steering", rig.Config{"ttl_sec": 200, "degraded_ttl_sec": 20, "jitter": 0})
}

// waitTTL waits until a manifest has a TTL.
func (s *steered) waitTTL(t *testing.T, path string, want int, header ...string) {
	t.Helper()
	rig.Eventually(t, waitLong, func() error {
		if m := s.Steer(path, header...); m.TTL != want {
			return fmt.Errorf("%s has a TTL of %d, expected %d", path, m.TTL, want)
		}
		return nil
	})
}

// TestSteeringTTL shows when players ask again.
func TestSteeringTTL(t *testing.T) {
	t.Parallel()
	const path = "/steering/ch/index.m3u8"

	t.Run("degraded_while_a_server_of_the_location_is_not_well", func(t *testing.T) {
		t.Parallel()
		s := newSteered(t, 3, exactTTLs, quiet, func(c rig.Config) {
			section := c["redirection"].(rig.Config)
			section["locations"] = append(section["locations"].([]rig.Config), place("ten", "a b", "10.10.0.0/16"))
		})
		s.known(path, "a", "b", "c")
		ten := []string{"X-Forwarded-For", "10.10.0.1"}
		s.waitTTL(t, path, 200)
		s.stages["c"].Stop()
		s.waitTTL(t, path, 20)
		s.waitTTL(t, "/steering/ch", 20)
		s.waitTTL(t, path, 200, ten...) // does not use c
		s.stages["c"].Start()
		s.waitTTL(t, path, 200)
		s.stages["a"].PlayAll(rig.Refusing(500))
		s.waitTTL(t, path, 20, ten...)
		s.stages["a"].PlayAll(nil)
		s.waitTTL(t, path, 200, ten...)
		// Who merely lacks a channel is not in trouble.
		s.stages["b"].Play("/rare/index.m3u8", rig.Refusing(404))
		s.waitOrder("/steering/rare/index.m3u8", nil, "a", "c", "b")
		if m := s.Steer("/steering/rare/index.m3u8"); m.TTL > 200 {
			t.Errorf("a channel that b does not have: %+v", m)
		}
	})
	t.Run("bounds", func(t *testing.T) {
		t.Parallel()
		s := newSteered(t, 2, quiet, steeringKeys(rig.Config{"ttl_sec": 10, "degraded_ttl_sec": 9, "min_ttl_sec": 9, "max_ttl_sec": 11, "jitter": 0.5}))
		seen := map[int]bool{}
		for i := range 200 {
			m := s.Steer(path, from(i)...)
			if seen[m.TTL] = true; m.TTL < 9 || m.TTL > 11 {
				t.Fatalf("a TTL is %d, expected 9 to 11", m.TTL)
			}
		}
		if len(seen) != 3 {
			t.Errorf("the TTLs are %v, expected 9, 10 and 11", seen)
		}
	})
	t.Run("check_03_the_floor_is_kept", func(t *testing.T) {
		t.Parallel()
		s := newSteered(t, 2, quiet, steeringKeys(rig.Config{"ttl_sec": 2, "degraded_ttl_sec": 2, "jitter": 0.5}))
		for i := range 100 {
			if m := s.Steer(path, from(i)...); m.TTL < 2 || m.TTL > 3 {
				t.Fatalf("a TTL is %d, expected 2 or 3", m.TTL)
			}
		}
	})
	t.Run("check_03_bad_ones_are_refused", func(t *testing.T) {
		t.Parallel()
		for key, value := range map[string]any{"ttl_sec": 0, "min_ttl_sec": 0.5, "degraded_ttl_sec": 1.5, "max_ttl_sec": 100_000, "jitter": 0.9} {
			c := steeringConfig([]rig.Config{probed("a", "share", "a http://192.0.2.1")}, place("all", "a", everywhere...))
			with(c, "steering", rig.Config{key: value})
			if out, _, status := rig.Run(t, "", "check", "-config", configFile(t, c)); status != 1 || !strings.Contains(out, "steering."+key) {
				t.Errorf("%s %v: exit status %d\n%s", key, value, status, out)
			}
		}
	})
}

// TestSteeringDeadline shows check 41: players wait for us before they start, so
// that an answer comes in time whatever the servers do.
func TestSteeringDeadline(t *testing.T) {
	t.Parallel()
	// margin is what a busy machine may add.
	const margin = 2 * time.Second
	patient := func(c rig.Config) {
		with(c, "redirection", rig.Config{"decision_timeout_sec": 20, "request_timeout_sec": 20, "server_status_cache_time_sec": 3600})
	}
	hung := newSteered(t, 2, patient, quiet)
	short := newSteered(t, 2, patient, quiet, steeringKeys(rig.Config{"deadline_ms": 10}))

	t.Run("check_41_a_server_that_hangs", func(t *testing.T) {
		for name, s := range map[string]*steered{"300 ms": hung, "10 ms": short} {
			for _, stage := range s.stages {
				stage.PlayAll(stage.Hang)
			}
			for i, target := range []string{"/steering/new/index.m3u8", "/steering/new2/manifest.mpd", "/steering/new3", "/steering/new/index.m3u8"} {
				start := time.Now()
				m := s.Steer(target, from(i)...)
				if took := time.Since(start); took > 300*time.Millisecond+margin {
					t.Errorf("deadline %s: %s took %v", name, target, took)
				}
				wantOrder(t, target, m, "a", "b")
			}
		}
	})
	t.Run("check_41_the_first_server_hangs", func(t *testing.T) {
		s := newSteered(t, 2, patient, quiet)
		s.stages["a"].Play("/ch/index.m3u8", s.stages["a"].Hang)
		start := time.Now()
		m := s.Steer("/steering/ch/index.m3u8")
		if took := time.Since(start); took > 300*time.Millisecond+margin {
			t.Errorf("it took %v", took)
		}
		wantOrder(t, "the one that answers is first", m, "b", "a")
	})
	t.Run("check_41_warm_answers_come_at_once", func(t *testing.T) {
		s := newSteered(t, 2, quiet)
		s.known("/steering/ch/index.m3u8", "a", "b")
		k := s.KeepAlive()
		var p99 time.Duration
		rig.Eventually(t, waitLong, func() error { // other tests may have the machine for a while
			took := make([]time.Duration, 500)
			for i := range took {
				start := time.Now()
				if res, err := k.Get("/steering/ch/index.m3u8?_HLS_pathway=a"); err != nil || res.StatusCode != 200 {
					t.Fatalf("%v, %v", res.Response, err)
				}
				took[i] = time.Since(start)
			}
			slices.Sort(took)
			if p99 = took[len(took)*99/100]; p99 > 50*time.Millisecond {
				return fmt.Errorf("99 of 100 polls took up to %v, expected 50 ms", p99)
			}
			return nil
		})
		t.Logf("99 of 100 warm polls took up to %v", p99)
	})
}

// TestSteeringTrouble shows that whatever is wrong on our side, players are told
// nothing that ends their steering.
func TestSteeringTrouble(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, quiet, func(c rig.Config) {
		with(c, "probe", rig.Config{"unknown_channels_per_sec": 0.1, "unknown_channels_burst": 1})
		section := c["redirection"].(rig.Config)
		section["locations"] = []rig.Config{place("ten", "a b", "10.0.0.0/8")}
		with(c, "steering", rig.Config{"public_url": "http://steer.example.net"})
	})
	t.Run("check_38_the_question_budget_is_spent", func(t *testing.T) {
		for i := range 40 {
			wantOrder(t, "a new channel", s.Steer(fmt.Sprintf("/steering/ch%d/index.m3u8", i), from(i)...), "a", "b")
		}
	})
	t.Run("check_08_nobody_has_the_channel", func(t *testing.T) {
		for _, stage := range s.stages {
			stage.Play("/none/index.m3u8", rig.Refusing(404))
		}
		wantOrder(t, "a channel that nobody has", s.Steer("/steering/none/index.m3u8", from(1)...), "a", "b")
	})
	t.Run("check_38_windows_that_are_none", func(t *testing.T) {
		for _, target := range []string{"/steering/ch/index-200-abc.m3u8", "/steering/ch/index-0-0.m3u8", "/steering/ch/archive-9999999999-10.m3u8", "/steering/ch/index.m3u8?utc=-5&lutc=x"} {
			s.Steer(target, from(2)...)
		}
	})
	t.Run("no_location", func(t *testing.T) {
		// There is no pathway to name for a viewer whom no location holds: this is
		// the one refusal, beside those of requests that are none.
		for _, target := range []string{"/steering/ch/index.m3u8", "/ch/index.m3u8"} {
			if res := s.Get(target, "X-Forwarded-For", "192.0.2.1"); res.StatusCode != 403 || res.Reason() != "no_location" {
				t.Errorf("%s: %d %s", target, res.StatusCode, res.Body)
			}
		}
	})
	t.Run("unknown_host", func(t *testing.T) {
		t.Parallel()
		other := newSteered(t, 2, quiet, func(c rig.Config) { with(c, "core", rig.Config{"hosts": []string{"tv.example.net"}}) })
		if m := other.Steer("/steering/ch", "Host", "tv.example.net:81"); !strings.HasPrefix(m.Reload, "http://tv.example.net:81/steering/ch?") {
			t.Errorf("%+v", m)
		}
		if res := other.Get("/steering/ch", "Host", "evil.example"); res.StatusCode != 421 || strings.Contains(res.Body, "evil") {
			t.Errorf("%d %s", res.StatusCode, res.Body)
		}
	})
	t.Run("off_without_the_section", func(t *testing.T) {
		t.Parallel()
		other := newSteered(t, 2, quiet, func(c rig.Config) { delete(c, "steering") })
		if res := other.Get("/steering/index.m3u8"); res.StatusCode != 302 {
			t.Errorf("without the section /steering is a channel: %d %s", res.StatusCode, res.Body)
		}
	})
	t.Run("another_path", func(t *testing.T) {
		t.Parallel()
		other := newSteered(t, 2, quiet, steeringKeys(rig.Config{"path": "/cs/v1"}), func(c rig.Config) { with(c, "redirection", rig.Config{"uri_path": "/hls"}) })
		for _, target := range []string{"/cs/v1/ch/index.m3u8", "/cs/v1/hls/ch/index.m3u8", "/cs/v1?x=1"} {
			if m := other.Steer(target); !strings.Contains(m.Reload, "/cs/v1") {
				t.Errorf("%s: %+v", target, m)
			}
		}
		for _, target := range []string{"/steering/ch", "/cs/v1x/ch", "/cs"} {
			if res := other.Get(target); res.StatusCode != 404 || res.Reason() != "unknown_path" {
				t.Errorf("%s: %d %s", target, res.StatusCode, res.Body)
			}
		}
	})
}
