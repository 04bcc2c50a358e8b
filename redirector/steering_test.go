package redirector

import (
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering"
)

// TestClonesFollowTheirBase: in the order of the configuration, behind what they
// are made of, in their locations alone.
func TestClonesFollowTheirBase(t *testing.T) {
	t.Parallel()
	clone := func(base, id string, locations ...string) SteeringClone {
		c := SteeringClone{Clone: steering.Clone{Base: base, ID: id, Host: "x.example"}, Locations: map[string]bool{}}
		for _, l := range locations {
			c.Locations[l] = true
		}
		return c
	}
	e := steeringEngine(t, 2, func(s *SteeringSettings) {
		s.Clones = []SteeringClone{
			clone("way0", "one", "l0"), clone("way0", "two", "l0"), clone("way1", "three", "l0"),
			clone("two", "four", "l0"), clone("way1", "elsewhere", "other"),
		}
	})
	v := e.view.Load()
	w := e.begin()
	defer e.end(w)
	e.decide(t.Context(), w, v, pollOf(t, e))
	if got, want := strings.Join(w.steer.ids, " "), "way0 one two four way1 three"; got != want {
		t.Errorf("pathways %s, expected %s", got, want)
	}
	seen := map[string]bool{"way0": true, "way1": true}
	for _, c := range w.steer.clones { // a BASE-ID is a pathway or an earlier clone
		if !seen[c.Base] {
			t.Errorf("clone %s comes before its base %s", c.ID, c.Base)
		}
		seen[c.ID] = true
	}
}
