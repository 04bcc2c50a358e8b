package farms_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// growing is the need of a window of so many minutes that plays on. A fact whose
// words are "ended" is of a recording that does not.
type growing struct{ minutesOf }

func (growing) GoesOn(f *farms.Fact) bool { return f.Detail != "ended" }

// hold says of each server how many minutes of the window it holds: "a 90 ended"
// for one whose recording does not go on.
func (s *scene) hold(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		words := strings.Fields(line)
		minutes, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, server := range s.table.Servers {
			if server.Name == words[0] {
				f := s.fake.known.Of(server.Endpoint)
				f.Unplaced, f.Detail = time.Duration(minutes)*time.Minute, strings.Join(words[2:], " ")
			}
		}
	}
}

// TestWindowThatPlaysOn: who holds it and goes on comes before who holds it and
// does not; where nobody does both, the greater coverage serves. Of servers that
// cannot be asked now, the one that held more.
func TestWindowThatPlaysOn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		farms  []string
		hold   []string
		closed bool
		want   string // "server why"
		others string // "server why", more of them
		asks   string // who is waited for instead
	}{
		{
			name: "equal", farms: []string{"weight a:present,w9 b:present"}, hold: []string{"a 100 ended", "b 100"},
			want: "b chosen", others: "a ended",
		},
		{
			name: "nearly_equal", farms: []string{"weight a:present,w9 b:present"}, hold: []string{"a 100 ended", "b 96"},
			want: "b chosen", others: "a ended",
		},
		{
			name: "half_of_it", farms: []string{"weight b:present,w9 a:present"}, hold: []string{"a 100 ended", "b 50"},
			want: "a chosen", others: "b holds_less",
		},
		{
			name: "the_better_of_two_that_end", farms: []string{"weight b:present,w9 a:present"}, hold: []string{"a 100 ended", "b 50 ended"},
			want: "a chosen", others: "b holds_less",
		},
		{
			name: "the_better_of_two_that_go_on", farms: []string{"weight c:present,w9 b:present,w5 a:present"},
			hold: []string{"a 99 ended", "b 99", "c 97"}, want: "b chosen", others: "c holds_less a ended",
		},
		{
			name: "a_closed_window_has_no_end_to_miss", farms: []string{"weight a:present,w9 b:present"},
			hold: []string{"a 100 ended", "b 100"}, closed: true, want: "a chosen",
		},
		{
			name: "the_second_farm_goes_on", farms: []string{"weight a:present", "weight b:present"},
			hold: []string{"a 100 ended", "b 97"}, want: "b chosen", others: "a ended",
		},
		{
			name: "the_second_farm_goes_on_and_holds_little", farms: []string{"weight a:present", "weight b:present"},
			hold: []string{"a 100 ended", "b 20"}, want: "a chosen", others: "b holds_less",
		},
		{
			name: "the_first_farm_goes_on", farms: []string{"weight a:present", "weight b:present"},
			hold: []string{"a 97", "b 100"}, want: "a chosen", others: "b not_needed",
		},
		{
			name: "the_session_moves", farms: []string{"first_response a:present b:present"},
			hold: []string{"a 100 ended", "b 100"}, want: "b chosen", others: "a ended",
		},
		{
			name: "one_that_ends_ends_no_wait", farms: []string{"weight a:present b:"}, hold: []string{"a 100 ended"},
			asks: "b",
		},
		{
			name: "one_that_goes_on_ends_the_wait", farms: []string{"weight a:present b:"}, hold: []string{"a 100"},
			want: "a chosen",
		},
		{
			name: "one_that_ends_ends_no_search", farms: []string{"weight a:present", "weight b:"}, hold: []string{"a 100 ended"},
			asks: "b",
		},
		{
			name: "stale_by_coverage", farms: []string{"weight a:trouble,held60,w9 b:trouble,held60"}, hold: []string{"a 20", "b 80"},
			closed: true, want: "b stale", others: "a holds_less",
		},
		{
			name: "stale_by_coverage_in_another_farm", farms: []string{"weight a:trouble,held60", "weight b:trouble,held60"},
			hold: []string{"a 20", "b 80"}, closed: true, want: "b stale", others: "a holds_less",
		},
		{
			name: "stale_and_equal", farms: []string{"weight a:trouble,held60", "weight b:trouble,held60"},
			hold: []string{"a 80", "b 80"}, closed: true, want: "a stale",
		},
		{
			name: "guarded_before_stale", farms: []string{"weight a:trouble,held60", "weight b:guarded"},
			hold: []string{"a 80"}, closed: true, want: "b guarded",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, row.farms...)
			s.rules.GoodEnough = 0.95
			s.hold(t, row.hold...)
			q := query()
			q.Need = growing{100}
			if row.closed {
				q.Need = minutesOf(100)
			}
			q.Prior, q.Sticky = s.id(t, "a"), true
			var scratch farms.Scratch
			c := s.choose(&q, farms.Options{Every: true}, &scratch)
			if row.asks != "" {
				if c.Chosen != nil || names(c.Ask) != row.asks {
					t.Errorf("%s is chosen and %q asked, want to wait for %q", nameOf(c.Chosen), names(c.Ask), row.asks)
				}
				return
			}
			whys := map[string]string{}
			for i := range scratch.Candidates {
				whys[scratch.Candidates[i].Member.Server.Name] = scratch.Candidates[i].Why.String()
			}
			words := strings.Fields(row.want + " " + row.others)
			if got := nameOf(c.Chosen); got != words[0] {
				t.Errorf("%s is chosen, want %s: %v", got, words[0], whys)
			}
			for i := 0; i < len(words); i += 2 {
				if whys[words[i]] != words[i+1] {
					t.Errorf("%s is %s, want %s", words[i], whys[words[i]], words[i+1])
				}
			}
		})
	}
}

// worldOf knows other facts of other contents.
type worldOf struct {
	fakeWorld
	byPath map[string]*farms.Known
}

func (w *worldOf) Content(c farms.Content) *farms.Known { return w.byPath[c.Path] }

// TestFarmsReadOtherwise: each farm's servers are judged by what that farm makes
// of the URL.
func TestFarmsReadOtherwise(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		first, second int // minutes that the servers hold of the window as their farm reads it
		want          string
		asks          string
	}{
		{name: "the_second_holds_more", first: 40, second: 80, want: "b"},
		{name: "the_first_holds_more", first: 80, second: 40, want: "a"},
		{name: "equal", first: 80, second: 80, want: "a"},
		{name: "the_first_holds_enough", first: 99, second: 100, want: "a"},
		{name: "the_second_is_not_asked_yet", first: 40, second: -1, asks: "b"},
		{name: "nobody", first: 0, second: 0, want: "nobody"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "weight a:present", "weight b:present")
			s.rules.GoodEnough = 0.95
			w := &worldOf{fakeWorld: s.fake, byPath: map[string]*farms.Known{}}
			s.world.Facts = w
			facts := map[string]farms.Fact{}
			for _, server := range s.table.Servers {
				facts[server.Name] = *s.fake.known.Of(server.Endpoint)
			}
			// Of the other's window each would hold it all.
			fact := func(name string, minutes int) farms.Fact {
				f := facts[name]
				f.Unplaced = time.Duration(minutes) * time.Minute
				return f
			}
			w.fakeWorld.known = &farms.Known{}
			w.learn(fact("a", row.first), fact("b", 100))
			w.byPath["/one"] = w.fakeWorld.known
			w.fakeWorld.known = &farms.Known{}
			if w.learn(fact("a", 100)); row.second >= 0 {
				w.learn(fact("b", row.second))
			}
			w.byPath["/two"] = w.fakeWorld.known

			q := query()
			q.Content.Path, q.Content.Kind, q.Need = "/one", farms.KindArchive, minutesOf(100)
			other := q.Content
			other.Path = "/two"
			q.Others = []farms.Reading{{Farms: s.table.Locations[0].Farms[1:], Content: other, Need: minutesOf(100)}}
			var scratch farms.Scratch
			c := s.choose(&q, farms.Options{}, &scratch)
			if got := nameOf(c.Chosen); row.asks == "" && got != row.want || names(c.Ask) != row.asks {
				t.Errorf("%s is chosen and %q asked, want %s and %q", got, names(c.Ask), row.want, row.asks)
			}
			if row.want == "nobody" {
				if c := s.choose(&q, farms.Options{Final: true}, &scratch); c.Reason != farms.ReasonArchiveMissing {
					t.Errorf("the reason is %v", c.Reason)
				}
			}
		})
	}
}
