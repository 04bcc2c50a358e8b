package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/fcgi"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// Limits of the listeners. A viewer asks once and seldom again soon, so an idle
// connection is not kept for long; a head that does not come is given up.
const (
	headTimeout    = 5 * time.Second
	idleTimeout    = 60 * time.Second
	unreadTimeout  = 20 * time.Second // until a peer that takes nothing any more is cut off
	maxHeaderBytes = 16 << 10
	shutdownGrace  = 10 * time.Second
)

// newServer makes an HTTP/1.1 server with the limits for a handler that takes up
// to longest. HTTP/2 is left out: a redirect gains nothing from it, and its
// framing is one more thing to attack. No body is read, so the head's deadline
// is the request's, which spares setting a second one; it must not end while the
// handler works, or the request would count as given up. A peer that takes no
// answers is cut off by the kernel (cutUnread), which spares a deadline a write.
func newServer(h http.Handler, longest time.Duration, log *log.Logger) *http.Server {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headTimeout + longest, ReadTimeout: headTimeout + longest,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: log,
		Protocols: new(http.Protocols),
		// "OPTIONS *" is answered as every OPTIONS is, and not by net/http with 200.
		DisableGeneralOptionsHandler: true,
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// debugLog takes what net/http says of broken connections; it is of interest
// only when one looks for it. hide takes out what of it the log may not have.
func debugLog(l zerolog.Logger, hide func(string) string) *log.Logger {
	return log.New(debugWriter{l, hide}, "", 0)
}

type debugWriter struct {
	log  zerolog.Logger
	hide func(string) string
}

func (w debugWriter) Write(b []byte) (int, error) {
	const most = 512
	if e := w.log.Debug(); e.Enabled() {
		e.Str("error", w.hide(strings.TrimSpace(string(b[:min(len(b), most)])))).Msg("connection trouble")
	}
	return len(b), nil
}

func listenOn(what string, addr netip.Addr, port int) (net.Listener, error) {
	lc := net.ListenConfig{Control: cutUnread}
	l, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(addr.String(), strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", what, err)
	}
	return l, nil
}

// fcgiServer answers FastCGI on a listener, with the life of an http.Server.
type fcgiServer struct {
	handler http.Handler
	busy    sync.WaitGroup
	log     zerolog.Logger
}

// ServeHTTP answers one request. The FastCGI library lets a panic end the
// process, so it is caught here, as net/http does.
func (s *fcgiServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Done()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error().Interface("panic", p).Msg("a FastCGI request ended in a panic")
			rw.WriteHeader(http.StatusInternalServerError) // or the library says 200
		}
	}()
	rw.Header()["Content-Type"] = nil // or the library guesses one for an answer without a body
	s.handler.ServeHTTP(rw, r)
}

func (s *fcgiServer) serve(l net.Listener) error { return fcgi.Serve(l, s) }

// shutdown waits for the requests under way, until ctx ends.
func (s *fcgiServer) shutdown(ctx context.Context, l net.Listener) error {
	err := l.Close()
	done := make(chan struct{})
	go func() { s.busy.Wait(); close(done) }()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// certificates serves the configured key pairs by SNI and reads them again when
// their files change.
type certificates struct {
	specs  []config.Certificate
	stamps []string
	config atomic.Pointer[tls.Config]
}

func newCertificates(specs []config.Certificate) (*certificates, error) {
	c := &certificates{specs: specs, stamps: make([]string, len(specs))}
	return c, c.load()
}

func (c *certificates) load() error {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	for i, s := range c.specs {
		c.stamps[i] = stamp(s.CertFile) + stamp(s.KeyFile)
		pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
		if err != nil {
			return fmt.Errorf("reading certificate %s: %w", s.CertFile, err)
		}
		conf.Certificates = append(conf.Certificates, pair)
	}
	c.config.Store(conf)
	return nil
}

// changed tells whether a file is another one than was loaded.
func (c *certificates) changed() bool {
	for i, s := range c.specs {
		if c.stamps[i] != stamp(s.CertFile)+stamp(s.KeyFile) {
			return true
		}
	}
	return false
}

// tlsConfig has every handshake take the newest key pairs.
func (c *certificates) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.config.Load(), nil },
	}
}

// stamp says which state of a file was seen, through symbolic links; "" when it
// cannot be seen.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d/%d/%v;", info.Size(), info.ModTime().UnixNano(), inode(info))
}

func proxyListener(l net.Listener, doc *config.Document, r *clientip.Resolver) net.Listener {
	if !doc.Core.ProxyProtocol {
		return l
	}
	return clientip.ProxyListener(l, r, headTimeout)
}
