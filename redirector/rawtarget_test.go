package redirector

import (
	"net/http"
	"net/url"
	"testing"
)

// A request that came by FastCGI has no RequestURI, only a URL that was parsed
// from the host and the target.
func TestRawTargetFromURL(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"/", "/news/index.m3u8", "/news/index.m3u8?", "/news/index.m3u8?a=%2F+&&b=%zz&c=?", "/a%2Fb", "/a%2fb", "/%61",
		"/a%2Fb|c", "/a%2F\"é\"", "//host/path", "/a//b", "/a/../b", "/a%252F", "/a%3F?b", "/a;b=1,c$!'()*:@&=+~",
	} {
		u, err := url.Parse("http://tv.example.net" + target)
		if err != nil {
			t.Fatal(err)
		}
		if got := rawTarget(&http.Request{URL: u}); got != target {
			t.Errorf("%q became %q", target, got)
		}
	}
}
