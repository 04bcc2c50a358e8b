package rig

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Mode is how a fake server treats a channel.
type Mode int

// The modes.
const (
	Live     Mode = iota // a live media playlist that moves, behind a multivariant one
	VoD                  // a finished playlist
	Frozen               // a live playlist without dates that stands still
	Missing              // 404
	Guarded              // 403
	Broken               // 500
	Hang                 // accepts and never answers
	HTML                 // 200 with a page
	Variants             // 200 multivariant, 404 media playlist
)

// Origin is a fake streaming server: every path /CHANNEL/index.m3u8 is a
// multivariant playlist whose one variant is /CHANNEL/media.m3u8.
type Origin struct {
	Name string
	Addr string // host:port

	t    testing.TB
	mu   sync.Mutex
	mode map[string]Mode
	rest Mode // of the channels that mode does not name
	seen []Seen
	hold chan struct{} // closed when Hang ends
	stop bool
	all  bool // everything hangs, the status too
	srv  *http.Server
	wait time.Duration
}

// Seen is one request an origin got.
type Seen struct {
	At   time.Time
	URI  string
	User string // User-Agent
	Head http.Header
}

// NewOrigin starts a fake server on an address, "127.0.0.1:0" when addr is
// empty, that has no channel; Set and SetRest give it some.
func NewOrigin(t testing.TB, name, addr string) *Origin {
	t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	o := &Origin{Name: name, Addr: addr, t: t, mode: map[string]Mode{}, rest: Missing, hold: make(chan struct{})}
	o.Start()
	t.Cleanup(func() {
		o.Release()
		o.Stop()
	})
	return o
}

// URL is the server's base URL.
func (o *Origin) URL() string { return "http://" + o.Addr }

// Start listens (again), on the same port.
func (o *Origin) Start() {
	o.t.Helper()
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		o.t.Fatal(err)
	}
	o.Addr = l.Addr().String()
	srv := &http.Server{Handler: o}
	o.mu.Lock()
	o.srv, o.stop = srv, false
	o.mu.Unlock()
	go func() { _ = srv.Serve(l) }()
}

// Stop closes the listener and every connection: connections are refused from
// now on.
func (o *Origin) Stop() {
	o.mu.Lock()
	srv := o.srv
	o.stop = true
	o.mu.Unlock()
	_ = srv.Close()
}

// Set gives a channel a mode; SetRest all the others.
func (o *Origin) Set(channel string, m Mode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mode[channel] = m
}

// SetRest sets the mode of every channel that Set does not name.
func (o *Origin) SetRest(m Mode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = m
}

// Delay makes every answer wait.
func (o *Origin) Delay(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wait = d
}

// Blackhole makes the server accept connections and answer nothing at all, the
// status neither; Release ends it and lets those go that hang.
func (o *Origin) Blackhole() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = true
}

// Release ends Blackhole and lets everybody go who hangs.
func (o *Origin) Release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = false
	close(o.hold)
	o.hold = make(chan struct{})
}

// Seen returns the requests so far, those for the status path excluded.
func (o *Origin) Seen() []Seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Seen(nil), o.seen...)
}

// Forget forgets the requests so far.
func (o *Origin) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = nil
}

// Questions counts the content questions so far: requests for multivariant
// playlists.
func (o *Origin) Questions() int {
	n := 0
	for _, s := range o.Seen() {
		if strings.HasSuffix(s.URI, "/index.m3u8") {
			n++
		}
	}
	return n
}

// ServeHTTP answers as the modes say.
func (o *Origin) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	channel, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	o.mu.Lock()
	mode, named := o.mode[channel]
	if !named {
		mode = o.rest
	}
	hold, all, wait := o.hold, o.all, o.wait
	if file != "" {
		o.seen = append(o.seen, Seen{time.Now(), r.RequestURI, r.UserAgent(), r.Header.Clone()})
	}
	o.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
	}
	if all || file != "" && mode == Hang {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
		return
	}
	if file == "" {
		_, _ = fmt.Fprintln(rw, "ok")
		return
	}
	o.answer(rw, file, mode)
}

func (o *Origin) answer(rw http.ResponseWriter, file string, mode Mode) {
	switch mode {
	case Missing:
		http.Error(rw, "no such channel", http.StatusNotFound)
	case Guarded:
		http.Error(rw, "forbidden", http.StatusForbidden)
	case Broken:
		http.Error(rw, "broken", http.StatusInternalServerError)
	case HTML:
		rw.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(rw, "<!doctype html><title>Welcome</title>Please log in")
	default:
		rw.Header().Set("Content-Type", "application/vnd.apple.mpegurl")
		if file == "index.m3u8" {
			_, _ = fmt.Fprint(rw, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nmedia.m3u8\n")
			return
		}
		if mode == Variants {
			http.Error(rw, "gone", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(rw, MediaPlaylist(mode, time.Now()))
	}
}

// MediaPlaylist writes a media playlist of three two-second segments.
func MediaPlaylist(mode Mode, now time.Time) string {
	sequence := now.Unix() / 2
	if mode == Frozen {
		sequence = 1000
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:%d\n", sequence)
	for i := range int64(3) {
		fmt.Fprintf(&b, "#EXTINF:2.000,\nseg%d.ts\n", sequence+i)
	}
	if mode == VoD {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.String()
}
