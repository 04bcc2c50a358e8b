package farms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// steeredRow is one case of pathway overrides and the ranking of pathways.
type steeredRow struct {
	name      string
	farms     []string // as newScene reads them; the pathways are f1, f2, …
	perServer bool     // each server is a pathway
	overrides string   // "pin f2" or "exclude f1 LOCATION CHANNEL", joined by ";"
	slow      string   // pathway that feedback set aside
	secure    bool
	want      string // pathways in order, those not well in brackets
	chosen    string // the redirect's server and why
}

func TestRankPathways(t *testing.T) {
	t.Parallel()
	for _, r := range []steeredRow{
		{name: "farm_order", farms: []string{"weight a:present", "weight b:present", "weight c:present"}, want: "f1 f2 f3", chosen: "a chosen"},
		{name: "down_goes_last", farms: []string{"weight a:down", "weight b:present", "weight c:present"}, want: "f2 f3 (f1)", chosen: "b chosen"},
		{name: "draining_goes_last", farms: []string{"weight a:present,draining", "weight b:present"}, want: "f2 (f1)", chosen: "b chosen"},
		{name: "absent_goes_last", farms: []string{"weight a:absent", "weight b:present", "weight c:present"}, want: "f2 f3 (f1)", chosen: "b chosen"},
		{name: "one_of_two_is_enough", farms: []string{"weight a:down b:present", "weight c:present"}, want: "f1 f2", chosen: "b chosen"},
		{name: "unanswered_after_the_confirmed", farms: []string{"weight a:present", "weight b", "weight c:present"}, want: "f1 f3 f2", chosen: "a chosen"},
		{name: "guarded_and_stale_are_doubtful", farms: []string{"weight a:guarded", "weight b:present"}, want: "f2 (f1)", chosen: "b chosen"},
		{name: "all_down_is_never_empty", farms: []string{"weight a:down", "weight b:down"}, want: "(f1) (f2)"},
		{name: "disabled_is_omitted", farms: []string{"weight a:disabled", "weight b:present"}, want: "f2", chosen: "b chosen"},
		{name: "all_disabled_is_never_empty", farms: []string{"weight a:disabled", "weight b:disabled"}, want: "(f1)"},
		{name: "last_resort_is_well", farms: []string{"weight a:present,last", "weight b:present"}, want: "f2 f1", chosen: "b chosen"},

		{name: "pin", farms: []string{"weight a:present", "weight b:present", "weight c:present"}, overrides: "pin f3", want: "f3 f1 f2", chosen: "c chosen"},
		{name: "pin_of_one_that_is_down", farms: []string{"weight a:present", "weight b:down"}, overrides: "pin f2", want: "f1 (f2)", chosen: "a chosen"},
		{name: "pin_of_a_stranger", farms: []string{"weight a:present", "weight b:present"}, overrides: "pin elsewhere", want: "f1 f2", chosen: "a chosen"},
		{name: "pin_beats_a_session", farms: []string{"first_response a:present", "weight b:present"}, overrides: "pin f2", want: "f2 f1", chosen: "b chosen"},
		{name: "narrow_pin_wins", farms: []string{"weight a:present", "weight b:present"}, overrides: "pin f1;pin f2 0 " + rankedChannel, want: "f2 f1", chosen: "b chosen"},
		{name: "pin_of_another_channel", farms: []string{"weight a:present", "weight b:present"}, overrides: "pin f2 0 other", want: "f1 f2", chosen: "a chosen"},
		{name: "pin_of_another_location", farms: []string{"weight a:present", "weight b:present"}, overrides: "pin f2 elsewhere", want: "f1 f2", chosen: "a chosen"},
		{name: "exclude", farms: []string{"weight a:present", "weight b:present"}, overrides: "exclude f1", want: "f2", chosen: "b chosen"},
		{name: "exclude_holds_while_the_other_is_down", farms: []string{"weight a:present", "weight b:down"}, overrides: "exclude f1", want: "(f2)"},
		{name: "exclude_of_all_excludes_none", farms: []string{"weight a:present", "weight b:present"}, overrides: "exclude f1;exclude f2 0", want: "f1 f2", chosen: "a chosen"},
		{name: "drain", farms: []string{"weight a:present", "weight b:present", "weight c:present"}, overrides: "drain f1", want: "f2 f3 f1", chosen: "b chosen"},
		{name: "drained_still_serves_alone", farms: []string{"weight a:present", "weight b:down"}, overrides: "drain f1", want: "f1 (f2)", chosen: "a chosen"},
		{name: "ended", farms: []string{"weight a:present", "weight b:present"}, overrides: "ended f2", want: "f1 f2", chosen: "a chosen"},
		{name: "slow", farms: []string{"weight a:present", "weight b:present"}, slow: "f1", want: "f2 f1", chosen: "b chosen"},
		{name: "slow_but_pinned", farms: []string{"weight a:present", "weight b:present"}, slow: "f1", overrides: "pin f1", want: "f1 f2", chosen: "a chosen"},
		{name: "slow_but_alone", farms: []string{"weight a:present", "weight b:absent"}, slow: "f1", want: "f1 (f2)", chosen: "a chosen"},

		{name: "servers", perServer: true, farms: []string{"content_id a:present b:present", "weight c:present"}, want: "a b c", chosen: "a chosen"},
		{name: "server_pin", perServer: true, farms: []string{"content_id a:present b:present", "weight c:present"}, overrides: "pin b", want: "b a c", chosen: "b chosen"},
		{name: "server_exclude", perServer: true, farms: []string{"content_id a:present b:present", "weight c:present"}, overrides: "exclude a", want: "b c", chosen: "b chosen"},
		{name: "server_down", perServer: true, farms: []string{"content_id a:down b:present", "weight c:present"}, want: "b c (a)", chosen: "b chosen"},
		{name: "server_of_two_farms", perServer: true, farms: []string{"content_id a:present b:present", "weight a c:present"}, want: "a b c", chosen: "a chosen"},
		{name: "scheme", perServer: true, secure: true, farms: []string{"weight a:present", "weight b:present"}, want: "(a)"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.check(t)
		})
	}
}

func (r *steeredRow) check(t *testing.T) {
	t.Helper()
	s := newScene(t, r.farms...)
	if r.perServer {
		s = newSceneOf(t, true, r.farms...)
	}
	q := query()
	q.Secure = r.secure
	var slow uint64
	if r.slow != "" {
		slow = farms.PathwayHash(r.slow)
	}
	q.Steered = readOverrides(t, r.overrides).Steered(s.table.Locations[0], q.Content.Channel, slow, now())
	var scratch farms.Scratch
	c := farms.Choose(s.table.Farms, &q, &s.world, &s.rules, farms.Options{Final: true, Every: true}, &scratch)
	chosen := ""
	if c.Chosen != nil {
		chosen = c.Chosen.Member.Server.Name + " " + c.Chosen.Why.String()
	}
	if chosen != r.chosen {
		t.Errorf("a viewer is redirected to %q (%s), expected %q", chosen, whysOf(&scratch), r.chosen)
	}
	standing := farms.RankPathways(scratch.Candidates, c.Chosen, q.Session, nil)
	if got := pathwaysOf(standing); got != r.want {
		t.Errorf("pathways %s (%s), expected %s", got, whysOf(&scratch), r.want)
	}
	if c.Chosen != nil && standing[0].Pathway != c.Chosen.Pathway() {
		t.Errorf("the redirect goes to pathway %s, the manifest begins with %s", c.Chosen.Pathway().ID, standing[0].Pathway.ID)
	}
}

func pathwaysOf(standing []farms.Standing) string {
	var list []string
	for _, s := range standing {
		if s.Well {
			list = append(list, s.Pathway.ID)
		} else {
			list = append(list, "("+s.Pathway.ID+")")
		}
	}
	return strings.Join(list, " ")
}

func readOverrides(t *testing.T, text string) farms.PathwayOverrides {
	t.Helper()
	os := farms.PathwayOverrides{}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' }) {
		fields := append(strings.Fields(part), "", "")
		o := farms.PathwayOverride{Pathway: fields[1], Until: now().Add(time.Second)}
		if fields[0] == "ended" {
			fields[0], o.Until = "pin", now()
		}
		var ok bool
		if o.Action, ok = farms.ParsePathwayAction(fields[0]); !ok {
			t.Fatalf("%q is no action", fields[0])
		}
		scope := farms.PathwayScope{Location: fields[2], Channel: fields[3]}
		os[scope] = append(os[scope], o)
	}
	return os
}

// TestManifestMovesWhatPlays holds that of a channel nothing is known of a drained
// pathway keeps the segments of a session, and not its next manifest.
func TestManifestMovesWhatPlays(t *testing.T) {
	t.Parallel()
	s := newScene(t, "weight a", "weight b")
	q := query()
	q.Content.Kind, q.Prior = farms.KindChild, s.id(t, "a")
	q.Steered = readOverrides(t, "drain f1").Steered(s.table.Locations[0], q.Content.Channel, 0, now())
	for moves, want := range map[bool]string{false: "a", true: "b"} {
		q.Moves = moves
		var scratch farms.Scratch
		c := farms.Choose(s.table.Farms, &q, &s.world, &s.rules, farms.Options{Final: true, Every: true}, &scratch)
		if got := nameOf(c.Chosen); got != want {
			t.Errorf("moves %t: %s, expected %s", moves, got, want)
		}
	}
}

// TestRankPathwaysIsBounded holds that a location of a thousand servers gives a
// list that players can bear, without doubles.
func TestRankPathwaysIsBounded(t *testing.T) {
	t.Parallel()
	line := "share"
	for i := range 1000 {
		line += fmt.Sprintf(" s%d:present", i)
	}
	s := newSceneOf(t, true, line)
	q := query()
	var scratch farms.Scratch
	c := farms.Choose(s.table.Farms, &q, &s.world, &s.rules, farms.Options{Final: true, Every: true}, &scratch)
	standing := farms.RankPathways(scratch.Candidates, c.Chosen, q.Session, nil)
	seen := map[string]bool{}
	for _, st := range standing {
		seen[st.Pathway.ID] = true
	}
	if len(standing) != farms.MaxPathways || len(seen) != farms.MaxPathways {
		t.Errorf("%d pathways, %d different, expected %d", len(standing), len(seen), farms.MaxPathways)
	}
}

// TestPathwayBase holds where viewers of either scheme find a pathway.
func TestPathwayBase(t *testing.T) {
	t.Parallel()
	build := func(public string) *farms.Pathway {
		table, err := farms.Build(&farms.Spec{
			Servers: []farms.ServerSpec{{Name: "a", URL: "http://a.example/x/", HTTPSURL: "https://a.example"}},
			Farms:   []farms.FarmSpec{{Name: "f", Pathway: "way", PublicURL: public, Members: []farms.MemberSpec{{Server: "a", Weight: 1}}}},
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
		return table.Pathways[0]
	}
	for _, tc := range []struct{ public, plain, secure string }{
		{"", "http://a.example/x", "https://a.example"},
		{"http://cdn.example/", "http://cdn.example", ""},
		{"https://cdn.example/y/", "https://cdn.example/y", "https://cdn.example/y"},
	} {
		p := build(tc.public)
		if p.ID != "way" || p.Base(false) != tc.plain || p.Base(true) != tc.secure {
			t.Errorf("public_url %q: %s %q %q, expected way %q %q", tc.public, p.ID, p.Base(false), p.Base(true), tc.plain, tc.secure)
		}
	}
}

func TestDegraded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		farms []string
		want  bool
	}{
		{[]string{"weight a:present", "weight b:present"}, false},
		{[]string{"content_id a:present b:absent", "weight c:present"}, false},
		{[]string{"weight a:present b:down", "weight c:present"}, true},
		{[]string{"weight a:present", "weight c:absent"}, true},
		{[]string{"weight a:present", "weight c:frozen"}, true},
	} {
		s := newScene(t, tc.farms...)
		q := query()
		var scratch farms.Scratch
		c := farms.Choose(s.table.Farms, &q, &s.world, &s.rules, farms.Options{Final: true, Every: true}, &scratch)
		if got := farms.Degraded(scratch.Candidates, farms.RankPathways(scratch.Candidates, c.Chosen, 1, nil)); got != tc.want {
			t.Errorf("%v: degraded %t, expected %t (%s)", tc.farms, got, tc.want, whysOf(&scratch))
		}
	}
}
