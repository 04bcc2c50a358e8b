package test

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// badInput is one hostile or odd request, and what becomes of it.
type badInput struct {
	name string // its number in the matrix and a few words; the User-Agent too
	send string // the bytes; NAME in them is replaced by the name

	from      string // the peer's address; 127.0.0.1 when empty
	halfClose bool   // the sender says no more: what never ends a line would be waited for

	// status lists the acceptable answers; 0 is a connection closed without one.
	status []int
	// reason is the decision's; "" where net/http answers by itself, before a
	// decision is made, so that there is no decision line.
	reason string
	// location is the Location header without its server, "" none.
	location string
	farm     string // that serves, where it matters
	// asks says that the request is a good one for content nobody has asked for
	// before, so that servers are asked about it.
	asks bool
}

// badScene is a running instance with its streaming servers.
type badScene struct {
	p       *rig.Pointsman
	origins map[string]*rig.Origin // by farm
}

// newBadScene starts an instance with three farms of one server each: lan for
// 10.0.0.0/8 and fc00::/7, home for 127.0.0.0/8, world for the rest.
func newBadScene(t *testing.T, core rig.Config) *badScene {
	t.Helper()
	s := &badScene{origins: map[string]*rig.Origin{}}
	var farms []rig.Config
	for _, name := range []string{"lan", "home", "world"} {
		o := rig.NewOrigin(t, name, "")
		o.SetRest(rig.VoD) // a live playlist would be looked at a second time by itself
		s.origins[name] = o
		farms = append(farms, rig.Config{"name": name, "servers": []rig.Config{{"name": name + "-1", "url": o.URL()}}})
	}
	s.p = rig.Start(t, rig.Config{
		"core": core,
		"redirection": rig.Config{
			"uri_path": "/", "channel_regex": "^([^/]+)/", "farms": farms,
			"vod_range_cache_time_sec": 3600, "return_evidence": "off",
			"locations": []rig.Config{
				{"name": "lan", "farms": []string{"lan"}, "ip_mask": []string{"10.0.0.0/8", "fc00::/7"}},
				{"name": "home", "farms": []string{"home"}, "ip_mask": []string{"127.0.0.0/8"}},
				{"name": "world", "farms": []string{"world"}, "ip_mask": []string{"0.0.0.0/0", "::/0"}},
			},
		},
	})
	return s
}

// warm has every farm's server asked about a channel that is there, so that
// requests for knownPath ask nobody any more, and about one that is not, so that
// every series of a content probe is there. prefix goes before the request, line
// between its header lines.
func (s *badScene) warm(t *testing.T, prefix, line func(addr string) string) {
	t.Helper()
	for farm, addr := range map[string]string{"lan": "10.1.1.1", "home": "127.0.0.1", "world": "203.0.113.9"} {
		s.origins[farm].Set("missing", rig.Missing)
		for path, want := range map[string]int{knownPath: 302, "/missing/index.m3u8": 404} {
			x := rig.Exchange{
				Addr: s.p.Addr(), Within: 5 * time.Second,
				Send: prefix(addr) + "GET " + path + " HTTP/1.1\r\nHost: tv.example.net\r\nUser-Agent: warm\r\n" + line(addr) + "\r\n",
			}
			res, err := x.Do()
			if err != nil || res.StatusCode != want || want == 302 && !strings.HasPrefix(res.Location(), s.origins[farm].URL()) {
				t.Fatalf("warming farm %s with %s: %v, %v", farm, path, err, res.Response)
			}
		}
	}
}

// endure sends every input and holds the answers and what must be true of each
// of them: the process lives, the answer comes within a second, Location names
// a configured server and holds no control byte, no metric series appears, no
// server is asked, the log has one short JSON line at most, and in the end no
// goroutine and no descriptor is left over.
func (s *badScene) endure(t *testing.T, inputs []badInput) {
	t.Helper()
	series := s.p.Series()
	base := s.p.Footprint()
	seen := s.questions()
	for i := range inputs {
		in := &inputs[i]
		t.Run(in.name, func(t *testing.T) { s.send(t, in) })
		if n := s.questions(); !in.asks && n != seen {
			t.Errorf("%s: servers were asked %d times", in.name, n-seen)
		} else {
			seen = n
		}
	}
	s.p.Settles(10*time.Second, base)
	if !s.p.Alive() {
		t.Fatal("the process has ended")
	}
	if more := s.p.Series(); !maps.Equal(series, more) {
		maps.DeleteFunc(more, func(name string, _ bool) bool { return series[name] })
		t.Errorf("new metric series: %v", slices.Collect(maps.Keys(more)))
	}
	s.judgeLog(t, inputs)
}

func (s *badScene) questions() (n int) {
	for _, o := range s.origins {
		n += len(o.Seen())
	}
	return n
}

func (s *badScene) send(t *testing.T, in *badInput) {
	x := rig.Exchange{
		Addr: s.p.Addr(), From: in.from, HalfClose: in.halfClose,
		Send: strings.ReplaceAll(in.send, "NAME", in.name),
	}
	res, err := x.Do()
	status := 0
	switch {
	case err == nil:
		status = res.StatusCode
	case !errors.Is(err, rig.ErrClosed):
		t.Fatalf("no answer within a second: %v", err)
	}
	if !slices.Contains(in.status, status) {
		t.Fatalf("answered %d, expected %v; body %q", status, in.status, res.Body)
	}
	if err != nil {
		return
	}
	if status >= 400 && res.Reason() != in.reason {
		t.Errorf("reason %q, expected %q; body %q", res.Reason(), in.reason, res.Body)
	}
	base, err := s.baseOf(res.Location())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimPrefix(res.Location(), base); got != in.location {
		t.Errorf("Location ends with %q, expected %q", got, in.location)
	}
	if in.farm != "" && base != s.origins[in.farm].URL() {
		t.Errorf("Location %q, expected a server of farm %s", res.Location(), in.farm)
	}
}

// baseOf returns the configured server that a Location names.
func (s *badScene) baseOf(location string) (string, error) {
	if location == "" {
		return "", nil
	}
	for i := range len(location) {
		if b := location[i]; b <= ' ' || b > '~' {
			return "", fmt.Errorf("Location %q has byte %#x", location, b)
		}
	}
	u, err := url.Parse(location)
	if err != nil {
		return "", err
	}
	for _, o := range s.origins {
		if u.Host == o.Addr && u.Scheme == "http" && u.User == nil {
			return o.URL(), nil
		}
	}
	return "", fmt.Errorf("Location %q names a server nobody configured", location)
}

// judgeLog looks at what all the inputs left in the log: decisions are told
// apart by their User-Agent.
func (s *badScene) judgeLog(t *testing.T, inputs []badInput) {
	t.Helper()
	want := func(in *badInput) int {
		if in.reason != "" {
			return 1
		}
		return 0
	}
	rig.Eventually(t, 2*time.Second, func() error {
		for i := len(inputs) - 1; i >= 0; i-- {
			if in := &inputs[i]; want(in) == 1 && strings.Contains(in.send, "NAME") {
				if len(s.p.Decisions(in.name)) == 0 {
					return fmt.Errorf("%s has no log line", in.name)
				}
				return nil // the log is in order
			}
		}
		return nil
	})
	for i := range inputs {
		in := &inputs[i]
		if !strings.Contains(in.send, "NAME") {
			continue
		}
		lines := s.p.Decisions(in.name)
		if len(lines) != want(in) {
			t.Errorf("%s has %d log lines, expected %d", in.name, len(lines), want(in))
			continue
		}
		if want(in) == 1 && lines[0]["reason"] != in.reason {
			t.Errorf("%s: the log says %v, expected reason %s", in.name, lines[0], in.reason)
		}
	}
	for _, line := range s.p.NotJSON() {
		t.Errorf("an output line is no JSON: %q", line)
	}
	for _, line := range s.p.Log() {
		if strings.Contains(fmt.Sprint(line), "panic") {
			t.Errorf("the log speaks of a panic: %v", line)
		}
	}
	if n := s.p.LongestLine(); n >= 4096 {
		t.Errorf("the longest log line has %d bytes, expected less than 4096", n)
	}
}

// rawGet makes a GET of a request target.
func rawGet(target string, lines ...string) string {
	return rawRequest("GET", target, lines...)
}

// rawRequest makes a request with the test's name as User-Agent. Lines are added
// as they are.
func rawRequest(method, target string, lines ...string) string {
	var b strings.Builder
	b.WriteString(method + " " + target + " HTTP/1.1\r\nHost: tv.example.net\r\nUser-Agent: NAME\r\n")
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}
