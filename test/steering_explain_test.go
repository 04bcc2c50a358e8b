package test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// steeringExplanation is what tests read of an explanation.
type steeringExplanation struct {
	Status   int    `json:"status"`
	Server   string `json:"server"`
	TTL      int    `json:"ttl"`
	Pathways []struct {
		ID, URL, Why string
		Well         bool
	} `json:"pathways"`
	Farms []struct {
		Servers []struct {
			Name, Why string
			Chosen    bool
		} `json:"servers"`
	} `json:"farms"`
}

// whys lists the pathways as "id why", and with a "-" those that are not well.
func (x *steeringExplanation) whys() (out []string) {
	for _, p := range x.Pathways {
		text := p.ID + " " + p.Why
		if !p.Well {
			text += " -"
		}
		out = append(out, text)
	}
	return out
}

// explained asks for the explanation of a target for viewer i.
func (s *steered) explained(t *testing.T, target string, i int) (x steeringExplanation) {
	t.Helper()
	query := url.Values{"ip": {from(i)[1]}, "url": {target}, "ua": {"Go-http-client/1.1"}}
	res := s.Operator("GET", "/explain?"+query.Encode(), "")
	if err := json.Unmarshal([]byte(res.Body), &x); err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %s: %v", res.StatusCode, res.Body, err)
	}
	return x
}

// TestSteeringExplain: explain shows the pathways in the order that manifests
// have, of redirects too, each with its why.
func TestSteeringExplain(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 3, feedbackRules(3600), steeringKeys(rig.Config{"clones": []rig.Config{
		{"base": "b", "id": "b2", "host": "b2.example.net", "locations": []string{"all"}},
	}}))
	const path = "/ch/index.m3u8"
	s.known("/steering"+path, "a", "b", "b2", "c")
	slow := s.reporter(5)
	slow.hls("a", 500_000)
	slow.hls("a", 400_000)

	for _, c := range []struct {
		name   string
		viewer int
		change func()
		want   []string
		farms  []string // why of the servers, in the order judged
	}{
		{"nothing", 0, func() {}, []string{"a chosen", "b not_needed", "b2 not_needed", "c not_needed"}, nil},
		{"slow", 5, func() {}, []string{"b chosen", "b2 chosen", "c not_needed", "a slow"}, nil},
		{"set_aside_by_a_drain", 0, func() { s.mustOverride("a", `{"action":"drain"}`) }, []string{"b chosen", "b2 chosen", "c not_needed", "a set_aside"}, nil},
		{"excluded", 0, func() { s.mustOverride("a", `{"action":"exclude"}`) }, []string{"b chosen", "b2 chosen", "c not_needed"}, []string{"a excluded"}},
		{"set_aside_by_a_pin", 0, func() { s.mustOverride("c", `{"action":"pin"}`) }, []string{"c chosen", "b set_aside", "b2 set_aside"}, []string{"a excluded", "b set_aside"}},
		{"down", 0, func() { s.stages["c"].Stop(); s.waitUp("c", "down") }, []string{"b set_aside", "b2 set_aside", "c down -"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.change()
			for _, target := range []string{path, "/steering" + path} {
				x := s.explained(t, target, c.viewer)
				got := x.whys()
				if c.name == "down" { // the pin is on a pathway that is down: the first of the others is chosen
					for i := range got {
						got[i] = strings.Replace(got[i], "chosen", "set_aside", 1)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s: the pathways are %v, expected %v", target, got, c.want)
				}
				m := s.Steer("/steering"+path, from(c.viewer)...)
				var ids []string
				for _, p := range x.Pathways {
					if ids = append(ids, p.ID); p.ID != "b2" && p.URL != s.stages[p.ID].URL() {
						t.Errorf("%s: pathway %s is at %q", target, p.ID, p.URL)
					}
				}
				if !slices.Equal(ids, m.Priority) || x.Server != m.First() {
					t.Errorf("%s: explained are %v and server %s, the manifest says %v", target, ids, x.Server, m.Priority)
				}
				if isManifest := strings.HasPrefix(target, "/steering"); isManifest != (x.TTL > 0) {
					t.Errorf("%s: the TTL is %d", target, x.TTL)
				}
				var servers []string
				for _, f := range x.Farms {
					for _, server := range f.Servers {
						servers = append(servers, server.Name+" "+server.Why)
					}
				}
				for _, want := range c.farms {
					if !slices.Contains(servers, want) {
						t.Errorf("%s: the servers are %v, expected %q among them", target, servers, want)
					}
				}
			}
		})
	}
	t.Run("command", func(t *testing.T) {
		out, errs, status := rig.Run(t, "", "explain", "-admin", s.Admin, "-ip", "10.0.0.9", "/steering"+path)
		if status != 0 || !strings.Contains(out, "a steering manifest, TTL ") || !strings.Contains(out, "1. b ") || !strings.Contains(out, "excluded") {
			t.Errorf("exit status %d\n%s%s", status, out, errs)
		}
	})
	t.Run("log", func(t *testing.T) {
		s.Steer("/steering"+path, "X-Forwarded-For", "10.0.0.9", "User-Agent", "logged")
		var lines []map[string]any
		rig.Eventually(t, waitLong, func() error {
			if lines = s.Decisions("logged"); len(lines) == 0 {
				return fmt.Errorf("no log line yet")
			}
			return nil
		})
		if line := lines[0]; line["door"] != "steering" || fmt.Sprint(line["pathways"]) != "[b b2 c]" || line["ttl"] == nil || line["server"] != "b" || line["status"] != 200.0 {
			t.Errorf("the log says %v", line)
		}
	})
}
