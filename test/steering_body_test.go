package test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringBody shows the checks of what stands in a manifest.
func TestSteeringBody(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 3)
	const path = "/steering/ch/index.m3u8"
	s.known(path, "a", "b", "c")

	t.Run("check_01_one_JSON_object", func(t *testing.T) {
		_, res := s.SteerRaw(path)
		if !utf8.ValidString(res.Body) || strings.HasPrefix(res.Body, "\ufeff") || !json.Valid([]byte(res.Body)) || res.Body[0] != '{' {
			t.Errorf("the body is %q", res.Body)
		}
	})
	t.Run("check_02_VERSION_is_the_number_1", func(t *testing.T) {
		if _, res := s.SteerRaw(path); !strings.Contains(res.Body, `"VERSION":1,`) {
			t.Errorf("the body is %s", res.Body)
		}
	})
	t.Run("check_03_TTL_on_every_answer", func(t *testing.T) {
		for _, target := range []string{path, "/steering", "/steering/", "/steering/ch", "/steering/other/manifest.mpd", "/steering/ch/index-100-50.m3u8"} {
			if m := s.Steer(target, from(1)...); m.TTL < 2 || m.TTL > 3600 {
				t.Errorf("%s has a TTL of %d", target, m.TTL)
			}
		}
	})
	t.Run("check_04_PATHWAY_PRIORITY_without_duplicates", func(t *testing.T) {
		wantOrder(t, path, s.Steer(path), "a", "b", "c")
	})
	t.Run("check_06_only_pathways_of_the_configuration", func(t *testing.T) {
		m := s.Steer(path+"?_HLS_pathway=zzz&_DASH_pathway=yyy&pm_sid=xxx", from(2)...)
		wantOrder(t, "unknown pathways reported", m, "a", "b", "c")
	})
	t.Run("check_16_one_body_for_HLS_and_DASH", func(t *testing.T) {
		hls, dash := s.Steer(path+"?_HLS_pathway=a&_HLS_throughput=1000"), s.Steer(path+"?_DASH_pathway=%22a%22&_DASH_throughput=1000")
		if want := []string{"VERSION", "TTL", "RELOAD-URI", "PATHWAY-PRIORITY"}; !slices.Equal(hls.Keys, want) || !slices.Equal(dash.Keys, want) {
			t.Errorf("HLS has the keys %v, DASH %v, expected %v", hls.Keys, dash.Keys, want)
		}
		if !slices.Equal(hls.Priority, dash.Priority) || hls.Reload != dash.Reload {
			t.Errorf("HLS is told %+v, DASH %+v", hls, dash)
		}
	})
	t.Run("check_07_all_pathways_whatever_their_state", func(t *testing.T) {
		s.stages["a"].Stop()
		s.waitOrder(path, nil, "b", "c", "a")
		s.stages["b"].Stop()
		s.waitOrder(path, nil, "c", "a", "b")
	})
	t.Run("check_08_never_an_answer_that_misses_every_pathway", func(t *testing.T) {
		s.stopAll()
		for _, target := range []string{path, "/steering/ch", "/steering/nobody-has-it/index.m3u8"} {
			m, res := s.SteerRaw(target)
			if slices.Sort(m.Priority); !slices.Equal(m.Priority, []string{"a", "b", "c"}) {
				t.Errorf("%s, with every server down: %s", target, res.Body)
			}
		}
		for name := range s.stages {
			s.stages[name].Start()
		}
		s.waitOrder(path, nil, "a", "b", "c")
	})
}

// TestSteeringPathwayIDs shows that only ids that every player takes are
// configured.
func TestSteeringPathwayIDs(t *testing.T) {
	t.Parallel()
	document := func(id string) rig.Config {
		farms := []rig.Config{probed("a", "share", "a http://192.0.2.1"), probed("b", "share", "b http://192.0.2.2")}
		farms[0]["pathway"] = id
		return steeringConfig(farms, place("all", "a b", everywhere...))
	}
	t.Run("check_05_the_characters_of_an_id", func(t *testing.T) {
		t.Parallel()
		for id, good := range map[string]bool{
			"CDN-1.eu_west": true, strings.Repeat("x", 64): true, "0": true, "-": true, "a.": true,
			strings.Repeat("x", 65): false, ".": false, "..": false, "....": false, "a b": false, "a/b": false, "ü": false, "a,b": false, `a"b`: false, "b": false,
		} {
			out, _, status := rig.Run(t, "", "check", "-config", configFile(t, document(id)))
			if good != (status == 0) || !good && !strings.Contains(out, "farms[") {
				t.Errorf("pathway %q: exit status %d\n%s", id, status, out)
			}
		}
	})
}

// TestSteeringSize shows that a body is small.
func TestSteeringSize(t *testing.T) {
	t.Parallel()
	names := func(c rig.Config) { // the longest ids there are
		for i, f := range c["redirection"].(rig.Config)["farms"].([]rig.Config) {
			f["pathway"] = fmt.Sprintf("%d", i) + strings.Repeat("x", 63)
		}
	}
	s := newSteered(t, 8, names, quiet)
	t.Run("check_17_eight_pathways_in_4_kB", func(t *testing.T) {
		token := url.Values{"token": {strings.Repeat("k", 1500)}}.Encode()
		for _, target := range []string{"/steering/ch/index.m3u8?" + token, "/steering/ch?" + token} {
			m, res := s.SteerRaw(target)
			if len(res.Body) > 4096 || len(m.Priority) != 8 || m.Reload == "" {
				t.Errorf("%s: %d bytes, %d pathways", target, len(res.Body), len(m.Priority))
			}
		}
	})
	t.Run("check_17_the_same_keys_on_every_path", func(t *testing.T) {
		want := s.Steer("/steering/ch/index.m3u8").Keys
		s.stopAll()
		for _, target := range []string{"/steering/ch/index.m3u8", "/steering/other/index.m3u8", "/steering"} {
			if m := s.Steer(target); !slices.Equal(m.Keys, want) {
				t.Errorf("%s has the keys %v, expected %v", target, m.Keys, want)
			}
		}
	})
}
