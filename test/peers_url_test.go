package test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The names are the numbers of the tests that peers' trackers asked for
// (reference/peers.md, section D).

func TestPeersURLs(t *testing.T) {
	t.Parallel()
	o := liveOrigin(t, "s1")
	p := rig.Start(t, rig.Config{
		"core": trusting(),
		"redirection": redirection(
			[]rig.Config{
				assumed("plain", "first_response", "plain "+o.URL()),
				assumed("slash", "first_response", "slash "+o.URL()+"/"),
				assumed("path", "first_response", "path "+o.URL()+"/cdn"),
				assumed("both", "first_response", "both "+o.URL()+"/cdn/"),
			},
			[]rig.Config{
				place("slash", "slash", "10.0.1.0/24"), place("path", "path", "10.0.2.0/24"),
				place("both", "both", "10.0.3.0/24"), place("rest", "plain", everywhere...),
			}),
	})

	for _, c := range []struct{ name, target, location string }{
		{"D1_query", "/ch1/index.m3u8?token=a%2Bb&t=1", ""},
		{"D1_plus_and_empty", "/ch+1/index.m3u8?a=b+c&d=&e&&=f", ""},
		{"D1_empty_query", "/ch1/index.m3u8?", ""},
		{"D2_parameters", "/p.ism;param=v/manifest(format=m3u8-aapl).m3u8", ""},
		{"D3_escapes", "/a%3Fb%20c%2Fd", ""},
		{"D3_lower_case_escapes", "/a%3fb%c3%a9%2fd", ""},
		{"D3_needless_escapes", "/%61%2Db/%7E", ""},
		{"D6_two_slashes_inside", "/ch1//seg.ts", ""},
		{"D9_trailing_slash", "/dir/", ""},
		{"D10_format", "/ch1/index.m3u8?format=json", ""},
		{"D10_trred", "/ch1/index.m3u8?trred=false", ""},
		{"D10_proto", "/ch1/index.m3u8?proto=x", ""},
		{"D10_url", "/ch1/index.m3u8?url=http://evil", ""},
		{"D11_fake_address", "/ch1/index.m3u8?fakeClientIpAddress=10.0.1.1&ip=10.0.1.1", ""},
		{"D12_bytes_of_text", "/caf\u00e9/x", "/caf%C3%A9/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := rig.Exchange{Addr: p.Addr(), Send: rawGet(c.target)}.Do()
			if err != nil {
				t.Fatal(err)
			}
			want := c.location
			if want == "" {
				want = c.target
			}
			if res.StatusCode != 302 || res.Location() != o.URL()+want {
				t.Errorf("%d Location %q, expected 302 %q", res.StatusCode, res.Location(), o.URL()+want)
			}
			if n := len(res.Header["Location"]); n != 1 {
				t.Errorf("%d Location headers, expected 1", n)
			}
		})
	}

	for _, c := range []struct {
		name, target string
		status       int
	}{
		{"D4_two_slashes", "//evil.example/x", 400},
		{"D4_backslash", `/\evil.example`, 400},
		{"D4_escaped_backslash", "/%5cevil.example", 400},
		{"D4_escaped_tab", "/%09/evil.example", 400},
		{"D6_dot_dot", "/a/../b", 400},
		{"D12_line_end", "/a%0d%0aLocation:%20http://evil.example", 400},
		{"D12_NUL", "/a%00b", 400},
		{"D12_raw_NUL", "/a\x00b", 400},
		{"D12_path_of_16_KB", "/" + strings.Repeat("a", 16<<10), 414},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := rig.Exchange{Addr: p.Addr(), Send: rawGet(c.target)}.Do()
			if err != nil || res.StatusCode != c.status || res.Location() != "" {
				t.Errorf("%v, %v; expected %d without Location", err, res.Response, c.status)
			}
		})
	}

	for _, c := range []struct{ name, addr, base string }{
		{"D8_base_with_slash", "10.0.1.1", ""},
		{"D8_base_with_path", "10.0.2.1", "/cdn"},
		{"D8_base_with_path_and_slash", "10.0.3.1", "/cdn"},
		{"D8_base_without_slash", "10.0.4.1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := follow(p, c.addr, "/x").Location(), o.URL()+c.base+"/x"; got != want {
				t.Errorf("Location %q, expected %q", got, want)
			}
		})
	}
}

func TestPeersMethods(t *testing.T) {
	t.Parallel()
	o := liveOrigin(t, "s1")
	p := rig.Start(t, rig.Config{
		"core":        trusting(),
		"redirection": redirection([]rig.Config{probed("a", "first_response", "s1 "+o.URL())}, []rig.Config{place("all", "a", "10.0.0.0/8")}),
	})
	const path = "/ch1/index.m3u8?x=1"
	in := []string{"X-Forwarded-For", "10.1.1.1", "Origin", "https://player.example"}
	ask := func(t *testing.T, method string, header ...string) rig.Response {
		t.Helper()
		res, err := rig.Do(method, p.Viewers+path, "", append(slices.Clone(in), header...)...)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(res.Header["Access-Control-Allow-Origin"]); n != 1 {
			t.Errorf("%s has %d Access-Control-Allow-Origin headers, expected 1", method, n)
		}
		return res
	}
	viewers := func() float64 { n, _ := p.Metric(`pointsman_server_decisions_total{server="s1"}`); return n }

	t.Run("D14_HEAD", func(t *testing.T) {
		before := viewers()
		head := ask(t, "HEAD")
		if n := viewers(); n != before {
			t.Errorf("a HEAD was counted as a viewer")
		}
		get := ask(t, "GET")
		if head.StatusCode != get.StatusCode || head.Location() != get.Location() || head.Body != "" {
			t.Errorf("HEAD %v %q, GET %v", head.Response, head.Body, get.Response)
		}
		if n := viewers(); n != before+1 {
			t.Errorf("a GET counted %v viewers, expected 1", n-before)
		}
		missing, err := rig.Do("HEAD", p.Viewers+"/ch1/index.m3u8", "", "X-Forwarded-For", "192.0.2.1")
		if err != nil || missing.StatusCode != 403 || missing.Body != "" || missing.ContentLength <= 0 {
			t.Errorf("a refused HEAD is %v, %v", missing.Response, err)
		}
	})
	t.Run("D15_POST", func(t *testing.T) {
		res := ask(t, "POST")
		if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD, OPTIONS" || res.Location() != "" {
			t.Errorf("%v", res.Response)
		}
	})
	t.Run("D16_OPTIONS", func(t *testing.T) {
		res := ask(t, "OPTIONS", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "range")
		if res.StatusCode != 204 || res.Body != "" || !strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "GET") {
			t.Errorf("%v", res.Response)
		}
		exposed := ask(t, "GET").Header.Get("Access-Control-Expose-Headers")
		for _, name := range []string{"Date", "Retry-After"} {
			if !strings.Contains(exposed, name) {
				t.Errorf("exposed are %q, expected %s among them", exposed, name)
			}
		}
	})
	t.Run("D17_range", func(t *testing.T) {
		if res := ask(t, "GET", "Range", "bytes=0-99"); res.StatusCode != 302 || res.Header.Get("Content-Range") != "" {
			t.Errorf("%v", res.Response)
		}
	})
	t.Run("D18_length_and_cache", func(t *testing.T) {
		res := ask(t, "GET")
		for name, want := range map[string]string{"Content-Length": "0", "Cache-Control": "no-store", "Expires": "0"} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s %q, expected %q", name, got, want)
			}
		}
		if res.Body != "" {
			t.Errorf("body %q", res.Body)
		}
	})
	t.Run("D59_JSON", func(t *testing.T) {
		for range 5 {
			redirect := ask(t, "GET")
			res := ask(t, "GET", "Accept", "application/json")
			want := `{"url":"` + redirect.Location() + `","server":"s1","farm":"a"}` + "\n"
			if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || res.Body != want || res.Location() != "" {
				t.Errorf("%v %q, expected %q", res.Response, res.Body, want)
			}
		}
		if res := ask(t, "GET", "Accept", "application/json, */*"); res.StatusCode != 302 {
			t.Errorf("a player that lists JSON among others was answered %d, expected 302", res.StatusCode)
		}
	})
}

// TestPeersKeepAlive is D19. It measures, so it runs alone.
func TestPeersKeepAlive(t *testing.T) {
	o := liveOrigin(t, "s1")
	p := rig.Start(t, rig.Config{
		"redirection": redirection([]rig.Config{probed("a", "first_response", "s1 "+o.URL())}, []rig.Config{place("all", "a", everywhere...)}),
	})
	const requests = 1000
	k := p.KeepAlive()
	var took []time.Duration
	for i := range requests + 1 {
		start := time.Now()
		res, err := k.Get("/ch1/index.m3u8")
		if err != nil || res.StatusCode != 302 || res.Close {
			t.Fatalf("request %d on one connection: %v, %v", i+1, res.Response, err)
		}
		if i > 0 { // the first asks the server
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	if p50 := took[requests/2]; p50 > 5*time.Millisecond {
		t.Errorf("the median of %d requests is %v", requests, p50)
	}
	if p95 := took[requests*95/100]; p95 > 35*time.Millisecond {
		t.Errorf("5 %% of %d requests took %v or more: a plateau of delayed acknowledgements", requests, p95)
	}
	t.Logf("median %v, p95 %v, longest %v", took[requests/2], took[requests*95/100], took[requests-1])
}
