package redirector

import (
	"context"
	"net/netip"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// TestWarmDecisionAllocates little: a collection of garbage is paid by every
// viewer.
func TestWarmDecisionAllocates(t *testing.T) {
	for _, policy := range []farms.Policy{farms.FirstResponse, farms.ContentID, farms.ByWeight, farms.Share} {
		t.Run(policy.String(), func(t *testing.T) {
			e := benchEngine(t, benchSpec(1000, 20, policy))
			v := e.view.Load()
			a := netip.MustParseAddr("10.0.7.7")
			r := Request{
				Method: "GET", RawTarget: "/sports1/index.m3u8?token=abcdef0123456789&q=1", Host: "tv.example.com",
				UserAgent: "player/1.0 (set-top box)", Viewer: clientip.Viewer{Addr: a, Peer: a},
			}
			ctx := context.Background()
			const most = 8
			got := testing.AllocsPerRun(1000, func() {
				w := e.begin()
				defer e.end(w)
				e.decide(ctx, w, v, r)
				e.commit(w, v)
				if w.decision.Server == nil {
					t.Fatal(w.decision.Reason, w.decision.Detail)
				}
			})
			t.Logf("%v allocations", got)
			if got > most {
				t.Errorf("%v allocations for a warm decision, want at most %d", got, most)
			}
		})
	}
}
