package rig

import (
	"fmt"
	"net"
	"net/http"
	"path"
	"slices"
	"sync"
	"testing"
	"time"
)

// The files of an asset, which is a finished recording as CMAF: HLS and DASH over
// the same segments of [SegmentTime], two video variants and one audio rendition.
const (
	AssetHLS     = "index.m3u8"
	AssetDASH    = "manifest.mpd"
	AssetSegment = "chunk-stream0-00001.m4s" // the first of all
)

// EncodeCMAF writes an asset of the given length into a directory, which it
// makes.
func EncodeCMAF(t testing.TB, dir string, length time.Duration) {
	t.Helper()
	makeDir(t, dir)
	args := append(picture(), "-t", seconds(length), "-map", "0:v") // a second variant, beside the one of codecs
	args = append(append(args, codecs()...),
		"-b:v:1", "120k", "-f", "dash", "-seg_duration", seconds(SegmentTime), "-use_timeline", "0", "-use_template", "1",
		"-adaptation_sets", "id=0,streams=v id=1,streams=a", "-hls_playlist", "1", "-hls_master_name", AssetHLS, AssetDASH)
	p := Spawn(t, dir, Tool(t, "ffmpeg"), args...)
	if status := p.Wait(); status != 0 {
		t.Fatalf("ffmpeg ended with %d: %s", status, p.Output())
	}
}

// Delivery is a media segment that a viewer asked for.
type Delivery struct {
	At   time.Time // when the request came
	Host string    // the name, without port, under which he asked for it
	Path string
}

// FileServer is a streaming server of finished files which browsers reach by a
// name of its own, and which remembers who was asked for which segment.
type FileServer struct {
	Name string // under .localhost, which browsers resolve by themselves
	Addr string // host:port, the same over all starts

	t     testing.TB
	files http.Handler
	srv   *http.Server

	mu   sync.Mutex
	seen []Delivery
}

// NewFileServer starts a server of the files below dir.
func NewFileServer(t testing.TB, name, dir string) *FileServer {
	t.Helper()
	s := &FileServer{Name: name, Addr: fmt.Sprint("127.0.0.1:", FreePort(t)), t: t, files: http.FileServer(http.Dir(dir))}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// Start listens (again), on the same port.
func (s *FileServer) Start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	srv := &http.Server{Handler: s}
	s.srv = srv
	go func() { _ = srv.Serve(l) }()
}

// Stop closes the listener and every connection, as the server's death would.
func (s *FileServer) Stop() { _ = s.srv.Close() }

// Host is the name that browsers know it by.
func (s *FileServer) Host() string { return s.Name + ".localhost" }

// URL is its base URL for us: a Go program does not resolve names under
// .localhost on every machine.
func (s *FileServer) URL() string { return "http://" + s.Addr }

// PublicURL is its base URL for browsers.
func (s *FileServer) PublicURL() string {
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		s.t.Fatal(err) // it is our own
	}
	return "http://" + net.JoinHostPort(s.Host(), port)
}

// Deliveries returns the segments that viewers have asked it for. Those who
// come by its address are no viewers.
func (s *FileServer) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// types are the media types of what ffmpeg writes.
var types = map[string]string{
	".m3u8": "application/vnd.apple.mpegurl",
	".mpd":  "application/dash+xml",
	".m4s":  "video/iso.segment",
}

func (s *FileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ext := path.Ext(r.URL.Path)
	host, _, err := net.SplitHostPort(r.Host)
	if err == nil && ext == ".m4s" && net.ParseIP(host) == nil {
		s.mu.Lock()
		s.seen = append(s.seen, Delivery{At: time.Now(), Host: host, Path: r.URL.Path})
		s.mu.Unlock()
	}
	if t := types[ext]; t != "" {
		w.Header().Set("Content-Type", t)
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "no-store")
	s.files.ServeHTTP(w, r)
}
