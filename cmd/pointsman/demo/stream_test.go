package demo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// frozen returns a server of both channels whose clock stands, and its newest segment.
func frozen(t *testing.T) (s *Server, newest int64) {
	t.Helper()
	s, err := New("s1", "north", epoch(), Pattern, Bars)
	if err != nil {
		t.Fatal(err)
	}
	s.stream.now = epoch
	return s, s.stream.timeline.edge(epoch())
}

func TestStreamRoutes(t *testing.T) {
	t.Parallel()
	s, newest := frozen(t)
	h := s.stream.handler()
	tests := map[string]struct {
		method, path string
		status       int
		contentType  string
		begins       string
	}{
		"status":            {"GET", "/", 200, "text/plain; charset=utf-8", "s1 is on the air\n"},
		"multivariant":      {"GET", "/pattern/index.m3u8", 200, "application/vnd.apple.mpegurl", "#EXTM3U\n"},
		"viewer_query":      {"GET", "/bars/index.m3u8?token=1", 200, "application/vnd.apple.mpegurl", "#EXTM3U\n"},
		"media":             {"GET", "/pattern/240p/index.m3u8", 200, "application/vnd.apple.mpegurl", "#EXTM3U\n"},
		"initialization":    {"GET", "/bars/240p/init.mp4", 200, "video/mp4", "\x00\x00\x00"},
		"newest":            {"GET", fmt.Sprintf("/pattern/360p/%d.m4s", newest), 200, "video/iso.segment", "\x00\x00\x00"},
		"head":              {"HEAD", "/pattern/index.m3u8", 200, "application/vnd.apple.mpegurl", ""},
		"options":           {"OPTIONS", "/pattern/index.m3u8", 204, "", ""},
		"post":              {"POST", "/pattern/index.m3u8", 405, "text/plain; charset=utf-8", "expected GET"},
		"future":            {"GET", fmt.Sprintf("/pattern/360p/%d.m4s", newest+1), 404, "text/plain; charset=utf-8", ""},
		"long_gone":         {"GET", fmt.Sprintf("/pattern/360p/%d.m4s", newest-13), 404, "text/plain; charset=utf-8", ""},
		"negative":          {"GET", "/pattern/360p/-1.m4s", 404, "text/plain; charset=utf-8", ""},
		"no_number":         {"GET", "/pattern/360p/x.m4s", 404, "text/plain; charset=utf-8", ""},
		"unknown_channel":   {"GET", "/news/index.m3u8", 404, "text/plain; charset=utf-8", ""},
		"unknown_variant":   {"GET", "/bars/360p/index.m3u8", 404, "text/plain; charset=utf-8", ""},
		"unknown_init":      {"GET", "/news/360p/init.mp4", 404, "text/plain; charset=utf-8", ""},
		"unknown_path":      {"GET", "/favicon.ico", 404, "text/plain; charset=utf-8", ""},
		"deeper_than_known": {"GET", "/pattern/360p/1/2.m4s", 404, "text/plain; charset=utf-8", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
			if w.Code != tt.status || w.Header().Get("Content-Type") != tt.contentType {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Header().Get("Content-Type"), tt.status, tt.contentType)
			}
			if !strings.HasPrefix(w.Body.String(), tt.begins) {
				t.Errorf("the body begins with %.40q: expected %q", w.Body, tt.begins)
			}
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" {
				t.Errorf("Access-Control-Allow-Origin is %q: expected * on every status", got)
			}
		})
	}
}

func TestStreamServesRanges(t *testing.T) {
	t.Parallel()
	s, newest := frozen(t)
	r := httptest.NewRequest("GET", fmt.Sprintf("/bars/240p/%d.m4s", newest), nil)
	r.Header.Set("Range", "bytes=4-7")
	w := httptest.NewRecorder()
	s.stream.handler().ServeHTTP(w, r)
	if w.Code != http.StatusPartialContent || w.Body.String() != "styp" {
		t.Errorf("got %d %q, want 206 \"styp\"", w.Code, w.Body)
	}
}

func TestChannelOnlyWhereItIsCarried(t *testing.T) {
	t.Parallel()
	s, err := New("s2", "north", epoch(), Pattern)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/pattern/index.m3u8": 200, "/bars/index.m3u8": 404, "/bars/240p/index.m3u8": 404, "/bars/240p/init.mp4": 404} {
		w := httptest.NewRecorder()
		s.stream.handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: got %d, want %d", path, w.Code, want)
		}
	}
}

// TestServersAgree holds what makes a switch of servers seamless: the same playlist and the same bytes.
func TestServersAgree(t *testing.T) {
	t.Parallel()
	one, newest := frozen(t)
	two, _ := frozen(t)
	for _, path := range []string{"/pattern/index.m3u8", "/pattern/360p/index.m3u8", fmt.Sprintf("/pattern/360p/%d.m4s", newest)} {
		var got [2]string
		for i, s := range []*Server{one, two} {
			w := httptest.NewRecorder()
			s.stream.handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			got[i] = w.Body.String()
		}
		if got[0] != got[1] {
			t.Errorf("%s differs between two servers", path)
		}
	}
}

func TestServedCountsWhatWasGiven(t *testing.T) {
	t.Parallel()
	s, newest := frozen(t)
	h := s.stream.handler()
	for _, path := range []string{
		"/", "/pattern/index.m3u8", "/pattern/360p/index.m3u8", "/pattern/360p/init.mp4", "/news/index.m3u8",
		fmt.Sprintf("/pattern/360p/%d.m4s", newest), fmt.Sprintf("/pattern/360p/%d.m4s", newest+1),
	} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	if playlists, segments := s.Served(); playlists != 2 || segments != 1 {
		t.Errorf("got %d playlists and %d segments, want 2 and 1", playlists, segments)
	}
}

func TestLoopRepeatsThePicture(t *testing.T) {
	t.Parallel()
	s, newest := frozen(t)
	fetch := func(n int64) string {
		w := httptest.NewRecorder()
		s.stream.handler().ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/bars/240p/%d.m4s", n), nil))
		return w.Body.String()
	}
	first := fetch(newest)
	s.stream.now = func() time.Time { return epoch().Add(segmentsPerLoop * segmentDuration) }
	if fetch(newest+segmentsPerLoop) != first {
		t.Error("a loop later the picture is another one")
	}
}
