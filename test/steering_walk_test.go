package test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// walk is a random walk through everything that happens to a steering server.
type walk struct {
	*steered
	random *rand.Rand
	bodies []string
	reload []string            // targets that were handed out
	fallen map[string]struct{} // servers that went down once; each does so once
	down   map[string]bool
}

// report is a player's query, from the corpus of edge cases.
func (w *walk) report() string {
	r := w.random
	ids := []string{"a", "b", "c", "d", "x1", "", ".", "..", "nobody", "%22a%22", `"b"`, "a%2Cb", "a,b,c", ",,,", "%22a", "a%2Fb", "%F0%9F%98%80", "%00", "%0d%0a", strings.Repeat("i", 1000), strings.Repeat("a,", 500)}
	bps := []string{"", "0", "500000", "5000000", "-1794967296", "NaN", "1e9", "12.5", strings.Repeat("9", 30), "1000%2C", ",,5", "%22123%22", "%zz", "705032704"}
	var pairs []string
	for range r.IntN(4) {
		switch r.IntN(6) {
		case 0:
			pairs = append(pairs, "_HLS_pathway="+ids[r.IntN(len(ids))], "_HLS_throughput="+bps[r.IntN(len(bps))])
		case 1:
			pairs = append(pairs, "_DASH_pathway="+ids[r.IntN(len(ids))], "_DASH_throughput="+bps[r.IntN(len(bps))])
		case 2:
			pairs = append(pairs, "pm_sid="+[]string{"", "x", strings.Repeat("A", 52), "%ff"}[r.IntN(4)])
		case 3:
			pairs = append(pairs, []string{"hdnea=exp=1~acl=/*~hmac=a%2Fb", "a=%zz", "x;y", "bad=\xff", "&&", "CMCD=bl%3D1", "%", "t=" + strings.Repeat("k", 3000)}[r.IntN(8)])
		case 4:
			pairs = append(pairs, "_HLS_throughput="+bps[r.IntN(len(bps))])
		default:
			pairs = append(pairs, "_HLS_pathway="+[]string{"a", "b", "c", "d"}[r.IntN(4)], fmt.Sprint("_HLS_throughput=", 200_000+r.IntN(2_000_000)))
		}
	}
	return strings.Join(pairs, "&")
}

// happen has something happen that is not a poll.
func (w *walk) happen() {
	r := w.random
	name := []string{"a", "b", "c", "d"}[r.IntN(4)]
	switch r.IntN(4) {
	case 0:
		if w.down[name] {
			w.stages[name].Start()
			w.down[name] = false
		} else if _, before := w.fallen[name]; !before {
			w.stages[name].Stop()
			w.down[name], w.fallen[name] = true, struct{}{}
		}
	case 1:
		scenes := []http.HandlerFunc{nil, rig.Refusing(404), rig.Refusing(403), rig.Refusing(500)}
		w.stages[name].Play(fmt.Sprintf("/ch%d/index.m3u8", r.IntN(5)), scenes[r.IntN(len(scenes))])
	case 2:
		id := []string{"a", "b", "c", "d", "x1", "x2"}[r.IntN(6)]
		scope := []string{"", `,"channel":"ch1"`, `,"location":"all"`, `,"location":"ten","channel":"ch2"`}[r.IntN(4)]
		w.mustOverride(id, fmt.Sprintf(`{"action":%q%s}`, []string{"pin", "exclude", "drain"}[r.IntN(3)], scope))
	default:
		for _, id := range []string{"a", "b", "c", "d", "x1", "x2"} {
			for _, scope := range []string{"", "?channel=ch1", "?location=all", "?location=ten&channel=ch2"} {
				if r.IntN(2) == 0 {
					w.Operator("DELETE", "/admin/pathways/"+id+scope, "") // 404 when there is none
				}
			}
		}
	}
}

// poll asks for a manifest: of a channel by some of its names, or again where an
// earlier one said.
func (w *walk) poll() {
	r := w.random
	viewer := fmt.Sprintf("X-Forwarded-For: %s.%d.0.%d", []string{"10", "192"}[r.IntN(2)], r.IntN(3), r.IntN(8))
	target, sep := "", "?"
	if len(w.reload) > 0 && r.IntN(2) == 0 {
		target, sep = w.reload[r.IntN(len(w.reload))], "&"
	} else {
		channel := []string{"ch0", "ch1", "ch2", "ch3", "ch4", "nobody", "a%20b", "%C3%BC", "deep/er"}[r.IntN(9)]
		target = "/steering/" + channel + []string{"", "/", "/index.m3u8", "/manifest.mpd", "/low.m3u8", "/seg1.ts", "/index-100-50.m3u8", "/archive-1-now.m3u8"}[r.IntN(8)]
	}
	x := rig.Exchange{Addr: w.Addr(), Send: rawGet(target+sep+w.report(), viewer), Within: waitLong}
	res, err := x.Do()
	if err != nil || res.StatusCode != 200 {
		w.T.Fatalf("%q: %v, %v", x.Send, res.Response, err)
	}
	m, err := rig.ReadManifest(res.Body)
	if err != nil {
		w.T.Fatalf("%q: %v", x.Send, err)
	}
	w.bodies = append(w.bodies, res.Body)
	if m.Reload != "" {
		_, path, _ := strings.Cut(strings.TrimPrefix(m.Reload, "http://"), "/")
		w.reload = append(w.reload, "/"+path)
	}
}

// TestSteeringWalk holds that a validator which others wrote takes every body of
// a random walk.
func TestSteeringWalk(t *testing.T) {
	t.Parallel()
	const polls = 1000
	s := newSteered(t, 4, quiet, feedbackRules(1), steeringKeys(rig.Config{"clones": []rig.Config{
		{"base": "a", "id": "x1", "host": "x1.example.net", "params": rig.Config{"k": "v%2F"}, "locations": []string{"all", "ten"}},
		{"base": "x1", "id": "x2", "host": "x2.example.net", "per_variant_uris": rig.Config{"v": "https://x2.example.net/v.m3u8"}, "locations": []string{"all"}},
	}}), func(c rig.Config) {
		section := c["redirection"].(rig.Config)
		section["vod_range_cache_time_sec"] = 0.3
		with(c, "probe", rig.Config{"max_per_sec_per_server": 10_000}) // so that answers change on the way
		ten := place("ten", "d c b a", "10.1.0.0/16")
		ten["split"] = rig.Config{"d": 50, "a": 25}
		section["locations"] = append(section["locations"].([]rig.Config), ten)
	})
	w := &walk{steered: s, random: rand.New(rand.NewPCG(4, 2)), fallen: map[string]struct{}{}, down: map[string]bool{}}
	for len(w.bodies) < polls {
		if w.random.IntN(12) == 0 {
			w.happen()
		}
		w.poll()
	}
	different := map[string]bool{}
	for _, body := range w.bodies {
		m, _ := rig.ReadManifest(body)
		different[strings.Join(m.Priority, " ")] = true
	}
	t.Logf("%d bodies with %d different orders", len(w.bodies), len(different))
	if len(different) < 20 {
		t.Errorf("the walk met %d different orders, expected many", len(different))
	}
	cmd := exec.Command(rig.Tool(t, "node"), "validate.mjs")
	cmd.Dir = filepath.Join(rig.Root(), "test", "steeringlib")
	cmd.Stdin = strings.NewReader(strings.Join(w.bodies, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(polls) {
		t.Errorf("isValidSteeringManifest: %v\n%s", err, out)
	}
}
