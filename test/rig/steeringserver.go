package rig

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// The manifests that a [Stage] has of every channel.
const (
	// StageMultivariant is an HLS multivariant playlist with sound of its own,
	// subtitles and I-frames.
	StageMultivariant = "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-INDEPENDENT-SEGMENTS\n" +
		"#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"aud\",NAME=\"English\",LANGUAGE=\"en\",DEFAULT=YES,AUTOSELECT=YES,URI=\"audio/en.m3u8\"\n" +
		"#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"sub\",NAME=\"English\",LANGUAGE=\"en\",URI=\"subs/en.m3u8\"\n" +
		"#EXT-X-STREAM-INF:BANDWIDTH=800000,CODECS=\"avc1.4d401e,mp4a.40.2\",RESOLUTION=640x360,AUDIO=\"aud\",SUBTITLES=\"sub\"\nlow.m3u8\n" +
		"#EXT-X-STREAM-INF:BANDWIDTH=2400000,CODECS=\"avc1.4d401f,mp4a.40.2\",RESOLUTION=1280x720,AUDIO=\"aud\",SUBTITLES=\"sub\"\nhigh.m3u8?profile=a%2Fb&x=1\n" +
		"#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,CODECS=\"avc1.4d401e\",RESOLUTION=640x360,URI=\"iframes.m3u8\"\n" +
		"#EXT-X-SESSION-DATA:DATA-ID=\"net.example.title\",VALUE=\"A & B\"\n"

	// StageMPD is a static MPD with relative addresses.
	StageMPD = `<?xml version="1.0" encoding="utf-8"?>
<!-- made for tests -->
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT60S" minBufferTime="PT2S">
  <Period id="p0">
    <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true">
      <SegmentTemplate timescale="1" duration="2" startNumber="1" initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/$Number$.m4s"/>
      <Representation id="v1" bandwidth="800000" codecs="avc1.4d401e" width="640" height="360"/>
      <Representation id="v2" bandwidth="2400000" codecs="avc1.4d401f" width="1280" height="720"/>
    </AdaptationSet>
  </Period>
</MPD>
`
)

// Stage is a fake streaming server for content steering: every channel is there
// as HLS (index.m3u8) and DASH (manifest.mpd), finished, so that nothing is looked
// at twice, unless a test says otherwise.
type Stage struct {
	Name string
	Addr string // host:port

	t    testing.TB
	gone chan struct{} // closed when its test ends

	mu     sync.Mutex
	srv    *http.Server
	scenes map[string]http.HandlerFunc // by path
	all    http.HandlerFunc            // everything, the status too
	seen   []Seen
}

// NewStage starts one on a free port.
func NewStage(t testing.TB, name string) *Stage {
	t.Helper()
	s := &Stage{Name: name, Addr: "127.0.0.1:0", t: t, gone: make(chan struct{}), scenes: map[string]http.HandlerFunc{}}
	s.Start()
	t.Cleanup(func() {
		close(s.gone)
		s.Stop()
	})
	return s
}

// URL is the server's base URL.
func (s *Stage) URL() string { return "http://" + s.Addr }

// Start listens (again), on the same port.
func (s *Stage) Start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	srv := &http.Server{Handler: s}
	s.mu.Lock()
	s.Addr, s.srv = l.Addr().String(), srv
	s.mu.Unlock()
	go func() { _ = srv.Serve(l) }()
}

// Stop closes the listener and every connection.
func (s *Stage) Stop() {
	s.mu.Lock()
	srv := s.srv
	s.mu.Unlock()
	_ = srv.Close()
}

// Play has a path answered by a handler; nil takes it back.
func (s *Stage) Play(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scenes[path] = h; h == nil {
		delete(s.scenes, path)
	}
}

// PlayAll has everything answered by a handler, the status too; nil takes it
// back.
func (s *Stage) PlayAll(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = h
}

// Hang is a handler that answers nothing until the client or the test ends.
func (s *Stage) Hang(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-s.gone:
	case <-r.Context().Done():
	}
}

// Refusing is a handler that answers with a status alone.
func Refusing(code int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, http.StatusText(code), code) }
}

// Text is a handler that answers 200 with a body.
func Text(contentType, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", contentType)
		_, _ = fmt.Fprint(rw, body)
	}
}

// Seen returns the requests so far, those for the status excluded.
func (s *Stage) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// ServeHTTP answers as the scenes say.
func (s *Stage) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.all
	if h == nil {
		h = s.scenes[r.URL.Path]
	}
	if r.URL.Path != "/" {
		s.seen = append(s.seen, Seen{URI: r.RequestURI, User: r.UserAgent(), Head: r.Header.Clone()})
	}
	s.mu.Unlock()
	switch path := r.URL.Path; {
	case h != nil:
		h(rw, r)
	case path == "/":
		_, _ = fmt.Fprintln(rw, "ok")
	case strings.HasSuffix(path, "/index.m3u8"):
		Text("application/vnd.apple.mpegurl", StageMultivariant)(rw, r)
	case strings.HasSuffix(path, ".m3u8"):
		Text("application/vnd.apple.mpegurl", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:2.0,\n1.ts\n#EXTINF:2.0,\n2.ts\n#EXT-X-ENDLIST\n")(rw, r)
	case strings.HasSuffix(path, "/manifest.mpd"):
		Text("application/dash+xml", StageMPD)(rw, r)
	default:
		http.NotFound(rw, r)
	}
}
