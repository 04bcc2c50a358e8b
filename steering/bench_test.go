package steering

import (
	"testing"
	"time"
)

func BenchmarkReadParams(b *testing.B) {
	for name, query := range map[string]string{
		"hls":  "pm_sid=AQdqCv5AASNFZ4mrze_-3LqYdlQyEAAAAAAAAAAAAAAAAAAA&asset=7&_HLS_pathway=cdn-a&_HLS_throughput=4212345",
		"dash": "pm_sid=AQdqCv5AASNFZ4mrze_-3LqYdlQyEAAAAAAAAAAAAAAAAAAA&_DASH_pathway=%22cdn-a%2Ccdn-b%22&_DASH_throughput=941000%2C33119500",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ReadParams(query)
			}
		})
	}
}

func BenchmarkForeign(b *testing.B) {
	query := "token=abc~d%2F1&asset=7&pm_sid=AQdqCv5AASNFZ4mrze_-3LqYdlQyEAAAAAAAAAAAAAAAAAAA&_HLS_pathway=cdn-a&_HLS_throughput=4212345"
	b.ReportAllocs()
	for b.Loop() {
		Foreign(query)
	}
}

func BenchmarkOpen(b *testing.B) {
	r := ringOf(b, 1, 2)
	token := r.Seal(sessionAt(issued))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Open(token, issued)
		}
	})
}

func BenchmarkAppendSeal(b *testing.B) {
	r := ringOf(b, 1, 2)
	buf := make([]byte, 0, TokenLen)
	b.ReportAllocs()
	for b.Loop() {
		buf = r.AppendSeal(buf[:0], sessionAt(issued))
	}
}

func BenchmarkAppendManifest(b *testing.B) {
	priority := []string{"cdn-a", "cdn-b", "cdn-c", "cdn-d"}
	uri := "https://steer.example.com/steering/sports1/index.m3u8?token=abc~d%2F1&pm_sid=AQdqCv5AASNFZ4mrze_-3LqYdlQyEAAAAAAAAAAAAAAAAAAA"
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendManifest(buf[:0], 300, uri, priority, nil)
	}
}

func BenchmarkObserve(b *testing.B) {
	f := NewFeedback(1<<17, feedbackStart)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := uint64(0); pb.Next(); i++ {
			session := i * 0x9e3779b97f4a7c15 >> 47 // 131,072 sessions
			now := feedbackStart.Add(time.Duration(i) * time.Microsecond)
			f.Observe(session, 1+i&1, int64(i), now, twoPolls)
			f.Demoted(session, now)
		}
	})
}
