package test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// secureViewer asks the TLS listener as a host name and returns the answer and
// the certificate that it was shown.
func secureViewer(port int, host, path string) (*http.Response, *x509.Certificate, error) {
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	client := http.Client{
		Timeout:       5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialTLSContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				d := tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}}
				return d.DialContext(ctx, network, addr)
			},
		},
	}
	res, err := client.Get("https://" + host + path)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	return res, res.TLS.PeerCertificates[0], nil
}

func TestPeersScheme(t *testing.T) {
	t.Parallel()
	plain, both := liveOrigin(t, "plain"), liveOrigin(t, "both")
	dir := t.TempDir()
	oneCert, oneKey := rig.Certificate(t, dir, "one.example.net", 1)
	twoCert, twoKey := rig.Certificate(t, dir, "two.example.net", 2)
	port := rig.FreePort(t)
	core := trusting()
	core["tls"] = rig.Config{"port": port, "certificates": []rig.Config{
		{"cert_file": oneCert, "key_file": oneKey}, {"cert_file": twoCert, "key_file": twoKey},
	}}
	farm := probed("mixed", "content_id", "plain "+plain.URL(), "both "+both.URL())
	farm["servers"].([]rig.Config)[1]["https_url"] = "https://both.example.net/cdn"
	p := rig.Start(t, rig.Config{"core": core, "redirection": redirection(
		[]rig.Config{farm, probed("plain", "first_response", "plain "+plain.URL())},
		[]rig.Config{place("plain", "plain", "10.0.0.0/8"), place("rest", "mixed", everywhere...)},
	)})
	const secure = "https://both.example.net/cdn"

	t.Run("D56_TLS", func(t *testing.T) {
		for i := range 10 {
			path := fmt.Sprintf("/ch%d/index.m3u8?a=%%2F", i)
			for host, serial := range map[string]int64{"one.example.net": 1, "two.example.net": 2, "other.example.net": 1} {
				res, cert, err := secureViewer(port, host, path)
				if err != nil {
					t.Fatal(err)
				}
				if got := res.Header.Get("Location"); res.StatusCode != 302 || got != secure+path {
					t.Errorf("%d Location %q, expected %q", res.StatusCode, got, secure+path)
				}
				if cert.SerialNumber.Int64() != serial {
					t.Errorf("%s was shown certificate %v, expected %d", host, cert.SerialNumber, serial)
				}
			}
		}
	})
	t.Run("D56_forwarded_proto", func(t *testing.T) {
		seen := map[string]bool{}
		for i := range 20 {
			path := fmt.Sprintf("/ch%d/index.m3u8", i)
			if got := p.Get(path, "X-Forwarded-Proto", "https").Location(); got != secure+path {
				t.Errorf("an https viewer behind the proxy goes to %q", got)
			}
			got := p.Get(path).Location()
			if !strings.HasPrefix(got, "http://") {
				t.Errorf("an http viewer goes to %q", got)
			}
			seen[strings.TrimSuffix(got, path)] = true
		}
		if len(seen) != 2 {
			t.Errorf("http viewers went to %v, expected both servers", seen)
		}
	})
	t.Run("D56_forwarded_proto_of_an_untrusted_peer", func(t *testing.T) {
		x := rig.Exchange{Addr: p.Addr(), From: "127.0.0.2", Send: rawGet("/ch1/index.m3u8", "X-Forwarded-Proto: https")}
		if res, err := x.Do(); err != nil || !strings.HasPrefix(res.Location(), "http://") {
			t.Errorf("%v, %v; expected an http URL", res.Response, err)
		}
	})
	t.Run("D56_never_from_https_to_http", func(t *testing.T) {
		res := follow(p, "10.1.1.1", "/ch1/index.m3u8", "X-Forwarded-Proto", "https")
		if res.StatusCode < 400 || res.Location() != "" {
			t.Errorf("an https viewer of a farm without https: %v", res.Response)
		}
	})
	t.Run("http_on_the_TLS_port", func(t *testing.T) {
		x := rig.Exchange{Addr: fmt.Sprintf("127.0.0.1:%d", port), Send: rawGet("/ch1/index.m3u8")}
		if res, err := x.Do(); err == nil && res.StatusCode < 400 {
			t.Errorf("%v, expected a refusal", res.Response)
		}
	})
	t.Run("changed_certificate", func(t *testing.T) {
		rig.Certificate(t, dir, "two.example.net", 3)
		rig.Eventually(t, 15*time.Second, func() error {
			_, cert, err := secureViewer(port, "two.example.net", "/ch1/index.m3u8")
			if err == nil && cert.SerialNumber.Int64() != 3 {
				err = fmt.Errorf("certificate %v, expected the new one, 3", cert.SerialNumber)
			}
			return err
		})
	})
}

// TestPeersOperator holds what the operator sees of servers, and that viewers
// see nothing of it.
func TestPeersOperator(t *testing.T) {
	t.Parallel()
	a, b := liveOrigin(t, "a"), liveOrigin(t, "b")
	section := redirection([]rig.Config{probed("one", "first_response", "a "+a.URL(), "b "+b.URL()), probed("two", "share", "b "+b.URL())},
		[]rig.Config{place("all", "one two", everywhere...)})
	section["server_status_cache_time_sec"] = 0.5
	p := rig.Start(t, rig.Config{"redirection": section})

	t.Run("D67_every_server_on_status", func(t *testing.T) {
		b.Stop()
		var servers []map[string]any
		rig.Eventually(t, 10*time.Second, func() error {
			var status struct {
				Farms []struct {
					Name    string
					Servers []map[string]any
				}
			}
			if err := json.Unmarshal([]byte(p.Operator("GET", "/status", "").Body), &status); err != nil {
				return err
			}
			servers = nil
			for _, f := range status.Farms {
				servers = append(servers, f.Servers...)
			}
			if len(servers) != 3 {
				return fmt.Errorf("%d servers on /status, expected 3", len(servers))
			}
			if servers[1]["state"] != "down" {
				return fmt.Errorf("b is %v, expected down", servers[1]["state"])
			}
			return nil
		})
		for _, s := range servers {
			for _, key := range []string{"name", "url", "state", "since", "reason", "rtt_ms", "weight"} {
				if _, ok := s[key]; !ok {
					t.Errorf("server %v has no %q", s["name"], key)
				}
			}
			since, err := time.Parse(time.RFC3339, fmt.Sprint(s["since"]))
			if err != nil || time.Since(since) > time.Minute {
				t.Errorf("server %v is %v since %v", s["name"], s["state"], s["since"])
			}
			if down := s["state"] == "down"; down != (s["reason"] != "") {
				t.Errorf("server %v is %v, reason %q", s["name"], s["state"], s["reason"])
			}
		}
	})
	t.Run("D69_not_for_viewers", func(t *testing.T) {
		for _, path := range []string{"/status", "/metrics", "/explain?ip=1.2.3.4&url=/x", "/healthz", "/readyz", "/admin/reload", "/debug/pprof/", "/debug/pprof/goroutine?debug=1", "/demo/"} {
			res := p.Get(path)
			// It is a viewer's path like any other.
			if res.StatusCode != 302 && res.StatusCode < 400 || res.StatusCode == 302 && res.Location() != a.URL()+path {
				t.Errorf("%s: %v %q", path, res.Response, res.Body)
			}
		}
		res, err := rig.Do("POST", p.Viewers+"/admin/reload", "")
		if err != nil || res.StatusCode != 405 {
			t.Errorf("POST /admin/reload: %v, %v", res.Response, err)
		}
	})
}
