package test

import (
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringAgreementByName shows check 53 where nothing but the channel's name
// is known: players of a farm that is never asked (a CDN), by server.
func TestSteeringAgreementByName(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "content_id", "weight", "share"} {
		t.Run("check_53_"+policy, func(t *testing.T) {
			t.Parallel()
			s := &steered{stages: map[string]*rig.Stage{}}
			var list []rig.Config
			for _, name := range []string{"a", "b", "c"} {
				s.stages[name] = rig.NewStage(t, name)
				list = append(list, rig.Config{"name": name, "url": s.stages[name].URL()})
			}
			farm := rig.Config{"name": "cdn", "policy": policy, "content": "assume", "servers": list}
			c := steeringConfig([]rig.Config{farm}, place("all", "cdn", everywhere...))
			quiet(c)
			with(c, "steering", rig.Config{"level": "server"})
			s.Pointsman = rig.Start(t, c)
			first := map[string]int{}
			for i := range 300 {
				m := s.Steer("/steering/ch", from(i)...)
				first[m.First()]++
				if got := s.serverOf(s.Get("/ch/index.m3u8", from(i)...).Location()); got != m.First() {
					t.Errorf("viewer %d is sent to %s, his manifest said %v", i, got, m.Priority)
				}
			}
			if policy != "content_id" && (first["a"] < 60 || first["b"] < 60 || first["c"] < 60) {
				t.Errorf("of 300 sessions %v start on each server", first)
			}
		})
	}
}
