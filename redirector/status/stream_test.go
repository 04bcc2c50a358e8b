package status

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// stream opens a stream of updates and returns its answer.
func stream(t *testing.T, url, last string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// nextEvent reads one event.
func nextEvent(t *testing.T, in *bufio.Reader) (id string, u update) {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(rest), &u); err != nil {
				t.Fatalf("%q: %v", rest, err)
			}
			return id, u
		}
	}
}

func serveLive(t *testing.T, l *Live) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(l.ServeEvents))
	t.Cleanup(s.Close)
	return s
}

func TestStream(t *testing.T) {
	t.Parallel()
	w, l := newWorld(t, 2)
	s := serveLive(t, l)
	l.whole(time.Now(), false)
	res := stream(t, s.URL+"?since="+l.number(l.newest), "")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v", res)
	}
	in := bufio.NewReader(res.Body)
	w.change(func(d *Document) { d.Farms[0].Servers[1].State = "down" })
	for {
		id, u := nextEvent(t, in)
		if u.Reload {
			t.Fatal("the page is to be loaded again")
		}
		if len(u.Rows) == 0 {
			continue
		}
		if !strings.Contains(u.Rows[0], `"state down"`) || !strings.HasPrefix(id, l.epoch+"-") {
			t.Errorf("event %s: %+v", id, u)
		}
		break
	}
	// A nudge does not wait for the second to be over.
	w.change(func(d *Document) { d.Farms[0].Servers[0].State = "draining" })
	nudged := time.Now()
	l.Nudge()
	l.Nudge()
	for {
		if _, u := nextEvent(t, in); len(u.Rows) > 0 {
			break
		}
	}
	if took := time.Since(nudged); took > liveEvery {
		t.Errorf("after a nudge it took %v", took)
	}
	// Going on after a break, and a page of another process.
	again := stream(t, s.URL, l.number(l.newest))
	if _, u := nextEvent(t, bufio.NewReader(again.Body)); u.Reload || len(u.Rows) != 0 {
		t.Errorf("after a break: %+v", u)
	}
	for _, since := range []string{"", "x", "-1", "other-5", l.epoch + "-x", l.epoch + "--1"} {
		other := stream(t, s.URL+"?since="+since, "")
		if _, u := nextEvent(t, bufio.NewReader(other.Body)); !u.Reload {
			t.Errorf("since %q: %+v, want that the page is loaded again", since, u)
		}
		_ = other.Body.Close()
	}
	l.End()
	if rest, err := io.ReadAll(in); err != nil {
		t.Errorf("the stream ends with %v after %q", err, rest)
	}
	if res := stream(t, s.URL, ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after the end a stream is answered %d", res.StatusCode)
	}
	l.End()
}

// TestStreamsAreBounded: whoever comes too late is told so, and gets the place
// of one who leaves.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	_, l := newWorld(t, 1)
	for range maxStreams {
		if !l.enter() {
			t.Fatal("there are places left")
		}
	}
	rw := httptest.NewRecorder()
	l.ServeEvents(rw, httptest.NewRequest(http.MethodGet, "/status/events", nil))
	if rw.Code != http.StatusServiceUnavailable || rw.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", rw.Code, rw.Header())
	}
	l.leave()
	rw = httptest.NewRecorder()
	l.ServeEvents(rw, httptest.NewRequest(http.MethodHead, "/status/events", nil))
	if rw.Code != http.StatusOK || rw.Body.Len() != 0 || l.streams != maxStreams-1 {
		t.Errorf("HEAD: %d %q, %d streams", rw.Code, rw.Body, l.streams)
	}
}
