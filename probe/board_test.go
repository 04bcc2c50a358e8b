package probe

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

var _ farms.Facts = (*Board)(nil)

// However many viewers wait for an answer, a server is asked once.
func TestOneQuestionInFlight(t *testing.T) {
	t.Parallel()
	bubble(t, "1000_viewers", func(t *testing.T) {
		s := newScene(t, defaults())
		for range 3 {
			s.serve(delayed(700*time.Millisecond, streaming(liveBody)))
		}
		s.start()
		s.after(firstSweep)
		var opened, joined, rest atomic.Int64
		var viewers sync.WaitGroup
		for range 1000 {
			viewers.Go(func() {
				a := s.board.Ask(hls("one"), s.table.Servers, false)
				opened.Add(int64(a.Opened))
				joined.Add(int64(a.Joined))
				rest.Add(int64(a.Deferred))
				if a.Busy {
					rest.Add(1)
				}
			})
		}
		viewers.Wait()
		if opened.Load() != 3 || joined.Load() != 3*999 || rest.Load() != 0 {
			t.Errorf("opened %d, joined %d, else %d; want 3, 2997, 0", opened.Load(), joined.Load(), rest.Load())
		}
		known := s.board.Content(hls("one"))
		s.after(time.Second)
		select {
		case <-known.Changed:
		default:
			t.Error("the answers came and nobody was woken")
		}
		for i, h := range s.hosts {
			if n := len(h.requests(true)); n != 1 {
				t.Errorf("edge%d was asked %d times, want once", i, n)
			}
			if f := s.fact("one", i); f.Presence != farms.Present {
				t.Errorf("edge%d: the fact is %+v, want present", i, f)
			}
		}
	})
}

// A question costs two requests at most: the multivariant playlist and one of
// its media playlists; the operator's token goes with both, a viewer's query
// with none.
func TestQuestionAsSent(t *testing.T) {
	t.Parallel()
	bubble(t, "multivariant", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(streaming(func(r *http.Request) string {
			if strings.HasPrefix(r.URL.Path, "/hls/ch/index") {
				return multivariant
			}
			return liveAt(time.Now())
		}))
		spec := s.spec(1)
		spec.Servers[0].URL = "http://edge0/hls/"
		spec.Servers[0].ProbeQuery = "token=op%2F1"
		spec.Servers[0].ProbeHeaders = []farms.Header{{Name: "X-Probe", Value: "yes"}, {Name: "Host", Value: "tv.example"}}
		spec.Servers[0].StatusPath = "/status"
		s.load(spec, defaults())
		s.start()
		s.after(firstSweep)
		s.ask("ch")
		got := s.hosts[0].requests(true)
		var paths []string
		for _, r := range got {
			paths = append(paths, r.path)
			if r.host != "tv.example" || r.header.Get("X-Probe") != "yes" || r.header.Get("User-Agent") != "pointsman-probe/test" {
				t.Errorf("%s: host %q, headers %v; want the operator's", r.path, r.host, r.header)
			}
			if r.header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("%s: Accept-Encoding is %q, want gzip", r.path, r.header.Get("Accept-Encoding"))
			}
		}
		want := []string{"/hls/status?token=op%2F1", "/hls/ch/index.m3u8?token=op%2F1", "/hls/ch/low/index.m3u8?s=1"}
		if paths = slices.Compact(paths); !slices.Equal(paths, want) { // the status may have been asked twice
			t.Errorf("it was asked %q, want %q", paths, want)
		}
		if f := s.fact("ch", 0); f.Presence != farms.Present || f.Kind != farms.KindLive || !f.Multivariant {
			t.Errorf("the fact is %+v, want present, live, multivariant", f)
		}
	})
	bubble(t, "multivariant_that_leads_in_circles", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(streaming(func(*http.Request) string { return multivariant }))
		s.start()
		s.ask("ch")
		if n := len(s.hosts[0].requests(true)); n != 2 {
			t.Errorf("a question cost %d requests, want 2", n)
		}
		if f := s.fact("ch", 0); f.Presence != farms.Absent {
			t.Errorf("the fact is %+v, want absent", f)
		}
	})
	bubble(t, "depth_playlist", func(t *testing.T) {
		set := defaults()
		set.Depth = DepthPlaylist
		s := newScene(t, set)
		s.serve(streaming(func(*http.Request) string { return multivariant }))
		s.start()
		s.ask("ch")
		if n := len(s.hosts[0].requests(true)); n != 1 {
			t.Errorf("a question cost %d requests, want 1", n)
		}
		if f := s.fact("ch", 0); f.Presence != farms.Present {
			t.Errorf("the fact is %+v, want present", f)
		}
	})
	bubble(t, "media_playlists_on_another_host", func(t *testing.T) {
		s := newScene(t, defaults())
		other := s.net.host("cdn:80", streaming(liveBody))
		s.serve(streaming(func(*http.Request) string { return "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://cdn/low.m3u8\n" }))
		s.start()
		s.ask("ch")
		if n := len(other.requests(true)); n != 0 {
			t.Errorf("a playlist sent us to another host %d times", n)
		}
		if f := s.fact("ch", 0); f.Presence != farms.Present || !strings.Contains(f.Detail, "another host") {
			t.Errorf("the fact is %+v, want present by the playlist alone", f)
		}
	})
}

// zipped writes body with gzip, as nginx does when it is asked.
func zipped(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, body)
	_ = z.Close()
}

// What a server answers, and what is known then. A question ends within the
// request timeout, whatever the server does (F22–F25).
func TestFacts(t *testing.T) {
	t.Parallel()
	type answer = func(w http.ResponseWriter, r *http.Request)
	text := func(body string) answer {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	status := func(code int) answer {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	redirect := func(to string) answer {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	bomb := func() []byte {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		_, _ = z.Write(make([]byte, maxManifest+1))
		_ = z.Close()
		return buf.Bytes()
	}()
	tests := []struct {
		name     string
		answer   answer
		presence farms.Presence
		detail   string
		timeout  bool // it takes all of the request timeout
	}{
		{"live", text(mediaPlaylist(5, 4, 3)), farms.Present, "live", false},
		{"gzip", func(w http.ResponseWriter, _ *http.Request) { zipped(w, mediaPlaylist(5, 4, 3)) }, farms.Present, "live", false},
		{"media_playlist_gone_behind_a_multivariant_playlist", func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/low/") {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(w, multivariant)
		}, farms.Absent, "multivariant playlist is there, media playlist: answered 404", false},
		{"media_playlist_502", func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/low/") {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = io.WriteString(w, multivariant)
		}, farms.Trouble, "answered 502", false},
		{"mediamtx_cookie_check", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "cookieCheck=1" {
				redirect("?cookieCheck=1")(w, r)
				return
			}
			_, _ = io.WriteString(w, mediaPlaylist(5, 4, 3))
		}, farms.Present, "live", false},
		{"mediamtx_cookie_check_and_then_404", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "cookieCheck=1" {
				redirect("?cookieCheck=1")(w, r)
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}, farms.Absent, "answered 404", false},
		{"mist_error", text(mistError), farms.Absent, "Stream open failed", false},
		{"full", text("FULL"), farms.Absent, "something else", false},
		{"html", text(htmlPage), farms.Absent, "HTML", false},
		{"empty", text(""), farms.Absent, "empty", false},
		{"204", status(http.StatusNoContent), farms.Absent, "answered 204", false},
		{"206_with_nothing_in_it", status(http.StatusPartialContent), farms.Absent, "empty", false},
		{"206_with_all_of_it", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, mediaPlaylist(5, 4, 3))
		}, farms.Present, "live", false},
		{"401", status(http.StatusUnauthorized), farms.Guarded, "answered 401", false},
		{"403", status(http.StatusForbidden), farms.Guarded, "answered 403", false},
		{"425", status(http.StatusTooEarly), farms.Absent, "not yet", false},
		{"429", status(http.StatusTooManyRequests), farms.Trouble, "answered 429", false},
		{"500", status(http.StatusInternalServerError), farms.Trouble, "answered 500", false},
		{"503", status(http.StatusServiceUnavailable), farms.Trouble, "answered 503", false},
		{"elsewhere", redirect("http://edge9/ch/index.m3u8"), farms.Absent, "it redirects to http://edge9", false},
		{"metadata_service", redirect("http://169.254.169.254/latest/"), farms.Absent, "it redirects to http://169.254.169.254", false},
		{"in_circles", redirect("/ch/index.m3u8"), farms.Absent, "redirects more than", false},
		{"hangs_up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, farms.Trouble, "closed the connection", false},
		{"never_answers", delayed(time.Hour, answers(200, "")).ServeHTTP, farms.Trouble, "no answer in time", true},
		{"head_after_100_ms_and_a_byte_a_second", func(w http.ResponseWriter, r *http.Request) {
			delayed(100*time.Millisecond, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for _, c := range mediaPlaylist(5, 4, 3) {
					_, _ = io.WriteString(w, string(c))
					_ = http.NewResponseController(w).Flush()
					delayed(time.Second, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
				}
			})).ServeHTTP(w, r)
		}, farms.Trouble, "no answer in time", true},
		{"a_gigabyte", func(w http.ResponseWriter, _ *http.Request) {
			block := append([]byte("#EXTM3U\n"), bytes.Repeat([]byte("#\n"), 32<<10)...)
			for range 1 << 30 / len(block) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, farms.Trouble, "larger than 8388608 bytes", false},
		{"endless_head", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), "x")
			}
		}, farms.Trouble, "exceeded", false},
		{"bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}, farms.Trouble, "larger than 8388608 bytes", false},
		{"half_of_a_gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb[:100])
		}, farms.Trouble, "cannot be read", false},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			s := newScene(t, defaults())
			s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					return
				}
				tt.answer(w, r)
			}))
			s.net.host("edge9:80", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
			s.start()
			s.after(firstSweep)
			asked := time.Now()
			s.ask("ch")
			for s.board.Content(hls("ch")).Of(s.table.Servers[0].Endpoint) == nil {
				s.after(100 * time.Millisecond)
			}
			f := s.fact("ch", 0)
			if f.Presence != tt.presence || !strings.Contains(f.Detail, tt.detail) {
				t.Errorf("the fact is %v, %q; want %v, %q", f.Presence, f.Detail, tt.presence, tt.detail)
			}
			want := time.Duration(0)
			if tt.timeout {
				want = defaults().RequestTimeout
			}
			if took := f.At.Sub(asked); took != want {
				t.Errorf("it took %v, want %v", took, want)
			}
			if held := !f.HeldAt.IsZero(); held != (tt.presence == farms.Present) {
				t.Errorf("held at %v, want a time only when it has it", f.HeldAt)
			}
			if got := s.conditions(); got != "u" {
				t.Errorf("the server is %s: a content probe says nothing about the status", got)
			}
		})
	}
}

// Whatever a transport stream server sends, no timeout makes a stream absent.
func TestTransportStream(t *testing.T) {
	t.Parallel()
	ts := farms.Content{Channel: "ch", Path: "/ch/mpegts", Protocol: farms.ProtocolMPEGTS}
	tests := []struct {
		name     string
		answer   func(w http.ResponseWriter, r *http.Request)
		presence farms.Presence
		took     time.Duration
	}{
		{"range_obeyed", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "bytes=0-1879" || r.Header.Get("Accept-Encoding") != "identity" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, packets(10))
		}, farms.Present, 0},
		{"range_ignored_and_endless", func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, packets(100)); err != nil {
					return
				}
			}
		}, farms.Present, 0},
		{"ends_after_five_packets", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, packets(5)) }, farms.Present, 0},
		{"stalls_after_one_packet", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, packets(1))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, farms.Trouble, 5 * time.Second},
		{"stalls_after_the_head", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, farms.Trouble, 5 * time.Second},
		{"stalls_after_nine_packets", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, packets(9))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, farms.Present, 5 * time.Second},
		{"breaks_off", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, packets(1))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, farms.Trouble, 0},
		{"html", answers(200, htmlPage).ServeHTTP, farms.Absent, 0},
		{"404", answers(404, "").ServeHTTP, farms.Absent, 0},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			s := newScene(t, defaults())
			s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					tt.answer(w, r)
				}
			}))
			s.start()
			s.after(firstSweep)
			asked := time.Now()
			s.board.Ask(ts, s.table.Servers, false)
			s.after(6 * time.Second)
			f := s.board.Content(ts).Of(s.table.Servers[0].Endpoint)
			if f == nil || f.Presence != tt.presence {
				t.Fatalf("the fact is %+v, want %v", f, tt.presence)
			}
			if took := f.At.Sub(asked); took != tt.took {
				t.Errorf("it took %v, want %v", took, tt.took)
			}
		})
	}
}

// A server whose head never ends costs the cap and the time, no more (F25).
func TestEndlessHeadFromTheWire(t *testing.T) {
	t.Parallel()
	bubble(t, "head", func(t *testing.T) {
		s := newScene(t, defaults())
		var sent atomic.Int64
		s.net.raw("edge0:80", func(c net.Conn) {
			go func() { _, _ = io.Copy(io.Discard, c) }()
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				n, err := io.WriteString(c, "X-Filler: "+strings.Repeat("x", 1000)+"\r\n")
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		s.update(1, defaults())
		s.start()
		s.ask("ch")
		if n := sent.Load(); n > 2*(64<<10)+16<<10 {
			t.Errorf("the server sent %d bytes of head to two probes", n)
		}
		if f := s.fact("ch", 0); f.Presence != farms.Trouble {
			t.Errorf("the fact is %+v, want trouble", f)
		}
	})
}

// A refused connection is down at once, whichever probe met it, and asked
// again soon.
func TestRefusedContentProbe(t *testing.T) {
	t.Parallel()
	bubble(t, "refused_between_the_two_playlists", func(t *testing.T) {
		s := newScene(t, defaults())
		var host *memHost
		host = s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				_, _ = io.WriteString(w, multivariant)
				host.becomes(refusing)
			}
		}))
		s.start()
		s.after(firstSweep)
		s.ask("ch")
		if got := s.conditions(); got != "d" {
			t.Errorf("the server is %s, want down", got)
		}
		if f := s.fact("ch", 0); f.Presence != farms.Trouble {
			t.Errorf("the fact is %+v, want trouble", f)
		}
	})
	bubble(t, "down_and_back", func(t *testing.T) {
		s := healthy(t, 1, defaults())
		s.hosts[0].becomes(refusing)
		s.ask("ch")
		if got := s.conditions(); got != "d" {
			t.Fatalf("the server is %s right after a refused content probe, want down", got)
		}
		if h := s.health(0); !strings.Contains(h.Reason, "refused") {
			t.Errorf("the reason is %q", h.Reason)
		}
		if f := s.fact("ch", 0); f.Presence != farms.Trouble {
			t.Errorf("the fact is %+v, want trouble: it said nothing of the content", f)
		}
		s.hosts[0].becomes(serving)
		s.after(2 * time.Second)
		if got := s.conditions(); got != "u" {
			t.Errorf("the server is %s two seconds after it came back, want up", got)
		}
	})
}

// Timeouts and 5xx need fall in a row, asked a second apart.
func TestFallInARow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fail  func(*memHost)
		takes time.Duration // from the first failing probe
	}{
		{"5xx", func(h *memHost) { h.handle(answers(503, "")) }, 2 * time.Second},
		{"timeout", func(h *memHost) { h.becomes(silent) }, 2*time.Second + 3*5*time.Second},
		{"no_http", func(h *memHost) {
			h.handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		}, 2 * time.Second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			set := defaults()
			set.Fall = 3
			s := healthy(t, 1, set)
			last := s.hosts[0].starts(false)
			tt.fail(s.hosts[0])
			var first time.Time
			for s.health(0).Condition == farms.ConditionUp {
				s.after(50 * time.Millisecond)
				if seen := s.hosts[0].starts(false); len(seen) > len(last) && first.IsZero() {
					first = seen[len(last)]
				}
				if time.Since(last[len(last)-1]) > time.Minute+tt.takes {
					t.Fatal("it never went down")
				}
			}
			if first.IsZero() { // a black hole notes nothing: the first probe came an interval after the last
				if took := time.Since(last[len(last)-1]); took > set.StatusInterval*6/5+tt.takes+time.Second {
					t.Errorf("down after %v, want within an interval and %v", took, tt.takes)
				}
				return
			}
			if took := time.Since(first); took < tt.takes || took > tt.takes+200*time.Millisecond {
				t.Errorf("down %v after the first failure, want after %v", took, tt.takes)
			}
		})
	}
	bubble(t, "one_failure_is_nothing", func(t *testing.T) {
		s := healthy(t, 1, defaults())
		before := len(s.hosts[0].requests(false))
		s.hosts[0].handle(answers(500, ""))
		for len(s.hosts[0].requests(false)) == before {
			s.after(50 * time.Millisecond)
		}
		s.hosts[0].handle(answers(404, "any answer below 500 is up"))
		s.after(2 * time.Minute)
		if calls := s.changesOf("edge0"); len(calls) != 1 {
			t.Errorf("the changes are %+v, want up at the start alone", calls)
		}
	})
}

// After a failure, an answer that has to be made sure of is asked for again a
// second later, however long the server was away.
func TestRiseIsASecondApart(t *testing.T) {
	t.Parallel()
	bubble(t, "rise_3", func(t *testing.T) {
		set := defaults()
		set.Rise = 3
		s := healthy(t, 1, set)
		s.hosts[0].becomes(refusing)
		s.after(time.Minute)
		s.hosts[0].becomes(serving)
		back := time.Now()
		for s.health(0).Condition != farms.ConditionUp {
			s.after(100 * time.Millisecond)
		}
		if took := time.Since(back); took > set.StatusInterval*6/5+2*recheckAfter+200*time.Millisecond {
			t.Errorf("up after %v, want within an interval and two seconds", took)
		}
	})
}

// A server that lost what it had, or cannot say, keeps its memory: 5xx and
// timeouts are never absent.
func TestTroubleKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		fail func(*memHost)
	}{
		{"5xx", func(h *memHost) {
			h.handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					w.WriteHeader(503)
				}
			}))
		}},
		{"timeout", func(h *memHost) {
			h.handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					<-r.Context().Done()
				}
			}))
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			set := defaults()
			s := healthy(t, 1, set)
			s.ask("ch")
			s.after(set.LiveAge)
			s.ask("ch")
			had := s.fact("ch", 0)
			tt.fail(s.hosts[0])
			s.after(set.LiveAge)
			s.ask("ch")
			s.after(set.RequestTimeout)
			f := s.fact("ch", 0)
			if f.Presence != farms.Trouble || !f.HeldAt.Equal(had.HeldAt) || f.Kind != farms.KindLive {
				t.Errorf("the fact is %+v, want trouble that remembers it was held at %v", f, had.HeldAt)
			}
			if age := f.FreshUntil.Sub(f.At); age != troubleAge {
				t.Errorf("it is asked again after %v, want %v", age, troubleAge)
			}
			s.hosts[0].handle(streaming(liveBody))
			s.after(troubleAge)
			s.ask("ch")
			if f := s.fact("ch", 0); f.Presence != farms.Present || !f.HeldAt.Equal(f.At) {
				t.Errorf("the fact is %+v, want present again", f)
			}
		})
	}
}

// How long an answer is believed, and how long it serves.
func TestAges(t *testing.T) {
	t.Parallel()
	set := defaults()
	tests := []struct {
		name         string
		body         func(*http.Request) string
		status       int
		looks        int // the ages are those of the last
		fresh, serve time.Duration
	}{
		{"live", liveBody, 200, 2, set.LiveAge, 2 * set.LiveAge},
		{"live_seen_once_is_looked_at_again_after_1_5_target_durations", liveBody, 200, 1, 3 * time.Second, 6 * time.Second},
		{"live_with_a_fresh_date", func(*http.Request) string { return dated(time.Now(), 2, 4) }, 200, 1, set.LiveAge, 2 * set.LiveAge},
		{"long_segments_seen_once", func(*http.Request) string { return mediaPlaylist(time.Now().Unix()/10, 10, 3) }, 200, 1, set.LiveAge, 2 * set.LiveAge},
		{"vod", func(*http.Request) string { return mediaPlaylist(0, 4, 9) + "#EXT-X-ENDLIST\n" }, 200, 1, set.VoDAge, 2 * set.VoDAge},
		{"guarded", liveBody, 403, 1, set.LiveAge, 2 * set.LiveAge},
		{"absent_that_nobody_ever_had_is_asked_again_soon", liveBody, 404, 1, 2500 * time.Millisecond, 2500 * time.Millisecond},
		{"trouble", liveBody, 503, 1, 5 * time.Second, 5 * time.Second},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			s := newScene(t, set)
			s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.body(r))
				}
			}))
			s.start()
			for i := range tt.looks {
				if i > 0 {
					s.after(set.LiveAge)
				}
				s.ask("ch")
			}
			f := s.fact("ch", 0)
			if fresh := f.FreshUntil.Sub(f.At); fresh != tt.fresh {
				t.Errorf("believed for %v, want %v", fresh, tt.fresh)
			}
			if serve := f.ServeUntil.Sub(f.At); serve != tt.serve {
				t.Errorf("serves for %v, want %v", serve, tt.serve)
			}
			// While it is fresh nobody is asked; then one is.
			n := len(s.hosts[0].requests(true))
			s.after(tt.fresh - time.Millisecond)
			if a := s.board.Ask(hls("ch"), s.table.Servers, false); a.Opened != 0 {
				t.Errorf("a fresh fact was asked for again: %+v", a)
			}
			s.after(time.Millisecond)
			s.ask("ch")
			if got := len(s.hosts[0].requests(true)); got != n+1 {
				t.Errorf("asked %d times, want %d", got, n+1)
			}
			if a := s.board.Ask(hls("ch"), s.table.Servers, true); a.Opened != 1 {
				t.Errorf("forced, it opened %+v, want one question", a)
			}
			s.after(0)
		})
	}
	bubble(t, "absent_where_others_have_it_at_most_5_s", func(t *testing.T) {
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.serve(delayed(time.Millisecond, http.NotFoundHandler()))
		s.start()
		s.ask("ch")
		s.after(time.Second)
		if f := s.fact("ch", 1); f.Presence != farms.Absent || f.FreshUntil.Sub(f.At) != 5*time.Second || !f.ServeUntil.Equal(f.FreshUntil) {
			t.Errorf("the fact is %+v, want absent for 5 s", f)
		}
	})
	bubble(t, "absent_no_longer_than_a_short_live_age", func(t *testing.T) {
		short := set
		short.LiveAge = 2 * time.Second
		s := newScene(t, short)
		s.serve(http.NotFoundHandler())
		s.start()
		s.ask("ch")
		if f := s.fact("ch", 0); f.FreshUntil.Sub(f.At) != 2*time.Second {
			t.Errorf("the fact is %+v, want absent for 2 s", f)
		}
	})
}

// F22: a playlist that stands still is frozen, on that server only, and held
// since it last moved; it thaws as soon as it moves.
func TestFrozen(t *testing.T) {
	t.Parallel()
	bubble(t, "without_dates", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		var stopped atomic.Pointer[time.Time]
		s.serve(streaming(liveBody))
		s.serve(streaming(func(*http.Request) string {
			if at := stopped.Load(); at != nil {
				return liveAt(*at)
			}
			return liveAt(time.Now())
		}))
		s.start()
		s.ask("ch")
		s.after(set.LiveAge)
		s.ask("ch")
		at := time.Now()
		stopped.Store(&at)
		s.after(set.LiveAge)
		s.ask("ch")
		if f := s.fact("ch", 1); f.Presence != farms.Present || !f.Frozen || !f.HeldAt.Equal(at) || !f.MovedAt.Equal(at) {
			t.Errorf("the fact is %+v, want frozen and held since %v", f, at)
		}
		if f := s.fact("ch", 0); f.Frozen || !f.HeldAt.Equal(f.At) {
			t.Errorf("the fact of the other server is %+v, want it untouched", f)
		}
		stopped.Store(nil)
		s.after(set.LiveAge)
		s.ask("ch")
		if f := s.fact("ch", 1); f.Frozen || !f.HeldAt.Equal(f.At) {
			t.Errorf("the fact is %+v, want it to have thawed", f)
		}
	})
	bubble(t, "its_clock_is_wrong_and_it_says_so", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wrong := time.Now().Add(-time.Hour)
			w.Header().Set("Date", wrong.UTC().Format(http.TimeFormat))
			if r.URL.Path != "/" {
				_, _ = io.WriteString(w, dated(wrong, 2, 4))
			}
		}))
		s.start()
		s.ask("ch")
		if f := s.fact("ch", 0); f.Frozen || f.FreshUntil.Sub(f.At) != defaults().LiveAge {
			t.Errorf("the fact is %+v, want it proven live by the server's own clock", f)
		}
	})
	bubble(t, "an_encoder's_clock_is_wrong_and_it_moves", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		s.serve(streaming(func(*http.Request) string {
			now := time.Now()
			return strings.Replace(dated(now.Add(-2*time.Hour), 2, 4), "SEQUENCE:100", fmt.Sprint("SEQUENCE:", now.Unix()/2), 1)
		}))
		s.start()
		for range 5 {
			s.ask("ch")
			if f := s.fact("ch", 0); f.Frozen {
				t.Fatalf("the fact is %+v: an old date alone condemns nothing", f)
			}
			s.after(set.LiveAge)
		}
	})
}

// While an answer waits for its place, and while all its places are taken.
func TestInFlightCap(t *testing.T) {
	t.Parallel()
	bubble(t, "no_more_than_8", func(t *testing.T) {
		set := defaults()
		set.MaxPerSec = 1000
		s := newScene(t, set)
		var now, most atomic.Int64
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				return
			}
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			delayed(time.Second, streaming(liveBody)).ServeHTTP(w, r)
		}))
		s.start()
		s.after(firstSweep)
		for i := range 20 {
			s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers, false)
		}
		s.after(10 * time.Second)
		if most.Load() != int64(set.MaxInFlight) {
			t.Errorf("%d questions were in flight, want %d", most.Load(), set.MaxInFlight)
		}
		present, trouble := 0, 0
		for i := range 20 {
			switch f := s.fact(fmt.Sprint("ch", i), 0); f.Presence {
			case farms.Present:
				present++
			case farms.Trouble:
				trouble++
				if !strings.Contains(f.Detail, "too many questions") {
					t.Errorf("the detail is %q", f.Detail)
				}
			}
		}
		if present != 16 || trouble != 4 {
			t.Errorf("%d present, %d trouble; want 16 within the decision's deadline, and 4 beyond", present, trouble)
		}
	})
	bubble(t, "reload_changes_it_meanwhile", func(t *testing.T) {
		set := defaults()
		set.MaxInFlight = 1
		s := newScene(t, set)
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				delayed(time.Second, streaming(liveBody)).ServeHTTP(w, r)
			}
		}))
		s.start()
		s.board.Ask(hls("one"), s.table.Servers, false)
		s.board.Ask(hls("two"), s.table.Servers, false) // waits for the only slot
		s.after(500 * time.Millisecond)
		set.MaxInFlight = 2
		s.update(1, set)
		s.after(5 * time.Second)
		for _, ch := range []string{"one", "two"} {
			if f := s.fact(ch, 0); f.Presence != farms.Present {
				t.Errorf("%s: the fact is %+v, want present", ch, f)
			}
		}
		// No slot of the new limit may have gone to a question of the old.
		for i := range 2 {
			s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers, false)
		}
		s.after(1100 * time.Millisecond)
		for i := range 2 {
			s.fact(fmt.Sprint("ch", i), 0)
		}
	})
}

// Beyond a server's rate nothing is asked: a fact that cannot be refreshed
// lives on, one that is not there is told as deferred.
func TestBeyondTheRate(t *testing.T) {
	t.Parallel()
	bubble(t, "stretched", func(t *testing.T) {
		set := defaults()
		set.MaxPerSec = 2
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.start()
		const channels = 60 // thirty seconds' worth, for an age of ten
		draw := rand.New(rand.NewPCG(1, 2))
		ask := func() (out farms.Asked) {
			for _, i := range draw.Perm(channels) { // viewers come in no order
				a := s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers, false)
				out.Opened += a.Opened
				out.Deferred += a.Deferred
			}
			s.after(500 * time.Millisecond)
			return out
		}
		for range 2 * 2 * channels {
			ask()
		}
		deferred := 0
		for range 240 {
			deferred += ask().Deferred
			for i := range channels {
				f := s.fact(fmt.Sprint("ch", i), 0)
				if f.Presence != farms.Present || !time.Now().Before(f.ServeUntil) {
					t.Fatalf("ch%d does not serve: %+v", i, f)
				}
			}
		}
		if deferred == 0 {
			t.Error("nothing was deferred, want the rate to be short")
		}
		if got := busiest(s.hosts[0].starts(true), time.Second); got > 2 {
			t.Errorf("%d questions began in a second, want 2", got)
		}
		for i := range channels { // and each has its turn, by chance
			if f := s.fact(fmt.Sprint("ch", i), 0); time.Since(f.At) > set.StaleIfError/2 {
				t.Errorf("ch%d was asked for %v ago", i, time.Since(f.At))
			}
		}
	})
	bubble(t, "never_stretched_beyond_what_trouble_would_be_given", func(t *testing.T) {
		set := defaults()
		set.MaxPerSec, set.StaleIfError = 0.02, 15*time.Second
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.start()
		s.ask("ch")
		held := s.fact("ch", 0).HeldAt
		for range 45 {
			s.ask("ch")
			s.after(time.Second)
		}
		if f := s.fact("ch", 0); f.ServeUntil.Sub(held) > set.StaleIfError+2*set.LiveAge {
			t.Errorf("the fact serves until %v after it was held, want the stretch to end after %v", f.ServeUntil.Sub(held), set.StaleIfError)
		}
	})
	bubble(t, "waits_for_its_place_until_the_deadline", func(t *testing.T) {
		set := defaults()
		set.MaxPerSec = 2 // of which strangers have one
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.start()
		s.after(firstSweep)
		start := time.Now()
		var opened, deferred int
		for i := range 5 {
			a := s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers, false)
			opened += a.Opened
			deferred += a.Deferred
		}
		s.after(3 * time.Second)
		if opened != 2 || deferred != 3 {
			t.Errorf("opened %d, deferred %d; want now and after a second, and no more within 1.5 s", opened, deferred)
		}
		if got := s.hosts[0].starts(true); len(got) != 2 || got[1].Sub(start) != time.Second {
			t.Errorf("asked at %v, want at once and a second later", got)
		}
	})
}

// A hundred thousand invented channels: nothing grows, no server is asked
// beyond its rate, and the known channels do not notice.
func TestFlood(t *testing.T) {
	t.Parallel()
	bubble(t, "100000_invented_contents", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		const servers, known = 3, 60
		for range servers {
			s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/":
				case strings.HasPrefix(r.URL.Path, "/known"):
					_, _ = io.WriteString(w, liveAt(time.Now()))
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
		}
		s.start()
		s.after(firstSweep)
		watch := func() {
			for i := range known {
				s.board.Ask(hls(fmt.Sprint("known", i)), s.table.Servers, false)
			}
		}
		for range 40 {
			watch()
			s.after(time.Second)
		}
		before := make([]int, servers)
		for i, h := range s.hosts {
			before[i] = len(h.requests(true))
		}
		const length = 100 // seconds
		busy := 0
		for second := range length {
			watch()
			for i := range 1000 {
				if i%20 == 0 {
					s.after(20 * time.Millisecond)
				}
				if s.board.Ask(hls(fmt.Sprintf("invented%d-%d", second, i)), s.table.Servers, false).Busy {
					busy++
				}
			}
			if k, all := s.board.Sizes(); k != known || all > known+maxStrangers {
				t.Fatalf("after %d s %d contents are known and %d remembered, want %d and at most %d more", second, k, all, known, maxStrangers)
			}
			for c := range known {
				for i := range servers {
					f := s.fact(fmt.Sprint("known", c), i)
					if f.Presence != farms.Present || f.Frozen || !time.Now().Before(f.ServeUntil) {
						t.Fatalf("after %d s known%d on edge%d does not serve: %+v", second, c, i, f)
					}
					if old := time.Since(f.At); old > 2*set.LiveAge {
						t.Fatalf("after %d s known%d on edge%d was asked for %v ago", second, c, i, old)
					}
				}
			}
		}
		tokens := set.StrangersBurst + length*int(set.StrangersPerSec) + 1
		if opened := length*1000 - busy; opened > tokens {
			t.Errorf("%d questions about strangers were let through, want at most %d", opened, tokens)
		}
		for i, h := range s.hosts {
			if got := busiest(h.starts(true), time.Second); got > int(set.MaxPerSec) {
				t.Errorf("edge%d was asked %d times in a second, want at most %v", i, got, set.MaxPerSec)
			}
			strangers := 0
			for _, r := range h.requests(true)[before[i]:] {
				if strings.HasPrefix(r.path, "/invented") {
					strangers++
				}
			}
			if most := int(set.MaxPerSec) / 2 * (length + 2); strangers > most {
				t.Errorf("edge%d was asked for strangers %d times, want at most half of its rate, %d", i, strangers, most)
			}
		}
	})
}

// One token a question, however many servers it asks and however many viewers.
func TestBucket(t *testing.T) {
	t.Parallel()
	bubble(t, "tokens", func(t *testing.T) {
		set := defaults()
		set.StrangersPerSec, set.StrangersBurst = 1, 3
		set.MaxPerSec = 1000
		s := newScene(t, set)
		for range 5 {
			s.serve(http.NotFoundHandler())
		}
		s.start()
		for i := range 3 {
			if a := s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers[:1], false); a.Busy || a.Opened != 1 {
				t.Errorf("question %d: %+v, want it opened", i, a)
			}
			if a := s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers, false); a.Busy || a.Opened != 4 || a.Joined != 1 {
				t.Errorf("question %d at the other servers: %+v, want the same token to do", i, a)
			}
		}
		if a := s.board.Ask(hls("ch3"), s.table.Servers, false); !a.Busy || a.Opened != 0 {
			t.Errorf("the fourth question: %+v, want busy", a)
		}
		if s.board.Content(hls("ch3")) != nil {
			t.Error("a refused question is remembered")
		}
		s.after(absentAge(&set)) // five tokens are back, but three fit
		for i := range 3 {
			if a := s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers, false); a.Busy || a.Opened != 5 {
				t.Errorf("question %d asked again: %+v, want it opened for a token of its own", i, a)
			}
		}
		if a := s.board.Ask(hls("ch3"), s.table.Servers, false); !a.Busy {
			t.Errorf("the seventh question: %+v, want busy", a)
		}
		s.after(0)
	})
	bubble(t, "a_stranger_asked_again_needs_another", func(t *testing.T) {
		set := defaults()
		set.StrangersPerSec, set.StrangersBurst = 0.001, 1
		s := newScene(t, set)
		s.serve(http.NotFoundHandler())
		s.start()
		s.ask("ch")
		s.after(absentAge(&set))
		if a := s.board.Ask(hls("ch"), s.table.Servers, false); !a.Busy || a.Opened != 0 {
			t.Errorf("asked again: %+v, want busy", a)
		}
		if n := len(s.hosts[0].requests(true)); n != 1 {
			t.Errorf("the server was asked %d times, want once", n)
		}
	})
	bubble(t, "known_content_needs_none", func(t *testing.T) {
		set := defaults()
		set.StrangersPerSec, set.StrangersBurst = 0.001, 1
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.start()
		for range 20 {
			s.ask("ch")
			if f := s.fact("ch", 0); f.Presence != farms.Present {
				t.Fatalf("the fact is %+v", f)
			}
			s.after(set.LiveAge)
		}
		if n := len(s.hosts[0].requests(true)); n != 20 {
			t.Errorf("asked %d times, want 20", n)
		}
	})
}

// Scenario 7: a thousand returning viewers a second start one check a second.
func TestCheck(t *testing.T) {
	t.Parallel()
	bubble(t, "1000_a_second", func(t *testing.T) {
		s := healthy(t, 2, defaults())
		s.ask("ch")
		status, asked := len(s.hosts[0].requests(false)), len(s.hosts[0].requests(true))
		began := 0
		for range 10 {
			for range 1000 {
				s.after(time.Millisecond)
				if s.board.Check(hls("ch"), s.table.Servers[0]) {
					began++
				}
			}
		}
		if began < 9 || began > 10 {
			t.Errorf("%d checks in 10 s, want one a second", began)
		}
		if got := len(s.hosts[0].requests(true)) - asked; got < 9 || got > 10 {
			t.Errorf("%d content probes, want one a second", got)
		}
		if got := len(s.hosts[0].requests(false)) - status; got < 9 || got > 12 {
			t.Errorf("%d status probes, want one a second beside its own", got)
		}
		if got := len(s.hosts[1].requests(false)); got > 2 {
			t.Errorf("the other server was asked %d times", got)
		}
	})
	bubble(t, "finds_a_dead_server_at_once", func(t *testing.T) {
		s := healthy(t, 1, defaults())
		s.hosts[0].becomes(refusing)
		if !s.board.Check(hls("ch"), s.table.Servers[0]) {
			t.Fatal("no check was started")
		}
		s.after(0)
		if got := s.conditions(); got != "d" {
			t.Errorf("the server is %s, want down", got)
		}
	})
	bubble(t, "a_server_of_no_table", func(t *testing.T) {
		s := healthy(t, 1, defaults())
		if s.board.Check(hls("ch"), &farms.Server{Endpoint: 1}) {
			t.Error("a server that is in no table was checked")
		}
		if a := s.board.Ask(hls("ch"), []*farms.Server{{Endpoint: 1}}, false); a.Deferred != 1 {
			t.Errorf("asking it gives %+v, want deferred", a)
		}
	})
}

// The media playlists of a multivariant playlist are its children, until it
// names others.
func TestChildren(t *testing.T) {
	t.Parallel()
	bubble(t, "recognised_and_forgotten", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		var folder atomic.Value
		folder.Store("a")
		s.serve(streaming(func(r *http.Request) string {
			if r.URL.Path == "/ch/index.m3u8" {
				return strings.ReplaceAll(multivariant, "/index", "-"+folder.Load().(string)+"/index")
			}
			return liveAt(time.Now())
		}))
		s.start()
		if _, ok := s.board.Parent("/ch/low-a/index.m3u8"); ok {
			t.Error("a child is known before its parent")
		}
		s.ask("ch")
		for _, path := range []string{"/ch/low-a/index.m3u8", "/ch/high-a/index.m3u8"} {
			if ch, ok := s.board.Parent(path); !ok || ch != "ch" {
				t.Errorf("the parent of %s is %q, %v; want ch", path, ch, ok)
			}
		}
		if _, ok := s.board.Parent("/ch/index.m3u8"); ok {
			t.Error("the manifest is its own child")
		}
		child := farms.Content{Channel: "ch", Path: "/ch/low-a/index.m3u8", Protocol: farms.ProtocolHLS, Kind: farms.KindChild}
		if k := s.board.Content(child); k != s.board.Content(hls("ch")) {
			t.Errorf("what is known of the child is %+v, want what is known of its parent", k)
		}
		folder.Store("b")
		s.after(set.LiveAge)
		s.ask("ch")
		if _, ok := s.board.Parent("/ch/low-a/index.m3u8"); ok {
			t.Error("a child that is no longer listed is still known")
		}
		if _, ok := s.board.Parent("/ch/low-b/index.m3u8"); !ok {
			t.Error("a new child is not known")
		}
		s.after(max(set.StaleIfError, set.OffAir) + 2*set.SweepInterval)
		if _, ok := s.board.Parent("/ch/low-b/index.m3u8"); ok {
			t.Error("a child outlives its parent")
		}
		if s.board.Content(child) != nil || s.board.Content(hls("ch")) != nil {
			t.Error("a content nobody asked for is still known")
		}
		if known, all := s.board.Sizes(); known != 0 || all != 0 {
			t.Errorf("%d known and %d in all, want none", known, all)
		}
	})
	bubble(t, "a_content_that_is_read_stays", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.start()
		s.ask("ch")
		for range 30 {
			s.after(time.Minute)
			s.board.Touch(hls("ch"), time.Now())
		}
		if s.board.Content(hls("ch")) == nil {
			t.Error("a content that decisions read was forgotten")
		}
		s.board.Touch(hls("nothing"), time.Now())
	})
}

// A reload keeps what is known of the endpoints that stay, and forgets and
// leaves alone those that go.
func TestReload(t *testing.T) {
	t.Parallel()
	bubble(t, "keeps_and_forgets", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 3, set)
		s.ask("ch")
		first := s.table.Servers
		kept, gone := s.health(0), first[2].Endpoint
		fact := s.fact("ch", 0)
		set.StatusInterval = 10 * time.Second
		spec := s.spec(2)
		spec.Servers[0].State = farms.StateDraining // says nothing about the endpoint
		spec.Servers[1].ProbeQuery = "token=2"      // another endpoint
		s.load(spec, set)
		if s.table.Servers[0].Endpoint != first[0].Endpoint || s.table.Servers[1].Endpoint == first[1].Endpoint {
			t.Fatal("the endpoints are not what this test needs")
		}
		if h := s.health(0); h != kept {
			t.Errorf("health is %+v after the reload, want %+v", h, kept)
		}
		if f := s.fact("ch", 0); !reflect.DeepEqual(f, fact) {
			t.Errorf("the fact is %+v after the reload, want %+v", f, fact)
		}
		if h := s.health(1); h.Condition != farms.ConditionUnknown {
			t.Errorf("health of the new endpoint is %+v, want unknown", h)
		}
		if s.board.Health(gone) != nil || s.board.Health(first[1].Endpoint) != nil {
			t.Error("the health of a removed endpoint is still told")
		}
		seen := len(s.hosts[2].requests(false))
		s.after(2*set.SweepInterval + time.Second)
		s.board.Touch(hls("ch"), time.Now())
		if got := len(s.hosts[2].requests(false)); got != seen {
			t.Errorf("a removed server was asked %d times more", got-seen)
		}
		if got := s.conditions(); got != "uu" {
			t.Errorf("the servers are %s, want the new endpoint asked", got)
		}
		if k := s.board.Content(hls("ch")); k.Of(gone) != nil || k.Of(first[0].Endpoint) == nil {
			t.Errorf("the facts are %+v, want those of the removed endpoint swept and the others kept", k.Facts)
		}
		if got := busiest(s.hosts[0].starts(false)[2:], time.Minute); got < 5 {
			t.Errorf("%d status probes in a minute, want the new interval to count", got)
		}
	})
	bubble(t, "before_the_start", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(streaming(liveBody))
		s.serve(streaming(liveBody))
		s.update(1, defaults())
		s.update(2, defaults())
		if a := s.board.Ask(hls("ch"), s.table.Servers, false); a.Deferred != 2 {
			t.Errorf("asking before the start gives %+v, want deferred", a)
		}
		s.start()
		s.after(firstSweep)
		if got := s.conditions(); got != "uu" {
			t.Errorf("the servers are %s, want both asked", got)
		}
	})
	bubble(t, "the_same_endpoint_in_two_names", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(streaming(liveBody))
		spec := s.spec(1)
		twin := spec.Servers[0]
		twin.Name = "twin"
		spec.Servers = append(spec.Servers, twin)
		s.load(spec, defaults())
		s.start()
		s.after(10 * time.Minute)
		if n := len(s.hosts[0].requests(false)); n > 10*60/24+2 {
			t.Errorf("the endpoint was asked %d times in ten minutes, want one loop for both names", n)
		}
	})
}

// Nothing is left running when the context ends, in the middle of everything.
func TestEnd(t *testing.T) {
	t.Parallel()
	bubble(t, "in_the_middle", func(t *testing.T) {
		set := defaults()
		set.MaxInFlight, set.MaxPerSec = 1, 2
		set.SelfCheck = []string{"http://edge0/"}
		s := newScene(t, set)
		s.serve(delayed(3*time.Second, streaming(liveBody)))
		s.serve(streaming(liveBody)).becomes(silent)
		s.start()
		for i := range 10 {
			s.board.Ask(hls(fmt.Sprint("ch", i)), s.table.Servers, false)
		}
		s.after(700 * time.Millisecond)
		ended := time.Now()
		s.end()
		s.board.Wait()
		if took := time.Since(ended); took != 0 {
			t.Errorf("the loops ended %v after the context", took)
		}
		synctest.Wait()
		if n := s.net.dials.Load(); n != 0 {
			t.Errorf("%d dials are left", n)
		}
		// Nobody is told of answers that were given up.
		for i := range 10 {
			if k := s.board.Content(hls(fmt.Sprint("ch", i))); k != nil && len(k.Facts) > 0 {
				t.Errorf("ch%d: giving up made a fact: %+v", i, k.Facts)
			}
		}
	})
}

// Names tell which viewers can reach a server.
func TestReach(t *testing.T) {
	t.Parallel()
	bubble(t, "families", func(t *testing.T) {
		s := newScene(t, defaults())
		var failing atomic.Bool
		addrs := map[string][]netip.Addr{
			"edge0": {netip.MustParseAddr("192.0.2.1")}, "edge1": {netip.MustParseAddr("2001:db8::1")},
			"edge2": {netip.MustParseAddr("::ffff:192.0.2.1"), netip.MustParseAddr("2001:db8::1")},
		}
		s.board.opt.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			if a, ok := addrs[host]; ok && !failing.Load() {
				return a, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: host}
		}
		for range 4 {
			s.serve(streaming(liveBody))
		}
		s.net.host("192.0.2.9:80", streaming(liveBody))
		spec := s.spec(4)
		spec.Servers = append(spec.Servers, farms.ServerSpec{Name: "literal", URL: "http://192.0.2.9", StatusPath: "/"})
		s.load(spec, defaults())
		s.start()
		s.after(firstSweep)
		for i, want := range []farms.Reach{farms.ReachV4, farms.ReachV6, farms.ReachBoth, farms.ReachUnknown, farms.ReachUnknown} {
			if h := s.health(i); h.Reach != want || h.Condition != farms.ConditionUp {
				t.Errorf("server %d: reach %d, want %d", i, h.Reach, want)
			}
		}
		failing.Store(true)
		s.after(time.Minute)
		if h := s.health(0); h.Reach != farms.ReachV4 {
			t.Errorf("reach is %d when the name cannot be looked up, want what it was", h.Reach)
		}
	})
}

// The response time is smoothed, and a server that is slow to answer about
// content is a slow server.
func TestResponseTime(t *testing.T) {
	t.Parallel()
	bubble(t, "smoothed", func(t *testing.T) {
		set := defaults()
		set.StatusInterval = 1000 * time.Hour // so that only what this test starts is measured
		s := newScene(t, set)
		s.serve(delayed(100*time.Millisecond, streaming(liveBody)))
		s.start()
		s.after(firstSweep)
		if h := s.health(0); h.RTT != 100*time.Millisecond {
			t.Errorf("the response time is %v, want 100ms", h.RTT)
		}
		s.hosts[0].handle(delayed(500*time.Millisecond, streaming(liveBody)))
		s.ask("ch")
		s.after(time.Second)
		if h := s.health(0); h.RTT != 200*time.Millisecond {
			t.Errorf("the response time is %v, want a quarter of the way from 100ms to 500ms", h.RTT)
		}
	})
}

// The words for the counters are a closed set.
func TestResultsAreClosed(t *testing.T) {
	t.Parallel()
	bubble(t, "words", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.serve(streaming(liveBody)).becomes(silent)
		s.serve(streaming(liveBody)).becomes(refusing)
		s.serve(answers(500, ""))
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				w.WriteHeader(403)
			}
		}))
		s.serve(http.NotFoundHandler())
		spec := s.spec(6)
		spec.Servers = append(spec.Servers, farms.ServerSpec{Name: "nowhere", URL: "http://nowhere", StatusPath: "/"})
		s.load(spec, set)
		s.start()
		s.ask("ch")
		s.after(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		words := Results()
		for result := range s.results {
			kind, word, _ := strings.Cut(result, " ")
			if !slices.Contains(words[kind], word) {
				t.Errorf("result %q is none of %q", result, words)
			}
		}
		for kind, list := range words {
			for _, word := range list {
				if s.results[kind+" "+word] == 0 {
					t.Errorf("no result was %q: %v", kind+" "+word, s.results)
				}
			}
		}
	})
}

// TestScarcePlacesLearnManyChannels: when servers have few places for content
// that nobody has had, each new channel is asked of some of them, so that a farm
// learns as many channels as its rates together allow.
func TestScarcePlacesLearnManyChannels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const servers, channels = 10, 50
		s := newScene(t, defaults())
		for range servers {
			s.serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, vodPlaylist) }))
		}
		s.load(s.spec(servers), defaults())
		s.start()
		asked := make([]farms.Content, channels)
		for i := range asked {
			asked[i] = farms.Content{Channel: fmt.Sprintf("ch%d", i), Path: fmt.Sprintf("/ch%d/index.m3u8", i), Protocol: farms.ProtocolHLS}
			if a := s.board.Ask(asked[i], s.table.Servers, false); a.Opened == 0 {
				t.Errorf("nobody is asked about channel %d: %+v", i, a)
			}
		}
		s.after(1500 * time.Millisecond)
		for i, c := range asked {
			known := s.board.Content(c)
			if known == nil || len(known.Facts) == 0 {
				t.Errorf("nothing is known of channel %d within a decision's deadline", i)
			}
		}
	})
}

const vodPlaylist = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n"
