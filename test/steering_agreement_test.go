package test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// agreement is an instance with two farms of two servers, whose state changes at
// random between rounds.
type agreement struct {
	*steered
	random         *rand.Rand
	pathway        map[string]string // by server
	down, returned map[string]bool
	agreed         int // viewers who were sent somewhere
}

// newAgreement has servers a and b in farm x, c and d in farm y.
func newAgreement(t *testing.T, seed uint64, level, policy string, decorate bool) *agreement {
	t.Helper()
	g := &agreement{steered: &steered{stages: map[string]*rig.Stage{}}, random: rand.New(rand.NewPCG(seed, 0)), pathway: map[string]string{}, down: map[string]bool{}, returned: map[string]bool{}}
	var farms []rig.Config
	for farm, servers := range map[string]string{"x": "a b", "y": "c d"} {
		f := rig.Config{"name": farm, "policy": policy}
		if level == "farm" {
			f["public_url"] = "http://" + farm + ".example.net/cdn"
		}
		var list []rig.Config
		for _, name := range strings.Fields(servers) {
			stage := rig.NewStage(t, name)
			g.stages[name] = stage
			list = append(list, rig.Config{"name": name, "url": stage.URL(), "weight": 1 + len(list)})
			if g.pathway[name] = name; level == "farm" {
				g.pathway[name] = farm
			}
		}
		f["servers"] = list
		farms = append(farms, f)
	}
	location := place("all", "x y", everywhere...)
	location["split"] = rig.Config{"x": 60, "y": 40}
	g.config = steeringConfig(farms, location)
	quiet(g.config)
	with(g.config, "probe", rig.Config{"max_per_sec_per_server": 10_000})
	with(g.config, "steering", rig.Config{"level": level, "decorate": decorate})
	g.Pointsman = rig.Start(t, g.config)
	return g
}

// settle waits until every server that is up has answered about the channel, so
// that no answer comes between two questions of one viewer.
func (g *agreement) settle() {
	g.T.Helper()
	rig.Eventually(g.T, waitLong, func() error {
		for _, path := range []string{"/ch/index.m3u8", "/ch/manifest.mpd"} {
			g.Steer("/steering"+path, from(1<<20)...)
			x := g.Operator("GET", "/explain?ip=10.99.99.99&url=/steering"+path, "")
			if strings.Contains(x.Body, `"unanswered"`) {
				return fmt.Errorf("a server has not answered: %s", x.Body)
			}
		}
		return nil
	})
}

// change does one thing at random: the operator's, or a server's.
func (g *agreement) change() (what string) {
	g.T.Helper()
	names := []string{"a", "b", "c", "d"}
	name := names[g.random.IntN(4)]
	switch g.random.IntN(6) {
	case 0, 1:
		switch { // one that goes down again and again is held down for longer each time
		case !g.down[name]:
			g.stages[name].Stop()
			g.waitHealth(name, false)
			g.down[name] = true
		case !g.returned[name]:
			g.stages[name].Start()
			g.waitHealth(name, true)
			g.down[name], g.returned[name] = false, true
		}
		return fmt.Sprintf("%s down: %v", name, g.down[name])
	case 2:
		state := []string{"enabled", "draining", "disabled"}[g.random.IntN(3)]
		if res := g.Operator("POST", "/admin/servers/"+name, fmt.Sprintf(`{"state":%q}`, state)); res.StatusCode != 200 {
			g.T.Fatalf("%d %s", res.StatusCode, res.Body)
		}
		return name + " " + state
	case 3:
		g.Operator("DELETE", "/admin/pathways/"+g.pathway[name], "") // 404 when there is none
		return "nothing said of " + g.pathway[name]
	default:
		action := []string{"pin", "exclude", "drain"}[g.random.IntN(3)]
		g.mustOverride(g.pathway[name], fmt.Sprintf(`{"action":%q}`, action))
		return action + " " + g.pathway[name]
	}
}

// waitHealth waits until the probes say of a server that it is up or down,
// whatever the operator says of it.
func (g *agreement) waitHealth(name string, up bool) {
	g.T.Helper()
	rig.Eventually(g.T, waitLong, func() error {
		if v, n := g.Metric(fmt.Sprintf("pointsman_server_up{server=%q}", name)); n != 1 || (v == 1) != up {
			return fmt.Errorf("server %s up: %v, expected %v", name, v == 1, up)
		}
		return nil
	})
}

var startsOn = regexp.MustCompile(`#EXT-X-CONTENT-STEERING:SERVER-URI="([^"]+)",PATHWAY-ID="([^"]+)"`)

// agree holds that the redirect of a viewer and his first manifest name the same
// pathway, whichever he asks for first; sid carries his session, "" by address.
func (g *agreement) agree(what string, viewer []string) {
	g.T.Helper()
	path := []string{"/ch/index.m3u8", "/ch/manifest.mpd"}[g.random.IntN(2)]
	steering := "/steering" + path
	if g.random.IntN(4) == 0 {
		steering = "/steering/ch"
	}
	var m rig.Manifest
	manifestFirst := g.random.IntN(2) == 0
	if manifestFirst {
		m = g.Steer(steering, viewer...)
	}
	res := g.Get(path, viewer...)
	if !manifestFirst {
		m = g.Steer(steering, viewer...)
	}
	if res.StatusCode != http.StatusFound {
		if res.StatusCode != 503 {
			g.T.Errorf("%s: %s is answered %d %s", what, path, res.StatusCode, res.Body)
		}
		return // nobody serves; the manifest has an order nevertheless
	}
	g.agreed++
	if got := g.pathway[g.serverOf(res.Location())]; got != m.First() {
		g.T.Errorf("%s: %s (manifest first: %v) leads to %s of pathway %q, the manifest %s says %v", what, path, manifestFirst, res.Location(), got, steering, m.Priority)
	}
	// Elsewhere he is the same when he brings his session.
	res = g.Get(path+"?pm_sid="+m.Session(), from(g.random.IntN(1<<20))...)
	if got := g.pathway[g.serverOf(res.Location())]; got != m.First() {
		g.T.Errorf("%s: %s with pm_sid leads to %s of pathway %q, his manifest says %v", what, path, res.Location(), got, m.Priority)
	}
	if strings.Contains(res.Location(), "pm_sid") && strings.Count(res.Location(), "pm_sid=") != 1 {
		g.T.Errorf("%s: Location is %s", what, res.Location())
	}
}

// TestSteeringAgreement shows check 53: redirects and manifests of a session never
// disagree, whatever operators and servers do.
func TestSteeringAgreement(t *testing.T) {
	t.Parallel()
	const rounds, viewers = 12, 12
	for i, level := range []string{"farm", "server"} {
		for j, policy := range []string{"first_response", "content_id", "weight", "share"} {
			t.Run("check_53_"+level+"_"+policy, func(t *testing.T) {
				t.Parallel()
				g := newAgreement(t, uint64(10*i+j), level, policy, false)
				g.settle()
				done := []string{"as configured"}
				for round := range rounds {
					for i := range viewers {
						// Some are new, some were here before.
						g.agree(strings.Join(done, ", "), from(100*(round-round%3)+i))
					}
					done = append(done, g.change())
					g.settle()
				}
				if g.agreed < rounds*viewers/2 {
					t.Errorf("%d of %d viewers were sent somewhere", g.agreed, rounds*viewers)
				}
			})
		}
	}
}

// TestSteeringAgreementDecorated shows the same with steering.decorate: the
// decorated playlist starts on the pathway that the manifest at its SERVER-URI
// names first, and what is redirected carries the session.
func TestSteeringAgreementDecorated(t *testing.T) {
	t.Parallel()
	for i, policy := range []string{"first_response", "share"} {
		t.Run("check_53_"+policy, func(t *testing.T) {
			t.Parallel()
			g := newAgreement(t, uint64(i), "server", policy, true)
			g.settle()
			done := []string{"as configured"}
			for range 8 {
				for i := range 8 {
					what := strings.Join(done, ", ")
					res := g.Get("/ch/index.m3u8", from(i)...)
					if res.StatusCode == 503 {
						continue
					}
					tag := startsOn.FindStringSubmatch(res.Body)
					if res.StatusCode != 200 || tag == nil {
						t.Errorf("%s: %d %s", what, res.StatusCode, res.Body)
						continue
					}
					_, target, _ := strings.Cut(strings.TrimPrefix(tag[1], "http://"), "/")
					// The player may be elsewhere by now: the session says who it is.
					m := g.Steer("/"+target, from(5000+i)...)
					if m.First() != tag[2] || !slices.Contains(m.Priority, tag[2]) {
						t.Errorf("%s: the playlist starts on %s, the manifest says %v", what, tag[2], m.Priority)
					}
					segment := g.Get("/ch/seg1.ts", from(i)...)
					if got := g.serverOf(segment.Location()); got != tag[2] || !strings.Contains(segment.Location(), "?pm_sid=") {
						t.Errorf("%s: the playlist starts on %s, a segment is at %s", what, tag[2], segment.Location())
					}
				}
				done = append(done, g.change())
				g.settle()
			}
		})
	}
}

// TestSteeringAgreementArchive shows the same of archive windows, where who holds
// most of the window comes before every policy.
func TestSteeringAgreementArchive(t *testing.T) {
	t.Parallel()
	hour, early := yesterday(60, 600)
	_, late := yesterday(300, 1200)
	_, all := yesterday(0, 1200)
	first, second, third := rig.NewRecorder(t, "first"), rig.NewRecorder(t, "second"), rig.NewRecorder(t, "third")
	first.Holds("ch", early).Holds("x", late)
	second.Holds("ch", late).Holds("x", early)
	third.Holds("ch", all).Holds("x", all)
	farms := []rig.Config{recordedBy("f", rig.Config{"policy": "share"}, first, second), recordedBy("g", nil, third)}
	c := steeringConfig(farms, place("all", "f g", everywhere...))
	quiet(c)
	with(c, "steering", rig.Config{"level": "server", "deadline_ms": 1500})
	with(c, "probe", unpaced())
	p := rig.Start(t, c)
	servers := map[string]string{first.URL(): "first", second.URL(): "second", third.URL(): "third"}
	chosen := map[string]int{}
	for i := range 60 {
		channel, start := []string{"ch", "x"}[i%2], hour+int64(i)*1200
		path := fmt.Sprintf("/%s/archive-%d-%d.m3u8", channel, start, 60+600*(i%5))
		if i%3 == 0 {
			path = fmt.Sprintf("/%s/index.m3u8?utc=%d", channel, start)
		}
		rig.Eventually(t, waitLong, func() error { // a full holder that answers early ends the wait for others
			if x := p.Operator("GET", "/explain?ip=10.99.99.99&url="+url.QueryEscape(path), ""); strings.Contains(x.Body, `"unanswered"`) {
				return fmt.Errorf("a server has not answered: %s", x.Body)
			}
			return nil
		})
		m := p.Steer("/steering"+path, from(i)...)
		res := p.Get(path, from(i)...)
		if got := servers[rig.Answer{Location: res.Location()}.Server()]; got != m.First() {
			t.Errorf("check 53: %s leads to %d %s, the manifest says %v", path, res.StatusCode, res.Location(), m.Priority)
		}
		chosen[m.First()]++
	}
	if len(chosen) != 3 {
		t.Errorf("first are %v, expected each server for some window", chosen)
	}
}
