package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// start of the fake clock in pure tests.
func epoch() time.Time { return time.Date(2026, 7, 1, 20, 0, 0, 0, time.UTC) }

// feed gives a damper one result a second: g good, b bad, r refused; it returns
// the conditions after each: u up, d down, ? unknown.
func feed(d *damper, results string) string {
	var out strings.Builder
	for i, r := range results {
		now := epoch().Add(time.Duration(i) * time.Second)
		switch r {
		case 'g':
			d.good(now)
		case 'b':
			d.bad(now, "no answer in time", false)
		case 'r':
			d.bad(now, "connection refused", true)
		}
		out.WriteByte("?ud"[d.condition])
	}
	return out.String()
}

func TestDamperConditions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		rise, fall    int
		results, want string
	}{
		{"first_good_is_up_whatever_rise_says", 3, 2, "g", "u"},
		{"first_refused_is_down", 1, 3, "r", "d"},
		{"unknown_until_fall", 1, 3, "bbb", "??d"},
		{"good_after_a_bad_first", 1, 3, "bbg", "??u"},
		{"fall_2", 1, 2, "gbb", "uud"},
		{"one_bad_between_good_ones_is_nothing", 1, 2, "gbgbgb", "uuuuuu"},
		{"refused_is_down_at_once", 1, 5, "gr", "ud"},
		{"rise_1", 1, 1, "gbg", "udu"},
		{"rise_2", 2, 1, "gbgg", "uddu"},
		{"bad_breaks_the_rise", 2, 1, "gbgbgg", "uddddu"},
		{"rise_and_fall_below_1_are_1", 0, 0, "gbg", "udu"},
		{"second_time_down_is_held_5_s", 1, 1, "gbgbgggggg", "ududdddduu"},
		{"bad_after_a_hold_keeps_it_down", 2, 1, "gbggbgggggbgg", "uddu" + "dddddddd" + "u"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &damper{rise: tt.rise, fall: tt.fall}
			if got := feed(d, tt.results); got != tt.want {
				t.Errorf("results %s: conditions are %s, want %s", tt.results, got, tt.want)
			}
		})
	}
}

// A change is told exactly when the condition changed.
func TestDamperTellsChanges(t *testing.T) {
	t.Parallel()
	d := &damper{rise: 2, fall: 2}
	now := epoch()
	for i, step := range []struct{ good, hard, want bool }{
		{good: true, want: true}, {good: true}, {}, {want: true}, {}, {good: true}, {good: true, want: true}, {hard: true, want: true}, {hard: true},
	} {
		was := d.condition
		now = now.Add(time.Hour)
		var got bool
		if step.good {
			got = d.good(now)
		} else {
			got = d.bad(now, "because", step.hard)
		}
		if got != step.want || got != (d.condition != was) {
			t.Errorf("step %d: changed is %v from %d to %d, want %v", i, got, was, d.condition, step.want)
		}
		if got && !d.since.Equal(now) {
			t.Errorf("step %d: since is %v, want the time of the change", i, d.since)
		}
	}
}

// A slow start is for servers that came back. At process start all are new
// alike, and none may be held to be warming.
func TestDamperWarmsOnlyAfterAFailure(t *testing.T) {
	t.Parallel()
	d := &damper{rise: 1, fall: 2}
	d.bad(epoch(), "no answer in time", false)
	d.good(epoch())
	if !d.warmFrom.IsZero() {
		t.Errorf("warm from %v at process start, want never", d.warmFrom)
	}
	d.bad(epoch(), "connection refused", true)
	back := epoch().Add(time.Minute)
	d.good(back)
	if !d.warmFrom.Equal(back) {
		t.Errorf("warm from %v, want %v, when it came back", d.warmFrom, back)
	}
}

// F26: a server that changes with every probe is held down longer each time.
func TestDamperFlapping(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{100 * time.Millisecond, time.Second, 1700 * time.Millisecond, 5 * time.Second, 30 * time.Second} {
		t.Run("probes_every_"+every.String(), func(t *testing.T) {
			t.Parallel()
			d := &damper{rise: 1, fall: 1}
			var changes []time.Time
			var down []time.Duration
			for at := time.Duration(0); at < 3*time.Hour; at += every {
				now := epoch().Add(at)
				// It fails as soon as it is up: nothing flaps more.
				var changed bool
				if d.condition == farms.ConditionUp {
					changed = d.bad(now, "connection refused", true)
				} else {
					was, since := d.condition, d.since
					if changed = d.good(now); changed && was == farms.ConditionDown {
						down = append(down, now.Sub(since))
					}
				}
				if changed {
					changes = append(changes, now)
				}
			}
			if got := busiest(changes, 10*time.Minute); got >= 20 {
				t.Errorf("%d changes in ten minutes, want fewer than 20", got)
			}
			if every > 5*time.Second {
				return // too slow for eight failures in ten minutes
			}
			for i := 2; i < 8; i++ {
				if down[i] < down[i-1] {
					t.Errorf("down for %v and then for %v, want the hold to grow", down[i-1], down[i])
				}
			}
			if longest := down[7]; longest < flapHoldMax {
				t.Errorf("the eighth time it was down for %v, want %v", longest, flapHoldMax)
			}
		})
	}
}

// A server that failed long ago is not held for it.
func TestDamperForgetsFlaps(t *testing.T) {
	t.Parallel()
	d := &damper{rise: 1, fall: 1}
	now := epoch()
	for range 5 {
		d.bad(now, "connection refused", true)
		now = now.Add(flapWindow)
		if !d.good(now) {
			t.Fatalf("held down %v after a failure of the last ten minutes but one", now.Sub(d.since))
		}
		now = now.Add(time.Second)
	}
}

func TestDamperWords(t *testing.T) {
	t.Parallel()
	d := &damper{rise: 1, fall: 1}
	feed(d, "gbgr")
	now := epoch().Add(4 * time.Second)
	const want = "connection refused; it went down 2 times within 10m0s, held down until 20:00:08Z"
	if got := d.words(now); got != want {
		t.Errorf("words are %q, want %q", got, want)
	}
	if got := d.words(now.Add(time.Minute)); got != "connection refused" {
		t.Errorf("after the hold the words are %q, want the failure alone", got)
	}
}

func FuzzDamper(f *testing.F) {
	f.Add(uint8(1), uint8(2), []byte("gbrgbrgb"))
	f.Add(uint8(0), uint8(0), []byte{0, 255, 3, 7})
	f.Fuzz(func(t *testing.T, rise, fall uint8, script []byte) {
		d := &damper{rise: int(rise), fall: int(fall)}
		now := epoch()
		var changes []time.Time
		for _, b := range script {
			now = now.Add(time.Duration(b>>2) * 500 * time.Millisecond)
			was := d.condition
			var changed bool
			switch b & 3 {
			case 0, 1:
				changed = d.good(now)
			case 2:
				changed = d.bad(now, "bad", false)
			default:
				changed = d.bad(now, "refused", true)
			}
			if changed != (d.condition != was) {
				t.Fatalf("changed is %v from %d to %d", changed, was, d.condition)
			}
			if d.condition == farms.ConditionUnknown && was != farms.ConditionUnknown {
				t.Fatal("a known condition became unknown")
			}
			if changed {
				changes = append(changes, now)
			}
			if len(d.downs) > 20 {
				t.Fatalf("%d flaps are remembered", len(d.downs))
			}
		}
		if got := busiest(changes, flapWindow); got >= 20 {
			t.Fatalf("%d changes in ten minutes, want fewer than 20", got)
		}
	})
}
