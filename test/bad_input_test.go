package test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The names are the numbers of the bad-input matrix B1 to B57. Where net/http
// refuses a request before it is ours, there is no reason and no decision line.

func TestBadTargets(t *testing.T) {
	t.Parallel()
	s := newBadScene(t, rig.Config{"hosts": []string{"tv.example.net"}, "trusted_proxies": []string{"127.0.0.1/32"}})
	s.warm(t, noLine, forwardedFor)
	s.endure(t, append(badPaths(), badQueries()...))
}

var (
	bad400 = []int{400}
	ok302  = []int{302}
)

func badPaths() []badInput {
	bad := func(name, path string) badInput {
		return badInput{name: name, send: rawGet(path), status: bad400, reason: "bad_request"}
	}
	// early is refused by net/http.
	early := func(name, path string) badInput {
		return badInput{name: name, send: rawGet(path), status: bad400}
	}
	// kept goes on to the server; of new content it is asked first.
	kept := func(name, path, location string) badInput {
		return badInput{name: name, send: rawGet(path), status: ok302, reason: "ok", location: location, asks: true}
	}
	return []badInput{
		bad("B1_two_slashes", "//evil.com/x"),
		bad("B2_three_slashes", "///evil.com"),
		bad("B3_slash_backslash", `/\evil.com`),
		bad("B4_slash_escaped_backslash", "/%5cevil.com"),
		bad("B5_slash_escaped_slash", "/%2fevil.com"),
		bad("B6_two_escaped_slashes", "/%2f%2fevil.com"),
		bad("B7_opaque_with_userinfo", "x:@evil.com/"),
		bad("B8_host_and_port", "evil.com:443"),
		bad("B9_javascript", "javascript:alert(1)"),
		{name: "B10_absolute_form_of_another_host", send: rawGet("http://evil.com/x"), status: []int{421}, reason: "unknown_host"},
		{name: "B10_absolute_form_with_port", send: rawGet("http://tv.example.net.evil.com:80/x"), status: []int{421}, reason: "unknown_host"},
		kept("B10_absolute_form_of_ours", "http://tv.example.net/b10/index.m3u8", "/b10/index.m3u8"),
		bad("B11_userinfo", "http://u:p@tv.example.net/x"),
		bad("B11_userinfo_at_another_host", "http://tv.example.net@evil.com/x"),
		bad("B12_asterisk", "*"),
		{name: "B12_asterisk_OPTIONS", send: rawRequest("OPTIONS", "*"), status: []int{204}, reason: "preflight"},
		{name: "B13_CONNECT", send: rawRequest("CONNECT", "host:443"), status: []int{405}, reason: "method_not_allowed"},
		bad("B14_dot_dot", "/a/../b"),
		bad("B15_escaped_dots", "/a/%2e%2e/b"),
		bad("B16_dot_and_escaped_dot", "/a/.%2e/b"),
		bad("B17_dots_and_escaped_slash", "/a/..%2fb"),
		bad("B17_dots_and_escaped_backslash", "/a/..%5cb"),
		bad("B18_dots_with_parameter", "/a/..;x=1/b"),
		bad("B18_one_dot", "/a/./b"),
		kept("B19_dots_escaped_twice", "/b19/%252e%252e/index.m3u8", "/b19/%252e%252e/index.m3u8"),
		bad("B20_NUL", "/a%00b"),
		bad("B21_line_end", "/a%0d%0aSet-Cookie:x"),
		bad("B22_tab", "/a%09"),
		bad("B22_tab_before_slash", "/%09/evil.example"),
		bad("B23_DEL", "/a%7f"),
		early("B24_bad_escape", "/a%zz"),
		early("B24_cut_escape", "/a%"),
		kept("B25_overlong_dot", "/b25/%c0%ae/index.m3u8", "/b25/%c0%ae/index.m3u8"),
		kept("B26_no_text", "/b26/%ff%fe/index.m3u8", "/b26/%ff%fe/index.m3u8"),
		kept("B26_no_text_raw", "/b26/\xff\xfe/index.m3u8", "/b26/%FF%FE/index.m3u8"),
		kept("B26_no_text_at_length", "/"+strings.Repeat("%ff", 1000)+"/index.m3u8", "/"+strings.Repeat("%ff", 1000)+"/index.m3u8"),
		kept("B26_no_text_raw_at_length", "/"+strings.Repeat("\xff", 1000)+"/index.m3u8", "/"+strings.Repeat("%FF", 1000)+"/index.m3u8"),
		kept("B27_right_to_left", "/b27\u202e/index.m3u8", "/b27%E2%80%AE/index.m3u8"),
		kept("B28_composed", "/caf\u00e9/index.m3u8", "/caf%C3%A9/index.m3u8"),
		kept("B28_decomposed", "/cafe\u0301/index.m3u8", "/cafe%CC%81/index.m3u8"),
		bad("B29_fragment", "/a#f"),
		kept("B30_escaped_question_mark", "/b30%3fb/index.m3u8", "/b30%3fb/index.m3u8"),
		kept("B30_escaped_hash", "/b30%23b/index.m3u8", "/b30%23b/index.m3u8"),
		kept("B31_parameters", "/b31;p=1/manifest(format=m3u8-aapl).m3u8", "/b31;p=1/manifest(format=m3u8-aapl).m3u8"),
		{name: "B32_path_of_8_KiB", send: rawGet("/" + strings.Repeat("a", 8<<10)), status: []int{414}, reason: "uri_too_long"},
		{name: "B33_path_of_64_KiB", send: rawGet("/" + strings.Repeat("a", 64<<10)), status: []int{431}},
		{name: "B34_many_segments", send: rawGet(strings.Repeat("/a", 8000)), status: []int{414}, reason: "uri_too_long"},
		bad("B34_many_slashes", strings.Repeat("/", 10_000)),
		kept("B35_no_channel", "/", "/"),
		{name: "B35_no_channel_but_a_file", send: rawGet("/index.m3u8"), status: []int{404}, reason: "content_missing", asks: true},
		kept("B36_long_channel", "/"+strings.Repeat("c", 129)+"/index.m3u8", "/"+strings.Repeat("c", 129)+"/index.m3u8"),
		bad("B37_dot_as_channel", "/./index.m3u8"),
		bad("B37_dots_as_channel", "/../index.m3u8"),
		bad("B37_dots_at_the_end", "/.."),
	}
}

func badQueries() []badInput {
	const path = "/queries/index.m3u8"
	bad := func(name, query string) badInput {
		return badInput{name: name, send: rawGet(path + "?" + query), status: bad400, reason: "bad_request"}
	}
	kept := func(name, query string) badInput {
		return badInput{name: name, send: rawGet(path + "?" + query), status: ok302, reason: "ok", location: path + "?" + query}
	}
	window := func(name, query string) badInput { // what asks for a recording and is none is never live
		return badInput{name: name, send: rawGet(path + "?" + query), status: bad400, reason: "bad_window"}
	}
	first := kept("B38_same_name_twice", "token=a&token=b") // the first one has the servers asked
	first.asks = true
	escaped := kept("B40_bytes_no_URL_has", `x="<>\^{}|`)
	escaped.location = path + "?x=%22%3C%3E%5C%5E%7B%7D%7C"
	raw := kept("B40_bytes_beyond_ASCII", "x=\xff\u00e9")
	raw.location = path + "?x=%FF%C3%A9"
	return []badInput{
		first,
		kept("B39_semicolons", "x=1;y=2"),
		bad("B40_line_end", "x=%0d%0a"),
		escaped,
		raw,
		kept("B40_bad_escapes", "x=%zz&y=%"),
		kept("B40_dots", "x=/../..&u=http://evil.example/"),
		bad("B41_parameters_1001", strings.Repeat("&", 1000)+"x"),
		{name: "B41_parameters_10001", send: rawGet(path + "?" + strings.Repeat("&", 10_000) + "x"), status: bad400, reason: "bad_request"},
		bad("B42_NUL", "%00"),
		window("B43_range_backwards", "from=2000000000&to=1000000000"),
		kept("B43_range_negative", "from=-1&duration=-9223372036854775808"),
		window("B43_range_of_floats", "utc=1e99&lutc=NaN"),
		window("B43_leap_second", "start=2016-12-31T23:59:60Z"),
		window("B43_far_future", "utc=99999999999999999999"),
		kept("B44_throughput", "_HLS_throughput=-1&_HLS_pathway=nowhere"),
		kept("B44_throughput_infinite", "_HLS_throughput=1e309"),
		kept("B44_throughput_word", "_HLS_throughput=abc"),
		{name: "B44_pathway_of_10_KB", send: rawGet(path + "?_HLS_pathway=" + strings.Repeat("p", 10_000)), status: []int{414}, reason: "uri_too_long"},
	}
}

func TestBadHeaders(t *testing.T) {
	t.Parallel()
	s := newBadScene(t, rig.Config{"hosts": []string{"tv.example.net"}, "trusted_proxies": []string{"127.0.0.1/32"}})
	s.warm(t, noLine, forwardedFor)
	inputs := append(badHosts(), badForwards()...)
	inputs = append(inputs, badFraming()...)
	s.endure(t, inputs)
	for _, line := range s.p.Log() {
		if line["target"] == "/smuggled" {
			t.Errorf("what followed a refused body was taken for a request: %v", line)
		}
	}
}

// TestBadSecrets: whatever a request looks like, and whether it is served or
// refused, the log does not repeat a secret of it.
func TestBadSecrets(t *testing.T) {
	t.Parallel()
	const secret = "SeCrEt77"
	o := liveOrigin(t, "o")
	p := rig.Start(t, rig.Config{
		"log":         rig.Config{"redact": []string{"Subscriber"}, "level": "debug"},
		"redirection": redirection([]rig.Config{assumed("farm", "share", "o "+o.URL())}, []rig.Config{place("all", "farm", everywhere...)}),
	})
	targets := []string{
		"/a/index.m3u8?token=" + secret, "/a/index.m3u8?x=1&TOKEN=" + secret + "&y=2", "/a/index.m3u8?pm_ticket=" + secret,
		"/a/index.m3u8?subscriber=" + secret, "/a/index.m3u8?hdnts=exp=1~hmac=" + secret, "/a/index.m3u8?token=a&token=" + secret,
		"/a/index.m3u8?x=1;token=" + secret, "/a/index.m3u8?utc=1?token=" + secret, "/a/index.m3u8?to%6ben=" + secret,
		"/a/index.m3u8?token=%00" + secret, "//a?token=" + secret, "/a/../b?password=" + secret, "http://u:" + secret + "@tv.example.net/x",
		"/" + strings.Repeat("a", 5000) + "?token=" + secret,
	}
	for i, target := range targets {
		send := strings.ReplaceAll(rawGet(target, "Authorization: Bearer "+secret, "Cookie: token="+secret), "NAME", "secrets")
		res, err := rig.Exchange{Addr: p.Addr(), Send: send}.Do()
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if res.StatusCode == 302 && !strings.HasSuffix(res.Location(), target) {
			t.Errorf("Location %q, expected the whole of %q", res.Location(), target)
		}
	}
	rig.Eventually(t, 2e9, func() error {
		if n := len(p.Decisions("secrets")); n != len(targets) {
			return fmt.Errorf("%d decisions in the log, expected %d", n, len(targets))
		}
		return nil
	})
	for _, line := range p.Log() {
		if strings.Contains(fmt.Sprint(line), secret) {
			t.Errorf("the log repeats a secret: %v", line)
		}
	}
}

func noLine(string) string { return "" }

func forwardedFor(addr string) string { return "X-Forwarded-For: " + addr + "\r\n" }

const knownPath = "/known/index.m3u8"

// served is a request for knownPath content that is a good one after all.
func served(name, send, farm string) badInput {
	return badInput{name: name, send: send, status: ok302, reason: "ok", location: knownPath, farm: farm}
}

func badHosts() []badInput {
	with := func(host string) string {
		return "GET " + knownPath + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: NAME\r\n\r\n"
	}
	early := func(name, send string) badInput { return badInput{name: name, send: send, status: bad400} }
	unknown := func(name, send string) badInput {
		return badInput{name: name, send: send, status: []int{421}, reason: "unknown_host"}
	}
	return []badInput{
		early("B45_no_Host", "GET "+knownPath+" HTTP/1.1\r\nUser-Agent: NAME\r\n\r\n"),
		unknown("B45_no_Host_in_HTTP_1.0", "GET "+knownPath+" HTTP/1.0\r\nUser-Agent: NAME\r\n\r\n"),
		early("B45_two_Hosts", "GET "+knownPath+" HTTP/1.1\r\nHost: tv.example.net\r\nHost: tv.example.net\r\nUser-Agent: NAME\r\n\r\n"),
		early("B45_userinfo", with("a@b")),
		early("B45_slash", with("evil/x")),
		unknown("B45_open_bracket", with("[::1")),
		unknown("B45_large_port", with("r:99999")),
		unknown("B45_two_ports", with("tv.example.net:80:80")),
		unknown("B45_empty", with("")),
		served("B45_trailing_dot", with("tv.example.net."), "home"),
		served("B45_upper_case", with("TV.Example.NET:80"), "home"),
		early("B45_IDN", with("b\u00fccher.example")),
		unknown("B45_punycode", with("xn--bcher-kva.example")),
		unknown("B45_suffix", with("tv.example.net.evil.com")),
		served("B46_forwarded_host_and_prefix", rawGet(knownPath, "X-Forwarded-Host: evil.com", "X-Forwarded-Prefix: //evil.com", "X-Original-URL: //evil.com", "X-Rewrite-URL: /x"), "home"),
		served("B46_forwarded_proto_of_no_scheme", rawGet(knownPath, "X-Forwarded-Proto: javascript"), "home"),
	}
}

func badForwards() []badInput {
	xff := func(name, farm string, values ...string) badInput {
		for i := range values {
			values[i] = "X-Forwarded-For: " + values[i]
		}
		return served(name, rawGet(knownPath, values...), farm)
	}
	untrusted := xff("B48_untrusted_peer", "home", "10.1.1.1")
	untrusted.from = "127.0.0.2"
	return []badInput{
		xff("B47_garbage_at_the_right", "home", "1.1.1.1, garbage"),
		xff("B47_garbage_at_the_left", "world", "garbage, 1.1.1.1"),
		xff("B47_empty", "home", ""),
		untrusted,
		xff("B49_three_lines", "world", "10.1.1.1", "203.0.113.9", "127.0.0.1"),
		xff("B50_mapped", "lan", "::ffff:10.0.0.1"),
		xff("B50_zone", "world", "fe80::1%eth0"),
		xff("B50_leading_zero", "home", "010.0.0.1"),
		xff("B50_port", "lan", "10.0.0.1:4711"),
		xff("B50_brackets_and_port", "lan", "[fc00::1]:4711"),
		xff("B50_thousand_elements", "home", strings.Repeat("10.0.0.1,", 999)+"10.0.0.1"),
		xff("B50_hundred_trusted_elements", "home", "10.0.0.1"+strings.Repeat(",127.0.0.1", 99)),
		xff("B50_control_bytes_of_text", "home", "10.0.0.1\x80"),
		served("B50_other_headers", rawGet(knownPath, "X-Real-IP: 10.1.1.1", "True-Client-IP: 10.1.1.1", "CF-Connecting-IP: 10.1.1.1", "Forwarded: for=10.1.1.1", "X_Forwarded_For: 10.1.1.1"), "home"),
	}
}

func badFraming() []badInput {
	early := func(name string, status int, send string) badInput {
		return badInput{name: name, send: send, status: []int{status}}
	}
	bad := func(name, send string) badInput {
		return badInput{name: name, send: send, status: bad400, reason: "bad_request"}
	}
	method := func(name, method string) badInput {
		return badInput{name: name, send: rawRequest(method, knownPath), status: []int{405}, reason: "method_not_allowed"}
	}
	randomBytes := make([]byte, 512)
	seed := uint64(1)
	for i := range randomBytes {
		seed = seed*6364136223846793005 + 1442695040888963407
		randomBytes[i] = byte(seed >> 56)
	}
	return []badInput{
		bad("B54_body", rawGet(knownPath, "Content-Length: 3")+"abc"),
		bad("B54_body_that_never_comes", rawGet(knownPath, "Content-Length: 1000000")),
		bad("B54_length_and_encoding", rawGet(knownPath, "Content-Length: 5", "Transfer-Encoding: chunked")+"0\r\n\r\n"),
		bad("B54_chunked", rawGet(knownPath, "Transfer-Encoding: chunked")+"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"),
		early("B54_two_lengths", 400, rawGet(knownPath, "Content-Length: 5", "Content-Length: 6")+"hello"),
		early("B54_length_of_no_number", 400, rawGet(knownPath, "Content-Length: +5")+"hello"),
		early("B54_unknown_encoding", 501, rawGet(knownPath, "Transfer-Encoding: xchunked")),
		early("B54_folded_first_line", 400, "GET "+knownPath+" HTTP/1.1\r\n Host: tv.example.net\r\nUser-Agent: NAME\r\n\r\n"),
		early("B54_space_before_colon", 400, rawGet(knownPath, "Content-Length : 5")),
		early("B54_NUL_in_a_header", 400, rawGet(knownPath, "X-A: a\x00b")),
		early("B54_many_headers", 431, rawGet(knownPath, strings.Repeat("a: b\r\n", 20_000)+"c: d")),
		// A folded line and bare line feeds are read as net/http reads them; one
		// request has one meaning here, and nothing is passed on.
		served("B54_folded_line", rawGet(knownPath, "X-A: a\r\n b"), "home"),
		served("B54_bare_line_feeds", strings.ReplaceAll(rawGet(knownPath), "\r\n", "\n"), "home"),
		method("B55_lower_case", "get"),
		method("B55_unknown", "FOOBAR"),
		method("B55_POST", "POST"),
		method("B55_of_4_KB", strings.Repeat("M", 4<<10)),
		early("B55_of_no_token", 400, rawRequest("G@T", knownPath)),
		{name: "B56_TLS_hello", send: string(clientHello()), halfClose: true, status: []int{0, 400}},
		{name: "B56_random_bytes", send: string(randomBytes), halfClose: true, status: []int{0, 400}},
		{name: "B56_line_of_random_bytes", send: string(bytes.ReplaceAll(randomBytes, []byte("\n"), nil)) + "\r\n\r\n", status: bad400},
		{name: "B56_nothing", halfClose: true, status: []int{0, 400}},
		{name: "B56_HTTP_0.9", send: "GET " + knownPath + "\r\n", status: bad400},
		{name: "B56_HTTP_2_preface", send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: []int{400, 405, 505}, reason: "method_not_allowed"},
		early("B56_HTTP_2_in_text", 505, strings.ReplaceAll(rawGet(knownPath), "HTTP/1.1", "HTTP/2.0")),
		early("B56_HTTP_of_no_number", 400, strings.ReplaceAll(rawGet(knownPath), "HTTP/1.1", "HTTP/x")),
		served("B57_range", rawGet(knownPath, "Range: bytes=0-1"), "home"),
		{name: "B57_expect_with_body", send: rawGet(knownPath, "Content-Length: 3", "Expect: 100-continue"), status: []int{417}, reason: "bad_request"},
		{name: "B57_expect_without_body", send: rawGet(knownPath, "Expect: 100-continue"), status: []int{417}, reason: "bad_request"},
		early("B57_expect_another_thing", 417, rawGet(knownPath, "Expect: the-unexpected")),
		served("B57_upgrade_to_h2c", rawGet(knownPath, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), "home"),
		served("B57_upgrade_to_websocket", rawGet(knownPath, "Connection: Upgrade", "Upgrade: websocket"), "home"),
		{
			name: "B57_no_text_anywhere", status: []int{404}, reason: "content_missing", asks: true,
			send: "GET /missing/" + strings.Repeat("\xff", 700) + "/index.m3u8 HTTP/1.1\r\nHost: tv.example.net\r\nUser-Agent: " + strings.Repeat("\xff", 700) + "\r\n\r\n",
		},
	}
}

// clientHello is the beginning of what a TLS client says.
func clientHello() []byte {
	hello := append([]byte{3, 3}, bytes.Repeat([]byte{0xab}, 32)...)
	hello = append(hello, 0, 0, 2, 0x13, 0x01, 1, 0)
	b := []byte{22, 3, 1, 0, 0, 1, 0, 0, 0}
	binary.BigEndian.PutUint16(b[3:], uint16(len(hello)+4))
	b[8] = byte(len(hello))
	return append(b, hello...)
}

func TestBadForwarded(t *testing.T) {
	t.Parallel()
	s := newBadScene(t, rig.Config{"client_ip_header": "Forwarded", "trusted_proxies": []string{"127.0.0.1/32"}})
	s.warm(t, noLine, func(addr string) string { return "Forwarded: for=" + addr + "\r\n" })
	fwd := func(name, farm string, values ...string) badInput {
		for i := range values {
			values[i] = "Forwarded: " + values[i]
		}
		return served(name, rawGet(knownPath, values...), farm)
	}
	s.endure(t, []badInput{
		fwd("B51_IPv6_with_port", "lan", `for="[fc00::1]:4711"`),
		fwd("B51_unknown_at_the_right", "home", `for="[2001:db8::1]:4711";for=unknown`),
		fwd("B51_unknown_element", "home", `for=10.1.1.1, for=unknown`),
		fwd("B51_obfuscated", "home", `for=_hidden`),
		fwd("B51_unbalanced_quote", "home", `for="10.1.1.1`),
		fwd("B51_unbalanced_quote_of_a_line_before", "lan", `for="1.1.1.1`, `for=10.1.1.1`),
		fwd("B51_comma_in_quotes", "lan", `for=10.1.1.1;by="a,b"`),
		fwd("B51_upper_case", "lan", `FOR=10.1.1.1`),
		fwd("B51_two_lines", "world", `for=10.1.1.1`, `for=203.0.113.9`),
		fwd("B51_thousand_elements", "home", strings.Repeat("for=127.0.0.1,", 500)+"for=127.0.0.1"),
		served("B51_the_other_header", rawGet(knownPath, "X-Forwarded-For: 10.1.1.1"), "home"),
	})
}

func TestBadProxyHeaders(t *testing.T) {
	t.Parallel()
	s := newBadScene(t, rig.Config{"proxy_protocol": true, "trusted_proxies": []string{"127.0.0.1/32"}})
	v1 := func(addr string) string {
		if strings.Contains(addr, ":") {
			return fmt.Sprintf("PROXY TCP6 %s fc00::ff 4711 80\r\n", addr)
		}
		return fmt.Sprintf("PROXY TCP4 %s 192.0.2.1 4711 80\r\n", addr)
	}
	s.warm(t, v1, noLine)
	get := rawGet(knownPath)
	closed := func(name, header string) badInput {
		return badInput{name: name, send: header + get, halfClose: true, status: []int{0}}
	}
	ok := func(name, header, farm string) badInput { return served(name, header+get, farm) }
	from := func(in badInput, peer string) badInput { in.from = peer; return in }
	v4 := "\x0a\x01\x01\x01" + "\xc0\x00\x02\x01" + "\x12\x67\x00\x50"
	s.endure(t, []badInput{
		ok("B52_v1_IPv4", v1("10.1.1.1"), "lan"),
		ok("B52_v1_IPv6", v1("fc00::1"), "lan"),
		closed("B52_v1_line_of_108_bytes", "PROXY UNKNOWN "+strings.Repeat("x", 92)+"\r\n"),
		{name: "B52_v1_without_line_end", send: "PROXY TCP4 10.1.1.1 192.0.2.1 4711 80", halfClose: true, status: []int{0}},
		ok("B52_v1_UNKNOWN", "PROXY UNKNOWN\r\n", "home"),
		closed("B52_v1_leading_zeros", "PROXY TCP4 010.001.001.001 192.0.2.1 4711 80\r\n"),
		closed("B52_v1_no_address", "PROXY TCP4 localhost 192.0.2.1 4711 80\r\n"),
		closed("B52_v1_large_port", "PROXY TCP4 10.1.1.1 192.0.2.1 99999 80\r\n"),
		from(closed("B52_v1_from_an_untrusted_peer", v1("10.1.1.1")), "127.0.0.2"),
		closed("B52_absent_where_required", ""),
		from(ok("B52_absent_from_an_untrusted_peer", "", "home"), "127.0.0.2"),
		closed("B53_v2_bad_signature", "\r\n\r\n\x00\r\nQUIX\n"+"\x21\x11\x00\x0c"+v4),
		closed("B53_v2_version_1", proxyV2(0x11, 0x11, v4)),
		closed("B53_v2_version_3", proxyV2(0x31, 0x11, v4)),
		closed("B53_v2_unknown_command", proxyV2(0x2f, 0x11, v4)),
		{name: "B53_v2_length_65535", send: "\r\n\r\n\x00\r\nQUIT\n" + "\x21\x11\xff\xff" + v4 + get, halfClose: true, status: []int{0}},
		ok("B53_v2_IPv4", proxyV2(0x21, 0x11, v4), "lan"),
		ok("B53_v2_mapped", proxyV2(0x21, 0x21, strings.Repeat("\x00", 10)+"\xff\xff\x0a\x01\x01\x01"+strings.Repeat("\x00", 10)+"\xff\xff\xc0\x00\x02\x01"+"\x12\x67\x00\x50"), "lan"),
		ok("B53_v2_LOCAL", proxyV2(0x20, 0x00, ""), "home"),
		ok("B53_v2_AF_UNIX", proxyV2(0x21, 0x31, strings.Repeat("\x00", 216)), "home"),
		closed("B53_v2_short_addresses", proxyV2(0x21, 0x11, v4[:6])),
		ok("B53_v2_good_TLV", proxyV2(0x21, 0x11, v4+"\x02\x00\x03abc"), "lan"),
		closed("B53_v2_cut_TLV", proxyV2(0x21, 0x11, v4+"\x02\x00\x09abc")),
		closed("B53_v2_wrong_checksum", proxyV2(0x21, 0x11, v4+"\x03\x00\x04\x01\x02\x03\x04")),
	})
}

// proxyV2 is a PROXY header of version 2: version and command, family, body.
func proxyV2(command, family byte, body string) string {
	head := []byte("\r\n\r\n\x00\r\nQUIT\n")
	head = append(head, command, family, 0, 0)
	binary.BigEndian.PutUint16(head[14:], uint16(len(body)))
	return string(head) + body
}
