package rig

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Stretch is a recorded stretch of time, from From up to To.
type Stretch struct{ From, To time.Time }

// RecorderMode is how a recorder treats its questions.
type RecorderMode int

// The modes.
const (
	Recording  RecorderMode = iota // answers
	Blackholed                     // accepts and answers nothing, the status neither
	Silent                         // answers the status and nothing else
	Failing                        // 503
	Forbidden                      // 403
	Excusing                       // 200 and a playlist that says it has an error
	Pointing                       // 302 to another server
)

// Recorder is a fake streaming server that has recorded channels. It has no
// interface to be asked by, only viewers' playlists:
//
//	/CH/index.m3u8                              live
//	/CH/{archive|index}-FROM-{LENGTH|now}.m3u8  a window, in unix seconds and seconds
//	/CH/timeshift_abs-FROM.m3u8                 from then on
//	/CH/timeshift_rel-AGO.m3u8                  from so long ago on
//	/CH/index.m3u8?utc=FROM                     the same
//	/timeshift/U/P/MINUTES/START/CH.m3u8        a window in its own zone
//
// A channel has every window of which it holds a part, and 404 for the others.
type Recorder struct {
	Name string
	Addr string // host:port

	t    testing.TB
	srv  *http.Server
	hold chan struct{} // closed when its test ends

	mu       sync.Mutex
	channels map[string][]Stretch
	rest     []Stretch // of the channels that channels does not name
	live     bool
	mode     RecorderMode
	to       string // where Pointing points to
	segment  time.Duration
	undated  bool
	zone     *time.Location
	now      time.Time // its clock stands still at; zero: the real one
	asked    map[string]int
}

// NewRecorder starts a recorder with ten-second segments that holds nothing.
func NewRecorder(t testing.TB, name string) *Recorder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Recorder{
		Name: name, Addr: l.Addr().String(), t: t, hold: make(chan struct{}), channels: map[string][]Stretch{},
		segment: 10 * time.Second, zone: time.UTC, asked: map[string]int{},
	}
	r.srv = &http.Server{Handler: r}
	go func() { _ = r.srv.Serve(l) }()
	t.Cleanup(func() {
		close(r.hold)
		r.Stop()
	})
	return r
}

// URL is the server's base URL.
func (r *Recorder) URL() string { return "http://" + r.Addr }

// Stop closes the listener and every connection.
func (r *Recorder) Stop() { _ = r.srv.Close() }

// Holds says what it has recorded of a channel.
func (r *Recorder) Holds(channel string, parts ...Stretch) *Recorder {
	return r.set(func() { r.channels[channel] = parts })
}

// HoldsAll says what it has recorded of every other channel.
func (r *Recorder) HoldsAll(parts ...Stretch) *Recorder {
	return r.set(func() { r.rest = parts })
}

// Live puts every channel on the air.
func (r *Recorder) Live() *Recorder { return r.set(func() { r.live = true }) }

// Set gives it a mode.
func (r *Recorder) Set(m RecorderMode) *Recorder { return r.set(func() { r.mode = m }) }

// PointTo makes it redirect every question to another server.
func (r *Recorder) PointTo(o *Recorder) *Recorder {
	return r.set(func() { r.mode, r.to = Pointing, o.URL() })
}

// Segments sets the length of its segments.
func (r *Recorder) Segments(d time.Duration) *Recorder { return r.set(func() { r.segment = d }) }

// Undated makes its playlists tell no times.
func (r *Recorder) Undated() *Recorder { return r.set(func() { r.undated = true }) }

// At stops its clock.
func (r *Recorder) At(now time.Time) *Recorder { return r.set(func() { r.now = now }) }

// In sets the zone of times that are written without one.
func (r *Recorder) In(zone *time.Location) *Recorder { return r.set(func() { r.zone = zone }) }

func (r *Recorder) set(f func()) *Recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	return r
}

// Questions counts the requests so far, those for the status path excluded.
func (r *Recorder) Questions() int {
	n := 0
	for _, times := range r.Asked() {
		n += times
	}
	return n
}

// Asked counts the requests so far by target, those for the status path
// excluded.
func (r *Recorder) Asked() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]int, len(r.asked))
	for k, v := range r.asked {
		out[k] = v
	}
	return out
}

// Forget forgets the requests so far.
func (r *Recorder) Forget() *Recorder { return r.set(func() { r.asked = map[string]int{} }) }

// ServeHTTP answers as the mode says.
func (r *Recorder) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	status := req.URL.Path == "/"
	r.mu.Lock()
	mode, to := r.mode, r.to
	if !status {
		r.asked[req.RequestURI]++
	}
	r.mu.Unlock()
	switch {
	case mode == Blackholed, mode == Silent && !status:
		select {
		case <-r.hold:
		case <-req.Context().Done():
		}
	case status:
		_, _ = fmt.Fprintln(rw, "ok")
	case mode == Failing:
		http.Error(rw, "no disk", http.StatusServiceUnavailable)
	case mode == Forbidden:
		http.Error(rw, "forbidden", http.StatusForbidden)
	case mode == Excusing:
		_, _ = fmt.Fprint(rw, "#EXTM3U\n#EXT-X-ERROR: Stream open failed\n#EXT-X-ENDLIST\n")
	case mode == Pointing:
		http.Redirect(rw, req, to+req.RequestURI, http.StatusFound)
	default:
		r.answer(rw, req)
	}
}

// window is what a viewer's URL asks a recorder for.
type window struct {
	channel  string
	from, to time.Time
	open     bool
}

func (r *Recorder) answer(rw http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now
	if now.IsZero() {
		now = time.Now()
	}
	if channel, ok := strings.CutSuffix(req.URL.Path, "/index.m3u8"); ok && !req.URL.Query().Has("utc") {
		if !r.live || channel == "" {
			http.Error(rw, "no such channel", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(rw, MediaPlaylist(Live, now))
		return
	}
	w, ok := r.window(req, now)
	if !ok {
		http.Error(rw, "no such file", http.StatusNotFound)
		return
	}
	parts, ok := r.channels[w.channel]
	if !ok {
		parts = r.rest
	}
	text := r.playlist(parts, w, now)
	if text == "" {
		http.Error(rw, "not recorded", http.StatusNotFound)
		return
	}
	rw.Header().Set("Content-Type", "application/vnd.apple.mpegurl")
	_, _ = fmt.Fprint(rw, text)
}

var (
	byNumbers = regexp.MustCompile(`^/(.+)/(?:archive|index)-(\d+)-(\d+|now)\.m3u8$`)
	byPoint   = regexp.MustCompile(`^/(.+)/timeshift_(abs|rel)-(\d+)\.m3u8$`)
	byPanel   = regexp.MustCompile(`^/timeshift/[^/]+/[^/]+/(\d+)/(\d{4}-\d\d-\d\d)[:_](\d\d-\d\d)/([^/]+)\.m3u8$`)
)

// window reads a URL. r.mu is held.
func (r *Recorder) window(req *http.Request, now time.Time) (window, bool) {
	path := req.URL.Path
	if m := byNumbers.FindStringSubmatch(path); m != nil {
		w := window{channel: m[1], from: unix(m[2]), to: now, open: true}
		if m[3] != "now" {
			w.to = w.from.Add(unix(m[3]).Sub(time.Unix(0, 0)))
			w.open = w.to.After(now)
		}
		return w, true
	}
	if m := byPoint.FindStringSubmatch(path); m != nil {
		w := window{channel: m[1], from: unix(m[3]), to: now, open: true}
		if m[2] == "rel" {
			w.from = now.Add(-unix(m[3]).Sub(time.Unix(0, 0)))
		}
		return w, true
	}
	if m := byPanel.FindStringSubmatch(path); m != nil {
		from, err := earlier(m[2]+" "+m[3], r.zone)
		if err != nil {
			return window{}, false
		}
		w := window{channel: m[4], from: from, to: from.Add(unix(m[1]).Sub(time.Unix(0, 0)) * 60)}
		w.open = w.to.After(now)
		return w, true
	}
	if channel, ok := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/index.m3u8"); ok {
		return window{channel: channel, from: unix(req.URL.Query().Get("utc")), to: now, open: true}, true
	}
	return window{}, false
}

func unix(text string) time.Time {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Unix(n, 0).UTC()
}

// earlier reads a local time: of an hour that comes twice the first, of one that
// never comes with the offset from before the change. time.ParseInLocation
// promises neither.
func earlier(text string, zone *time.Location) (time.Time, error) {
	wall, err := time.Parse("2006-01-02 15-04", text)
	if err != nil {
		return time.Time{}, err
	}
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	for _, offset := range []int{before, after} {
		t := wall.Add(-time.Duration(offset) * time.Second)
		if _, o := t.In(zone).Zone(); o == offset {
			return t, nil
		}
	}
	return wall.Add(-time.Duration(before) * time.Second), nil
}

// playlist writes the segments that are recorded of a window, whole ones, "" when
// there is none. r.mu is held.
func (r *Recorder) playlist(parts []Stretch, w window, now time.Time) string {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Stretch) int { return cmp.Compare(a.From.UnixNano(), b.From.UnixNano()) })
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:1\n", int(r.segment.Seconds()))
	head := b.Len()
	for _, part := range parts {
		first := true
		for at := part.From; at.Before(part.To) && at.Before(w.to) && at.Before(now); at = at.Add(r.segment) {
			end := at.Add(r.segment)
			if end.After(part.To) {
				end = part.To
			}
			if !end.After(w.from) {
				continue
			}
			if first && b.Len() > head {
				b.WriteString("#EXT-X-DISCONTINUITY\n")
			}
			if first && !r.undated {
				fmt.Fprintf(&b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", at.UTC().Format("2006-01-02T15:04:05.000Z"))
			}
			first = false
			fmt.Fprintf(&b, "#EXTINF:%.3f,\n%d.ts\n", end.Sub(at).Seconds(), at.UnixMilli())
		}
	}
	if b.Len() == head {
		return ""
	}
	if !w.open {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.String()
}
