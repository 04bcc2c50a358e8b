package redirector

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
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
				e := archiveEngine(b, policy, hour, row.shift)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					e.answer(b, row.target, i)
					i++
				}
			})
		}
	}
}

// warmEngine answers viewers of everything.
type warmEngine struct {
	*Engine
	viewers [1024]clientip.Viewer
}

// archiveEngine is an engine whose 20 servers hold the hour, but for holes that
// lie shift apart; without, they lie before the hour.
func archiveEngine(b *testing.B, policy farms.Policy, hour time.Time, shift time.Duration) *warmEngine {
	b.Helper()
	e := &warmEngine{Engine: benchEngine(b, benchSpec(10_000, 20, policy))}
	e.view.Load().set.Archive = dialects(b)
	facts := e.prober.(*warmProber).known.Facts
	for i := range facts {
		f := &facts[i]
		hole := hour.Add(-2 * time.Hour)
		if shift > 0 {
			hole = hour.Add(time.Duration(i) * shift)
		}
		f.Ranges = []farms.Range{
			archive.RangeOf(hour.Add(-48*time.Hour), hole),
			archive.RangeOf(hole.Add(time.Duration(i+1)*time.Minute), hour.Add(72*time.Hour)),
		}
		f.Segment, f.Source = 10*time.Second, "api"
	}
	for i := range e.viewers {
		j := i * 10_000 / len(e.viewers)
		a := netip.AddrFrom4([4]byte{10, byte(j >> 8), byte(j), 7})
		e.viewers[i] = clientip.Viewer{Addr: a, Peer: a}
	}
	return e
}

// answer decides for a viewer and commits.
func (e *warmEngine) answer(b *testing.B, target string, viewer int) {
	v := e.view.Load()
	w := e.begin()
	e.decide(context.Background(), w, v, Request{
		Method: "GET", RawTarget: target, Host: "tv.example.com",
		UserAgent: "player/1.0 (set-top box)", Viewer: e.viewers[viewer&1023],
	})
	if w.decision.Server == nil {
		b.Fatal(w.decision.Reason, w.decision.Detail)
	}
	e.commit(w, v)
	e.end(w)
}

// BenchmarkArchiveRatio is what a warm archive decision costs, as a multiple of a
// warm live one. The two take turns, so that a machine that is slow for a while
// is slow for both; every viewer has a token of his own.
func BenchmarkArchiveRatio(b *testing.B) {
	hour := time.Now().Add(-24 * time.Hour).Truncate(time.Hour)
	const live = "/sports1/index.m3u8?token=%016x&q=1"
	for _, row := range []struct {
		name, target string
		shift        time.Duration
	}{
		{"full", fmt.Sprintf("/sports1/archive-%d-3600.m3u8?token=%%016x&q=1", hour.Unix()), 0},
		{"partial", fmt.Sprintf("/sports1/archive-%d-3600.m3u8?token=%%016x&q=1", hour.Unix()), 2 * time.Minute},
		{"query", fmt.Sprintf("/sports1/index.m3u8?utc=%d&lutc=%d&token=%%016x", hour.Unix(), time.Now().Unix()), 0},
		{"rewind", "/sports1/rewind-7200.m3u8?token=%016x", 0},
	} {
		for _, policy := range []farms.Policy{farms.FirstResponse, farms.ContentID, farms.ByWeight, farms.Share} {
			b.Run(fmt.Sprintf("%s/%s", row.name, policy), func(b *testing.B) {
				e := archiveEngine(b, policy, hour, row.shift)
				var targets [2][1024]string
				for i := range targets[0] {
					targets[0][i], targets[1][i] = fmt.Sprintf(live, i*7919), fmt.Sprintf(row.target, i*7919)
				}
				const turn = 64
				var took [2][]time.Duration
				i := 0
				for b.Loop() {
					for which := range took {
						start := time.Now()
						for range turn {
							e.answer(b, targets[which][i&1023], i)
							i++
						}
						took[which] = append(took[which], time.Since(start)/turn)
					}
				}
				slices.Sort(took[0])
				slices.Sort(took[1])
				one, other := took[0][len(took[0])/2], took[1][len(took[1])/2]
				b.ReportMetric(float64(one.Nanoseconds()), "live-ns")
				b.ReportMetric(float64(other.Nanoseconds()), "archive-ns")
				b.ReportMetric(float64(other)/float64(one), "archive/live")
			})
		}
	}
}
