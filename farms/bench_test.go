package farms_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

func familyName(v6 bool) string {
	if v6 {
		return "v6"
	}
	return "v4"
}

func viewers(v6 bool) []netip.Addr {
	random := rand.New(rand.NewPCG(51, 52))
	addrs := make([]netip.Addr, 4096)
	for i := range addrs {
		addrs[i] = randomAddr(random, v6)
	}
	return addrs
}

func BenchmarkLocate(b *testing.B) {
	for _, v6 := range []bool{false, true} {
		for _, n := range []int{10, 1000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", familyName(v6), n), func(b *testing.B) {
				table := locationTable(b, false, manyPrefixes(n, v6))
				addrs := viewers(v6)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					table.Locate(addrs[i&4095], "", "/live/news/index.m3u8")
					i++
				}
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, v6 := range []bool{false, true} {
		b.Run(familyName(v6)+"/100000", func(b *testing.B) {
			list := manyPrefixes(100_000, v6)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			table := locationTable(b, false, list)
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(table)
			b.ReportAllocs()
			for b.Loop() {
				locationTable(b, false, list)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "held-B")
		})
	}
}

// warmScene is one farm of n servers that all confirmed the content.
func warmScene(t testing.TB, policy string, n int) *scene {
	t.Helper()
	var line strings.Builder
	line.WriteString(policy)
	for i := range n {
		fmt.Fprintf(&line, " edge%d:present,rtt%d", i, 1+i%50)
	}
	return newScene(t, line.String())
}

func BenchmarkChoose(b *testing.B) {
	for _, policy := range farms.PolicyNames() {
		for _, n := range []int{3, 10, 20, 100} {
			b.Run(fmt.Sprintf("%s/%d", policy, n), func(b *testing.B) {
				s := warmScene(b, policy, n)
				q := query()
				var scratch farms.Scratch
				b.ReportAllocs()
				for b.Loop() {
					q.Session++
					q.Draw += 0x9e3779b97f4a7c15
					if s.choose(&q, farms.Options{}, &scratch).Chosen == nil {
						b.Fatal("nobody")
					}
				}
			})
		}
	}
}

func TestLocateDoesNotAllocate(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		table := locationTable(t, false, manyPrefixes(1000, v6))
		addrs := viewers(v6)
		i := 0
		if n := testing.AllocsPerRun(1000, func() {
			table.Locate(addrs[i&4095], "host.example", "/vod/x")
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations, expected none", familyName(v6), n)
		}
	}
}

func TestChooseDoesNotAllocate(t *testing.T) {
	for _, policy := range farms.PolicyNames() {
		for _, head := range []string{policy, policy + "/bound1.25", policy + "/assume"} {
			s := warmScene(t, head, 10)
			q := query()
			var scratch farms.Scratch
			if n := testing.AllocsPerRun(1000, func() {
				q.Session++
				q.Draw += 0x9e3779b97f4a7c15
				s.choose(&q, farms.Options{}, &scratch)
			}); n != 0 {
				t.Errorf("%s: %v allocations, expected none", head, n)
			}
		}
	}
}

func TestOrderDoesNotAllocate(t *testing.T) {
	l := splitLocation(t, 20, 30, 50)
	buf := make([]*farms.Farm, 0, len(l.Farms))
	session := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		session++
		farms.Order(l, session, buf)
	}); n != 0 {
		t.Errorf("%v allocations, expected none", n)
	}
}
