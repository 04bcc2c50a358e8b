package test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// realFastCGI are the directives of an nginx that passes everything on by FastCGI,
// with the parameters of nginx's own fastcgi_params that bear on a redirect.
const realFastCGI = `large_client_header_buffers 4 32k; # nginx refuses a target above 8 KiB by itself
    location / {
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

// realFastCGISame asks the same of two instances with one configuration, of one
// by HTTP and of the other through an nginx by FastCGI, and compares. The
// channel's own server (content_id) makes the answers the same.
func realFastCGISame(t *testing.T, servers []*realServer) {
	config := func() rig.Config {
		c := realConfig(servers, "content_id", "content_id")
		c["core"].(rig.Config)["hosts"] = []string{"tv.example.net"}
		return c
	}
	byHTTP := rig.Start(t, config())
	c := config()
	c["core"].(rig.Config)["protocol"] = "fastcgi"
	byFastCGI := rig.Start(t, c)
	front := rig.NewNginx(t, "127.0.0.31", fmt.Sprintf(realFastCGI, strings.TrimPrefix(byFastCGI.Viewers, "http://")))

	for _, test := range []struct {
		name    string
		method  string // GET when empty
		target  string
		headers []string
		body    string
		from    string // the viewer's address
		far     bool   // farm far serves it, else farm near
		status  int
		// location is what follows the server's URL in the Location header.
		location string
	}{
		{name: "hls", target: realNewsHLS, status: 302, location: "/news/index.m3u8"},
		{name: "dash", target: realNewsDASH, status: 302, location: "/news/manifest.mpd"},
		{name: "head", method: "HEAD", target: realNewsHLS, status: 302, location: "/news/index.m3u8"},
		{name: "child", target: "/tv/news/seg1.ts", status: 302, location: "/news/seg1.ts"},
		{name: "far-location", target: realNewsHLS, from: "127.0.0.42", far: true, status: 302, location: "/news/index.m3u8"},
		{
			name: "forwarded-by-a-trusted-peer", target: realNewsHLS, from: "127.0.0.1", headers: []string{"X-Forwarded-For: 127.0.0.42"},
			far: true, status: 302, location: "/news/index.m3u8",
		},
		{
			name: "forwarded-by-nobody-we-trust", target: realNewsHLS, headers: []string{"X-Forwarded-For: 127.0.0.42"},
			status: 302, location: "/news/index.m3u8",
		},
		{name: "query", target: realNewsHLS + "?token=a%2Fb%3D+c&&x=&y&z=%2e%2e/..", status: 302, location: "/news/index.m3u8?token=a%2Fb%3D+c&&x=&y&z=%2e%2e/.."},
		{name: "empty-query", target: realNewsHLS + "?", status: 302, location: "/news/index.m3u8?"},
		{name: "query-with-question-marks", target: realNewsHLS + "?a=?b=??", status: 302, location: "/news/index.m3u8?a=?b=??"},
		{name: "query-with-bad-escapes", target: realNewsHLS + "?a=%&b=%zz&c=100%", status: 302, location: "/news/index.m3u8?a=%&b=%zz&c=100%"},
		{name: "query-with-foreign-bytes", target: realNewsHLS + "?a=\"<b>\"|é", status: 302, location: "/news/index.m3u8?a=%22%3Cb%3E%22%7C%C3%A9"},
		{name: "lower-case-escape", target: "/tv/news/seg%2d1.ts", status: 302, location: "/news/seg%2d1.ts"},
		{name: "needless-escape", target: "/tv/n%65ws/index.m3u8", status: 302, location: "/n%65ws/index.m3u8"},
		{name: "escaped-slash", target: "/tv/news/a%2Fb.ts", status: 302, location: "/news/a%2Fb.ts"},
		{name: "escaped-slash-and-foreign-byte", target: "/tv/news/a%2Fb|c.ts", status: 302, location: "/news/a%2Fb%7Cc.ts"},
		{name: "escaped-percent", target: "/tv/news/a%252Fb.ts", status: 302, location: "/news/a%252Fb.ts"},
		{name: "escaped-question-mark", target: "/tv/news/a%3Fb.ts?c", status: 302, location: "/news/a%3Fb.ts?c"},
		{name: "delimiters", target: "/tv/news/a;p=1,b=$2!'()*:@&=+~.ts", status: 302, location: "/news/a;p=1,b=$2!'()*:@&=+~.ts"},
		{name: "double-slash", target: "/tv/news//seg1.ts", status: 302, location: "/news//seg1.ts"},
		{name: "raw-utf-8", target: "/tv/news/é.ts", status: 302, location: "/news/%C3%A9.ts"},
		{name: "options", method: "OPTIONS", target: realNewsHLS, status: 204},
		{name: "post", method: "POST", target: realNewsHLS, status: 405},
		{name: "empty-body", target: realNewsHLS, headers: []string{"Content-Length: 0"}, status: 302, location: "/news/index.m3u8"},
		{name: "body", target: realNewsHLS, headers: []string{"Content-Length: 3", "Content-Type: text/plain"}, body: "abc", status: 400},
		{name: "json", target: realNewsHLS, headers: []string{"Accept: application/json"}, status: 200},
		{name: "missing", target: "/tv/nothing/index.m3u8", status: 404},
		{name: "missing-head", method: "HEAD", target: "/tv/nothing/index.m3u8", status: 404},
		{name: "not-ours", target: "/radio/news/index.m3u8", status: 404},
		{name: "dot-segment", target: "/tv/news/../sport/index.m3u8", status: 400},
		{name: "escaped-dot-segment", target: "/tv/news/%2e%2E/sport/index.m3u8", status: 400},
		{name: "two-slashes-first", target: "//tv/news/index.m3u8", status: 400},
		{name: "long-query", target: realNewsHLS + "?" + strings.Repeat("a", 9000), status: 414},
		{name: "unknown-host", target: realNewsHLS, headers: []string{"Host: other.example.net"}, status: 421},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := realRequest(test.method, test.target, test.headers) + test.body
			var direct, passed rig.Response
			// Each of the two asks the servers itself: until all have answered, the
			// first good answer may be another server's.
			rig.Eventually(t, 10*time.Second, func() error {
				direct = realAsk(t, test.from, strings.TrimPrefix(byHTTP.Viewers, "http://"), test.method, request)
				passed = realAsk(t, test.from, front.Addr, test.method, request)
				if a, b := hostOf(direct.Location()), hostOf(passed.Location()); test.status == 302 && a != b {
					return fmt.Errorf("by HTTP %q is sent to %s, by FastCGI to %s", test.target, a, b)
				}
				return nil
			})
			if direct.StatusCode != test.status {
				t.Errorf("by HTTP: %d %s, expected %d", direct.StatusCode, direct.Body, test.status)
			}
			if test.location != "" {
				farm := "http://127.0.0.1"
				if test.far {
					farm = "http://127.0.0.2"
				}
				if got := direct.Location(); !strings.HasSuffix(got, test.location) || !strings.HasPrefix(got, farm) {
					t.Errorf("by HTTP: Location %q, expected %s… and %q", got, farm, test.location)
				}
			}
			if passed.StatusCode != direct.StatusCode || passed.Body != direct.Body {
				t.Errorf("by FastCGI: %d %s, by HTTP: %d %s", passed.StatusCode, passed.Body, direct.StatusCode, direct.Body)
			}
			for _, name := range realHeaders {
				if a, b := passed.Header.Values(name), direct.Header.Values(name); !slices.Equal(a, b) {
					t.Errorf("%s by FastCGI: %q, by HTTP: %q", name, a, b)
				}
			}
		})
	}
	t.Run("health", func(t *testing.T) {
		if r := realAsk(t, "", front.Addr, "GET", realRequest("GET", "/.pointsman/health", nil)); r.StatusCode != 200 || r.Body != "ready\n" {
			t.Errorf("by FastCGI: %d %q, expected 200 and ready", r.StatusCode, r.Body)
		}
	})
	t.Run("client-address", func(t *testing.T) {
		want := realAsk(t, "127.0.0.43", front.Addr, "GET", realRequest("GET", realNewsHLS, []string{"User-Agent: from-43"}))
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

// realHeaders are all but those that each web server writes in its own way:
// Server, Date, Connection, Transfer-Encoding.
var realHeaders = []string{
	"Location", "Cache-Control", "Expires", "Retry-After", "Allow", "Content-Type", "Content-Length",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Allow-Headers", "Access-Control-Max-Age",
}

// realRequest writes a request whose target goes out byte for byte.
func realRequest(method, target string, headers []string) string {
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

// hostOf is the host and port of a URL, "" of what is none.
func hostOf(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return ""
	}
	return u.Host
}

// realAsk sends a request from an address of loopback, 127.0.0.41 when from is
// empty.
func realAsk(t *testing.T, from, to, method, request string) rig.Response {
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
