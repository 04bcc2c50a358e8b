package redirector

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestParseTargetAccepts names the lines of the bad-input matrix (B) and of the
// peers' trackers (D) that an accepted target answers.
func TestParseTargetAccepts(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		raw  string
		want target
	}{
		{"root", "/", target{Path: "/"}},
		{"D1_token_kept", "/ch1/index.m3u8?token=a%2Bb&t=1", target{Path: "/ch1/index.m3u8", Query: "token=a%2Bb&t=1", HasQuery: true}},
		{"D2_B31_parameters_kept", "/p.ism;param=v/manifest(format=m3u8-aapl).m3u8", target{Path: "/p.ism;param=v/manifest(format=m3u8-aapl).m3u8"}},
		{"D3_B30_escapes_kept", "/a%3Fb%20c%2Fd%23e", target{Path: "/a%3Fb%20c%2Fd%23e", Plain: "/a?b c/d#e"}},
		{"D6_inner_slashes_kept", "/ch1//seg.ts", target{Path: "/ch1//seg.ts"}},
		{"inner_encoded_slashes_kept", "/ch1/%2f%2Fseg.ts", target{Path: "/ch1/%2f%2Fseg.ts", Plain: "/ch1///seg.ts"}},
		{"D9_trailing_slash_kept", "/dir/", target{Path: "/dir/"}},
		{"D10_foreign_parameters_kept", "/x?format=json&url=http://evil", target{Path: "/x", Query: "format=json&url=http://evil", HasQuery: true}},
		{"empty_query_kept", "/x?", target{Path: "/x", HasQuery: true}},
		{"second_question_mark_kept", "/x?utc=1?lutc=2", target{Path: "/x", Query: "utc=1?lutc=2", HasQuery: true}},
		{"B19_double_encoding_is_literal", "/a/%252e%252e/b", target{Path: "/a/%252e%252e/b", Plain: "/a/%2e%2e/b"}},
		{"B25_overlong_dots_are_bytes", "/a/%c0%ae%c0%ae/b", target{Path: "/a/%c0%ae%c0%ae/b", Plain: "/a/\xc0\xae\xc0\xae/b"}},
		{"B26_invalid_utf8_is_bytes", "/%ff%fe", target{Path: "/%ff%fe", Plain: "/\xff\xfe"}},
		{"B27_direction_override_is_bytes", "/%E2%80%AE", target{Path: "/%E2%80%AE", Plain: "/\u202e"}},
		{"B28_composed_is_one_id", "/caf\u00e9", target{Path: "/caf%C3%A9", Plain: "/caf\u00e9"}},
		{"B28_decomposed_is_another_id", "/cafe\u0301", target{Path: "/cafe%CC%81", Plain: "/cafe\u0301"}},
		{"foreign_bytes_escaped", "/a|b^`{}<>\" [x]/\\c", target{Path: "/a%7Cb%5E%60%7B%7D%3C%3E%22%20%5Bx%5D/%5Cc", Plain: "/a|b^`{}<>\" [x]/\\c"}},
		{"foreign_beside_escapes", "/%41|", target{Path: "/%41%7C", Plain: "/A|"}},
		{"plus_is_a_plus", "/a+b%2B", target{Path: "/a+b%2B", Plain: "/a+b+"}},
		{"three_dots", "/.../a..b/..c/d../.well-known", target{Path: "/.../a..b/..c/d../.well-known"}},
		{"dots_in_parameters", "/a;../b;x=..", target{Path: "/a;../b;x=.."}},
		{"dots_in_query", "/a?x=/../..", target{Path: "/a", Query: "x=/../..", HasQuery: true}},
		{"B39_semicolon_in_query", "/a?x=1;y=2", target{Path: "/a", Query: "x=1;y=2", HasQuery: true}},
		{"B40_foreign_in_query", "/a?x=\"<>\\\xff|", target{Path: "/a", Query: "x=%22%3C%3E%5C%FF%7C", HasQuery: true}},
		{"bad_escape_in_query", "/a?x=%zz%&y=%4", target{Path: "/a", Query: "x=%zz%&y=%4", HasQuery: true}},
		{"bad_escape_before_foreign_in_query", "/a?%\"%0\"", target{Path: "/a", Query: "%%22%0%22", HasQuery: true}},
		{"B34_many_segments", strings.Repeat("/a", 2000), target{Path: strings.Repeat("/a", 2000)}},
		{"longest_path", "/" + strings.Repeat("a", maxPathBytes-1), target{Path: "/" + strings.Repeat("a", maxPathBytes-1)}},
		{"longest_query", "/?" + strings.Repeat("a", maxQueryBytes), target{Path: "/", Query: strings.Repeat("a", maxQueryBytes), HasQuery: true}},
		{"most_parameters", "/?" + strings.Repeat("&", maxQueryParams-1), target{Path: "/", Query: strings.Repeat("&", maxQueryParams-1), HasQuery: true}},
		{"B10_absolute_form", "http://evil.com/x?y", target{Path: "/x", Query: "y", HasQuery: true, Authority: "evil.com"}},
		{"absolute_form_in_capitals", "HTTPS://Edge.Example:8443/x", target{Path: "/x", Authority: "Edge.Example:8443"}},
		{"absolute_form_with_literal", "http://[2001:db8::1]:80/x", target{Path: "/x", Authority: "[2001:db8::1]:80"}},
		{"absolute_form_without_path", "http://edge.example", target{Path: "/", Authority: "edge.example"}},
		{"absolute_form_without_path_with_query", "http://edge.example?x", target{Path: "/", Query: "x", HasQuery: true, Authority: "edge.example"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			want := tt.want
			if want.Plain == "" {
				want.Plain = want.Path
			}
			got, refusal := parseTarget(tt.raw)
			if refusal != nil {
				t.Fatalf("parseTarget(%q) refused: %+v", tt.raw, *refusal)
			}
			if got != want {
				t.Errorf("parseTarget(%q)\n got %+v\nwant %+v", tt.raw, got, want)
			}
		})
	}
}

func TestParseTargetRefuses(t *testing.T) {
	t.Parallel()

	const (
		slashes = "the path begins with two slashes or a slash and a backslash"
		form    = "the target must begin with a slash, or be an absolute http or https URL"
		noHost  = "the target is an absolute URL without a host"
	)
	tests := []struct {
		name   string
		raw    string
		status int
		detail string
	}{
		{"empty", "", 400, form},
		{"B1", "//evil.com/x", 400, slashes},
		{"B2", "///evil.com", 400, slashes},
		{"B3", `/\evil.com`, 400, slashes},
		{"B4", "/%5cevil.com", 400, slashes},
		{"B4_capital", "/%5Cevil.com", 400, slashes},
		{"B5", "/%2fevil.com", 400, slashes},
		{"B5_capital", "/%2Fevil.com", 400, slashes},
		{"B6", "/%2f%2fevil.com", 400, slashes},
		{"B7", "x:@evil.com/", 400, form},
		{"B8", "evil.com:443", 400, form},
		{"B9", "javascript:alert(1)", 400, form},
		{"other_scheme", "ftp://evil.com/", 400, form},
		{"B10_absolute_form_is_judged", "http://edge.example//evil.com", 400, slashes},
		{"absolute_form_with_dots", "http://edge.example/a/../b", 400, "the path has a dot segment at byte 22"},
		{"B11", "http://u:p@host/x", 400, "the target has user information at byte 10"},
		{"no_host", "http:///x", 400, noHost},
		{"no_host_but_port", "http://:80/x", 400, noHost},
		{"backslash_in_host", `http://edge.example\evil.com/x`, 400, "the target's host has a forbidden byte at byte 19"},
		{"escape_in_host", "http://edge%2eexample/x", 400, "the target's host has a forbidden byte at byte 11"},
		{"fragment_in_host", "http://edge#x/", 400, "the target's host has a forbidden byte at byte 11"},
		{"long_host", "http://" + strings.Repeat("a", maxAuthorityBytes+1) + "/", 400, "the target's host is longer than 261 bytes"},
		{"B12", "*", 400, form},
		{"relative", "a/b", 400, form},
		{"D4_tab", "/%09/evil.example", 400, "the path has a control byte at byte 1"},
		{"B14", "/a/../b", 400, "the path has a dot segment at byte 3"},
		{"B15", "/a/%2e%2e/b", 400, "the path has a dot segment at byte 3"},
		{"B16", "/a/.%2E/b", 400, "the path has a dot segment at byte 3"},
		{"B17", "/a/..%2fb", 400, "the path has a dot segment at byte 3"},
		{"B17_before", "/a%2f../b", 400, "the path has a dot segment at byte 5"},
		{"backslashes", `/a\..\b`, 400, "the path has a dot segment at byte 3"},
		{"encoded_backslashes", "/a%5c..%5Cb", 400, "the path has a dot segment at byte 5"},
		{"B18", "/a/..;x=1/b", 400, "the path has a dot segment at byte 3"},
		{"B18_encoded", "/a/%2e.%3bx=1/b", 400, "the path has a dot segment at byte 3"},
		{"single_dot", "/a/./b", 400, "the path has a dot segment at byte 3"},
		{"single_dot_with_parameter", "/a/.;/b", 400, "the path has a dot segment at byte 3"},
		{"B37_dot_at_end", "/a/.", 400, "the path has a dot segment at byte 3"},
		{"B37_dots_at_end", "/..", 400, "the path has a dot segment at byte 1"},
		{"dots_before_query", "/a/..?x", 400, "the path has a dot segment at byte 3"},
		{"B20", "/a%00b", 400, "the path has a control byte at byte 2"},
		{"B21", "/a%0d%0aSet-Cookie:x", 400, "the path has a control byte at byte 2"},
		{"B22", "/a%09", 400, "the path has a control byte at byte 2"},
		{"B22_raw", "/a\t", 400, "the path has a control byte at byte 2"},
		{"B23", "/a%7f", 400, "the path has a control byte at byte 2"},
		{"B23_raw", "/a\x7f", 400, "the path has a control byte at byte 2"},
		{"B24", "/a%zz", 400, "the path has a bad escape at byte 2"},
		{"B24_bare", "/a%", 400, "the path has a bad escape at byte 2"},
		{"B24_short", "/a%4", 400, "the path has a bad escape at byte 2"},
		{"B24_cut_by_query", "/a%4?1", 400, "the path has a bad escape at byte 2"},
		{"B29", "/a#f", 400, "the target has a fragment at byte 2"},
		{"B29_in_query", "/a?b#f", 400, "the target has a fragment at byte 4"},
		{"B32", "/" + strings.Repeat("a", 8<<10), 414, "the path is longer than 4096 bytes"},
		{"B33", "/" + strings.Repeat("a", 64<<10), 414, "the target is longer than 12558 bytes"},
		{"D12", "/" + strings.Repeat("a", 16<<10), 414, "the target is longer than 12558 bytes"},
		{"path_long_when_escaped", "/" + strings.Repeat("|", 1366), 414, "the path is longer than 4096 bytes"},
		{"long_query", "/?" + strings.Repeat("a", maxQueryBytes+1), 414, "the query is longer than 8192 bytes"},
		{"query_long_when_escaped", "/?" + strings.Repeat("|", 2731), 414, "the query is longer than 8192 bytes"},
		{"B40", "/a?x=%0d%0a", 400, "the query has a control byte at byte 5"},
		{"B40_raw", "/a?x=\r\n", 400, "the query has a control byte at byte 5"},
		{"B41", "/?" + strings.Repeat("&", maxQueryParams), 400, "the query has more than 1000 parameters"},
		{"B42", "/a?%00", 400, "the query has a control byte at byte 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got, refusal := parseTarget(tt.raw)
			if refusal == nil {
				t.Fatalf("parseTarget(%q) accepted: %+v", tt.raw, got)
			}
			if refusal.Status != tt.status || refusal.Detail != tt.detail {
				t.Errorf("parseTarget(%q)\n got %d %s\nwant %d %s", tt.raw, refusal.Status, refusal.Detail, tt.status, tt.detail)
			}
			if got != (target{}) {
				t.Errorf("parseTarget(%q) refused and still returned %+v", tt.raw, got)
			}
		})
	}
}

func TestAppendLocation(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		base string
		raw  string
		cut  string // what uri_path takes off
		want string
	}{
		{"D8_no_slash", "http://edge1.example", "/x", "", "http://edge1.example/x"},
		{"D8_slash", "http://edge1.example/", "/x", "", "http://edge1.example/x"},
		{"base_with_path", "https://edge1.example:8443/cdn", "/x", "", "https://edge1.example:8443/cdn/x"},
		{"base_with_path_and_slash", "https://edge1.example:8443/cdn/", "/x", "", "https://edge1.example:8443/cdn/x"},
		{"uri_path", "http://edge1.example", "/hls/x?a=b", "/hls", "http://edge1.example/x?a=b"},
		{"uri_path_with_slash", "http://edge1.example/", "/hls/x", "/hls/", "http://edge1.example/x"},
		{"uri_path_alone", "http://edge1.example", "/hls", "/hls", "http://edge1.example/"},
		{"slashes_after_uri_path", "http://edge1.example/", "/hls//x", "/hls", "http://edge1.example//x"},
		{"root", "http://edge1.example", "/", "", "http://edge1.example/"},
		{"empty_query", "http://edge1.example", "/x?", "", "http://edge1.example/x?"},
		{"absolute_form", "http://edge1.example", "http://evil.com/x?y", "", "http://edge1.example/x?y"},
		{"escaped", "http://edge1.example", "/a|b?c|d", "", "http://edge1.example/a%7Cb?c%7Cd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			parsed, refusal := parseTarget(tt.raw)
			if refusal != nil {
				t.Fatalf("parseTarget(%q) refused: %+v", tt.raw, *refusal)
			}
			got := appendLocation([]byte("L: "), tt.base, parsed, strings.TrimPrefix(parsed.Path, tt.cut))
			if string(got) != "L: "+tt.want {
				t.Errorf("got %s, want %s", got, "L: "+tt.want)
			}
		})
	}
}

func TestCleanTargetDoesNotAllocate(t *testing.T) {
	const raw = "/hls/sports1/index.m3u8?token=a.b-c_d&utc=1700000000"
	buf := make([]byte, 0, 256)

	allocs := testing.AllocsPerRun(100, func() {
		parsed, refusal := parseTarget(raw)
		if refusal != nil {
			t.Fatal(refusal.Detail)
		}
		buf = appendLocation(buf[:0], "http://edge1.example/", parsed, parsed.Path)
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want none", allocs)
	}
}

// FuzzTarget holds what the design promises of every door: whatever a viewer
// sends, the answer is a refusal or a URL on the configured host.
func FuzzTarget(f *testing.F) {
	for _, raw := range []string{
		"/", "/x?", "//evil.com", "/%2fevil.com", `/\evil.com`, "x:@evil.com/", "evil.com:443", "*",
		"http://evil.com/x", "http://u:p@host/x", "http://h", "/a/%2e%2e/b", "/a/..;x=1/b", "/a/%252e%252e/b",
		"/a%0d%0aX", "/a%00", "/a%zz", "/a?%zz%", "/a?%0d", "/a?%\"%0\"", "/a#f", "/a%3fb%23c", "/a|\xff\\b?c|\xff\\",
		"/p.ism;param=v/manifest(format=m3u8-aapl).m3u8?token=a%2Bb", "/%c0%ae%c0%ae/", "/a//b/", "/a/%5c..%5cb",
	} {
		f.Add(raw)
	}
	bases := []string{
		"http://edge1.example", "http://edge1.example/", "https://edge2.example:8443/cdn", "https://edge2.example:8443/c%20n/",
		"http://[2001:db8::1]:8080",
	}
	f.Fuzz(func(t *testing.T, raw string) {
		parsed, refusal := parseTarget(raw)
		if refusal != nil {
			checkRefusal(t, *refusal)
			return
		}

		pathAndQuery := string(appendLocation(nil, "", parsed, parsed.Path))
		again, refusal := parseTarget(pathAndQuery)
		if refusal != nil {
			t.Fatalf("%q became %q, which is refused: %s", raw, pathAndQuery, refusal.Detail)
		}
		if want := parsed; again.Path != want.Path || again.Query != want.Query || again.HasQuery != want.HasQuery || again.Plain != want.Plain {
			t.Fatalf("%q is no fixed point:\n once %+v\ntwice %+v", raw, parsed, again)
		}
		for _, base := range bases {
			checkLocation(t, base, string(appendLocation(nil, base, parsed, parsed.Path)), parsed)
		}
	})
}

func checkRefusal(t *testing.T, refusal targetError) {
	t.Helper()

	if refusal.Status != http.StatusBadRequest && refusal.Status != http.StatusRequestURITooLong {
		t.Fatalf("refused with status %d", refusal.Status)
	}
	if refusal.Detail == "" || strings.ContainsFunc(refusal.Detail, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Fatalf("refused with detail %q", refusal.Detail)
	}
}

func checkLocation(t *testing.T, base, location string, parsed target) {
	t.Helper()

	for i := range len(location) {
		if location[i] < 0x21 || location[i] > 0x7e {
			t.Fatalf("%q has byte %#x", location, location[i])
		}
	}
	want, err := url.Parse(base)
	if err != nil {
		t.Fatalf("parsing base: %v", err)
	}
	got, err := url.Parse(location)
	if err != nil {
		t.Fatalf("parsing location: %v", err)
	}
	switch {
	case got.Scheme != want.Scheme, got.Host != want.Host:
		t.Fatalf("%q leaves %q", location, base)
	case got.User != nil, got.Opaque != "", strings.Contains(location, "#"):
		t.Fatalf("%q has user information, no authority or a fragment", location)
	case got.RawQuery != parsed.Query, (got.ForceQuery || got.RawQuery != "") != parsed.HasQuery:
		t.Fatalf("%q changed the query %q", location, parsed.Query)
	case got.Path != strings.TrimSuffix(want.Path, "/")+parsed.Plain:
		t.Fatalf("%q means the path %q, want %q", location, got.Path, parsed.Plain)
	}
	for _, segment := range strings.FieldsFunc(got.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
			t.Fatalf("%q has a dot segment", location)
		}
	}
}

func BenchmarkTarget(b *testing.B) {
	for _, bb := range []struct{ name, raw string }{
		{"clean", "/hls/sports1/index.m3u8?token=a.b-c_d&utc=1700000000"},
		{"escapes", "/hls/sports%201/index.m3u8?token=a%2Bb"},
		{"foreign", "/hls/sports|1/index.m3u8?token=a|b"},
		{"refused", "/hls/../index.m3u8"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			buf := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				parsed, refusal := parseTarget(bb.raw)
				if refusal == nil {
					buf = appendLocation(buf[:0], "http://edge1.example", parsed, parsed.Path)
				}
			}
		})
	}
}
