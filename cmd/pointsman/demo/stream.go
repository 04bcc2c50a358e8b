package demo

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// stream answers the viewers of one server. It remembers nothing but how much it gave.
type stream struct {
	name     string
	channels map[string]channel
	timeline timeline
	now      func() time.Time

	playlists atomic.Uint64
	segments  atomic.Uint64
}

// handler returns the routes. It adds the CORS headers that a player on another origin needs, on refusals
// too: without them a page learns only that something went wrong.
func (s *stream) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.status)
	mux.HandleFunc("/{channel}/index.m3u8", s.multivariant)
	mux.HandleFunc("/{channel}/{variant}/index.m3u8", s.media)
	mux.HandleFunc("/{channel}/{variant}/init.mp4", s.initialization)
	mux.HandleFunc("/{channel}/{variant}/{segment}", s.segment)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "Date, Content-Length, Content-Range")
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			mux.ServeHTTP(w, r)
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "*")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "expected GET, HEAD or OPTIONS", http.StatusMethodNotAllowed)
		}
	})
}

// status answers a status probe.
func (s *stream) status(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, s.name+" is on the air\n")
}

func (s *stream) multivariant(w http.ResponseWriter, r *http.Request) {
	c, ok := s.channels[r.PathValue("channel")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	s.playlists.Add(1)
	servePlaylist(w, r, multivariantPlaylist(c))
}

func (s *stream) media(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.variant(r); !ok {
		http.NotFound(w, r)
		return
	}
	s.playlists.Add(1)
	servePlaylist(w, r, mediaPlaylist(s.timeline, s.now()))
}

func (s *stream) initialization(w http.ResponseWriter, r *http.Request) {
	v, ok := s.variant(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	serveMedia(w, r, "video/mp4", v.init)
}

func (s *stream) segment(w http.ResponseWriter, r *http.Request) {
	v, ok := s.variant(r)
	n, named := segmentNumber(r.PathValue("segment"))
	if !ok || !named || !s.timeline.available(n, s.now()) {
		http.NotFound(w, r)
		return
	}
	s.segments.Add(1)
	serveMedia(w, r, "video/iso.segment", v.segments[n%s.timeline.loop])
}

// variant finds the variant that the path of r names.
func (s *stream) variant(r *http.Request) (v variant, ok bool) {
	for _, v := range s.channels[r.PathValue("channel")].variants {
		if v.name == r.PathValue("variant") {
			return v, true
		}
	}
	return variant{}, false
}

func servePlaylist(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "application/vnd.apple.mpegurl")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte(text)))
}

// serveMedia answers with data, or with the range of it that was asked for.
func serveMedia(w http.ResponseWriter, r *http.Request, contentType string, data []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "public, max-age=60")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
