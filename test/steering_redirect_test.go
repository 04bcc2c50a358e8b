package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringRedirects shows the checks of redirects beside steering.
func TestSteeringRedirects(t *testing.T) {
	t.Parallel()
	for _, decorate := range []bool{false, true} {
		t.Run(fmt.Sprint("decorate_", decorate), func(t *testing.T) {
			t.Parallel()
			s := newSteered(t, 2, quiet, steeringKeys(rig.Config{"decorate": decorate}), func(c rig.Config) {
				for _, f := range c["redirection"].(rig.Config)["farms"].([]rig.Config) {
					f["content"] = "assume"
				}
			})
			base := s.stages["a"].URL()
			t.Run("check_51_the_answer", func(t *testing.T) {
				for _, target := range []string{"/ch/seg1.ts", "/ch/v/low.m3u8?_HLS_msn=12&_HLS_part=3&token=a%2Fb~c;d", "/ch/seg1.ts?", "/ch/a%20b.ts?x=%zz"} {
					res := s.Get(target, from(1)...)
					want := base + target
					if decorate { // the session goes with it, and nothing else changes
						want, _, _ = strings.Cut(res.Location(), "pm_sid=")
						if sep := map[bool]string{true: "&", false: "?"}[strings.Contains(strings.TrimSuffix(target, "?"), "?")]; want != base+strings.TrimSuffix(target, "?")+sep {
							t.Errorf("%s: Location is %s", target, res.Location())
						}
					} else if res.Location() != want {
						t.Errorf("Location is %s, expected %s", res.Location(), want)
					}
					h := res.Header
					if res.StatusCode != 302 || h.Get("Cache-Control") != "no-store" || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Content-Length") != "0" {
						t.Errorf("%s: %d %v", target, res.StatusCode, h)
					}
				}
			})
			t.Run("check_51_a_session_that_came_along", func(t *testing.T) {
				token := s.Steer("/steering/ch", from(1)...).Session()
				res := s.Get("/ch/v/low.m3u8?_HLS_msn=12&pm_sid="+token+"&_HLS_part=3", from(9)...)
				// Low-latency players wait with these parameters for what comes next.
				if !strings.Contains(res.Location(), "?_HLS_msn=12&") || !strings.Contains(res.Location(), "&_HLS_part=3") || strings.Count(res.Location(), "pm_sid=") != 1 {
					t.Errorf("Location is %s", res.Location())
				}
			})
			t.Run("check_54_no_open_redirect", func(t *testing.T) {
				for _, send := range []string{
					"GET /ch/seg1.ts HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n\r\n",
					"GET http://evil.example/ch/seg1.ts HTTP/1.1\r\nHost: evil.example\r\n\r\n",
					"GET /ch/seg1.ts?url=http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
					"GET /http://evil.example/seg1.ts HTTP/1.1\r\nHost: x\r\n\r\n",
					"GET //evil.example/seg1.ts HTTP/1.1\r\nHost: x\r\n\r\n",
					"GET /\\evil.example/seg1.ts HTTP/1.1\r\nHost: x\r\n\r\n",
					"GET /@evil.example/seg1.ts HTTP/1.1\r\nHost: x\r\n\r\n",
					"GET /ch/seg1.ts%0d%0aLocation:%20http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
				} {
					res, err := rig.Exchange{Addr: s.Addr(), Send: send, Within: waitLong}.Do()
					if err != nil {
						t.Fatalf("%q: %v", send, err)
					}
					if res.StatusCode != http.StatusBadRequest && (res.StatusCode != 302 || !strings.HasPrefix(res.Location(), base+"/")) || len(res.Header.Values("Location")) > 1 {
						t.Errorf("%q: %d %v", send, res.StatusCode, res.Header)
					}
				}
			})
		})
	}
	t.Run("check_54_a_server_that_is_ourselves_is_refused", func(t *testing.T) {
		t.Parallel()
		port := rig.FreePort(t)
		c := steeringConfig([]rig.Config{probed("a", "share", fmt.Sprintf("a http://127.0.0.1:%d", port)), probed("b", "share", "b http://192.0.2.2")}, place("all", "a b", everywhere...))
		with(c, "core", rig.Config{"interface": "127.0.0.1", "port": port})
		if out, _, status := rig.Run(t, "", "check", "-config", configFile(t, c)); status != 1 || !strings.Contains(out, "listener") {
			t.Errorf("exit status %d\n%s", status, out)
		}
		// Nor may a pathway's address be.
		c = steeringConfig([]rig.Config{probed("a", "share", "a http://192.0.2.1")}, place("all", "a", everywhere...))
		c["redirection"].(rig.Config)["farms"].([]rig.Config)[0]["public_url"] = fmt.Sprintf("http://127.0.0.1:%d", port)
		with(c, "core", rig.Config{"interface": "127.0.0.1", "port": port})
		if out, _, status := rig.Run(t, "", "check", "-config", configFile(t, c)); status != 1 || !strings.Contains(out, "public_url") {
			t.Errorf("public_url: exit status %d\n%s", status, out)
		}
	})
	t.Run("check_52_a_decorated_playlist_needs_no_redirects", func(t *testing.T) {
		t.Parallel()
		// Old boxes resolve segments against us and are redirected; who follows a
		// decorated playlist (Apple's rule 8.18) asks the servers directly.
		s := newSteered(t, 2, decorating, quiet)
		s.known("/steering/ch/index.m3u8", "a", "b")
		uris := 0
		for _, l := range hlsLines(s.Get("/ch/index.m3u8").Body) {
			if l.uri != "" {
				if uris++; strings.HasPrefix(l.uri, s.Viewers) || !strings.HasPrefix(l.uri, "http://") {
					t.Errorf("%s leads to %s", l.tag, l.uri)
				}
			}
		}
		if uris != 10 {
			t.Errorf("there are %d URIs, expected 10", uris)
		}
	})
}
