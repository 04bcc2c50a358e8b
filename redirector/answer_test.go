package redirector

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// common are the headers of every answer.
func common(more ...string) http.Header {
	h := http.Header{
		"Cache-Control": {"no-store"}, "Expires": {"0"},
		"Access-Control-Allow-Origin": {"*"}, "Access-Control-Expose-Headers": {"Date, Retry-After, Location"},
	}
	for i := 0; i+1 < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

func wantHeader(t testing.TB, got, want http.Header) {
	t.Helper()
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("headers %v, want %v", got, want)
	}
}

// refusalHeader is common with what comes with a body.
func refusalHeader(length int, more ...string) http.Header {
	return common(append([]string{"Content-Type", "application/problem+json", "Content-Length", fmt.Sprint(length)}, more...)...)
}

func TestRedirectAnswer(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a")
		s.knows("a", farms.Present, nil)
		for _, method := range []string{"GET", "HEAD"} {
			rw := s.get(method, stagePath+"?a=1&b=%zz")
			if rw.Code != 302 || rw.Body.Len() > 0 {
				t.Errorf("%s: %d with %d bytes, want 302 with none", method, rw.Code, rw.Body.Len())
			}
			wantHeader(t, rw.Header(), common("Location", "http://a.example/ch/index.m3u8?a=1&b=%zz", "Content-Length", "0"))
		}
	})
}

// TestRefusalsByReason makes every refusal and checks all of its answer.
func TestRefusalsByReason(t *testing.T) {
	t.Parallel()
	type row struct {
		reason farms.Reason
		set    func(s *stage)
		method string
		target string
		header []string
		more   []string // headers beside the usual
	}
	nothing := func(*stage) {}
	rows := []row{
		{reason: farms.ReasonBadRequest, set: nothing, target: "/hls/a/../b"},
		{reason: farms.ReasonURITooLong, set: nothing, target: "/hls/" + strings.Repeat("a", maxPathBytes)},
		{reason: farms.ReasonMethodNotAllowed, set: nothing, method: "DELETE", target: "/hls" + stagePath, more: []string{"Allow", "GET, HEAD, OPTIONS"}},
		{reason: farms.ReasonUnknownHost, set: func(s *stage) { s.set.Hosts = map[string]bool{"other.example": true} }, target: "/hls" + stagePath},
		{reason: farms.ReasonUnknownPath, set: nothing, target: "/dash" + stagePath},
		{reason: farms.ReasonNoLocation, set: nothing, target: "/hls/private/index.m3u8"},
		{reason: farms.ReasonFarmDown, set: func(s *stage) { s.down("a", time.Second) }, target: "/hls" + stagePath, more: []string{"Retry-After", "5"}},
		{reason: farms.ReasonBusy, set: func(s *stage) { s.p.busy = true }, target: "/hls" + stagePath, more: []string{"Retry-After", "2"}},
		{
			reason: farms.ReasonOffAir, set: func(s *stage) { s.knows("a", farms.Absent, func(f *farms.Fact) { f.HeldAt = f.At.Add(-time.Minute) }) },
			target: "/hls" + stagePath, more: []string{"Retry-After", "3"},
		},
		{reason: farms.ReasonContentMissing, set: func(s *stage) { s.knows("a", farms.Absent, nil) }, target: "/hls" + stagePath},
		{reason: farms.ReasonBadWindow, set: nothing, target: "/hls/ch/archive-1767132000-0.m3u8"},
		{reason: farms.ReasonArchiveFuture, set: nothing, target: fmt.Sprintf("/hls/ch/archive-%d-60.m3u8", 1<<32)},
		{reason: farms.ReasonArchiveMissing, set: func(s *stage) { s.answers("a", 0, farms.Absent) }, target: "/hls/ch/archive-900000000-3600.m3u8"},
		{reason: farms.ReasonRetired, set: func(s *stage) {
			s.set.Steering = &SteeringSettings{Path: "/steering", Retired: map[string]bool{"ch": true}}
		}, target: "/steering/ch/index.m3u8"},
	}
	seen := map[farms.Reason]bool{farms.ReasonOK: true, farms.ReasonPreflight: true}
	for _, row := range rows {
		seen[row.reason] = true
		t.Run(row.reason.String(), func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				spec := stageSpec(t, "weight a")
				spec.Locations[0].URIRegex = "^/ch/"
				s := newStageOf(t, spec, func(set *Settings) { set.URIPath, set.Archive = "/hls", dialects(t) })
				row.set(s)
				method := row.method
				if method == "" {
					method = "GET"
				}
				rw := s.get(method, row.target, row.header...)
				var p problem
				if err := json.Unmarshal(rw.Body.Bytes(), &p); err != nil {
					t.Fatalf("%q: %v", rw.Body, err)
				}
				status := statusOf[row.reason]
				want := problem{"about:blank", http.StatusText(status), status, row.reason.String(), p.Detail}
				if rw.Code != status || p != want || p.Detail == "" {
					t.Errorf("%d %+v, want %d %+v", rw.Code, p, status, want)
				}
				wantHeader(t, rw.Header(), refusalHeader(rw.Body.Len(), row.more...))
				if method != "GET" {
					return
				}
				head := s.get("HEAD", row.target, row.header...)
				if head.Code != status || head.Body.Len() > 0 {
					t.Errorf("HEAD: %d with %d bytes", head.Code, head.Body.Len())
				}
				wantHeader(t, head.Header(), rw.Header())
			})
		})
	}
	for _, r := range farms.Reasons() {
		if !seen[r] {
			t.Errorf("reason %v has no row here", r)
		}
	}
}

func TestBodiesAndExpectations(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight/assume a")
	for _, row := range []struct {
		name   string
		edit   func(*http.Request)
		status int
	}{
		{"body", func(r *http.Request) { r.ContentLength = 3 }, 400},
		{"chunked", func(r *http.Request) { r.TransferEncoding = []string{"chunked"}; r.ContentLength = -1 }, 400},
		{"expect", func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, 417},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "http://tv.example"+stagePath, nil)
			r.RemoteAddr = stageViewer + ":1"
			row.edit(r)
			rw := httptest.NewRecorder()
			s.e.Viewers().ServeHTTP(rw, r)
			if rw.Code != row.status || rw.Header().Get("Connection") != "close" || !strings.Contains(rw.Body.String(), `"bad_request"`) {
				t.Errorf("%d %v %s", rw.Code, rw.Header(), rw.Body)
			}
		})
	}
}

func TestPreflightAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight a")
	for _, target := range []string{stagePath, "*", "/../x", ""} {
		rw := s.get("OPTIONS", target, "Origin", "https://player.example", "Access-Control-Request-Headers", "authorization")
		if rw.Code != 204 || rw.Body.Len() > 0 {
			t.Errorf("%q: %d with %d bytes", target, rw.Code, rw.Body.Len())
		}
		wantHeader(t, rw.Header(), common(
			"Allow", "GET, HEAD, OPTIONS", "Access-Control-Allow-Methods", "GET, HEAD, OPTIONS",
			"Access-Control-Allow-Headers", "*, Authorization, Range", "Access-Control-Max-Age", "86400",
		))
	}
}

// TestJSONAnswer is for Accept: application/json alone.
func TestJSONAnswer(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a")
		s.knows("a", farms.Present, nil)
		rw := s.get("GET", stagePath+"?a=1&b=%3C2%3E", "Accept", "application/json")
		const want = `{"url":"http://a.example/ch/index.m3u8?a=1&b=%3C2%3E","server":"a","farm":"f1"}` + "\n"
		if rw.Code != 200 || rw.Body.String() != want {
			t.Errorf("%d %s, want 200 %s", rw.Code, rw.Body, want)
		}
		wantHeader(t, rw.Header(), common("Content-Type", "application/json", "Content-Length", fmt.Sprint(len(want))))
		head := s.get("HEAD", stagePath+"?a=1&b=%3C2%3E", "Accept", "application/json")
		if head.Code != 200 || head.Body.Len() > 0 {
			t.Errorf("HEAD: %d with %d bytes", head.Code, head.Body.Len())
		}
		wantHeader(t, head.Header(), rw.Header())
		for _, accept := range []string{"", "*/*", "application/json, text/plain, */*", "application/json;q=0.9", "text/html", "application/problem+json"} {
			if rw := s.get("GET", stagePath, "Accept", accept); rw.Code != 302 {
				t.Errorf("Accept %q: %d, want 302", accept, rw.Code)
			}
		}
		if rw := s.get("GET", stagePath, "Accept", "application/json", "Accept", "application/json"); rw.Code != 302 {
			t.Errorf("two Accept lines: %d, want 302", rw.Code)
		}
		if rw := s.get("GET", "/a/../b", "Accept", "application/json"); rw.Code != 400 || rw.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("a refusal with Accept application/json: %d %v", rw.Code, rw.Header())
		}
	})
}

// TestFallbackAnswer: the location's fallback_url stands in for any refusal of
// its own, with the path and the query.
func TestFallbackAnswer(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		spec := stageSpec(t, "weight a")
		spec.Locations[0].FallbackURL = "https://last.example/resort/"
		s := newStageOf(t, spec, nil)
		s.down("a", time.Second)
		for _, accept := range []string{"*/*", "application/json"} {
			rw := s.get("GET", stagePath+"?t=1", "Accept", accept)
			if rw.Code != 302 || rw.Body.Len() > 0 {
				t.Errorf("%d with %d bytes", rw.Code, rw.Body.Len())
			}
			wantHeader(t, rw.Header(), common("Location", "https://last.example/resort/ch/index.m3u8?t=1", "Content-Length", "0"))
		}
		if d := s.visits(visit{}); d.Reason != farms.ReasonFarmDown || !d.Fallback || d.Server != nil {
			t.Errorf("the decision is %v, fallback %v", d.Reason, d.Fallback)
		}
		if rw := s.get("GET", "/a/../b"); rw.Code != 400 {
			t.Errorf("a bad request: %d, want 400", rw.Code)
		}
	})
}

// TestOneOriginHeader: on the wire, over a real connection, whatever the viewer
// sends.
func TestOneOriginHeader(t *testing.T) {
	t.Parallel()
	spec := stageSpec(t, "weight/assume a")
	s := newStageOf(t, spec, nil)
	srv := httptest.NewServer(s.e.Viewers())
	t.Cleanup(srv.Close)
	for _, request := range []string{
		"GET /ch/index.m3u8 HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\n",
		"OPTIONS /ch/index.m3u8 HTTP/1.1\r\nHost: x\r\nOrigin: null\r\n",
		"DELETE / HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nOrigin: https://b.example\r\n",
		"GET /a/../b HTTP/1.1\r\nHost: x\r\n",
	} {
		answer := overTheWire(t, srv.Listener.Addr().String(), request+"Connection: close\r\n\r\n")
		if n := strings.Count(strings.ToLower(answer), "access-control-allow-origin:"); n != 1 {
			t.Errorf("%q: %d Access-Control-Allow-Origin headers in %q", request, n, answer)
		}
		if !strings.Contains(answer, "\r\nDate: ") {
			t.Errorf("%q: no Date in %q", request, answer)
		}
	}
}

func overTheWire(t testing.TB, addr, request string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHealthForBalancers: on the viewer listener, for any Host and method.
func TestHealthForBalancers(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.Hosts = map[string]bool{"tv.example": true} })
	check := func(status int, body string) {
		t.Helper()
		rw := s.get("GET", "/.pointsman/health")
		if rw.Code != status || rw.Body.String() != body || rw.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%d %q %v, want %d %q", rw.Code, rw.Body, rw.Header(), status, body)
		}
		if (rw.Header().Get("Retry-After") != "") != (status == 503) {
			t.Errorf("%d with Retry-After %q", status, rw.Header().Get("Retry-After"))
		}
	}
	check(200, "ready\n")
	ready := s.p.ready
	s.p.ready = make(chan struct{}) // the first sweep is not over
	check(503, "not ready\n")
	s.p.ready = ready
	check(200, "ready\n")
	s.e.Drain()
	check(503, "not ready\n")
	if rw := s.get("GET", "/.pointsman/healthy"); rw.Code == 200 {
		t.Error("another path is answered as health")
	}
}

// TestNothingIsLoadedYet: an engine without a table is not ready, and says no
// more.
func TestNothingIsLoadedYet(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight a")
	s.e.view.Store(nil)
	if rw := s.get("GET", stagePath); rw.Code != 503 || rw.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", rw.Code, rw.Header())
	}
	if s.e.Table() != nil || s.e.Ready() {
		t.Error("there is a table, or it is ready")
	}
}
