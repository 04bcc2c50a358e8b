package farms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

const spreadKeys = 100_000

// keyFamilies are shapes that content ids take: near each other in one family,
// with a common long beginning, and without any structure.
func keyFamilies() map[string]func(i int) string {
	random := rand.New(rand.NewPCG(7, 7))
	hex := make([]string, spreadKeys)
	for i := range hex {
		hex[i] = fmt.Sprintf("%016x", random.Uint64())
	}
	return map[string]func(i int) string{
		"channel-N":       func(i int) string { return fmt.Sprintf("channel-%d", i) },
		"/live/channel-N": func(i int) string { return fmt.Sprintf("/live/channel-%d", i) },
		"hex":             func(i int) string { return hex[i] },
	}
}

// farmOf builds a farm whose servers are called edge1, edge2 and so on.
func farmOf(t testing.TB, weights ...float64) *Farm {
	t.Helper()
	spec := Spec{
		Farms:     []FarmSpec{{Name: "f", Policy: ContentID}},
		Locations: []LocationSpec{{Farms: []string{"f"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}},
	}
	for i, w := range weights {
		name := fmt.Sprintf("edge%d.example:8080", i+1)
		spec.Servers = append(spec.Servers, ServerSpec{Name: name, URL: "http://" + name})
		spec.Farms[0].Members = append(spec.Farms[0].Members, MemberSpec{Server: name, Weight: w})
	}
	table, err := Build(&spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	return table.Farms[0]
}

// winner returns the index of the member that wins the key; without is left out.
func winner(f *Farm, key uint64, without int) int {
	best := -1
	for i := range f.Members {
		if i == without {
			continue
		}
		if best < 0 || scoreOf(key, &f.Members[i]).before(scoreOf(key, &f.Members[best])) {
			best = i
		}
	}
	return best
}

func equal(n int) []float64 { return slices.Repeat([]float64{1}, n) }

func TestRendezvousSpreadsEvenly(t *testing.T) {
	t.Parallel()
	const servers = 10
	const chi2At1Percent = 21.666 // 9 degrees of freedom
	f := farmOf(t, equal(servers)...)
	for name, key := range keyFamilies() {
		t.Run(strings.Trim(name, "/"), func(t *testing.T) {
			var count [servers]float64
			for i := range spreadKeys {
				count[winner(f, hashChannel(key(i)), -1)]++
			}
			const mean = float64(spreadKeys) / servers
			var squares float64
			for _, n := range count {
				squares += (n - mean) * (n - mean)
			}
			if chi2 := squares / mean; chi2 > chi2At1Percent {
				t.Errorf("chi-square %.2f, expected at most %v: %v", chi2, chi2At1Percent, count)
			}
			if cv := math.Sqrt(squares/servers) / mean; cv > 0.013 {
				t.Errorf("coefficient of variation %.4f, expected at most 0.013: %v", cv, count)
			}
		})
	}
}

func TestRendezvousFollowsWeights(t *testing.T) {
	t.Parallel()
	weights := []float64{1, 1, 2, 5}
	f := farmOf(t, weights...)
	for name, key := range keyFamilies() {
		t.Run(strings.Trim(name, "/"), func(t *testing.T) {
			var count [4]float64
			for i := range spreadKeys {
				count[winner(f, hashChannel(key(i)), -1)]++
			}
			for i, n := range count {
				if got, want := n/spreadKeys*100, weights[i]/9*100; math.Abs(got-want) > 0.5 {
					t.Errorf("server %d of weight %v has %.2f %%, expected %.2f ± 0.5", i, weights[i], got, want)
				}
			}
		})
	}
}

func TestRendezvousRemovalMovesOnlyTheLost(t *testing.T) {
	t.Parallel()
	const servers = 10
	f := farmOf(t, equal(servers)...)
	for name, key := range keyFamilies() {
		t.Run(strings.Trim(name, "/"), func(t *testing.T) {
			for gone := range servers {
				var lost int
				var heirs [servers]float64
				for i := range spreadKeys / 5 {
					k := hashChannel(key(i))
					before, after := winner(f, k, -1), winner(f, k, gone)
					if before != gone {
						if after != before {
							t.Fatalf("key %s moved from %d to %d although %d was removed", key(i), before, after, gone)
						}
						continue
					}
					lost++
					heirs[after]++
				}
				part := float64(lost) / (servers - 1)
				for i, n := range heirs {
					if i != gone && n > 1.25*part {
						t.Errorf("server %d inherits %v keys of server %d, expected at most 1.25 × %.1f", i, n, gone, part)
					}
				}
			}
		})
	}
}

// TestRendezvousReturnRestores builds the farm anew, without a server and with
// it again, as a reload does.
func TestRendezvousReturnRestores(t *testing.T) {
	t.Parallel()
	whole, less, again := farmOf(t, equal(10)...), farmOf(t, equal(9)...), farmOf(t, equal(10)...)
	for i := range spreadKeys {
		k := hashChannel(fmt.Sprintf("channel-%d", i))
		first := winner(whole, k, -1)
		if first != 9 && winner(less, k, -1) != first {
			t.Fatalf("channel-%d moved although its server stayed", i)
		}
		if winner(again, k, -1) != first {
			t.Fatalf("channel-%d did not come back", i)
		}
	}
}

func TestRendezvousHalvedWeightMovesOnlyTheLostShare(t *testing.T) {
	t.Parallel()
	whole := farmOf(t, equal(10)...)
	halved := farmOf(t, append([]float64{0.5}, equal(9)...)...)
	var moved float64
	for i := range spreadKeys {
		k := hashChannel(fmt.Sprintf("channel-%d", i))
		before, after := winner(whole, k, -1), winner(halved, k, -1)
		if before == after {
			continue
		}
		if before != 0 {
			t.Fatalf("channel-%d moved from server %d to %d, whose weights did not change", i, before, after)
		}
		moved++
	}
	// The server had 1/10 and has 0.5/9.5 now.
	if got, want := moved/spreadKeys*100, (1.0/10-0.5/9.5)*100; math.Abs(got-want) > 0.5 {
		t.Errorf("%.2f %% of the keys moved, expected %.2f ± 0.5", got, want)
	}
}

func TestRendezvousSmallestAndLargestWeight(t *testing.T) {
	t.Parallel()
	f := farmOf(t, 0.0001, MaxWeight) // the smallest is kept above 0
	if f.Members[0].Weight != 1 || f.Members[0].LastResort {
		t.Errorf("weight 0.0001 became %d (last resort %v), expected 1 and an ordinary server", f.Members[0].Weight, f.Members[0].LastResort)
	}
	// The products of the comparison stay below 2^63, where they are exact.
	worst := score{cost: negLog2(0), weight: uint64(MaxWeight) * WeightScale}
	if float64(worst.cost)*float64(worst.weight) >= 1<<63 {
		t.Errorf("the largest product is %v, expected below 2^63", float64(worst.cost)*float64(worst.weight))
	}
	for i := range 1000 {
		if winner(f, hashChannel(fmt.Sprint(i)), -1) != 1 {
			t.Errorf("key %d went to the server with a ten-millionth of the weight", i)
		}
	}
}

func TestScoreTiesGoToTheSmallerID(t *testing.T) {
	t.Parallel()
	a, b := score{cost: 6, weight: 3, id: 1}, score{cost: 4, weight: 2, id: 2}
	if !a.before(b) || b.before(a) {
		t.Error("equal scores: expected the smaller id first, whichever way they are compared")
	}
}
