package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The bounds of the streams of updates.
const (
	maxStreams   = 32
	streamAnswer = 10 * time.Second // a reader that takes nothing for so long is given up
)

// ServeEvents sends a page that is open what changes, as server-sent events
// (WHATWG HTML §9.2). The number of the last event, or of the page itself in
// ?since=, tells what it shows already. A stream ends with its reader, and with
// [Live.End].
func (l *Live) ServeEvents(rw http.ResponseWriter, r *http.Request) {
	if !l.enter() {
		rw.Header().Set("Retry-After", "10")
		http.Error(rw, fmt.Sprintf("%d pages are being updated already", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer l.leave()
	h := rw.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // or an nginx in front collects events
	rw.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	number := l.shown(r)
	out := http.NewResponseController(rw)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for nudged := l.nudged(); ; {
		u, next := l.since(number, time.Now())
		_ = out.SetWriteDeadline(time.Now().Add(streamAnswer)) // a recorder in a test has none
		if _, err := rw.Write(event(l.number(next), u)); err != nil || out.Flush() != nil {
			return
		}
		number = next
		select {
		case <-tick.C:
		case <-nudged:
			nudged = l.nudged()
			if !l.settle(r.Context()) {
				return
			}
		case <-r.Context().Done():
			return
		case <-l.closed:
			return
		}
	}
}

// settle waits a moment for what comes together; it returns false when the
// stream is to end.
func (l *Live) settle(ctx context.Context) bool {
	t := time.NewTimer(nudgeRest)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-l.closed:
		return false
	}
}

// enter takes a place among the streams.
func (l *Live) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return false
	default:
	}
	if l.streams == maxStreams {
		return false
	}
	l.streams++
	return true
}

func (l *Live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
}

// shown reads which number a page shows; 0, which has it loaded again, when it
// is of another process.
func (l *Live) shown(r *http.Request) uint64 {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("since")
	}
	epoch, number, _ := strings.Cut(text, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != l.epoch {
		return 0
	}
	return n
}

// event writes one event; without anything new it is a comment, which keeps the
// connection and tells when it is gone.
func event(id string, u update) []byte {
	if !u.Reload && u.Rows == nil && u.Parts == nil {
		return []byte(": nothing new\n\n")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s\ndata: ", id)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(u) // strings alone; it ends the line
	b.WriteByte('\n')
	return b.Bytes()
}
