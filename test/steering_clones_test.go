package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringClones shows the checks of PATHWAY-CLONES.
func TestSteeringClones(t *testing.T) {
	t.Parallel()
	variants := map[string]string{"v1": "https://c3.example.net/v1.m3u8?sig=a%2Fb", "v2": "https://c3.example.net/v2.m3u8"}
	renditions := map[string]string{"en": "https://c3.example.net/en.m3u8"}
	s := newSteered(t, 2, steeringKeys(rig.Config{"clones": []rig.Config{
		{"base": "a", "id": "c1", "host": "c1.example.net", "locations": []string{"all"}},
		{"base": "c1", "id": "c2", "host": "c2.example.net", "params": rig.Config{"z": "1", "a": "x%2Fy"}, "locations": []string{"all"}},
		{"base": "b", "id": "c3", "per_variant_uris": variants, "per_rendition_uris": renditions, "locations": []string{"all", "clones"}},
	}}), func(c rig.Config) {
		section := c["redirection"].(rig.Config)
		section["locations"] = append(section["locations"].([]rig.Config), place("plain", "a b", "10.1.0.0/16"), place("clones", "a b", "10.2.0.0/16"))
	})
	const path = "/steering/ch/index.m3u8"
	s.known(path, "a", "c1", "c2", "b", "c3")

	t.Run("check_14_clones_are_sound", func(t *testing.T) {
		m, res := s.SteerRaw(path)
		if len(m.Clones) != 3 || m.Clones[1].Base != "c1" || *m.Clones[1].Replacement.Host != "c2.example.net" || m.Clones[1].Replacement.Params["a"] != "x%2Fy" {
			t.Errorf("clones are %+v", m.Clones)
		}
		if strings.Index(res.Body, `"a":"x%2Fy"`) > strings.Index(res.Body, `"z":"1"`) {
			t.Errorf("PARAMS are not in the order of their keys: %s", res.Body)
		}
	})
	t.Run("check_14_left_out_where_there_is_none", func(t *testing.T) {
		m := s.Steer(path, "X-Forwarded-For", "10.1.0.1")
		wantOrder(t, "a location without clones", m, "a", "b")
		if slices.Contains(m.Keys, "PATHWAY-CLONES") {
			t.Errorf("keys are %v", m.Keys)
		}
		wantOrder(t, "a location with one clone", s.Steer(path, "X-Forwarded-For", "10.2.0.1"), "a", "b", "c3")
	})
	t.Run("check_14_bad_ones_are_refused", func(t *testing.T) {
		for what, clone := range map[string]rig.Config{
			"host with a port":   {"base": "a", "id": "n", "host": "x.example.net:80", "locations": []string{"all"}},
			"unknown base":       {"base": "nobody", "id": "n", "host": "x.example.net", "locations": []string{"all"}},
			"id of a pathway":    {"base": "a", "id": "b", "host": "x.example.net", "locations": []string{"all"}},
			"base comes later":   {"base": "m", "id": "n", "host": "x.example.net", "locations": []string{"all"}},
			"changes nothing":    {"base": "a", "id": "n", "locations": []string{"all"}},
			"relative URI":       {"base": "a", "id": "n", "per_variant_uris": rig.Config{"v": "v.m3u8"}, "locations": []string{"all"}},
			"params not escaped": {"base": "a", "id": "n", "params": rig.Config{"a": "x&y"}, "locations": []string{"all"}},
		} {
			c := steeringConfig([]rig.Config{probed("a", "share", "a http://192.0.2.1"), probed("b", "share", "b http://192.0.2.2")}, place("all", "a b", everywhere...))
			with(c, "steering", rig.Config{"clones": []rig.Config{clone}})
			if out, _, status := rig.Run(t, "", "check", "-config", configFile(t, c)); status != 1 || !strings.Contains(out, "steering.clones[0]") {
				t.Errorf("%s: exit status %d\n%s", what, status, out)
			}
		}
	})
	t.Run("check_15_the_URIs_of_every_stable_id_come_whole", func(t *testing.T) {
		r := s.Steer(path).Clones[2].Replacement
		if fmt.Sprint(r.PerVariant) != fmt.Sprint(variants) || fmt.Sprint(r.PerRendition) != fmt.Sprint(renditions) || r.Host != nil {
			t.Errorf("URI-REPLACEMENT is %+v", r)
		}
	})
	t.Run("check_14_without_its_base_no_clone", func(t *testing.T) {
		s.mustOverride("a", `{"action":"exclude"}`)
		wantOrder(t, "a excluded", s.Steer(path), "b", "c3")
		s.takeBack("a", "")
	})
	t.Run("clones_move_with_the_operators_word", func(t *testing.T) {
		s.mustOverride("c2", `{"action":"pin"}`)
		wantOrder(t, "c2 pinned", s.Steer(path), "c2", "a", "c1", "b", "c3")
		s.takeBack("c2", "")
		s.mustOverride("c1", `{"action":"drain"}`)
		m := s.Steer(path)
		if m.Priority[len(m.Priority)-1] != "c1" && m.Priority[len(m.Priority)-2] != "c1" {
			t.Errorf("c1 drained: %v", m.Priority)
		}
		s.takeBack("c1", "")
	})
}
