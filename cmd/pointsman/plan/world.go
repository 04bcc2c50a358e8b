package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// world is what the chooser is shown: everybody up but those that fail, and
// everybody with every content. It implements [farms.Facts].
type world struct {
	health *farms.Endpoints[*farms.Health]
	known  *farms.Known
}

// Health implements [farms.Facts].
func (w *world) Health(ep farms.Endpoint) *farms.Health { return w.health.Get(ep) }

// Content implements [farms.Facts].
func (w *world) Content(farms.Content) *farms.Known { return w.known }

// newWorld makes the world in which the servers behind the endpoints of down fail.
// Response times are unknown, which counts as equal.
func newWorld(t *farms.Table, down map[farms.Endpoint]bool, known *farms.Known) *world {
	up, failed := &farms.Health{Condition: farms.ConditionUp}, &farms.Health{Condition: farms.ConditionDown}
	health := make(map[farms.Endpoint]*farms.Health, len(t.Servers))
	for _, s := range t.Servers {
		health[s.Endpoint] = up
		if down[s.Endpoint] {
			health[s.Endpoint] = failed
		}
	}
	return &world{farms.NewEndpoints(health), known}
}

// hasAll is the knowledge that every server has the content.
func hasAll(t *farms.Table, now time.Time) *farms.Known {
	k := &farms.Known{}
	for _, s := range t.Servers {
		k.Facts = append(k.Facts, farms.Fact{
			Endpoint: s.Endpoint, Presence: farms.Present, Kind: farms.KindLive,
			At: now, FreshUntil: now.Add(time.Hour), ServeUntil: now.Add(time.Hour), HeldAt: now, MovedAt: now,
		})
	}
	slices.SortFunc(k.Facts, func(a, b farms.Fact) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	k.Facts = slices.CompactFunc(k.Facts, func(a, b farms.Fact) bool { return a.Endpoint == b.Endpoint })
	return k
}

// loads counts the viewers given to each server, for farms with a bounded load.
// It implements [farms.Loads].
type loads map[farms.ServerID]float64

// Load implements [farms.Loads].
func (l loads) Load(id farms.ServerID) float64 { return l[id] }
