package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t testing.TB, opt fetch.Options) *fetch.Client {
	t.Helper()
	if opt.UserAgent == "" {
		opt.UserAgent = "pointsman-probe/test"
	}
	c, err := fetch.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve starts a server on the loopback interface.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// get asks with a deadline that no test should meet.
func get(t testing.TB, c *fetch.Client, r fetch.Request) (*fetch.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if r.MaxBody == 0 {
		r.MaxBody = 1 << 20
	}
	return c.Get(ctx, r)
}

func mustGet(t testing.TB, c *fetch.Client, r fetch.Request) *fetch.Response {
	t.Helper()
	res, err := get(t, c, r)
	if err != nil {
		t.Fatalf("Get(%s): %v", r.URL, err)
	}
	return res
}

// wantError checks kind and that the text is fit for a log line.
func wantError(t testing.TB, err error, kind fetch.Kind, text string) {
	t.Helper()
	var e *fetch.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %T %v, want a *fetch.Error", err, err)
	}
	if e.Kind != kind || fetch.KindOf(err) != kind {
		t.Errorf("the error is of kind %d (%v), want %d", e.Kind, err, kind)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %q, want %q in it", err, text)
	}
	if len(err.Error()) > 400 || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("the error %q is too long or has control bytes", err)
	}
}

// Whatever the network says is sorted into what follows from it.
func TestErrorKindsOfTheNetwork(t *testing.T) {
	t.Parallel()
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	tests := []struct {
		name string
		err  error
		kind fetch.Kind
		text string
	}{
		{"refused", op(os.NewSyscallError("connect", syscall.ECONNREFUSED)), fetch.Refused, "connection refused"},
		{"reset", op(os.NewSyscallError("read", syscall.ECONNRESET)), fetch.Refused, "connection reset"},
		{"broken_pipe", op(os.NewSyscallError("write", syscall.EPIPE)), fetch.Refused, "connection reset"},
		{"connect_timed_out", op(os.NewSyscallError("connect", syscall.ETIMEDOUT)), fetch.Timeout, "no answer in time"},
		{"deadline", op(os.ErrDeadlineExceeded), fetch.Timeout, "no answer in time"},
		{"no_route", op(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), fetch.Timeout, "no route"},
		{"network_unreachable", op(os.NewSyscallError("connect", syscall.ENETUNREACH)), fetch.Timeout, "no route"},
		{"no_such_name", op(&net.DNSError{Err: "no such host", Name: "edge", IsNotFound: true}), fetch.Name, "its name edge does not resolve"},
		{"name_server_failed", op(&net.DNSError{Err: "server misbehaving", Name: "edge", IsTemporary: true}), fetch.Name, "does not resolve"},
		{"name_server_silent", op(&net.DNSError{Err: "i/o timeout", Name: "edge", IsTimeout: true}), fetch.Timeout, "no answer in time"},
		{"a_name_with_control_bytes", op(&net.DNSError{Err: "no such host", Name: strings.Repeat("a\n", 1000)}), fetch.Name, "does not resolve"},
		{"closed_at_once", io.EOF, fetch.Protocol, "closed the connection without an answer"},
		{"something_else", op(errors.New("moon\x1b[31m in the wrong phase " + strings.Repeat("x", 1000))), fetch.Protocol, "moon [31m in the wrong phase"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, fetch.Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, tt.err }})
			_, err := get(t, c, fetch.Request{URL: "http://edge/"})
			wantError(t, err, tt.kind, tt.text)
			if !errors.Is(err, tt.err) {
				t.Errorf("the error does not wrap its cause %v", tt.err)
			}
		})
	}
}

func TestErrorKindsOfRealSockets(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		l := listen(t)
		addr := l.Addr().String()
		_ = l.Close()
		_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: "http://" + addr})
		wantError(t, err, fetch.Refused, "connection refused")
	})
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		addr := talk(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_ = c.(*net.TCPConn).SetLinger(0)
		})
		_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: "http://" + addr})
		wantError(t, err, fetch.Refused, "connection reset")
	})
	t.Run("closed_without_an_answer", func(t *testing.T) {
		t.Parallel()
		addr := talk(t, func(c net.Conn) { _, _ = http.ReadRequest(newReader(c)) })
		_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: "http://" + addr})
		wantError(t, err, fetch.Protocol, "closed the connection")
	})
	t.Run("no_http", func(t *testing.T) {
		t.Parallel()
		addr := talk(t, func(c net.Conn) {
			_, _ = http.ReadRequest(newReader(c))
			_, _ = io.WriteString(c, "220 mail\x07 ready\r\n\r\n")
		})
		_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: "http://" + addr})
		wantError(t, err, fetch.Protocol, "malformed HTTP")
	})
	t.Run("http_where_tls_is_expected", func(t *testing.T) {
		t.Parallel()
		u := serve(t, func(http.ResponseWriter, *http.Request) {})
		_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: "https" + strings.TrimPrefix(u, "http")})
		wantError(t, err, fetch.Protocol, "")
	})
	t.Run("a_certificate_nobody_signed", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = quiet()
		s.StartTLS()
		t.Cleanup(s.Close)
		_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: s.URL})
		wantError(t, err, fetch.Protocol, "certificate")
	})
	t.Run("cut_off_in_the_body", func(t *testing.T) {
		t.Parallel()
		u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		})
		_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: u})
		wantError(t, err, fetch.Protocol, "")
	})
	t.Run("a_url_that_cannot_be_asked", func(t *testing.T) {
		t.Parallel()
		for _, u := range []string{"http://a\x00b/", "http://[::1", "ftp://edge/", "", "://"} {
			_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: u})
			wantError(t, err, fetch.Protocol, "")
		}
	})
}

// The deadline is the context's, to the end of the body, and a dial ends with
// the question that began it: a black hole must not collect them.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	t.Run("black_hole", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var dials atomic.Int64
			c := newClient(t, fetch.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				dials.Add(1)
				defer dials.Add(-1)
				<-ctx.Done()
				return nil, ctx.Err()
			}})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			start := time.Now()
			_, err := c.Get(ctx, fetch.Request{URL: "http://edge/", MaxBody: 1})
			wantError(t, err, fetch.Timeout, "no answer in time")
			if took := time.Since(start); took != 5*time.Second {
				t.Errorf("it took %v, want 5s", took)
			}
			synctest.Wait()
			if n := dials.Load(); n != 0 {
				t.Errorf("%d dials outlive the question", n)
			}
		})
	})
	t.Run("black_hole_given_up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, fetch.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := c.Get(ctx, fetch.Request{URL: "http://edge/", MaxBody: 1})
			wantError(t, err, fetch.Canceled, "given up")
		})
	})
	for _, tt := range []struct {
		name string
		talk func(net.Conn)
	}{
		{"no_head", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }},
		{"a_head_byte_a_second", func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1000)) }},
		{"a_body_byte_a_second", func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n") }},
		{"a_100_continue_a_second", func(c net.Conn) {
			for {
				time.Sleep(time.Second)
				if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
					return
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, fetch.Options{Dial: pipe(func(c net.Conn) {
					_, _ = http.ReadRequest(newReader(c))
					tt.talk(c)
				})})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				_, err := c.Get(ctx, fetch.Request{URL: "http://edge/", MaxBody: 1 << 20})
				wantError(t, err, fetch.Timeout, "no answer in time")
				if took := time.Since(start); took != 5*time.Second {
					t.Errorf("it took %v, want 5s", took)
				}
				time.Sleep(2 * time.Second) // the server notices
			})
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	tests := []struct {
		name, location string
		kind           fetch.Kind // 0: followed
		text           string
	}{
		{"cookie_check_as_mediamtx", "?cookieCheck=1", 0, ""},
		{"path_on_the_same_host", "/other.m3u8", 0, ""},
		{"relative_path", "x/../other.m3u8", 0, ""},
		{"another_port", other + "/x", fetch.Redirected, "it redirects to " + other},
		{"metadata_service", "http://169.254.169.254/latest/meta-data/", fetch.Redirected, "it redirects to http://169.254.169.254"},
		{"another_name_without_a_scheme", "//elsewhere/x", fetch.Redirected, "it redirects to http://elsewhere"},
		{"another_scheme", "https://HOST/x", fetch.Redirected, "it redirects to https://"},
		{"a_scheme_that_is_none", "file:///etc/passwd", fetch.Redirected, "it redirects to"},
		{"a_loop", "/", fetch.Redirected, "it redirects more than 5 times"},
		{"control_bytes", "http://a\x01b/", fetch.Protocol, ""},
		{"a_name_that_goes_on", "http://" + strings.Repeat("a", 2000) + "/", fetch.Redirected, "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.URL.Path != "/" || r.URL.RawQuery != "" {
					_, _ = io.WriteString(w, "there")
					return
				}
				w.Header().Set("Location", strings.Replace(tt.location, "HOST", r.Host, 1))
				w.WriteHeader(http.StatusFound)
			})
			c := newClient(t, fetch.Options{})
			res, err := get(t, c, fetch.Request{URL: u + "/"})
			if tt.kind != 0 {
				wantError(t, err, tt.kind, tt.text)
				if got := asked.Load(); got > fetch.MaxRedirects+1 {
					t.Errorf("the server was asked %d times, want at most %d", got, fetch.MaxRedirects+1)
				}
				return
			}
			if err != nil || string(res.Body) != "there" {
				t.Fatalf("Get: %v, %v; want it followed", res, err)
			}
			if res.URL == u+"/" {
				t.Errorf("the URL is %s, want the one after the redirect", res.URL)
			}
		})
	}
	t.Cleanup(func() {
		if n := elsewhere.Load(); n > 0 {
			t.Errorf("another host was asked %d times", n)
		}
	})
}

// The same host in other words is the same host.
func TestRedirectsToTheSameHostInOtherWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to string }{
		{"http://edge:80/", "http://edge/there"},
		{"http://edge/", "http://edge:80/there"},
		{"http://edge/", "http://EDGE/there"},
		{"http://Edge/", "HTTP://edge/there"},
	} {
		t.Run(strings.ReplaceAll(strings.TrimSuffix(tt.from, "/")[7:]+"_"+tt.to[7:], "/", "_"), func(t *testing.T) {
			t.Parallel()
			addr := strings.TrimPrefix(serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					w.Header().Set("Location", tt.to)
					w.WriteHeader(http.StatusFound)
				}
			}), "http://")
			c := newClient(t, fetch.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}})
			if res, err := get(t, c, fetch.Request{URL: tt.from}); err != nil || res.Status != http.StatusOK {
				t.Errorf("from %s to %s: %v, %v; want it followed", tt.from, tt.to, res, err)
			}
		})
	}
}

func TestNoFollow(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://169.254.169.254/")
		w.WriteHeader(http.StatusFound)
	})
	c := newClient(t, fetch.Options{})
	if res := mustGet(t, c, fetch.Request{URL: u, NoFollow: true}); res.Status != http.StatusFound {
		t.Errorf("the status is %d, want the redirect itself", res.Status)
	}
	// The next fetch of the same client follows its own rules.
	_, err := get(t, c, fetch.Request{URL: u})
	wantError(t, err, fetch.Redirected, "169.254.169.254")
}

func TestRedirectWithoutALocation(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	if res := mustGet(t, newClient(t, fetch.Options{}), fetch.Request{URL: u}); res.Status != http.StatusFound {
		t.Errorf("the status is %d, want 302", res.Status)
	}
}

// F30: what counts is the address that is dialed, whatever the name said when
// the configuration was checked.
func TestAllowNetworks(t *testing.T) {
	t.Parallel()
	u := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := u[strings.LastIndexByte(u, ':'):]
	tests := []struct {
		name     string
		networks []string
		host     string
		allowed  bool
	}{
		{"any", nil, "127.0.0.1", true},
		{"inside", []string{"127.0.0.0/8"}, "127.0.0.1", true},
		{"one_of_several", []string{"10.0.0.0/8", "2001:db8::/32", "127.0.0.1/32"}, "127.0.0.1", true},
		{"host_bits_set", []string{"127.9.9.9/8"}, "127.0.0.1", true},
		{"outside", []string{"10.0.0.0/8"}, "127.0.0.1", false},
		{"only_ipv6_listed", []string{"2001:db8::/32"}, "127.0.0.1", false},
		{"a_name_resolves_to_loopback", []string{"10.0.0.0/8"}, "localhost", false},
		{"mapped_address", []string{"127.0.0.0/8"}, "[::ffff:127.0.0.1]", true},
		{"mapped_address_outside", []string{"10.0.0.0/8"}, "[::ffff:127.0.0.1]", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var networks []netip.Prefix
			for _, n := range tt.networks {
				networks = append(networks, netip.MustParsePrefix(n))
			}
			c := newClient(t, fetch.Options{AllowNetworks: networks})
			res, err := get(t, c, fetch.Request{URL: "http://" + tt.host + port})
			if tt.allowed {
				if err != nil || res.Status != http.StatusOK {
					t.Errorf("Get: %v, %v; want it allowed", res, err)
				}
				return
			}
			wantError(t, err, fetch.Denied, "is outside probe.allow_networks")
		})
	}
}

// A redirect within the host is dialed again, under the same rule; and an
// environment's proxy would go around it.
func TestNoProxy(t *testing.T) {
	proxied := make(chan struct{}, 1)
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied <- struct{}{} })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	c := newClient(t, fetch.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "edge.example:80" {
			return nil, errors.New("asked directly")
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	_, err := get(t, c, fetch.Request{URL: "http://edge.example/"})
	wantError(t, err, fetch.Protocol, "asked directly")
	if len(proxied) > 0 {
		t.Error("the environment's proxy was asked")
	}
}

func TestRequestAsSent(t *testing.T) {
	t.Parallel()
	var seen []*http.Request
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
	})
	c := newClient(t, fetch.Options{UserAgent: "pointsman-probe/1.2"})
	mustGet(t, c, fetch.Request{URL: u + "/a%2Fb/index.m3u8?x=%zz;y", Headers: []farms.Header{
		{Name: "Host", Value: "tv.example"},
		{Name: "X-Token", Value: "s3cret"},
		{Name: "X-Token", Value: "two"},
		{Name: "User-Agent", Value: "not this"},
		{Name: "Accept-Encoding", Value: "br"},
	}})
	mustGet(t, c, fetch.Request{URL: u, Range: "bytes=0-1879"})
	first, second := seen[0], seen[1]
	if first.Method != http.MethodGet || first.RequestURI != "/a%2Fb/index.m3u8?x=%zz;y" {
		t.Errorf("asked %s %s, want the URL byte for byte", first.Method, first.RequestURI)
	}
	if first.Host != "tv.example" {
		t.Errorf("Host is %q, want the one of the headers", first.Host)
	}
	if got := first.Header.Values("X-Token"); len(got) != 2 {
		t.Errorf("X-Token is %q, want both", got)
	}
	if got := first.UserAgent(); got != "pointsman-probe/1.2" {
		t.Errorf("User-Agent is %q", got)
	}
	if got := first.Header.Values("Accept-Encoding"); len(got) != 1 || got[0] != "gzip" {
		t.Errorf("Accept-Encoding is %q, want gzip", got)
	}
	if got := second.Header.Get("Range"); got != "bytes=0-1879" {
		t.Errorf("Range is %q", got)
	}
	if got := second.Header.Get("Accept-Encoding"); got != "identity" {
		t.Errorf("Accept-Encoding beside a range is %q, want identity", got)
	}
	if got := second.Header.Get("Cookie"); got != "" {
		t.Errorf("a cookie was kept: %q", got)
	}
}

func TestHeadIsBounded(t *testing.T) {
	t.Parallel()
	addr := talk(t, func(c net.Conn) {
		_, _ = http.ReadRequest(newReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(c, "X-Filler: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
				return
			}
		}
	})
	_, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: "http://" + addr})
	wantError(t, err, fetch.Protocol, "exceeded")
}

func zip(t testing.TB, body string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = io.WriteString(z, body)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestBodies(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 16<<20)
	tests := []struct {
		name     string
		encoding string
		body     []byte
		max      int64
		cut      bool
		want     string // the body
		kind     fetch.Kind
		text     string
	}{
		{"plain", "", []byte("#EXTM3U"), 100, false, "#EXTM3U", 0, ""},
		{"exactly_the_cap", "", []byte("12345"), 5, false, "12345", 0, ""},
		{"one_over_the_cap", "", []byte("123456"), 5, false, "", fetch.TooLarge, "larger than 5 bytes"},
		{"one_over_the_cap_cut", "", []byte("123456"), 5, true, "12345", 0, ""},
		{"empty", "", nil, 100, false, "", 0, ""},
		{"gzip", "gzip", zip(t, "#EXTM3U"), 100, false, "#EXTM3U", 0, ""},
		{"gzip_in_capitals", "GZIP", zip(t, "#EXTM3U"), 100, false, "#EXTM3U", 0, ""},
		{"gzip_of_two_members", "gzip", append(zip(t, "#EXT"), zip(t, "M3U")...), 100, false, "#EXTM3U", 0, ""},
		{"gzip_of_nothing", "gzip", zip(t, ""), 100, false, "", 0, ""},
		{"gzip_in_name_alone_and_empty", "gzip", nil, 100, false, "", 0, ""},
		{"gzip_in_name_alone", "gzip", []byte("#EXTM3U\n#EXTINF:4,\n"), 100, false, "", fetch.Protocol, "cannot be read"},
		{"gzip_cut_off", "gzip", zip(t, strings.Repeat("abc", 50))[:20], 1000, false, "", fetch.Protocol, "cannot be read"},
		{"gzip_with_a_wrong_checksum", "gzip", corrupt(zip(t, "#EXTM3U")), 100, false, "", fetch.Protocol, "cannot be read"},
		{"gzip_twice_is_opened_once", "gzip", zip(t, string(zip(t, "#EXTM3U"))), 100, false, string(zip(t, "#EXTM3U")), 0, ""},
		{"gzip_twice_in_name_is_not_opened", "gzip, gzip", zip(t, "x"), 100, false, string(zip(t, "x")), 0, ""},
		{"bomb", "gzip", zip(t, zeros), 1 << 20, false, "", fetch.TooLarge, "larger than 1048576 bytes"},
		{"bomb_cut", "gzip", zip(t, zeros), 100_000, true, zeros[:100_000], 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				_, _ = w.Write(tt.body)
			})
			res, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: u, MaxBody: tt.max, Cut: tt.cut})
			if tt.kind != 0 {
				wantError(t, err, tt.kind, tt.text)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(res.Body) != tt.want {
				t.Errorf("the body is %.40q (%d bytes), want %.40q", res.Body, len(res.Body), tt.want)
			}
		})
	}
}

// An endless body costs the cap and no more.
func TestEndlessBody(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut_%v", cut), func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			done := make(chan struct{})
			u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				defer close(done)
				for block := make([]byte, 64<<10); ; {
					n, err := w.Write(block)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
			res, err := get(t, newClient(t, fetch.Options{}), fetch.Request{URL: u, MaxBody: 100_000, Cut: cut})
			<-done // it hung up
			if cut {
				if err != nil || len(res.Body) != 100_000 {
					t.Fatalf("Get: %v; want the first 100000 bytes", err)
				}
			} else {
				wantError(t, err, fetch.TooLarge, "larger than 100000 bytes")
			}
			// What the sockets' buffers took is beyond the reader's power.
			if n := sent.Load(); n > 64<<20 {
				t.Errorf("the server sent %d bytes before the hang-up", n)
			}
		})
	}
}

// A body that ends early is told beside what came, when it may be cut: only
// the caller knows whether the part is enough.
func TestCutBodyThatEndsEarly(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
	tests := []struct {
		name, sent string
		closes     bool
		kind       fetch.Kind
		body       string
	}{
		{"stalls", head + "abc", false, fetch.Timeout, "abc"},
		{"stalls_at_once", head, false, fetch.Timeout, ""},
		{"closes", head + "abc", true, fetch.Protocol, "abc"},
		{"no_gzip_after_all", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is not gzip....", true, fetch.Protocol, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, fetch.Options{Dial: pipe(func(c net.Conn) {
					_, _ = http.ReadRequest(newReader(c))
					_, _ = io.WriteString(c, tt.sent)
					if !tt.closes {
						_, _ = io.Copy(io.Discard, c)
					}
				})})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				res, err := c.Get(ctx, fetch.Request{URL: "http://edge/", MaxBody: 2000, Cut: true})
				if err != nil {
					t.Fatalf("Get: %v; want what came", err)
				}
				if string(res.Body) != tt.body {
					t.Errorf("the body is %q, want %q", res.Body, tt.body)
				}
				if res.Short == nil {
					t.Fatal("nothing tells that the body ended early")
				}
				wantError(t, res.Short, tt.kind, "")
			})
		})
	}
}

// Connections are used again: a probe must not cost a handshake each time.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		encoding string
		body     []byte
	}{
		{"plain", "", []byte("#EXTM3U")},
		{"gzip", "gzip", zip(t, "#EXTM3U")},
		{"gzip_empty", "gzip", nil},
		{"long", "", bytes.Repeat([]byte("x"), 500_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			ports := make(map[string]bool)
			u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				ports[r.RemoteAddr] = true
				mu.Unlock()
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				_, _ = w.Write(tt.body)
			})
			c := newClient(t, fetch.Options{})
			for range 10 {
				mustGet(t, c, fetch.Request{URL: u})
			}
			if len(ports) != 1 {
				t.Errorf("10 fetches took %d connections, want 1", len(ports))
			}
		})
	}
}

func TestLatencyEndsWithTheHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, fetch.Options{Dial: pipe(func(c net.Conn) {
			_, _ = http.ReadRequest(newReader(c))
			time.Sleep(200 * time.Millisecond)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
			time.Sleep(3 * time.Second)
			_, _ = io.WriteString(c, "x")
		})})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		res, err := c.Get(ctx, fetch.Request{URL: "http://edge/", MaxBody: 10})
		if err != nil {
			t.Fatal(err)
		}
		if res.Latency != 200*time.Millisecond {
			t.Errorf("the latency is %v, want 200ms", res.Latency)
		}
	})
}

func TestKindOfForeignErrors(t *testing.T) {
	t.Parallel()
	if got := fetch.KindOf(errors.New("x")); got != fetch.Protocol {
		t.Errorf("the kind is %d, want %d", got, fetch.Protocol)
	}
}
