package plan

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Each cause, by the smallest change that has it alone.
func TestCauses(t *testing.T) {
	t.Parallel()
	const shared = "farm main share a b c"
	for _, row := range []struct {
		name          string
		before, after []string
		why           string // "": nobody moves
		all           bool   // everybody does
	}{
		{"nothing", []string{shared, everybody}, []string{shared, everybody}, "", false},
		{"order_of_servers", []string{shared, everybody}, []string{"farm main share c a b", everybody}, "", false},
		{"another_address", []string{shared, everybody}, []string{"farm main share a,url:new.example b c", everybody}, "", false},
		{"server_gone", []string{shared, everybody}, []string{"farm main share a b", everybody}, CauseGone, false},
		{"server_in_another_farm", []string{shared, everybody}, []string{"farm main share a b", "farm two share c", "location all 10.0.0.0/8 main two"}, CauseGone, false},
		{"new_server", []string{shared, everybody}, []string{shared + " d", everybody}, CauseNew, false},
		{"weight", []string{shared, everybody}, []string{"farm main share a b,w2 c", everybody}, CauseWeight, false},
		{"last_resort", []string{shared, everybody}, []string{"farm main share a b,last c", everybody}, CauseWeight, false},
		{"no_last_resort_any_more", []string{"farm main share a b,last", everybody}, []string{"farm main share a b", everybody}, CauseBack, false},
		{"policy", []string{shared, everybody}, []string{"farm main content_id a b c", everybody}, CausePolicy, false},
		{"disabled", []string{shared, everybody}, []string{"farm main share a b c,disabled", everybody}, CauseOut, false},
		{"draining", []string{shared, everybody}, []string{"farm main share a b c,draining", everybody}, CauseOut, false},
		{"enabled_again", []string{"farm main share a b c,disabled", everybody}, []string{shared, everybody}, CauseBack, false},
		{"enabled_when_nobody_was", []string{"farm main share a,disabled", everybody}, []string{"farm main share a", everybody}, CauseBack, true},
		{"first_server", []string{"farm main share a,disabled", everybody}, []string{"farm main share a,disabled b", everybody}, CauseNew, true},
		{"all_disabled", []string{"farm main share a", everybody}, []string{"farm main share a,disabled", everybody}, CauseOut, true},
		{
			"farm_order",
			[]string{"farm one share a", "farm two share b", "location all 10.0.0.0/8 one two"},
			[]string{"farm one share a", "farm two share b", "location all 10.0.0.0/8 two one"},
			CauseFarmOrder, true,
		},
		{
			"split",
			[]string{"farm one share a", "farm two share b", "location all 10.0.0.0/8 one two"},
			[]string{"farm one share a", "farm two share b", "location all 10.0.0.0/8 one two=20"},
			CauseFarmOrder, false,
		},
		{
			"location",
			[]string{"farm one share a", "farm two share b", "location x 10.0.0.0/8 one", "location y 11.0.0.0/8 two"},
			[]string{"farm one share a", "farm two share b", "location x 11.0.0.0/8 one", "location y 10.0.0.0/8 two"},
			CauseLocation, true,
		},
		{"no_location", []string{shared, everybody}, []string{shared, "location all 11.0.0.0/8 main"}, CauseLocation, true},
		{"family", []string{"farm main share a b", everybody}, []string{"farm main share a,url:[2001:db8::1] b", everybody}, CauseURL, false},
		{"bounded_load", []string{"farm main content_id a b c", everybody}, []string{"farm main content_id/bound1.1 a b c", everybody}, CauseLoad, false},
		{"first_response_keeps", []string{"farm main first_response a b", everybody}, []string{"farm main first_response a b c", everybody}, "", false},
		{"first_response_gone", []string{"farm main first_response a b", everybody}, []string{"farm main first_response b", everybody}, CauseGone, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			const n = 3000
			other := newTestSide(t, network(t, row.after...))
			a := Run(newTestSide(t, network(t, row.before...)), &other, crowd(n, 40), options(n)).Against
			var why []string
			for _, c := range a.Why {
				why = append(why, c.Why)
			}
			if got := strings.Join(why, " "); got != row.why || (a.Moved > 0) != (row.why != "") || (a.Moved == n) != row.all {
				t.Errorf("%d of %d move because of %q, expected %q: %+v", a.Moved, n, got, row.why, a.Moves)
			}
			sum := a.Other
			for _, m := range a.Moves {
				sum += m.Viewers
			}
			farmSum := 0
			for _, m := range a.Farms {
				farmSum += m.Viewers
			}
			if sum != a.Moved || farmSum != a.Moved {
				t.Errorf("%d move, the servers' moves are %d and the farms' %d", a.Moved, sum, farmSum)
			}
		})
	}
}

// Only what the new server takes moves to it, and from everybody alike.
func TestNewServerTakesItsShare(t *testing.T) {
	t.Parallel()
	const n = 40_000
	other := newTestSide(t, network(t, "farm main share a b c d", everybody))
	a := Run(newTestSide(t, network(t, "farm main share a b c", everybody)), &other, crowd(n, 10), options(n)).Against
	if a.Share < 0.24 || a.Share > 0.26 {
		t.Errorf("%.3f of the viewers move, expected a quarter", a.Share)
	}
	for _, m := range a.Moves {
		if m.ToServer != "d" || m.Viewers < n/12*95/100 || m.Viewers > n/12*105/100 {
			t.Errorf("%+v, expected moves of %d to d alone", m, n/12)
		}
	}
	if want := []Move{{FromFarm: "main", ToFarm: "main", Viewers: a.Moved}}; !reflect.DeepEqual(a.Farms, want) {
		t.Errorf("farms %+v, expected %+v", a.Farms, want)
	}
}

// What is lost and gained, and the location that viewers are counted under.
func TestLostAndGained(t *testing.T) {
	t.Parallel()
	half := func(yield func(Viewer) bool) {
		for i, v := range slices.Collect(crowd(1000, 10)) {
			if i%2 == 1 {
				v.Addr = netip.MustParseAddr("11.0.0.1")
			}
			if !yield(v) {
				return
			}
		}
	}
	other := newTestSide(t, network(t, "farm main share a", "location far 11.0.0.0/8 main"))
	a := Run(newTestSide(t, network(t, "farm main share a", everybody)), &other, half, options(1000)).Against
	if a.Lost != 500 || a.Gained != 500 || a.Moved != 1000 {
		t.Errorf("%d lost, %d gained, %d moved, expected 500, 500, 1000", a.Lost, a.Gained, a.Moved)
	}
	got := map[string]int{}
	for _, l := range a.Locations {
		got[l.Location] = l.Moved
	}
	if want := map[string]int{"all": 500, "": 500}; !maps.Equal(got, want) {
		t.Errorf("moved by location %v, expected %v", got, want)
	}
}

// Another session key or channel rule.
func TestReadOtherwise(t *testing.T) {
	t.Parallel()
	spec := network(t, "farm main share a b c", everybody)
	other := newTestSide(t, spec)
	plain := other.Place
	other.Place = func(v *Viewer) Place {
		p := plain(v)
		p.Session++
		return p
	}
	a := Run(newTestSide(t, spec), &other, crowd(3000, 10), options(3000)).Against
	if len(a.Why) != 1 || a.Why[0].Why != CauseRead {
		t.Errorf("%+v, expected %s alone", a.Why, CauseRead)
	}
	other.Place = func(*Viewer) Place { return Place{Reason: farms.ReasonUnknownPath} }
	a = Run(newTestSide(t, spec), &other, crowd(3000, 10), options(3000)).Against
	if len(a.Why) != 1 || a.Why[0].Why != CauseRead || a.Lost != 3000 {
		t.Errorf("%+v, expected %s alone", a, CauseRead)
	}
}

// Without stickiness first_response draws anew.
func TestChance(t *testing.T) {
	t.Parallel()
	before, after := network(t, "farm main first_response a b c", everybody), network(t, "farm main first_response c a b", everybody)
	after.Rules.Sticky = 0 * time.Second
	other := newTestSide(t, after)
	a := Run(newTestSide(t, before), &other, crowd(3000, 10), options(3000)).Against
	if len(a.Why) != 1 || a.Why[0].Why != CauseChance {
		t.Errorf("%+v, expected %s alone", a.Why, CauseChance)
	}
}
