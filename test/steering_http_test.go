package test

import (
	"bufio"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringHTTP shows the checks of how a manifest travels.
func TestSteeringHTTP(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 8, quiet, steeringKeys(rig.Config{"retired": []string{"gone"}}))
	const path = "/steering/ch/index.m3u8"
	s.known(path, "a", "b", "c", "d", "e", "f", "g", "h")

	t.Run("check_30_media_type", func(t *testing.T) {
		_, res := s.SteerRaw(path)
		if got := res.Header.Get("Content-Type"); got != "application/vnd.apple.steering-list" {
			t.Errorf("Content-Type is %q", got)
		}
	})
	t.Run("check_30_media_type_configured", func(t *testing.T) {
		t.Parallel()
		other := newSteered(t, 2, quiet, steeringKeys(rig.Config{"content_type": "application/json"}))
		if _, res := other.SteerRaw(path); res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("Content-Type is %q", res.Header.Get("Content-Type"))
		}
	})
	t.Run("check_31_no_cache_keeps_it", func(t *testing.T) {
		_, res := s.SteerRaw(path)
		if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("ETag") != "" || res.Header.Get("Last-Modified") != "" {
			t.Errorf("headers are %v", res.Header)
		}
		for _, condition := range []string{`If-None-Match: *`, `If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT`, `If-None-Match: "x"`} {
			name, value, _ := strings.Cut(condition, ": ")
			s.SteerRaw(path, name, value) // 200 with a body
		}
	})
	t.Run("check_32_and_33_CORS_on_every_status", func(t *testing.T) {
		for _, c := range []struct {
			method, target string
			status         int
		}{
			{"GET", path, 200},
			{"HEAD", path, 200},
			{"GET", "/steering/gone", 410},
			{"GET", "/steering/a/../b", 400},
			{"POST", path, 405},
			{"DELETE", path, 405},
			{"OPTIONS", path, 204},
			{"GET", "/ch/index.m3u8", 302},
			{"GET", "/nobody-has-it/" + strings.Repeat("x", 5000), 414},
		} {
			res, err := rig.Do(c.method, s.Viewers+c.target, "", "Origin", "https://player.example")
			if err != nil {
				t.Fatal(err)
			}
			exposed := strings.Split(res.Header.Get("Access-Control-Expose-Headers"), ", ")
			if res.StatusCode != c.status || res.Header.Get("Access-Control-Allow-Origin") != "*" || !slices.Contains(exposed, "Retry-After") || !slices.Contains(exposed, "Date") {
				t.Errorf("%s %.40s: %d %v, expected %d with CORS headers", c.method, c.target, res.StatusCode, res.Header, c.status)
			}
			if c.method == "HEAD" && res.Body != "" {
				t.Errorf("HEAD has the body %q", res.Body)
			}
		}
	})
	t.Run("check_34_preflight", func(t *testing.T) {
		res, err := rig.Do("OPTIONS", s.Viewers+path, "", "Origin", "https://player.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "x-anything")
		if err != nil {
			t.Fatal(err)
		}
		h := res.Header
		if res.StatusCode != 204 || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "GET") || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "*") || h.Get("Access-Control-Max-Age") != "86400" {
			t.Errorf("%d %v", res.StatusCode, h)
		}
	})
	t.Run("check_35_HEAD_and_other_methods", func(t *testing.T) {
		get, err := rig.Do("GET", s.Viewers+path, "", from(1)...)
		if err != nil {
			t.Fatal(err)
		}
		head, err := rig.Do("HEAD", s.Viewers+path, "", from(1)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Content-Type", "Cache-Control", "Vary", "Access-Control-Allow-Origin"} {
			if get.Header.Get(name) != head.Header.Get(name) || get.Header.Get(name) == "" {
				t.Errorf("%s is %q for GET and %q for HEAD", name, get.Header.Get(name), head.Header.Get(name))
			}
		}
		// The TTLs of two answers may differ by a digit.
		if diff := get.ContentLength - head.ContentLength; head.Body != "" || head.ContentLength <= 0 || diff < -2 || diff > 2 {
			t.Errorf("HEAD has Content-Length %d and the body %q, GET %d", head.ContentLength, head.Body, get.ContentLength)
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "BREW"} {
			res, err := rig.Do(method, s.Viewers+path, "")
			if err != nil || res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
				t.Errorf("%s: %v, %v", method, res.Response, err)
			}
		}
	})
	t.Run("check_36_gzip", func(t *testing.T) {
		long := path + "?token=" + strings.Repeat("k", 1500)
		for accept, zipped := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "x-gzip": true, "gzip;q=0": false, "identity": false, "br": false} {
			k := s.KeepAlive()
			res, err := k.Get(long, "Accept-Encoding: "+accept)
			if err != nil {
				t.Fatal(err)
			}
			body := res.Body
			if got := res.Header.Get("Content-Encoding") == "gzip"; got != zipped {
				t.Errorf("Accept-Encoding %q: Content-Encoding %q", accept, res.Header.Get("Content-Encoding"))
			}
			if zipped {
				z, err := gzip.NewReader(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				plain, err := io.ReadAll(z)
				if err != nil || len(plain) <= len(body) {
					t.Errorf("%d bytes of gzip for %d, %v", len(body), len(plain), err)
				}
				body = string(plain)
			}
			if _, err := rig.ReadManifest(body); err != nil || !strings.Contains(res.Header.Get("Vary"), "Accept-Encoding") {
				t.Errorf("Accept-Encoding %q: %v, Vary %q", accept, err, res.Header.Get("Vary"))
			}
		}
		if res, err := s.KeepAlive().Get(path, "Accept-Encoding: gzip"); err != nil || res.Header.Get("Content-Encoding") != "" || res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("of a short body: %v, %v", res.Header, err)
		}
	})
	t.Run("check_37_Retry_After_in_seconds", func(t *testing.T) {
		s.stopAll()
		if res := s.Get("/ch/index.m3u8"); res.StatusCode != 503 || res.Header.Get("Retry-After") != "5" {
			t.Errorf("%d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
		}
	})
	t.Run("check_38_and_39_trouble_is_200", func(t *testing.T) {
		for _, target := range []string{path, "/steering/never-seen/index.m3u8", "/steering/never-seen/manifest.mpd", "/steering/never-seen", "/steering"} {
			if _, res := s.SteerRaw(target); res.Header.Get("Retry-After") != "" {
				t.Errorf("%s has Retry-After", target)
			}
		}
	})
	t.Run("check_39_a_retired_channel_is_410", func(t *testing.T) {
		for _, target := range []string{"/steering/gone", "/steering/gone/index.m3u8", "/steering/gone/manifest.mpd?_DASH_pathway=a"} {
			if res := s.Get(target); res.StatusCode != 410 || res.Reason() != "retired" {
				t.Errorf("%s: %d %s", target, res.StatusCode, res.Body)
			}
		}
		if m := s.Steer("/steering/gone2"); len(m.Priority) != 8 {
			t.Errorf("another channel: %+v", m)
		}
	})
	t.Run("check_40_a_broken_configuration_changes_nothing", func(t *testing.T) {
		before := s.Steer(path)
		if err := os.WriteFile(s.File, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if res := s.Operator("POST", "/admin/reload", ""); res.StatusCode != 422 {
			t.Errorf("reload: %d", res.StatusCode)
		}
		if err := os.Remove(s.File); err != nil {
			t.Fatal(err)
		}
		if res := s.Operator("POST", "/admin/reload", ""); res.StatusCode != 422 {
			t.Errorf("reload: %d", res.StatusCode)
		}
		wantOrder(t, "after two bad reloads", s.Steer(path), before.Priority...)
	})
}

// TestSteeringConnections shows that polls reuse a connection, and what TLS is
// spoken. HTTP/2 is not offered; players do without it.
func TestSteeringConnections(t *testing.T) {
	t.Parallel()
	port := rig.FreePort(t)
	cert, key := rig.Certificate(t, t.TempDir(), "tv.example.net", 1)
	secure := func(c rig.Config) {
		with(c, "core", rig.Config{"tls": rig.Config{"port": port, "certificates": []rig.Config{{"cert_file": cert, "key_file": key}}}})
		for _, f := range c["redirection"].(rig.Config)["farms"].([]rig.Config) {
			if server := f["servers"].([]rig.Config)[0]; server["name"] != "c" {
				server["https_url"] = fmt.Sprintf("https://%s.example.net", server["name"])
			}
		}
	}
	s := newSteered(t, 3, quiet, secure)
	const path = "/steering/ch/index.m3u8"

	t.Run("check_50_keep_alive", func(t *testing.T) {
		k := s.KeepAlive()
		for i := range 200 {
			res, err := k.Get(path, "X-Forwarded-For: "+from(i)[1])
			if err != nil || res.StatusCode != 200 || res.Close {
				t.Fatalf("poll %d: %v, %v", i, res.Response, err)
			}
		}
	})
	t.Run("check_50_TLS", func(t *testing.T) {
		addr := fmt.Sprint("127.0.0.1:", port)
		for version, good := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, ServerName: "tv.example.net", MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}})
			if good != (err == nil) {
				t.Errorf("TLS %x: %v", version, err)
			}
			if err != nil {
				continue
			}
			in := bufio.NewReader(conn)
			for range 3 { // on one connection
				res := secureGet(t, conn, in, path)
				m, err := rig.ReadManifest(res.Body)
				if err != nil || !strings.HasPrefix(m.Reload, "https://tv.example.net/") {
					t.Fatalf("%v: %s", err, res.Body)
				}
				// c cannot be had over https.
				wantOrder(t, "an https viewer", m, "a", "b")
			}
			_ = conn.Close()
		}
	})
	t.Run("edge_pipelined", func(t *testing.T) {
		n := 0
		s.Polls(t.Context(), 1, 64, func(i int) rig.Ask { return rig.Ask{Target: path, Header: from(i)} }, func(_ int, a rig.Polled) {
			if _, err := rig.ReadManifest(a.Body); err == nil && a.Status == 200 {
				n++
			}
		})
		if n != 64 {
			t.Errorf("%d of 64 pipelined polls were answered well", n)
		}
	})
	t.Run("edge_HTTP_1_0_and_early_closing", func(t *testing.T) {
		x := rig.Exchange{Addr: s.Addr(), Send: "GET " + path + " HTTP/1.0\r\n\r\n", HalfClose: true, Within: waitLong}
		if res, err := x.Do(); err != nil || res.StatusCode != 200 {
			t.Errorf("%v, %v", res.Response, err)
		}
		base := s.Footprint()
		for range 50 {
			conn, err := rig.DialFrom("", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
			_ = conn.Close()
		}
		s.Settles(waitLong, base)
	})
}

// secureGet asks on a connection that is there.
func secureGet(t *testing.T, conn net.Conn, in *bufio.Reader, path string) rig.Response {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(waitLong))
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: tv.example.net\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := rig.ReadResponse(in, http.MethodGet)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
