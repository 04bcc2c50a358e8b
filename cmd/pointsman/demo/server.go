package demo

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server is one streaming server of the demo. Its methods may be called at the same time.
type Server struct {
	name     string
	farm     string
	channels []string
	stream   *stream

	mu     sync.Mutex
	addr   string        // what Listen bound; empty before
	bound  net.Listener  // from Listen until the first Start takes it over
	server *http.Server  // nil when stopped: a closed http.Server cannot serve again
	done   chan struct{} // closed when server has ended
}

// New returns a server called name, of the farm called farm, that carries the channels and answers 404
// for others. It does not listen yet. Servers that should publish the very same playlists get the same
// since, the time when the demo began. An unknown channel is an error: see [Pattern] and [Bars].
func New(name, farm string, since time.Time, channels ...string) (*Server, error) {
	s := &stream{name: name, channels: map[string]channel{}, timeline: live(since), now: time.Now}
	for _, c := range channels {
		loaded, err := loadChannel(c)
		if err != nil {
			return nil, fmt.Errorf("making demo server %q: %w", name, err)
		}
		s.channels[c] = loaded
	}
	return &Server{name: name, farm: farm, channels: slices.Clone(channels), stream: s}, nil
}

// Name returns the server's name.
func (s *Server) Name() string { return s.name }

// Farm returns the name of the farm that the server belongs to.
func (s *Server) Farm() string { return s.farm }

// Channels returns the channels that the server carries.
func (s *Server) Channels() []string { return slices.Clone(s.channels) }

// Served returns how many playlists and how many media segments the server has given since it was made.
// Probes count like viewers; both stop at playlists, so segments are what viewers fetched.
func (s *Server) Served() (playlists, segments uint64) {
	return s.stream.playlists.Load(), s.stream.segments.Load()
}

// URL returns the base URL, without a slash at its end, or "" before Listen. It stays the same while the
// server is stopped.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr == "" {
		return ""
	}
	return "http://" + s.addr
}

// Listen binds the TCP address addr, such as "127.0.0.1:0", and fixes it: every Start comes back to it.
// It can be called once.
func (s *Server) Listen(addr string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr != "" {
		return fmt.Errorf("demo server %q listens on %s already", s.name, s.addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("binding demo server %q: %w", s.name, err)
	}
	s.addr, s.bound = l.Addr().String(), l
	return nil
}

// Start begins to serve. On a running server it does nothing. It fails before Listen, and when something
// else has taken the address while the server was stopped.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr == "" {
		return fmt.Errorf("starting demo server %q: it has no address yet: expected Listen before Start", s.name)
	}
	if s.serving() {
		return nil
	}
	l := s.bound
	s.bound = nil
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", s.addr); err != nil {
			return fmt.Errorf("starting demo server %q again: %w", s.name, err)
		}
	}

	server := &http.Server{
		Handler:           s.stream.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // broken requests are no news to whoever runs a demo
	}
	done := make(chan struct{})
	s.server, s.done = server, done
	go func() {
		defer close(done)
		// Serve always ends with an error: after Stop with ErrServerClosed, else because the listener
		// broke, and then Running says so.
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			_ = server.Close()
		}
	}()
	return nil
}

// Stop closes the listener and every connection, so that viewers are refused at once as if the host's
// process had died. On a stopped server it does nothing.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound != nil {
		_ = s.bound.Close()
		s.bound = nil
	}
	if s.server != nil {
		_ = s.server.Close()
		<-s.done
		s.server = nil
	}
}

// Running reports whether the server serves.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serving()
}

// serving is Running for those who hold s.mu.
func (s *Server) serving() bool {
	if s.server == nil {
		return false
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}
