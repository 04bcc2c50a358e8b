package archive

import "testing"

func BenchmarkParse(b *testing.B) {
	p := newParser(b)
	for _, row := range []struct{ name, path, query string }{
		{"live", "/sports1/index.m3u8", ""},
		{"live_token", "/sports1/index.m3u8", "token=0123456789abcdef&session=42"},
		{"live_flat", "/live/sports1.m3u8", ""},
		{"segment", "/sports1/hi/seg-123456.m4s", ""},
		{"archive_path", "/sports1/archive-1767132000-3600.m3u8", "token=0123456789abcdef"},
		{"archive_xtream", "/timeshift/u/p/120/2025-12-31:01-30/1477.ts", ""},
		{"archive_query", "/sports1/index.m3u8", "start=1767132000&end=1767135600&token=0123456789abcdef"},
		{"archive_query_iso", "/sports1/index.m3u8", "start=2025-12-30T22:00:00%2B00:00&end=2025-12-30T23:00:00%2B00:00"},
		{"timeshift_query", "/sports1/index.m3u8", "token=0123456789abcdef&utc=1767218400&lutc=1767225600"},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Parse(row.path, row.query, testNow, nil)
			}
		})
	}
}

func BenchmarkAskedTarget(b *testing.B) {
	p := newParser(b)
	const path = "/sports1/archive-1767132007-3600.m3u8"
	r, _ := p.Parse(path, "", testNow, nil)
	b.ReportAllocs()
	for b.Loop() {
		r.Asked(testNow).Target(path)
	}
}

func BenchmarkHeld(b *testing.B) {
	var ranges []Range
	for i := range int64(500) {
		ranges = append(ranges, Range{From: i * 100_000, To: i*100_000 + 90_000})
	}
	need := Range{From: 20_000_000, To: 23_600_000}
	b.ReportAllocs()
	for b.Loop() {
		Held(need, ranges)
	}
}
