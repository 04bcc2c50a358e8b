// Package fake has stand-ins for streaming servers that cannot be run in a
// test: each speaks its vendor's API with its lies, and enough of the viewer's
// side that a player's URL leads to a playlist. One vendor a file.
//
// A fake is an http.Handler whose state may change while it serves. Its times
// are those of the test: nothing in it reads a clock but the one it is given.
package fake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Range is a recorded stretch of time, from From up to To.
type Range struct{ From, To time.Time }

// Channel is what a server has of one channel.
type Channel struct {
	Live     bool    // it is on the air
	Recorded []Range // ascending
}

// Server is what all fakes have in common: channels, faults and counters. It is
// safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	now      func() time.Time
	channels map[string]Channel
	counts   map[string]int
	status   int
	hang     bool
	delay    time.Duration
}

func newServer(now func() time.Time) *Server {
	if now == nil {
		now = time.Now
	}
	return &Server{now: now, channels: map[string]Channel{}, counts: map[string]int{}}
}

// Set says what the server has of a channel from now on.
func (s *Server) Set(name string, c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Recorded = slices.Clone(c.Recorded)
	s.channels[name] = c
}

// Remove makes a channel unknown.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.channels, name)
}

// Fail makes every answer this status code; 0 ends it.
func (s *Server) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Hang makes every request wait until its client gives up.
func (s *Server) Hang(hang bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = hang
}

// Delay makes every answer come this much later.
func (s *Server) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Count is how many requests of a kind have come. Every fake documents its
// kinds; "viewer" are playlists and segments, as a viewer asks for them.
func (s *Server) Count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[kind]
}

func (s *Server) channel(name string) (Channel, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.channels[name]
	return c, ok
}

// count notes a request of a kind and plays the faults that are set; false when
// the request is answered with that.
func (s *Server) count(kind string, w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.counts[kind]++
	status, hang, delay := s.status, s.hang, s.delay
	s.mu.Unlock()
	// The server's clock, as the test sets it: net/http would write ours.
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	if hang {
		<-r.Context().Done()
		return false
	}
	if delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return false
		}
	}
	if status != 0 {
		http.Error(w, http.StatusText(status), status)
		return false
	}
	return true
}

// segment is the duration of the segments in a fake's playlists.
const segment = 4 * time.Second

// recorded returns the parts of the channel's recordings inside [from, to).
func (c Channel) recorded(from, to time.Time) []Range {
	var out []Range
	for _, r := range c.Recorded {
		if r.From.Before(from) {
			r.From = from
		}
		if r.To.After(to) {
			r.To = to
		}
		if r.From.Before(r.To) {
			out = append(out, r)
		}
	}
	return out
}

// writeLive answers with a live media playlist whose newest segment ends at now.
func writeLive(w http.ResponseWriter, now time.Time) {
	first := now.Truncate(segment).Add(-5 * segment)
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:%d\n",
		int(segment.Seconds()), first.Unix()/int64(segment.Seconds()))
	writeSegments(&b, []Range{{first, first.Add(5 * segment)}})
	writePlaylist(w, b.String())
}

// writeArchive answers with the playlist of recordings; ended adds ENDLIST.
func writeArchive(w http.ResponseWriter, rs []Range, ended bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:1\n", int(segment.Seconds()))
	writeSegments(&b, rs)
	if ended {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	writePlaylist(w, b.String())
}

func writeSegments(b *strings.Builder, rs []Range) {
	for i, r := range rs {
		if i > 0 {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
		}
		fmt.Fprintf(b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", r.From.UTC().Format("2006-01-02T15:04:05.000Z"))
		for t := r.From; t.Before(r.To); t = t.Add(segment) {
			fmt.Fprintf(b, "#EXTINF:%.3f,\n%d.ts\n", min(segment, r.To.Sub(t)).Seconds(), t.UnixMilli())
		}
	}
}

func writePlaylist(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/vnd.apple.mpegurl")
	_, _ = w.Write([]byte(text))
}

func writeJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(text))
}

// writeTS answers with a few packets of an empty MPEG transport stream.
func writeTS(w http.ResponseWriter) {
	packet := [188]byte{0x47, 0x1f, 0xff, 0x10} // a null packet
	w.Header().Set("Content-Type", "video/mp2t")
	for range 10 {
		_, _ = w.Write(packet[:])
	}
}
