package redirector

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// dialects is a parser with all dialects.
func dialects(tb testing.TB) *archive.Parser {
	tb.Helper()
	p, err := archive.New(archive.Options{ClockSlack: 2 * time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkArchiveDecision is the warm decision for a live channel and for
// archive windows, in one run to compare them: 20 servers, whose recordings are
// known and have a hole each. In "full" all hold the window, in "partial" each
// another part of it.
func BenchmarkArchiveDecision(b *testing.B) {
	hour := time.Now().Add(-24 * time.Hour).Truncate(time.Hour)
	for _, policy := range []farms.Policy{farms.FirstResponse, farms.ContentID, farms.ByWeight, farms.Share} {
		for _, row := range []struct {
			name, target string
			shift        time.Duration // between the holes of two servers
		}{
			{"live", "/sports1/index.m3u8?token=abcdef0123456789&q=1", 0},
			{"full", fmt.Sprintf("/sports1/archive-%d-3600.m3u8?token=abcdef0123456789&q=1", hour.Unix()), 0},
			{"partial", fmt.Sprintf("/sports1/archive-%d-3600.m3u8?token=abcdef0123456789&q=1", hour.Unix()), 2 * time.Minute},
			{"query", fmt.Sprintf("/sports1/index.m3u8?utc=%d&lutc=%d&token=abcdef0123456789", hour.Unix(), time.Now().Unix()), 0},
		} {
			b.Run(fmt.Sprintf("%s/%s/servers=20", policy, row.name), func(b *testing.B) {
				e := benchEngine(b, benchSpec(10_000, 20, policy))
				v := e.view.Load()
				v.set.Archive = dialects(b)
				facts := e.prober.(*warmProber).known.Facts
				for i := range facts {
					f := &facts[i]
					hole := hour.Add(-2 * time.Hour)
					if row.shift > 0 {
						hole = hour.Add(time.Duration(i) * row.shift)
					}
					f.Ranges = []farms.Range{
						archive.RangeOf(hour.Add(-48*time.Hour), hole),
						archive.RangeOf(hole.Add(time.Duration(i+1)*time.Minute), hour.Add(72*time.Hour)),
					}
					f.Segment, f.Source = 10*time.Second, "api"
				}
				var viewers [1024]clientip.Viewer
				for i := range viewers {
					j := i * 10_000 / len(viewers)
					a := netip.AddrFrom4([4]byte{10, byte(j >> 8), byte(j), 7})
					viewers[i] = clientip.Viewer{Addr: a, Peer: a}
				}
				ctx := context.Background()
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					w := e.begin()
					e.decide(ctx, w, v, Request{
						Method: "GET", RawTarget: row.target, Host: "tv.example.com",
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
