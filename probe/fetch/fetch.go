// Package fetch is the one HTTP client that talks to streaming servers. A
// server's answer is hostile input: every fetch has a deadline for the whole of
// it, a cap on the body (after decompression), follows redirects on the same
// host only, uses no proxy and keeps no cookies, and may be kept from dialing
// addresses outside the operator's networks.
package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/yl2chen/cidranger"

	"github.com/pointsman-tv/pointsman/farms"
)

// MaxRedirects is how many redirects on the same host a fetch follows.
const MaxRedirects = 5

// maxHeaderBytes bounds the head of a server's response.
const maxHeaderBytes = 64 << 10

// Options configure a [Client].
type Options struct {
	UserAgent     string         // sent with every fetch
	AllowNetworks []netip.Prefix // networks that may be dialed; empty: any
	// Dial replaces the network in tests; nil is the real one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Client fetches from streaming servers. It is safe for concurrent use.
type Client struct {
	http      *http.Client
	userAgent string
}

// Request is one fetch. The deadline is the context's.
type Request struct {
	URL      string
	Headers  []farms.Header // sent beside User-Agent and Accept-Encoding; a Host header names the virtual host
	Range    string         // value of a Range header, empty none
	MaxBody  int64          // bytes of decoded body kept
	Cut      bool           // a body that is longer than MaxBody, or ends early, is cut off and not an error
	NoFollow bool           // a redirect is the answer
}

// Response is what came back.
type Response struct {
	Status  int
	Header  http.Header
	Body    []byte
	URL     string        // after redirects
	Short   *Error        // why a body that may be cut ends early, nil when it does not
	Latency time.Duration // until the response head was there, redirects included
}

// New makes a client.
func New(opt Options) (*Client, error) {
	allowed, err := newNetworks(opt.AllowNetworks)
	if err != nil {
		return nil, err
	}
	dial := opt.Dial
	if dial == nil {
		d := &net.Dialer{KeepAlive: 30 * time.Second, Control: allowed.control}
		dial = d.DialContext
	}
	c := &Client{userAgent: opt.UserAgent}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // an environment's proxy would go around AllowNetworks
			DialContext:            whileAsked(dial),
			DisableCompression:     true, // decoded here, under the body cap
			MaxIdleConnsPerHost:    4,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: maxHeaderBytes,
			ForceAttemptHTTP2:      false,
		},
		CheckRedirect: checkRedirect,
	}
	return c, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// asked is the context key of a fetch's own context.
type asked struct{}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// whileAsked ends a dial with the fetch that began it. net/http lets dials go
// on without their request, and a black hole would collect them.
func whileAsked(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if fetch, ok := ctx.Value(asked{}).(context.Context); ok {
			dialing, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(fetch, cancel)()
			ctx = dialing
		}
		return dial(ctx, network, addr)
	}
}

// noFollow is the context key that makes a redirect the answer.
type noFollow struct{}

// checkRedirect follows redirects that stay on the host asked first: a server
// that sends elsewhere does not have the content itself, and must not lead us
// into networks it can only guess.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Context().Value(noFollow{}) != nil {
		return http.ErrUseLastResponse
	}
	if !SameHost(req.URL, first.URL) {
		return &Error{Kind: Redirected, Text: "it redirects to " + clip(req.URL.Scheme+"://"+req.URL.Host)}
	}
	if len(via) > MaxRedirects {
		return &Error{Kind: Redirected, Text: fmt.Sprintf("it redirects more than %d times", MaxRedirects)}
	}
	return nil
}

// SameHost tells whether two URLs lead to the same host and port by the same
// scheme. A server names itself with or without the scheme's own port.
func SameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	p := u.Port()
	switch {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// Get fetches r. Every error is an [*Error].
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	if r.NoFollow {
		ctx = context.WithValue(ctx, noFollow{}, true)
	}
	ctx = context.WithValue(ctx, asked{}, ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return nil, &Error{Kind: Protocol, Text: "its URL cannot be asked: " + clip(err.Error()), Err: err}
	}
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Add(h.Name, h.Value)
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept-Encoding", "gzip")
	if r.Range != "" {
		req.Header.Set("Range", r.Range)
		req.Header.Set("Accept-Encoding", "identity")
	}
	start := time.Now()
	res, err := c.http.Do(req)
	if err != nil {
		return nil, classify(err)
	}
	defer res.Body.Close()
	out := &Response{Status: res.StatusCode, Header: res.Header, URL: res.Request.URL.String(), Latency: time.Since(start)}
	out.Body, out.Short = readBody(res, r)
	if out.Short != nil && !r.Cut {
		return nil, out.Short
	}
	return out, nil
}

// readBody reads and decodes the body under the cap, and returns what came
// beside what went wrong. The cap holds for the encoded bytes too, so that
// neither a bomb nor an endless body costs more.
func readBody(res *http.Response, r Request) ([]byte, *Error) {
	var body io.Reader = res.Body
	if strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(io.LimitReader(body, r.MaxBody+1))
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil // an empty body that is called gzip
		case err != nil:
			return nil, classifyBody(err)
		}
		body = z
	}
	var buf bytes.Buffer
	if n := res.ContentLength; n > 0 && n <= r.MaxBody {
		buf.Grow(int(n))
	}
	n, err := io.Copy(&buf, io.LimitReader(body, r.MaxBody+1))
	switch {
	case n > r.MaxBody && r.Cut:
		return buf.Bytes()[:r.MaxBody], nil
	case n > r.MaxBody:
		return nil, &Error{Kind: TooLarge, Text: fmt.Sprintf("its answer is larger than %d bytes", r.MaxBody)}
	case err != nil:
		return buf.Bytes(), classifyBody(err)
	}
	return buf.Bytes(), nil
}

// networks is the set of addresses that may be dialed; nil allows all.
type networks struct{ set cidranger.Ranger }

func newNetworks(prefixes []netip.Prefix) (*networks, error) {
	if len(prefixes) == 0 {
		return nil, nil
	}
	n := &networks{set: cidranger.NewPCTrieRanger()}
	for _, p := range prefixes {
		p = p.Masked()
		ipnet := net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		if err := n.set.Insert(cidranger.NewBasicRangerEntry(ipnet)); err != nil {
			return nil, fmt.Errorf("adding allowed network %s: %w", p, err)
		}
	}
	return n, nil
}

// control refuses the dial of an address outside the networks. It sees the
// address that a name resolved to, so that a name that changes its mind between
// check and dial (DNS rebinding) gains nothing.
func (n *networks) control(_, address string, _ syscall.RawConn) error {
	if n == nil {
		return nil
	}
	ap, err := netip.ParseAddrPort(address)
	if err == nil {
		var in bool
		if in, err = n.set.Contains(ap.Addr().Unmap().WithZone("").AsSlice()); err == nil && in {
			return nil
		}
	}
	return &Error{Kind: Denied, Text: "its address " + address + " is outside probe.allow_networks"}
}
