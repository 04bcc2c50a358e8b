package test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// fastCGI are the directives of an nginx that passes everything on by FastCGI,
// with the parameters of nginx's own fastcgi_params that bear on a redirect.
const fastCGI = `location / {
      fastcgi_pass %s;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param SCRIPT_NAME $fastcgi_script_name;
      fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param SERVER_PROTOCOL $server_protocol;
      fastcgi_param REQUEST_SCHEME $scheme;
      fastcgi_param HTTPS $https if_not_empty;
      fastcgi_param REMOTE_ADDR $remote_addr;
      fastcgi_param REMOTE_PORT $remote_port;
    }`

// compareFastCGI asks the same of two instances with one configuration, of one
// by HTTP and of the other through an nginx by FastCGI, and compares. The
// channel's own server (content_id) makes the answers the same.
func compareFastCGI(t *testing.T, servers []*realServer) {
	config := func() rig.Config {
		c := realConfig(servers, "content_id")
		c["core"].(rig.Config)["hosts"] = []string{"tv.example.net"}
		return c
	}
	byHTTP := rig.Start(t, config())
	c := config()
	c["core"].(rig.Config)["protocol"] = "fastcgi"
	byFastCGI := rig.Start(t, c)
	front := rig.NewNginx(t, "127.0.0.31", fmt.Sprintf(fastCGI, strings.TrimPrefix(byFastCGI.Viewers, "http://")))

	for _, test := range []struct {
		name    string
		method  string // GET when empty
		target  string
		headers []string
		from    string // the viewer's address
		status  int
		// location is what follows the server's URL in the Location header.
		location string
	}{
		{name: "hls", target: newsHLS, status: 302, location: "/news/index.m3u8"},
		{name: "dash", target: newsDASH, status: 302, location: "/news/manifest.mpd"},
		{name: "head", method: "HEAD", target: newsHLS, status: 302, location: "/news/index.m3u8"},
		{name: "child", target: "/tv/news/seg1.ts", status: 302, location: "/news/seg1.ts"},
		{name: "far-location", target: newsHLS, from: "127.0.0.42", status: 302, location: "/news/index.m3u8"},
		{
			name: "forwarded-by-a-trusted-peer", target: newsHLS, from: "127.0.0.1", headers: []string{"X-Forwarded-For: 127.0.0.42"},
			status: 302, location: "/news/index.m3u8",
		},
		{
			name: "forwarded-by-nobody-we-trust", target: newsHLS, headers: []string{"X-Forwarded-For: 127.0.0.42"},
			status: 302, location: "/news/index.m3u8",
		},
		{name: "query", target: newsHLS + "?token=a%2Fb%3D+c&&x=&y&z=%2e%2e/..", status: 302, location: "/news/index.m3u8?token=a%2Fb%3D+c&&x=&y&z=%2e%2e/.."},
		{name: "empty-query", target: newsHLS + "?", status: 302, location: "/news/index.m3u8?"},
		{name: "query-with-question-marks", target: newsHLS + "?a=?b=??", status: 302, location: "/news/index.m3u8?a=?b=??"},
		{name: "query-with-bad-escapes", target: newsHLS + "?a=%&b=%zz&c=100%", status: 302, location: "/news/index.m3u8?a=%&b=%zz&c=100%"},
		{name: "query-with-foreign-bytes", target: newsHLS + "?a=\"<b>\"|é", status: 302, location: "/news/index.m3u8?a=%22%3Cb%3E%22%7C%C3%A9"},
		{name: "lower-case-escape", target: "/tv/news/seg%2d1.ts", status: 302, location: "/news/seg%2d1.ts"},
		{name: "needless-escape", target: "/tv/n%65ws/index.m3u8", status: 302, location: "/n%65ws/index.m3u8"},
		{name: "escaped-slash", target: "/tv/news/a%2Fb.ts", status: 302, location: "/news/a%2Fb.ts"},
		{name: "escaped-slash-and-foreign-byte", target: "/tv/news/a%2Fb|c.ts", status: 302, location: "/news/a%2Fb%7Cc.ts"},
		{name: "escaped-percent", target: "/tv/news/a%252Fb.ts", status: 302, location: "/news/a%252Fb.ts"},
		{name: "escaped-question-mark", target: "/tv/news/a%3Fb.ts?c", status: 302, location: "/news/a%3Fb.ts?c"},
		{name: "delimiters", target: "/tv/news/a;p=1,b=$2!'()*:@&=+~.ts", status: 302, location: "/news/a;p=1,b=$2!'()*:@&=+~.ts"},
		{name: "double-slash", target: "/tv/news//seg1.ts", status: 302, location: "/news//seg1.ts"},
		{name: "raw-utf-8", target: "/tv/news/é.ts", status: 302, location: "/news/%C3%A9.ts"},
		{name: "options", method: "OPTIONS", target: newsHLS, status: 204},
		{name: "post", method: "POST", target: newsHLS, status: 405},
		{name: "get-with-a-body", target: newsHLS, headers: []string{"Content-Length: 0", "Content-Type: text/plain"}, status: 302, location: "/news/index.m3u8"},
		{name: "json", target: newsHLS, headers: []string{"Accept: application/json"}, status: 200},
		{name: "missing", target: "/tv/nothing/index.m3u8", status: 404},
		{name: "missing-head", method: "HEAD", target: "/tv/nothing/index.m3u8", status: 404},
		{name: "not-ours", target: "/radio/news/index.m3u8", status: 404},
		{name: "dot-segment", target: "/tv/news/../sport/index.m3u8", status: 400},
		{name: "escaped-dot-segment", target: "/tv/news/%2e%2E/sport/index.m3u8", status: 400},
		{name: "two-slashes-first", target: "//tv/news/index.m3u8", status: 400},
		{name: "long-query", target: newsHLS + "?" + strings.Repeat("a", 9000), status: 414},
		{name: "unknown-host", target: newsHLS, headers: []string{"Host: other.example.net"}, status: 421},
		{name: "health", target: "/.pointsman/health", status: 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := rawRequest(test.method, test.target, test.headers)
			direct := askRaw(t, test.from, strings.TrimPrefix(byHTTP.Viewers, "http://"), test.method, request)
			passed := askRaw(t, test.from, front.Addr, test.method, request)
			if direct.StatusCode != test.status {
				t.Errorf("by HTTP: %d %s, expected %d", direct.StatusCode, direct.Body, test.status)
			}
			if test.location != "" {
				if got := direct.Location(); !strings.HasSuffix(got, test.location) || !strings.HasPrefix(got, "http://127.0.0.") {
					t.Errorf("by HTTP: Location %q, expected a server's URL and %q", got, test.location)
				}
			}
			if passed.StatusCode != direct.StatusCode || passed.Body != direct.Body {
				t.Errorf("by FastCGI: %d %s, by HTTP: %d %s", passed.StatusCode, passed.Body, direct.StatusCode, direct.Body)
			}
			for _, name := range comparedHeaders {
				if a, b := passed.Header.Values(name), direct.Header.Values(name); !slices.Equal(a, b) {
					t.Errorf("%s by FastCGI: %q, by HTTP: %q", name, a, b)
				}
			}
		})
	}
	t.Run("client-address", func(t *testing.T) {
		want := askRaw(t, "127.0.0.43", front.Addr, "GET", rawRequest("GET", newsHLS, []string{"User-Agent: from-43"}))
		if want.StatusCode != http.StatusFound {
			t.Fatalf("status %d: %s", want.StatusCode, want.Body)
		}
		rig.Eventually(t, 5*time.Second, func() error { // decisions are flushed now and then
			for _, line := range byFastCGI.Log() {
				if line["ua"] == "from-43" {
					if line["client"] != "127.0.0.43" {
						t.Errorf("the log has client %v, expected 127.0.0.43, the peer of nginx", line["client"])
					}
					return nil
				}
			}
			return fmt.Errorf("no decision of this viewer is in the log")
		})
	})
}

// comparedHeaders are all but those that each web server writes in its own way:
// Server, Date, Connection, Transfer-Encoding.
var comparedHeaders = []string{
	"Location", "Cache-Control", "Expires", "Retry-After", "Allow", "Content-Type", "Content-Length",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Allow-Headers", "Access-Control-Max-Age",
}

// rawRequest writes a request whose target goes out byte for byte.
func rawRequest(method, target string, headers []string) string {
	if method == "" {
		method = "GET"
	}
	host := "Host: tv.example.net"
	var rest strings.Builder
	for _, h := range headers {
		if strings.HasPrefix(h, "Host:") {
			host = h
			continue
		}
		rest.WriteString(h + "\r\n")
	}
	return method + " " + target + " HTTP/1.1\r\n" + host + "\r\n" + rest.String() + "Connection: close\r\n\r\n"
}

// askRaw sends a request from an address of loopback, 127.0.0.41 when from is
// empty.
func askRaw(t *testing.T, from, to, method, request string) rig.Response {
	t.Helper()
	if from == "" {
		from = "127.0.0.41"
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("reading the answer to %q: %v", request, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("reading the answer to %q: %v", request, err)
	}
	return rig.Response{Response: res, Body: string(body)}
}
