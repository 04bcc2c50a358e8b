package redirector

import (
	"cmp"
	"context"
	"fmt"
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
