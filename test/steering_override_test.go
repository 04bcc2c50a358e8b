package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// newOverridden has two locations, all and ten, and keeps its state.
func newOverridden(t *testing.T) *steered {
	t.Helper()
	s := newSteered(t, 3, func(c rig.Config) {
		section := c["redirection"].(rig.Config)
		section["locations"] = append(section["locations"].([]rig.Config), place("ten", "b c a", "10.10.0.0/16"))
		with(c, "core", rig.Config{"state_dir": t.TempDir()})
	})
	s.known("/steering/ch/index.m3u8", "a", "b", "c")
	s.known("/steering/other/index.m3u8", "a", "b", "c")
	return s
}

// both holds that manifest and redirect follow one order, for a viewer of a
// location.
func (s *steered) both(t *testing.T, what, channel string, viewer []string, want ...string) {
	t.Helper()
	wantOrder(t, what, s.Steer("/steering/"+channel+"/index.m3u8", viewer...), want...)
	wantOrder(t, what+", by the channel's name", s.Steer("/steering/"+channel, viewer...), want...)
	if res := s.Get("/"+channel+"/index.m3u8", viewer...); s.serverOf(res.Location()) != want[0] {
		t.Errorf("%s: a viewer is sent to %d %s, expected %s", what, res.StatusCode, res.Location(), want[0])
	}
}

// words lists the overrides in force, without their ends.
func (s *steered) words(t *testing.T) (out []string) {
	t.Helper()
	var list []struct{ Pathway, Action, Location, Channel string }
	if err := json.Unmarshal([]byte(s.Operator("GET", "/admin/pathways", "").Body), &list); err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		out = append(out, fmt.Sprintf("%s %s %s/%s", w.Action, w.Pathway, w.Location, w.Channel))
	}
	return out
}

// TestSteeringOverrides shows that an operator's word binds redirects and
// manifests alike, for whom it is meant and as long as it is meant.
func TestSteeringOverrides(t *testing.T) {
	t.Parallel()
	s := newOverridden(t)
	all, ten := from(0), []string{"X-Forwarded-For", "10.10.0.1"}

	t.Run("scopes", func(t *testing.T) {
		for _, c := range []struct {
			action string
			want   []string // of location all, for channel ch
			wantT  []string // of location ten
		}{
			{"pin", []string{"c", "a", "b"}, []string{"c", "b", "a"}},
			{"exclude", []string{"a", "b"}, []string{"b", "a"}},
			{"drain", []string{"a", "b", "c"}, []string{"b", "a", "c"}},
		} {
			for scope, members := range map[string]string{
				"everybody": ``, "location": `,"location":"ten"`, "channel": `,"channel":"ch"`, "both": `,"location":"ten","channel":"ch"`,
			} {
				what := c.action + " c for " + scope
				s.mustOverride("c", fmt.Sprintf(`{"action":%q%s}`, c.action, members))
				inAll := scope == "everybody" || scope == "channel"
				inOther := scope == "everybody" || scope == "location"
				pick := func(yes bool, a, b []string) []string {
					if yes {
						return a
					}
					return b
				}
				s.both(t, what+", location all", "ch", all, pick(inAll, c.want, []string{"a", "b", "c"})...)
				s.both(t, what+", location ten", "ch", ten, c.wantT...)
				s.both(t, what+", another channel", "other", ten, pick(inOther, c.wantT, []string{"b", "c", "a"})...)
				query := map[string]string{"everybody": "", "location": "?location=ten", "channel": "?channel=ch", "both": "?location=ten&channel=ch"}[scope]
				s.takeBack("c", query)
				s.both(t, what+", taken back", "ch", ten, "b", "c", "a")
			}
		}
		if left := s.words(t); len(left) != 0 {
			t.Errorf("in force are %v, expected nothing", left)
		}
	})
	t.Run("pins", func(t *testing.T) {
		s.mustOverride("b", `{"action":"pin"}`)
		s.mustOverride("c", `{"action":"pin"}`)
		s.both(t, "the newest pin of a scope", "ch", all, "c", "a", "b")
		s.mustOverride("b", `{"action":"pin","channel":"ch"}`)
		s.both(t, "the pin whose scope says more", "ch", all, "b", "a", "c")
		s.both(t, "the pin for everybody", "other", all, "c", "a", "b")
		if got, want := s.words(t), []string{"pin c /", "pin b /ch"}; !slices.Equal(got, want) {
			t.Errorf("in force are %v, expected %v", got, want)
		}
		s.stages["b"].Stop()
		s.waitOrder("/steering/ch/index.m3u8", all, "a", "c", "b")
		s.both(t, "a pinned pathway that is down", "ch", all, "a", "c", "b")
		s.stages["b"].Start()
		s.waitOrder("/steering/ch/index.m3u8", all, "b", "a", "c")
		s.takeBack("b", "?channel=ch")
		s.takeBack("c", "")
	})
	t.Run("excluding_everything_excludes_nothing", func(t *testing.T) {
		for _, id := range []string{"a", "b"} {
			s.mustOverride(id, `{"action":"exclude"}`)
		}
		s.both(t, "a and b excluded", "ch", all, "c")
		s.mustOverride("c", `{"action":"exclude"}`)
		s.both(t, "all excluded", "ch", all, "a", "b", "c")
		s.takeBack("c", "")
		s.both(t, "a and b excluded", "ch", all, "c")
		s.stages["c"].Stop()
		s.waitUp("c", "down")
		wantOrder(t, "the only one left is down", s.Steer("/steering/ch/index.m3u8", all...), "c")
		if res := s.Get("/ch/index.m3u8", all...); res.StatusCode != 503 || res.Reason() != "farm_down" {
			t.Errorf("a viewer: %d %s", res.StatusCode, res.Body)
		}
		s.stages["c"].Start()
		s.waitUp("c", "up")
		s.takeBack("a", "")
		s.takeBack("b", "")
	})
	t.Run("end_times", func(t *testing.T) {
		for name, format := range map[string]func(time.Time) string{
			"RFC_3339":     func(u time.Time) string { return `"` + u.UTC().Format(time.RFC3339Nano) + `"` },
			"unix_seconds": func(u time.Time) string { return fmt.Sprintf("%.3f", float64(u.UnixMilli())/1000) },
		} {
			s.mustOverride("b", fmt.Sprintf(`{"action":"pin","until":%s}`, format(time.Now().Add(2*time.Second))))
			wantOrder(t, name+", before the end", s.Steer("/steering/ch/index.m3u8", all...), "b", "a", "c")
			s.waitOrder("/steering/ch/index.m3u8", all, "a", "b", "c")
			s.both(t, name+", after the end", "ch", all, "a", "b", "c")
			if left := s.words(t); len(left) != 0 {
				t.Errorf("%s: in force are %v", name, left)
			}
		}
		if res := s.override("b", fmt.Sprintf(`{"action":"pin","until":%d}`, time.Now().Add(-time.Minute).Unix())); res.StatusCode != 400 || !strings.Contains(res.Body, "over already") {
			t.Errorf("an end in the past: %d %s", res.StatusCode, res.Body)
		}
	})
	t.Run("audit", func(t *testing.T) {
		at := len(s.Log())
		until := time.Now().Add(time.Hour).Unix()
		s.mustOverride("c", fmt.Sprintf(`{"action":"exclude","location":"ten","channel":"ch","until":%d}`, until))
		line := s.WaitLog(waitLong, "operator steered a pathway", at)
		for key, want := range map[string]any{"pathway": "c", "action": "exclude", "location": "ten", "channel": "ch"} {
			if line[key] != want {
				t.Errorf("the log's %s is %v, expected %v", key, line[key], want)
			}
		}
		if !strings.HasPrefix(fmt.Sprint(line["by"]), "127.0.0.1:") || line["until"] == nil {
			t.Errorf("the log says %v", line)
		}
		at = len(s.Log())
		s.takeBack("c", "?location=ten&channel=ch")
		if line := s.WaitLog(waitLong, "operator steered a pathway", at); line["action"] != "taken back" || line["pathway"] != "c" {
			t.Errorf("the log says %v", line)
		}
	})
	t.Run("reload_and_restart", func(t *testing.T) {
		s.mustOverride("c", `{"action":"pin","channel":"ch"}`)
		s.mustOverride("a", fmt.Sprintf(`{"action":"exclude","location":"all","until":%d}`, time.Now().Add(time.Hour).Unix()))
		s.mustOverride("b", fmt.Sprintf(`{"action":"drain","until":%.3f}`, float64(time.Now().Add(500*time.Millisecond).UnixMilli())/1000))
		want := []string{"pin c /ch", "exclude a all/"}
		rig.Eventually(t, waitLong, func() error {
			if got := s.words(t); !slices.Equal(got, want) {
				return fmt.Errorf("in force are %v, expected %v", got, want)
			}
			return nil
		})
		for name, again := range map[string]func(){
			"reload": func() {
				if res := s.Operator("POST", "/admin/reload", ""); res.StatusCode != 200 {
					t.Fatalf("reload: %d %s", res.StatusCode, res.Body)
				}
			},
			"power failure": func() { s.Kill(); s.Run() },
			"restart": func() {
				if status := s.Stop(); status != 0 {
					t.Errorf("exit status %d", status)
				}
				s.Run()
			},
		} {
			again()
			s.waitOrder("/steering/ch/index.m3u8", all, "c", "b")
			s.both(t, "after a "+name, "ch", all, "c", "b")
			s.both(t, "after a "+name, "other", all, "b", "c")
			if got := s.words(t); !slices.Equal(got, want) {
				t.Errorf("after a %s in force are %v, expected %v", name, got, want)
			}
		}
		s.takeBack("c", "?channel=ch")
		s.takeBack("a", "?location=all")
		s.Kill()
		s.Run()
		s.waitOrder("/steering/ch/index.m3u8", all, "a", "b", "c")
	})
}

// TestSteeringOverrideRefusals shows what is no override, and who may give one.
func TestSteeringOverrideRefusals(t *testing.T) {
	t.Parallel()
	s := newOverridden(t)
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		says                       string
	}{
		{"empty", "POST", "a", "", 400, `{"action":"pin"`},
		{"no_JSON", "POST", "a", "pin", 400, "expected a body like"},
		{"array", "POST", "a", "[]", 400, "expected a body like"},
		{"null", "POST", "a", "null", 400, "action"},
		{"no_action", "POST", "a", "{}", 400, "expected pin, exclude or drain"},
		{"unknown_action", "POST", "a", `{"action":"prefer"}`, 400, `"prefer"`},
		{"unknown_key", "POST", "a", `{"action":"pin","chanel":"ch"}`, 400, "chanel"},
		{"wrong_type", "POST", "a", `{"action":"pin","channel":7}`, 400, "channel"},
		{"trailing_text", "POST", "a", `{"action":"pin"} x`, 400, "something follows"},
		{"another_pathway", "POST", "a", `{"action":"pin","pathway":"b"}`, 400, "not the one in the URL"},
		{"the_same_pathway", "POST", "a", `{"action":"drain","pathway":"a"}`, 200, ""},
		{"unknown_location", "POST", "a", `{"action":"pin","location":"nowhere"}`, 400, "nowhere"},
		{"long_channel", "POST", "a", `{"action":"pin","channel":"` + strings.Repeat("c", 1100) + `"}`, 400, "1024"},
		{"until_a_word", "POST", "a", `{"action":"pin","until":"tomorrow"}`, 400, ""},
		{"until_negative", "POST", "a", `{"action":"pin","until":-1}`, 400, "until"},
		{"until_over", "POST", "a", `{"action":"pin","until":1}`, 400, "over already"},
		{"too_large", "POST", "a", `{"action":"pin","channel":"` + strings.Repeat("c", 1<<20) + `"}`, 400, ""},
		{"unknown_pathway", "POST", "nobody", `{"action":"pin"}`, 404, "nobody"},
		{"pathway_of_another_spelling", "POST", "A", `{"action":"pin"}`, 404, ""},
		{"pathway_of_dots", "POST", "..%2f..%2fstatus", `{"action":"pin"}`, 404, ""},
		{"no_pathway", "POST", "", `{"action":"pin"}`, 404, ""},
		{"bad_escape", "POST", "%zz", `{"action":"pin"}`, 400, ""},
		{"nothing_to_take_back", "DELETE", "b", "", 404, "no override"},
		{"another_scope_to_take_back", "DELETE", "a?channel=ch", "", 404, "no override"},
		{"taking_back", "DELETE", "a", "", 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := rig.Exchange{Addr: s.AdminAddr(), Within: waitLong, Send: fmt.Sprintf(
				"%s /admin/pathways/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", c.method, c.target, len(c.body), c.body)}
			res, err := x.Do()
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.status || !strings.Contains(strings.ReplaceAll(res.Body, `\"`, `"`), c.says) || len(res.Body) > 2000 {
				t.Errorf("%d %s, expected %d with %q", res.StatusCode, res.Body, c.status, c.says)
			}
		})
	}
	if left := s.words(t); len(left) != 0 {
		t.Errorf("in force are %v, expected nothing", left)
	}
	s.both(t, "after all that", "ch", from(0), "a", "b", "c")
}

// TestSteeringOverrideTokens: reading the overrides needs a token that may read,
// changing one a token that may act.
func TestSteeringOverrideTokens(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, func(c rig.Config) { c["admin"] = tokens(t) })
	for _, c := range []struct {
		method, target, token string
		status                int
	}{
		{"GET", "", "", 401},
		{"GET", "", "Bearer nonsense", 401},
		{"GET", "", "Bearer " + readToken, 200},
		{"GET", "", "Bearer " + actToken, 200},
		{"POST", "/a", "", 401},
		{"POST", "/a", "Bearer " + readToken, 401},
		{"POST", "/a", "Bearer " + actToken, 200},
		{"DELETE", "/a", "", 401},
		{"DELETE", "/a", "Bearer " + readToken, 401},
		{"DELETE", "/a", "Bearer " + actToken, 200},
	} {
		body := ""
		if c.method == http.MethodPost {
			body = `{"action":"pin"}`
		}
		if res := s.Operator(c.method, "/admin/pathways"+c.target, body, "Authorization", c.token); res.StatusCode != c.status {
			t.Errorf("%s %s with %q: %d %s, expected %d", c.method, c.target, c.token, res.StatusCode, res.Body, c.status)
		}
	}
}
