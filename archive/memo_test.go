package archive

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// forms returns URLs of every family, split as a door does, with other viewers'
// parameters beside them.
func forms(tb testing.TB) (list []struct{ raw, plain, query string }) {
	tb.Helper()
	urls := []string{
		"/ort/archive-1767225000-3600.m3u8", "/ort/archive-1767225000-630.m3u8", "/ort/archive-1767225541-59.m3u8",
		"/ort/archive-1767225600-60.m3u8", "/ort/archive-1767225660-60.m3u8", "/ort/archive-1762000000-now.m3u8",
		"/ort/index-1767225000500-3600.mpd", "/hls/c/index.m3u8?startunix=-7200", "/hls/c/index.m3u8?startunix=60",
		"/hls/c/index.m3u8?startunix=-7200&stopunix=-3600", "/hls/c/index.m3u8?startunix=-7200&stopunix=1767225900",
		"/hls/c/index.m3u8?startunix=-7200&duration=9000", "/hls/c/index.m3u8?startunix=1767225000&stopunix=-60",
		"/ort/index.m3u8?start=1767225000.5&end=1767225700.25", "/live.m3u8?id=7&begin=2026-01-01T02:00:00",
		"/%D0%9F/archive-1767132007-3600.m3u8", "/timeshift/u/p/15/2026-01-01:02-50/7.ts",
	}
	for _, e := range examples(tb) {
		urls = append(urls, e.URL)
	}
	for _, u := range urls {
		raw, plain, query := splitURL(tb, u)
		list = append(list, struct{ raw, plain, query string }{raw, plain, query})
		list = append(list, struct{ raw, plain, query string }{raw, plain, strings.TrimPrefix(query+"&token=a", "&")})
	}
	return list
}

// alike compares two readings by all that a caller sees, the spelling of another
// viewer's path included.
func alike(a, b Reading, plain string) bool {
	aPath, aQuery := a.asked.Target(plain)
	bPath, bQuery := b.asked.Target(plain)
	a.asked, b.asked, a.Request.form, b.Request.form = Request{}, Request{}, nil, nil
	return a == b && aPath == bPath && aQuery == bQuery
}

// TestMemoChangesNothing: a URL read again, at whatever time and in whatever
// zone, is what a fresh parser makes of it, from many goroutines.
func TestMemoChangesNothing(t *testing.T) {
	t.Parallel()
	warm := newParser(t)
	berlin := zone(t, "Europe/Berlin")
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			fresh := newParser(t)
			for _, after := range []time.Duration{
				0, time.Second, 2 * time.Second, 59 * time.Second, 60 * time.Second, 61 * time.Second, 119 * time.Second,
				121 * time.Second, 10 * time.Minute, 61 * time.Minute, -time.Second, 100 * 24 * time.Hour, 0,
			} {
				at := testNow.Add(after + time.Duration(g)*250*time.Millisecond)
				for _, u := range forms(t) {
					for _, where := range []*time.Location{nil, berlin, nil} {
						var want, got Reading
						fresh.memo = new(memo)
						wantVerdict := fresh.Read(&want, u.raw, u.plain, u.query, at, where)
						for range 2 {
							verdict := warm.Read(&got, u.raw, u.plain, u.query, at, where)
							if verdict != wantVerdict || !alike(got, want, u.plain) {
								t.Errorf("%s?%s at %v\n got %+v %v\nwant %+v %v", u.raw, u.query, at, got, verdict, want, wantVerdict)
								return
							}
						}
					}
				}
			}
		})
	}
	all.Wait()
}

// TestReadAgreesWithParse: the question of a reading is that of its request.
func TestReadAgreesWithParse(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for _, u := range forms(t) {
		want, wantVerdict := p.Parse(u.plain, u.query, testNow, nil)
		for range 2 {
			var got Reading
			verdict := p.Read(&got, u.raw, u.plain, u.query, testNow, nil)
			if verdict != wantVerdict || asExample(got.Request, verdict) != asExample(want, wantVerdict) {
				t.Fatalf("%s?%s is %s, expected %s", u.raw, u.query, asExample(got.Request, verdict), asExample(want, wantVerdict))
			}
			if verdict.Outcome != OK {
				continue
			}
			asked := want.Asked(testNow)
			path, query := asked.Target(u.raw)
			if got.Asked != asked.Window || got.Path != path || got.Query != query {
				t.Errorf("%s?%s asks %v %s?%s, expected %v %s?%s", u.raw, u.query, got.Asked, got.Path, got.Query, asked.Window, path, query)
			}
		}
	}
}

// TestMemoOfATokensFlood: viewers' own parameters make no URL another one, and
// what is remembered does not hold on to what else they sent.
func TestMemoOfATokensFlood(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	var out Reading
	for i := range 1000 {
		for _, path := range []string{"/ort/archive-1767132000-3600.m3u8?", "/ort/index.m3u8?utc=1767132000&", "/ort/index.m3u8?"} {
			raw, plain, query := splitURL(t, fmt.Sprintf("%slutc=%d&token=%08x", path, 1767225600+i, i))
			p.Read(&out, raw, plain, query, testNow, nil)
		}
	}
	places := 0
	for i := range p.memo.places {
		if r := p.memo.places[i].Load(); r != nil {
			places++
			if strings.Contains(fmt.Sprintf("%+v", r), "token") {
				t.Errorf("it remembers a viewer's token: %+v", r)
			}
		}
	}
	if places != 3 {
		t.Errorf("three URLs fill %d places", places)
	}
}

// TestReadingAgainAllocatesNothing: of a URL that was read before.
func TestReadingAgainAllocatesNothing(t *testing.T) {
	p := newParser(t)
	var out Reading
	for _, u := range []string{
		"/ort/index.m3u8?token=a", "/ort/archive-1767132000-3600.m3u8?token=a", "/ort/index.m3u8?utc=1767218400&lutc=1767225600&token=a",
		"/ort/rewind-3600.m3u8", "/ort/timeshift_rel-60.m3u8", "/ort/index.m3u8?start=1767132000&end=1767135600",
	} {
		raw, plain, query := splitURL(t, u)
		read := func() { p.Read(&out, raw, plain, query, testNow, nil) }
		if n := testing.AllocsPerRun(100, read); n > 0 {
			t.Errorf("%s: %.0f allocations", u, n)
		}
	}
}
