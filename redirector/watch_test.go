package redirector

import (
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// on lists the alarms of a stage as "code subject".
func (s *stage) on() []string {
	var out []string
	for _, a := range s.e.alarms.On() {
		out = append(out, strings.TrimSpace(a.Code+" "+a.Subject))
	}
	return out
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		farms    []string
		down     string
		disabled string
		draining string
		isolated bool
		want     []string
		words    string // in some detail
	}{
		{name: "all_well", farms: []string{"share a b c"}},
		{name: "one_of_three", farms: []string{"share a b c"}, down: "a", want: []string{"server_down a"}, words: "refused"},
		{name: "one_of_two_is_half", farms: []string{"share a b"}, down: "a", want: []string{"server_down a"}},
		{
			name: "less_than_half_the_weight", farms: []string{"share a=3 b=1 c=1"}, down: "a",
			want: []string{"server_down a", "farm_degraded f1"}, words: "40 % of its weight take viewers: a is down",
		},
		{
			name: "none_left", farms: []string{"share a b", "share c"}, down: "a b",
			want: []string{"farm_down f1", "server_down a", "server_down b"}, words: "a is down, b is down",
		},
		{name: "last_resort_left", farms: []string{"share a b=0"}, down: "a", want: []string{"server_down a", "farm_degraded f1"}, words: "0 %"},
		{name: "only_last_resorts", farms: []string{"share a=0"}},
		{name: "disabled_is_no_alarm_of_the_server", farms: []string{"share a b c"}, down: "a", disabled: "a"},
		{name: "taken_out_by_the_operator", farms: []string{"share a b"}, disabled: "a", draining: "b", want: []string{"farm_down f1"}, words: "a is disabled, b is draining"},
		{name: "draining_and_down", farms: []string{"share a b"}, down: "a", draining: "a", want: []string{"server_down a"}},
		{
			name: "isolated", farms: []string{"share a b"}, down: "a b", isolated: true,
			want: []string{"observer_isolated", "farm_down f1"},
		},
		{name: "many", farms: []string{"share a b c d e f g"}, disabled: "a b c d e f g", want: []string{"farm_down f1"}, words: "e is disabled and 2 more"},
		{name: "in_two_farms", farms: []string{"share a b c", "share a"}, down: "a", want: []string{"farm_down f2", "server_down a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, row.farms...)
				for _, name := range strings.Fields(row.down) {
					s.down(name, time.Minute)
				}
				over := farms.Overrides{}
				for _, name := range strings.Fields(row.disabled) {
					over[name] = farms.Override{State: farms.StateDisabled}
				}
				for _, name := range strings.Fields(row.draining) {
					over[name] = farms.Override{State: farms.StateDraining}
				}
				s.e.overrides.Store(&over)
				if row.isolated {
					s.e.alarms.Raise(AlarmObserverIsolated, "nobody answers")
				}
				s.e.Watch(time.Now())
				wantList(t, "alarms", s.on(), row.want...)
				var words []string
				for _, a := range s.e.alarms.On() {
					words = append(words, a.Detail)
				}
				if text := strings.Join(words, "; "); !strings.Contains(text, row.words) {
					t.Errorf("the alarms say %q, want %q in it", text, row.words)
				}
			})
		})
	}
}

// TestWatchBeforeAConfiguration: there is nothing to look at.
func TestWatchBeforeAConfiguration(t *testing.T) {
	t.Parallel()
	s := newStage(t, "share a")
	s.e.view.Store(nil)
	s.e.Watch(time.Now())
	wantList(t, "alarms", s.on())
}

// TestWatchLetsGoOfWhatAReloadRemoved: the alarm of a server that is gone goes.
func TestWatchLetsGoOfWhatAReloadRemoved(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "share a b c")
		s.e.alarms.SetTiming(AlarmTiming{ClearAfter: 30 * time.Second})
		s.down("a", time.Minute)
		s.e.Watch(time.Now())
		wantList(t, "alarms", s.on(), "server_down a")
		next, err := farms.Build(stageSpec(t, "share b c"), 2)
		if err != nil {
			t.Fatal(err)
		}
		s.e.Swap(next, s.set)
		<-time.After(29 * time.Second)
		s.e.Watch(time.Now())
		wantList(t, "alarms", s.on(), "server_down a")
		<-time.After(time.Second)
		s.e.Watch(time.Now())
		wantList(t, "alarms", s.on())
	})
}
