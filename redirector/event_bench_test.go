package redirector

import (
	"context"
	"io"
	"net/netip"
	"testing"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// BenchmarkRecord is the log line of a warm decision, as far as the buffer that
// takes it.
func BenchmarkRecord(b *testing.B) {
	for _, row := range []struct {
		name, target string
	}{
		{"redirect", "/sports1/index.m3u8?token=abcdef0123456789&q=1"},
		{"refusal", "/sports1/../index.m3u8?token=abcdef0123456789&q=1"},
	} {
		b.Run(row.name, func(b *testing.B) {
			e := benchEngine(b, benchSpec(1000, 20, farms.FirstResponse))
			e.decisions = zerolog.New(io.Discard)
			set := *e.view.Load().set
			set.LogDecisions, set.Redact = true, []string{"token", "tkn", "sig", "auth", "password", "key"}
			e.Swap(e.Table(), &set)
			v := e.view.Load()
			w := e.begin()
			defer e.end(w)
			e.decide(context.Background(), w, v, benchRequest(row.target))
			b.ReportAllocs()
			for b.Loop() {
				e.record(&w.decision, v)
			}
		})
	}
}

func benchRequest(target string) Request {
	a := netip.MustParseAddr("10.0.7.7")
	return Request{
		Method: "GET", RawTarget: target, Host: "tv.example.com",
		UserAgent: "Mozilla/5.0 (Linux; Android 12; SmartTV) player/2.1", Viewer: clientip.Viewer{Addr: a, Peer: a},
	}
}
