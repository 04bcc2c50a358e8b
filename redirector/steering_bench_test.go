package redirector

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
	"github.com/pointsman-tv/pointsman/steering"
)

// steeringEngine is an engine with content steering on: pathways farms of one
// location, of two servers each.
func steeringEngine(tb testing.TB, pathways int, edit func(*SteeringSettings)) *Engine {
	tb.Helper()
	spec := benchSpec(1, 2*pathways, farms.FirstResponse)
	members := spec.Farms[0].Members
	spec.Farms, spec.Locations[0].Farms = nil, nil
	for i := range pathways {
		name := fmt.Sprintf("way%d", i)
		spec.Farms = append(spec.Farms, farms.FarmSpec{Name: name, PublicURL: "http://" + name + ".example", Members: members[2*i : 2*i+2]})
		spec.Locations[0].Farms = append(spec.Locations[0].Farms, name)
	}
	e := benchEngine(tb, spec)
	ring, err := steering.NewRing([][]byte{make([]byte, steering.MinKey)})
	if err != nil {
		tb.Fatal(err)
	}
	set := *e.view.Load().set
	set.Steering = &SteeringSettings{
		Path: "/steering", ContentType: "application/vnd.apple.steering-list", Deadline: 300 * time.Millisecond, Ring: ring,
		TTL: steering.TTLRules{TTL: 300 * time.Second, Degraded: 30 * time.Second, Min: 2 * time.Second, Max: time.Hour, Jitter: 0.1},
	}
	if edit != nil {
		edit(set.Steering)
	}
	e.Swap(e.Table(), &set)
	return e
}

// pollOf is a player's poll with the token of its last manifest.
func pollOf(tb testing.TB, e *Engine) Request {
	tb.Helper()
	a := netip.MustParseAddr("10.0.0.7")
	token := e.view.Load().set.Steering.Ring.Seal(steering.Session{Identity: 1, Content: hashString("sports1"), Issued: time.Now()})
	return Request{
		Method: "GET", Host: "tv.example.com", UserAgent: "player/1.0 (set-top box)", Viewer: clientip.Viewer{Addr: a, Peer: a},
		RawTarget: "/steering/sports1/index.m3u8?token=abcdef0123456789&pm_sid=" + token + "&_HLS_pathway=way0&_HLS_throughput=4000000",
	}
}

// BenchmarkManifest is the warm steering manifest: read the player's report and
// session, choose, order the pathways, write the body, commit.
func BenchmarkManifest(b *testing.B) {
	for _, pathways := range []int{2, 8} {
		for _, feedback := range []bool{false, true} {
			b.Run(fmt.Sprintf("pathways=%d/feedback=%t", pathways, feedback), func(b *testing.B) {
				e := steeringEngine(b, pathways, func(s *SteeringSettings) {
					if feedback {
						s.Feedback = steering.FeedbackRules{LowBPS: 1_000_000, Polls: 2, Dwell: time.Minute}
					}
				})
				v, r, ctx := e.view.Load(), pollOf(b, e), context.Background()
				b.ReportAllocs()
				for b.Loop() {
					w := e.begin()
					e.decide(ctx, w, v, r)
					if w.decision.Status != 200 || len(w.steer.ids) != pathways {
						b.Fatal(w.decision.Status, w.decision.Reason, w.steer.ids)
					}
					e.commit(w, v)
					e.end(w)
				}
			})
		}
	}
}
