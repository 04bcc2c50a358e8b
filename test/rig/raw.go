package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// ErrClosed says that the other side closed the connection without an answer.
var ErrClosed = errors.New("the connection was closed without an answer")

// Exchange is one request written byte for byte, with nothing added.
type Exchange struct {
	Addr      string // host:port to connect to
	From      string // local address to connect from, any when empty
	Send      string // the bytes
	HalfClose bool   // close the sending half after them, as a client that has said all
	Within    time.Duration
}

// Do connects, writes the bytes and reads one answer with its body, all within
// the exchange's time (one second when it names none). The error is [ErrClosed]
// when the connection ended first.
func (x Exchange) Do() (Response, error) {
	within := x.Within
	if within == 0 {
		within = time.Second
	}
	conn, err := DialFrom(x.From, x.Addr)
	if err != nil {
		return Response{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(within))
	// Who refuses a long request may close before all of it is written.
	_, _ = io.WriteString(conn, x.Send)
	if x.HalfClose {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	return ReadResponse(bufio.NewReader(conn), methodOf(x.Send))
}

// methodOf is the method of the last request line in a text of bytes, which may
// begin with a PROXY header.
func methodOf(send string) string {
	for _, m := range []string{"HEAD", "CONNECT"} {
		if strings.HasPrefix(send, m+" ") || strings.Contains(send, "\r\n"+m+" ") {
			return m
		}
	}
	return http.MethodGet
}

// ReadResponse reads the answer to a request of a method from a connection.
func ReadResponse(r *bufio.Reader, method string) (Response, error) {
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		if closed(err) {
			err = ErrClosed
		}
		return Response{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return Response{res, string(b)}, err
}

func closed(err error) bool {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return false
	}
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

// DialFrom connects to addr from a local address, any when it is empty. All of
// 127.0.0.0/8 is local, so a test can be several peers.
func DialFrom(from, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	if from != "" {
		ip, err := netip.ParseAddr(from)
		if err != nil {
			return nil, fmt.Errorf("dialling from %q: %w", from, err)
		}
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	return d.DialContext(context.Background(), "tcp", addr)
}

// Addr is the viewer listener's host:port.
func (p *Pointsman) Addr() string { return strings.TrimPrefix(p.Viewers, "http://") }

// AdminAddr is the admin listener's host:port.
func (p *Pointsman) AdminAddr() string { return strings.TrimPrefix(p.Admin, "http://") }

// Keep is one connection on which requests follow each other.
type Keep struct {
	conn net.Conn
	r    *bufio.Reader
}

// KeepAlive connects to the viewer listener and keeps the connection.
func (p *Pointsman) KeepAlive() *Keep {
	p.T.Helper()
	conn, err := DialFrom("", p.Addr())
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { _ = conn.Close() })
	return &Keep{conn, bufio.NewReader(conn)}
}

// Get writes one GET, with header lines if need be, and reads its answer.
func (k *Keep) Get(target string, lines ...string) (Response, error) {
	_ = k.conn.SetDeadline(time.Now().Add(10 * time.Second))
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: tv.example.net\r\nUser-Agent: keep\r\n", target)
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	if _, err := io.WriteString(k.conn, b.String()+"\r\n"); err != nil {
		return Response{}, err
	}
	return ReadResponse(k.r, http.MethodGet)
}
