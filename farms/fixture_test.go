package farms_test

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// With these keys, servers of equal weight named a, b, c, d rank in this order
// under content_id (by the channel) and under share and weight (by the
// session), so that a row can say by name who comes first.
const (
	rankedChannel        = "channel-30"
	rankedSession uint64 = 18
)

// now is when every decision of these tests is taken.
func now() time.Time { return time.Date(2026, 7, 1, 20, 0, 0, 0, time.UTC) }

func ago(s float64) time.Time { return now().Add(-seconds(s)) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func rules() farms.Rules {
	return farms.Rules{
		StaleIfError: 600 * time.Second, OffAir: 600 * time.Second,
		SlowStart: 30 * time.Second, Sticky: time.Minute,
	}
}

// fakeWorld is a world made of plain maps.
type fakeWorld struct {
	health map[farms.Endpoint]*farms.Health
	known  *farms.Known
	loads  map[farms.ServerID]float64
}

func (w *fakeWorld) Health(ep farms.Endpoint) *farms.Health { return w.health[ep] }
func (w *fakeWorld) Content(farms.Content) *farms.Known     { return w.known }
func (w *fakeWorld) Load(id farms.ServerID) float64         { return w.loads[id] }

func (w *fakeWorld) learn(facts ...farms.Fact) {
	w.known = &farms.Known{Facts: append(slices.Clone(w.known.Facts), facts...)}
	slices.SortFunc(w.known.Facts, func(a, b farms.Fact) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
}

// scene is a table and what is known about it.
type scene struct {
	table *farms.Table
	fake  fakeWorld
	world farms.World
	rules farms.Rules
}

// newScene reads one line for each farm: the policy, with "/assume" or
// "/bound1.25" behind it, then the servers, each with the words that tell what
// the operator, the status probes and the content probes say of it:
//
//	weight/bound1.25 a:present,w2,load10 b:guarded,last
//
// A server that a second farm lists again is only given a weight there.
func newScene(t testing.TB, lines ...string) *scene {
	t.Helper()
	return newSceneOf(t, false, lines...)
}

// newSceneOf is newScene; with perServer each server is a pathway.
func newSceneOf(t testing.TB, perServer bool, lines ...string) *scene {
	t.Helper()
	s := &scene{rules: rules(), fake: fakeWorld{
		health: map[farms.Endpoint]*farms.Health{}, loads: map[farms.ServerID]float64{}, known: &farms.Known{},
	}}
	s.world = farms.World{Facts: &s.fake, Loads: &s.fake}
	spec := farms.Spec{Rules: s.rules, PathwayPerServer: perServer}
	location := farms.LocationSpec{Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
	words := map[string][]string{}
	for i, line := range lines {
		fields := strings.Fields(line)
		farm := farmSpec(t, "f"+strconv.Itoa(i+1), fields[0])
		for _, field := range fields[1:] {
			name, list, _ := strings.Cut(field, ":")
			ws := strings.Split(list, ",")
			if _, again := words[name]; !again {
				words[name] = ws
				spec.Servers = append(spec.Servers, serverSpec(name, ws))
			}
			farm.Members = append(farm.Members, farms.MemberSpec{Server: name, Weight: number(t, ws, "w", 1)})
		}
		spec.Farms = append(spec.Farms, farm)
		location.Farms = append(location.Farms, farm.Name)
	}
	spec.Locations = []farms.LocationSpec{location}
	table, err := farms.Build(&spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.table = table
	for _, server := range table.Servers {
		s.describe(t, server, words[server.Name])
	}
	return s
}

func farmSpec(t testing.TB, name, head string) farms.FarmSpec {
	t.Helper()
	word, option, _ := strings.Cut(head, "/")
	policy, ok := farms.ParsePolicy(word)
	if !ok {
		t.Fatalf("scene: %q is not a policy", word)
	}
	f := farms.FarmSpec{Name: name, Policy: policy, Assume: option == "assume"}
	f.BoundedLoad = number(t, []string{option}, "bound", 0)
	return f
}

func serverSpec(name string, words []string) farms.ServerSpec {
	s := farms.ServerSpec{Name: name, URL: "http://" + name + ".example", StatusPath: "/"}
	for _, w := range words {
		switch w {
		case "last":
			s.LastResort = true
		case "disabled":
			s.State = farms.StateDisabled
		case "draining":
			s.State = farms.StateDraining
		case "drained":
			s.State, s.DrainUntil = farms.StateDraining, now()
		case "https":
			s.URL = "https://" + name + ".example"
		case "both":
			s.HTTPSURL = "https://" + name + ".example"
		case "v4":
			s.URL = "http://192.0.2." + strconv.Itoa(int(name[0])) + ":8080"
		case "v6":
			s.URL = "http://[2001:db8::" + strconv.Itoa(int(name[0])) + "]:8080"
		}
	}
	return s
}

// describe fills in health, fact and load of one server from its words.
func (s *scene) describe(t testing.TB, server *farms.Server, words []string) {
	t.Helper()
	h := &farms.Health{Condition: farms.ConditionUp, Since: ago(5000)}
	f := farms.Fact{Endpoint: server.Endpoint, At: ago(5), FreshUntil: now().Add(5 * time.Second), ServeUntil: now().Add(15 * time.Second)}
	asked := true
	for _, w := range words {
		switch strings.TrimRight(w, "0123456789.") {
		case "nohealth":
			h = nil
		case "down":
			h.Condition, h.Since = farms.ConditionDown, ago(5)
		case "downlong":
			h.Condition, h.Since = farms.ConditionDown, ago(601)
		case "warm":
			h.WarmFrom = ago(number(t, words, "warm", 0))
		case "rtt":
			h.RTT = seconds(number(t, words, "rtt", 0) / 1000)
		case "dns":
			h.Reach = map[string]farms.Reach{"dns4": farms.ReachV4, "dns6": farms.ReachV6, "dns46": farms.ReachBoth}[w]
		case "load":
			s.fake.loads[server.ID] = number(t, words, "load", 0)
		case "present", "refresh", "old":
			f.Presence, f.HeldAt, f.MovedAt = farms.Present, ago(20), ago(1)
		case "vod":
			f.Kind = farms.KindVoD
		case "frozen":
			f.Presence, f.HeldAt, f.Frozen, f.MovedAt = farms.Present, ago(20), true, ago(number(t, words, "frozen", 0))
		case "absent", "absentold":
			f.Presence = farms.Absent
		case "guarded", "guardedold":
			f.Presence = farms.Guarded
		case "trouble", "troubleold":
			f.Presence = farms.Trouble
		case "held":
			f.HeldAt = ago(number(t, words, "held", 0))
		case "w", "last", "disabled", "draining", "drained", "https", "both", "v", "":
		default:
			t.Fatalf("scene: server %s: what is %q?", server.Name, w)
		}
		switch w {
		case "refresh", "absentold", "guardedold", "troubleold":
			f.FreshUntil = now()
		case "old":
			f.FreshUntil, f.ServeUntil = ago(10), now()
		}
	}
	if f.Presence == farms.Unasked && f.HeldAt.IsZero() {
		asked = false
	}
	if h != nil {
		s.fake.health[server.Endpoint] = h
	}
	if asked {
		s.fake.learn(f)
	}
}

// number returns the number behind the given word, e.g. 1.25 of "bound1.25".
func number(t testing.TB, words []string, word string, otherwise float64) float64 {
	t.Helper()
	for _, w := range words {
		if rest, ok := strings.CutPrefix(w, word); ok && rest != "" && strings.Trim(rest, "0123456789.") == "" {
			n, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				t.Fatalf("scene: %q: %v", w, err)
			}
			return n
		}
	}
	return otherwise
}

// id returns the id of the server with this name, 0 for "".
func (s *scene) id(t testing.TB, name string) farms.ServerID {
	t.Helper()
	if name == "" {
		return 0
	}
	for _, server := range s.table.Servers {
		if server.Name == name {
			return server.ID
		}
	}
	t.Fatalf("scene: there is no server %q", name)
	return 0
}

// query is an http viewer on IPv4 who comes for the first time.
func query() farms.Query {
	return farms.Query{
		Content: farms.Content{Channel: rankedChannel, Path: "/" + rankedChannel + "/index.m3u8", Protocol: farms.ProtocolHLS},
		Reach:   farms.ReachV4, Session: rankedSession, Now: now(),
	}
}

func (s *scene) choose(q *farms.Query, opt farms.Options, scratch *farms.Scratch) farms.Choice {
	return farms.Choose(s.table.Locations[0].Farms, q, &s.world, &s.rules, opt, scratch)
}

func names(servers []*farms.Server) string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = s.Name
	}
	return strings.Join(list, " ")
}

func nameOf(c *farms.Candidate) string {
	if c == nil {
		return "nobody"
	}
	return c.Member.Server.Name
}
