package farms_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// minutesOf is the need of a window of so many minutes; a fact holds its
// Unplaced.
type minutesOf int

func (m minutesOf) Asked() time.Duration { return time.Duration(m) * time.Minute }

func (m minutesOf) Held(f *farms.Fact, _ farms.ArchiveOptions) time.Duration {
	return min(f.Unplaced, m.Asked())
}

func (m minutesOf) GoesOn(f *farms.Fact) bool { return true }

// TestGreatestCoverage compares the choice for a window with the rule said
// another way: of the farms up to the first that holds enough, the earliest with
// a server that is as good as the greatest coverage; and that server, or one
// that is as good.
func TestGreatestCoverage(t *testing.T) {
	t.Parallel()
	const need = minutesOf(100)
	policies := []string{"first_response", "content_id", "weight", "share"}
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var lines []string
		for f := range 1 + r.IntN(4) {
			line := policies[r.IntN(len(policies))]
			for i := range 1 + r.IntN(4) {
				line += fmt.Sprintf(" s%d%d:present,w%d", f, i, 1+r.IntN(3))
			}
			lines = append(lines, line)
		}
		s := newScene(t, lines...)
		s.rules.GoodEnough = 0.95
		held := map[string]time.Duration{}
		for i := range s.fake.known.Facts {
			f := &s.fake.known.Facts[i]
			f.Segment = time.Duration(r.IntN(3)) * 10 * time.Second
			f.Unplaced = time.Duration(1+r.IntN(int(need*60))) * time.Second
			if r.IntN(3) == 0 { // near each other, and near enough
				f.Unplaced = 93*time.Minute + time.Duration(r.IntN(480))*time.Second
			}
			for _, server := range s.table.Servers {
				if server.Endpoint == f.Endpoint {
					held[server.Name] = min(f.Unplaced, need.Asked())
				}
			}
		}
		alike := func(m *farms.Member, most time.Duration) bool {
			have := held[m.Server.Name]
			return most-have <= max(most/100, s.fake.known.Of(m.Server.Endpoint).Segment)
		}
		var greatest time.Duration
		order := s.table.Locations[0].Farms
		last := len(order) - 1
		for i, f := range order {
			var most time.Duration
			for j := range f.Members {
				most = max(most, held[f.Members[j].Server.Name])
			}
			greatest = max(greatest, most)
			if float64(most) >= 0.95*float64(need.Asked()) {
				last = i
				break
			}
		}
		var want []string // whoever of the farm is as good
		for _, f := range order[:last+1] {
			for j := range f.Members {
				if alike(&f.Members[j], greatest) {
					want = append(want, f.Members[j].Server.Name)
				}
			}
			if len(want) > 0 {
				break
			}
		}
		q := query()
		q.Need, q.Draw = need, r.Uint64()
		var scratch farms.Scratch
		for _, opt := range []farms.Options{{}, {Final: true}, {Every: true}, {Widen: true}} {
			c := s.choose(&q, opt, &scratch)
			got := nameOf(c.Chosen)
			if !strings.Contains(" "+strings.Join(want, " ")+" ", " "+got+" ") {
				t.Fatalf("seed %d, %+v: %s is chosen, want one of %v of %v; %v", seed, opt, got, want, lines, held)
			}
		}
	}
}
