package redirector

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// warmProber knows that every server is up and has everything.
type warmProber struct {
	health *farms.Endpoints[*farms.Health]
	known  *farms.Known
	ready  chan struct{}
}

func newWarmProber(t *farms.Table) *warmProber {
	health := map[farms.Endpoint]*farms.Health{}
	p := &warmProber{known: &farms.Known{Changed: make(chan struct{})}, ready: make(chan struct{})}
	close(p.ready)
	now := time.Now()
	for _, s := range t.Servers {
		health[s.Endpoint] = &farms.Health{Condition: farms.ConditionUp, Since: now, RTT: 10 * time.Millisecond}
		p.known.Facts = append(p.known.Facts, farms.Fact{
			Endpoint: s.Endpoint, Presence: farms.Present, Multivariant: true, At: now,
			FreshUntil: now.Add(time.Hour), ServeUntil: now.Add(time.Hour), HeldAt: now, MovedAt: now,
		})
	}
	p.health = farms.NewEndpoints(health)
	slices.SortFunc(p.known.Facts, func(a, b farms.Fact) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	return p
}

func (p *warmProber) Health(ep farms.Endpoint) *farms.Health               { return p.health.Get(ep) }
func (p *warmProber) Content(farms.Content) *farms.Known                   { return p.known }
func (p *warmProber) Ask(farms.Content, []*farms.Server, bool) farms.Asked { return farms.Asked{} }
func (p *warmProber) Check(farms.Content, *farms.Server) bool              { return false }
func (p *warmProber) Touch(farms.Content, time.Time)                       {}
func (p *warmProber) Parent(string) (string, bool)                         { return "", false }
func (p *warmProber) Manifest(string) (farms.Content, bool)                { return farms.Content{}, false }
func (p *warmProber) Ready() <-chan struct{}                               { return p.ready }
func (p *warmProber) Sizes() (int, int)                                    { return 1, 1 }

// benchSpec is a table of n /24 prefixes over 1,000 locations and one farm.
func benchSpec(prefixes, servers int, policy farms.Policy) *farms.Spec {
	spec := &farms.Spec{Rules: farms.Rules{StaleIfError: time.Minute, OffAir: time.Minute, SlowStart: time.Second, Sticky: time.Minute}}
	farm := farms.FarmSpec{Name: "farm", Policy: policy}
	for i := range servers {
		name := fmt.Sprintf("edge%d.example:80", i)
		spec.Servers = append(spec.Servers, farms.ServerSpec{Name: name, URL: "http://" + name, StatusPath: "/"})
		farm.Members = append(farm.Members, farms.MemberSpec{Server: name, Weight: 1})
	}
	spec.Farms = []farms.FarmSpec{farm}
	n := min(prefixes, 1000)
	for i := range n {
		spec.Locations = append(spec.Locations, farms.LocationSpec{Name: fmt.Sprintf("l%d", i), Farms: []string{"farm"}, URIRegex: ".*"})
	}
	for i := range prefixes {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10 + byte(i>>16), byte(i >> 8), byte(i), 0}), 24)
		l := &spec.Locations[i%n]
		l.Prefixes = append(l.Prefixes, p)
	}
	return spec
}

func benchEngine(tb testing.TB, spec *farms.Spec) *Engine {
	tb.Helper()
	t, err := farms.Build(spec, 1)
	if err != nil {
		tb.Fatal(err)
	}
	m := NewMetrics("test", "test")
	e := New(Options{Prober: newWarmProber(t), Log: zerolog.Nop(), Decisions: zerolog.Nop(), Metrics: m, Alarms: NewAlarms(zerolog.Nop(), m.Alarm)})
	clients, err := clientip.New(nil, clientip.XForwardedFor)
	if err != nil {
		tb.Fatal(err)
	}
	dialects, err := archive.New(archive.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	e.Swap(t, &Settings{Clients: clients, Archive: dialects, DecisionTimeout: time.Second, HealthPath: "/.pointsman/health", LogSample: 1})
	return e
}

// BenchmarkDecision is the warm decision: parse the target, locate, choose,
// write the Location, commit.
func BenchmarkDecision(b *testing.B) {
	for _, policy := range []farms.Policy{farms.FirstResponse, farms.ContentID, farms.ByWeight, farms.Share} {
		for _, prefixes := range []int{10, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/prefixes=%d/servers=20", policy, prefixes), func(b *testing.B) {
				e := benchEngine(b, benchSpec(prefixes, 20, policy))
				v := e.view.Load()
				var viewers [1024]clientip.Viewer
				for i := range viewers {
					j := i * prefixes / len(viewers)
					a := netip.AddrFrom4([4]byte{10 + byte(j>>16), byte(j >> 8), byte(j), 7})
					viewers[i] = clientip.Viewer{Addr: a, Peer: a}
				}
				ctx := context.Background()
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					w := e.begin()
					e.decide(ctx, w, v, Request{
						Method: "GET", RawTarget: "/sports1/index.m3u8?token=abcdef0123456789&q=1", Host: "tv.example.com",
						UserAgent: "player/1.0 (set-top box)", Viewer: viewers[i&1023],
					})
					if w.decision.Server == nil {
						b.Fatal(w.decision.Reason, w.decision.Detail)
					}
					e.commit(w, v)
					e.end(w)
					i++
				}
			})
		}
	}
}

// nobody takes an answer and keeps nothing of it.
type nobody struct{ header http.Header }

func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) Write(b []byte) (int, error) { return len(b), nil }
func (n *nobody) WriteHeader(int)             { clear(n.header) }

// BenchmarkViewer is all that the HTTP door does for a warm decision, from the
// parsed request to the answer, without the log line.
func BenchmarkViewer(b *testing.B) {
	for _, forwarded := range []bool{false, true} {
		b.Run(fmt.Sprintf("forwarding_header=%v", forwarded), func(b *testing.B) {
			e := benchEngine(b, benchSpec(10_000, 20, farms.ContentID))
			const target = "/sports1/index.m3u8?token=abcdef0123456789&q=1"
			var requests [256]*http.Request
			for i := range requests {
				r := &http.Request{
					Method: "GET", RequestURI: target, Host: "tv.example.com", RemoteAddr: fmt.Sprintf("10.0.%d.7:40000", i),
					Header: http.Header{"User-Agent": {"player/1.0 (set-top box)"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}},
				}
				if forwarded {
					r.Header["X-Forwarded-For"] = []string{"203.0.113.9"}
				}
				requests[i] = r
			}
			rw, door := &nobody{http.Header{}}, e.Viewers()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				door.ServeHTTP(rw, requests[i&255])
			}
		})
	}
}

// BenchmarkSense is what watching traffic adds to a request: to one beyond the
// share that is looked at, and to one that is.
func BenchmarkSense(b *testing.B) {
	b.Run("passed_over", func(b *testing.B) {
		s, now := newSense(), time.Now()
		for s.due(now) {
		}
		for b.Loop() {
			s.due(now)
		}
	})
	b.Run("looked_at", func(b *testing.B) {
		e := benchEngine(b, benchSpec(10_000, 20, farms.ContentID))
		v := e.view.Load()
		h := http.Header{"User-Agent": {"player"}, "X-Forwarded-For": {"203.0.113.9"}}
		var works [1024]*work
		for i := range works {
			a := netip.AddrFrom4([4]byte{10, 0, byte(i), 7})
			works[i] = e.begin()
			e.decide(context.Background(), works[i], v, Request{
				Method: "GET", RawTarget: fmt.Sprintf("/sports%d/index.m3u8?token=%d&q=1", i%100, i), Viewer: clientip.Viewer{Addr: a, Peer: a},
			})
			if works[i].decision.Server == nil {
				b.Fatal(works[i].decision.Detail)
			}
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			e.sense.see(works[i&1023], v, h)
		}
	})
}
