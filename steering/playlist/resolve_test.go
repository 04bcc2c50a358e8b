package playlist_test

import (
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	const base = "http://tv.example:8080/a/b/index.m3u8?token=x/y"
	// RFC 3986 §5.4, with http://a/b/c/d;p?q as the base.
	const rfc = "http://a/b/c/d;p?q"
	tests := []struct{ name, base, ref, want string }{
		{"sibling", base, "v.m3u8", "http://tv.example:8080/a/b/v.m3u8"},
		{"sibling_with_query", base, "v.m3u8?session=1", "http://tv.example:8080/a/b/v.m3u8?session=1"},
		{"up", base, "../v.m3u8", "http://tv.example:8080/a/v.m3u8"},
		{"too_far_up", base, "../../../../v.m3u8", "http://tv.example:8080/v.m3u8"},
		{"rooted", base, "/v.m3u8", "http://tv.example:8080/v.m3u8"},
		{"other_host_same_scheme", "https://h/a", "//cdn.example/x/../v.m3u8?a/../b", "https://cdn.example/v.m3u8?a/../b"},
		{"other_host_without_path", base, "//cdn.example", "http://cdn.example"},
		{"absolute_as_it_is", base, "HTTPS://CDN.example:443/a/../b?c#d", "HTTPS://CDN.example:443/a/../b?c#d"},
		{"empty", base, "", base},
		{"query_only", base, "?a=b", "http://tv.example:8080/a/b/index.m3u8?a=b"},
		{"fragment_only", base, "#t", base + "#t"},
		{"base_fragment_is_dropped", "http://h/a#f/g?h", "b", "http://h/b"},
		{"base_without_path", "http://h", "a.m3u8", "http://h/a.m3u8"},
		{"base_without_path_but_query", "http://h?x=/y/z", "a.m3u8", "http://h/a.m3u8"},
		{"colon_in_the_first_segment", base, "2025:x/index.m3u8", "http://tv.example:8080/a/b/2025:x/index.m3u8"},
		{"colon_after_letters", base, "ch:1/index.m3u8", "http://tv.example:8080/a/b/ch:1/index.m3u8"},
		{"colon_then_slashes_later", base, "a/b:c//d", "http://tv.example:8080/a/b/a/b:c//d"},
		{"nothing_before_the_colon", base, ":x//y", "http://tv.example:8080/a/b/:x//y"},
		{"escapes_stay", base, "a%2fb%2F%zz/%2e%2e/c%20d", "http://tv.example:8080/a/b/a%2fb%2F%zz/%2e%2e/c%20d"},
		{"double_slashes_stay", "http://h/a//b/c", "d//e", "http://h/a//b/d//e"},
		{"bytes_of_utf8_stay", base, "канал é.m3u8", "http://tv.example:8080/a/b/канал é.m3u8"},
		{"dots_in_a_query_stay", base, "v?x=/../y", "http://tv.example:8080/a/b/v?x=/../y"},
		{"name_that_begins_with_dots", base, "..a/.b", "http://tv.example:8080/a/b/..a/.b"},
		{"rfc_dot", rfc, ".", "http://a/b/c/"},
		{"rfc_dot_slash", rfc, "./", "http://a/b/c/"},
		{"rfc_dots", rfc, "..", "http://a/b/"},
		{"rfc_dots_inside", rfc, "./g/../h/./i/..", "http://a/b/c/h/"},
		{"rfc_semicolon", rfc, ";x?y#s", "http://a/b/c/;x?y#s"},
		{"rfc_rooted_dots", rfc, "/./../g", "http://a/g"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := playlist.Resolve(test.base, test.ref); err != nil || got != test.want {
				t.Errorf("Resolve(%q, %q) = %q, %v, want %q", test.base, test.ref, got, err, test.want)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, base, ref, want string }{
		{"base_without_scheme", "tv.example/a", "b", `base URL is "tv.example/a", expected http:// or https://`},
		{"base_with_another_scheme", "ftp://tv.example/a", "b", `base URL is "ftp://tv.example/a", expected http:// or https://`},
		{"base_without_host", "http:///a", "b", `checking the base URL: address "http:///a" has no host`},
		{"base_with_a_control_byte", "http://h/\r\n", "b", `checking the base URL: address "http://h/\r\n" has the control byte 0x0d at 9`},
		{"control_byte", "http://h/", "a\x00b", `address "a\x00b" has the control byte 0x00 at 1`},
		{"delete_byte", "http://h/", "a\x7f", `address "a\x7f" has the control byte 0x7f at 1`},
		{"rtmp", "http://h/", "rtmp://h/a", `address is "rtmp://h/a", expected http, https or a relative one`},
		{"made_up_scheme", "http://h/", "x+y.z-1://h/a", `address is "x+y.z-1://h/a", expected http, https or a relative one`},
		{"data", "http://h/", "DATA:text/plain,x", `address is "DATA:text/plain,x", expected http, https or a relative one`},
		{"file", "http://h/", "file:/etc/passwd", `address is "file:/etc/passwd", expected http, https or a relative one`},
		{"javascript", "http://h/", "javascript:x", `address is "javascript:x", expected http, https or a relative one`},
		{"http_without_slashes", "http://h/", "http:a/b", `address is "http:a/b", expected // after the scheme`},
		{"absolute_without_host", "http://h/", "https:///a", `address "https:///a" has no host`},
		{"slashes_without_host", "http://h/", "//", `address "//" has no host`},
		{"slashes_then_query", "http://h/", "//?a", `address "//?a" has no host`},
		{"bounded", "http://h/", "x://" + strings.Repeat("y", 9999), `address is "x://` + strings.Repeat("y", 44) + `"…, expected http, https or a relative one`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := playlist.Resolve(test.base, test.ref)
			if err == nil || err.Error() != test.want || got != "" {
				t.Errorf("Resolve(%q, %.60q) = %q, error\n%v, want\n%s", test.base, test.ref, got, err, test.want)
			}
		})
	}
}
