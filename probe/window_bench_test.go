package probe

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// BenchmarkRangeQuestions asks ten servers with an interface for recordings about
// 10,000 programmes of 200 channels, and tells how many questions that is for a
// server and channel within one cache period (bar: one). An operation is all of
// them.
func BenchmarkRangeQuestions(b *testing.B) {
	const servers, channels, programmes = 10, 200, 50
	day := time.Now().Add(-48 * time.Hour).Truncate(24 * time.Hour)
	for b.Loop() {
		var questions, others atomic.Int64
		net := newMemNet(b)
		client, err := fetch.New(fetch.Options{UserAgent: "pointsman-probe/test", Dial: net.dial})
		if err != nil {
			b.Fatal(err)
		}
		set := defaults()
		set.MaxPerSec, set.MaxInFlight, set.DecisionTimeout, set.VoDAge = 1e6, 64, time.Minute, time.Hour
		set.StrangersPerSec, set.StrangersBurst = 1e6, 1e6
		s := scene{}
		spec := s.spec(servers)
		for i := range spec.Servers {
			spec.Servers[i].Type, spec.Servers[i].APIURL = "flussonic", spec.Servers[i].URL
			net.host(fmt.Sprintf("edge%d:80", i), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				name, ok := strings.CutSuffix(strings.Trim(r.URL.Path, "/"), "/recording_status.json")
				switch {
				case ok:
					questions.Add(1)
					_, _ = fmt.Fprintf(w, `[{"stream":%q,"ranges":[{"from":%d,"duration":%d}]}]`, name, day.Unix(), 30*3600)
				case r.URL.Path != "/":
					others.Add(1)
					_, _ = io.WriteString(w, "#EXTM3U\n")
				}
			}))
		}
		table := build(b, spec)
		board := NewBoard(Options{Client: client}, set)
		board.Update(table.Servers, set)
		board.Start(b.Context())
		for i := range channels * programmes {
			start := day.Add(time.Duration(i/channels) * 30 * time.Minute)
			c := farms.Content{
				Channel: fmt.Sprint("ch", i%channels), Protocol: farms.ProtocolHLS, Kind: farms.KindArchive,
				Slot: archive.RangeOf(start, start.Add(30*time.Minute)),
			}
			c.Path = fmt.Sprintf("/%s/archive-%d-1800.m3u8", c.Channel, start.Unix())
			for {
				asked := board.Ask(c, table.Servers, false)
				if known := board.Content(c); len(known.Facts) < servers {
					<-known.Changed
				} else if asked.Opened+asked.Joined+asked.Deferred == 0 {
					break
				}
			}
		}
		client.Close()
		if n := others.Load(); n > 0 {
			b.Errorf("%d playlists were asked for besides", n)
		}
		b.ReportMetric(float64(questions.Load()), "questions/op")
		b.ReportMetric(float64(questions.Load())/(servers*channels), "questions/(server,channel)")
	}
}
