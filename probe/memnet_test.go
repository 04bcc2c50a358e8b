package probe

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// memNet is a network in memory whose connections are pipes, so that a
// synctest bubble's clock governs all of it. Hosts are known by host:port.
type memNet struct {
	t     testing.TB
	mu    sync.Mutex
	hosts map[string]*memHost
	dials atomic.Int64 // under way
}

func newMemNet(t testing.TB) *memNet { return &memNet{t: t, hosts: make(map[string]*memHost)} }

// The ways a host may behave.
const (
	serving  int32 = iota
	silent         // a black hole: nothing ever comes back
	refusing       // nobody listens
)

// memHost is one host. It begins as a server of its handler.
type memHost struct {
	handler atomic.Pointer[http.Handler]
	state   atomic.Int32
	conns   chan net.Conn
	closed  chan struct{}

	mu   sync.Mutex
	seen []seenRequest
}

// seenRequest is one request as the host saw it.
type seenRequest struct {
	at      time.Time
	path    string // with query
	host    string
	header  http.Header
	content bool // not a status probe
}

// host adds a host that serves h until the test ends.
func (n *memNet) host(addr string, h http.Handler) *memHost {
	host := &memHost{conns: make(chan net.Conn), closed: make(chan struct{})}
	host.handle(h)
	n.mu.Lock()
	n.hosts[addr] = host
	n.mu.Unlock()
	server := &http.Server{Handler: host, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(host) }()
	n.t.Cleanup(func() { _ = server.Close() })
	return host
}

// raw adds a host whose connections talk gets as they are.
func (n *memNet) raw(addr string, talk func(net.Conn)) {
	host := &memHost{conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	n.hosts[addr] = host
	n.mu.Unlock()
	go func() {
		for {
			c, err := host.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				talk(c)
			}()
		}
	}()
	n.t.Cleanup(func() { _ = host.Close() })
}

// dial connects as a network would; it is a fetch.Options.Dial.
func (n *memNet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.dials.Add(1)
	defer n.dials.Add(-1)
	n.mu.Lock()
	h := n.hosts[addr]
	n.mu.Unlock()
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if h == nil {
		return fail(&net.DNSError{Err: "no such host", Name: addr, IsNotFound: true})
	}
	switch h.state.Load() {
	case silent:
		<-ctx.Done()
		return fail(os.ErrDeadlineExceeded)
	case refusing:
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	ours, theirs := net.Pipe()
	select {
	case h.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return fail(os.ErrDeadlineExceeded)
	case <-h.closed:
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
}

func (h *memHost) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It is called once.
func (h *memHost) Close() error {
	close(h.closed)
	return nil
}

func (h *memHost) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (h *memHost) handle(handler http.Handler) { h.handler.Store(&handler) }

// becomes changes the host's behaviour, for connections that are open too.
func (h *memHost) becomes(state int32) { h.state.Store(state) }

// ServeHTTP notes the request and serves it as the host's state demands.
func (h *memHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch h.state.Load() {
	case silent:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case refusing:
		panic(http.ErrAbortHandler) // an idle connection: the client dials anew, and is refused
	}
	h.mu.Lock()
	h.seen = append(h.seen, seenRequest{
		at: time.Now(), path: r.URL.RequestURI(), host: r.Host, header: r.Header.Clone(), content: r.URL.Path != "/",
	})
	h.mu.Unlock()
	(*h.handler.Load()).ServeHTTP(w, r)
}

// requests returns what the host was asked so far: content or status.
func (h *memHost) requests(content bool) []seenRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []seenRequest
	for _, s := range h.seen {
		if s.content == content {
			out = append(out, s)
		}
	}
	return out
}

// starts returns when the host was asked.
func (h *memHost) starts(content bool) []time.Time {
	var out []time.Time
	for _, s := range h.requests(content) {
		out = append(out, s.at)
	}
	return out
}

// busiest returns the most starts in any window of a length.
func busiest(starts []time.Time, window time.Duration) int {
	most, first := 0, 0
	for i, at := range starts {
		for at.Sub(starts[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// answers is a handler that answers every path with the same.
func answers(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// streaming is a handler that is up and answers every other path with body().
func streaming(body func(r *http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			_, _ = io.WriteString(w, body(r))
		}
	})
}

// delayed answers as h, after a while.
func delayed(after time.Duration, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(after):
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	})
}

// liveAt is the media playlist of a live channel with segments of two seconds
// at a time: it moves on every two seconds. It carries no dates.
func liveAt(at time.Time) string {
	return mediaPlaylist(at.Unix()/2, 2, 4)
}

// mediaPlaylist writes a live media playlist.
func mediaPlaylist(sequence int64, target, segments int) string {
	out := fmt.Sprintf("#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:%d\n", target, sequence)
	for i := range int64(segments) {
		out += fmt.Sprintf("#EXTINF:%d,\nseg%d.ts\n", target, sequence+i)
	}
	return out
}

// liveBody is a streaming body: each path is a live channel.
func liveBody(*http.Request) string { return liveAt(time.Now()) }
