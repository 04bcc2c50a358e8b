package probe

import (
	"slices"
	"testing"
	"time"
)

func isReady(b *Board) bool {
	select {
	case <-b.Ready():
		return true
	default:
		return false
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	bubble(t, "when_all_have_answered", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(streaming(liveBody))
		s.serve(delayed(time.Second, answers(503, "an answer too")))
		s.serve(streaming(liveBody)).becomes(refusing)
		s.start()
		s.after(900 * time.Millisecond)
		if isReady(s.board) {
			t.Error("ready before every server answered")
		}
		s.after(200 * time.Millisecond)
		if !isReady(s.board) {
			t.Error("not ready although every server answered")
		}
	})
	bubble(t, "after_5_s_with_a_black_hole", func(t *testing.T) {
		set := defaults()
		set.RequestTimeout = 20 * time.Second
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.serve(streaming(liveBody)).becomes(silent)
		s.start()
		s.after(5*time.Second - time.Millisecond)
		if isReady(s.board) {
			t.Error("ready although one server is silent and five seconds are not over")
		}
		s.after(time.Millisecond)
		if !isReady(s.board) {
			t.Error("not ready after five seconds")
		}
	})
	bubble(t, "at_once_without_servers", func(t *testing.T) {
		s := newScene(t, defaults())
		s.start()
		if !isReady(s.board) {
			t.Error("not ready although there is nobody to ask")
		}
	})
}

// D43: probes of many servers must not fall into step. Five hundred first
// probes are spread over firstSpread, that is 25 a 100 ms on average, and the
// next ones over the whole interval. Starts drawn independently are close to a
// Poisson process, whose chance of a window with 65 of 25 is about 2e-10, and
// with 20 of 2 about 2e-13: these bounds say "as spread as chance spreads".
func TestProbesAreSpread(t *testing.T) {
	t.Parallel()
	bubble(t, "500_servers", func(t *testing.T) {
		const (
			servers    = 500
			window     = 100 * time.Millisecond
			firstBurst = 65
			laterBurst = 20
		)
		set := defaults()
		s := newScene(t, set)
		for range servers {
			s.serve(streaming(liveBody))
		}
		s.start()
		began := time.Now()
		s.after(20 * set.StatusInterval)
		var first, later []time.Time
		for i, h := range s.hosts {
			starts := h.starts(false)
			if len(starts) < 20*5/6 {
				t.Fatalf("edge%d was asked %d times in 20 intervals", i, len(starts))
			}
			if d := starts[0].Sub(began); d > firstSpread {
				t.Errorf("edge%d was first asked after %v, want within %v", i, d, firstSpread)
			}
			first, later = append(first, starts[0]), append(later, starts[1:]...)
			for j := 2; j < len(starts); j++ {
				if d := starts[j].Sub(starts[j-1]); d < set.StatusInterval*4/5 || d > set.StatusInterval*6/5 {
					t.Fatalf("edge%d was asked %v after the last time, want the interval ± 20 %%", i, d)
				}
			}
		}
		slices.SortFunc(first, time.Time.Compare)
		slices.SortFunc(later, time.Time.Compare)
		if got := busiest(first, window); got > firstBurst {
			t.Errorf("%d first probes within %v, want at most %d", got, window, firstBurst)
		}
		if got := busiest(later, window); got > laterBurst {
			t.Errorf("%d later probes within %v, want at most %d", got, window, laterBurst)
		}
	})
	bubble(t, "500_servers_of_which_a_site_comes_back", func(t *testing.T) {
		const servers = 500
		set := defaults()
		s := newScene(t, set)
		for range servers {
			s.serve(streaming(liveBody))
		}
		s.start()
		s.after(set.StatusInterval)
		s.becomes(silent, 0, 400)
		s.after(2 * time.Minute)
		s.becomes(serving, 0, 400)
		back := time.Now()
		s.after(time.Minute)
		var starts []time.Time
		for _, h := range s.hosts {
			for _, at := range h.starts(false) {
				if at.After(back) {
					starts = append(starts, at)
				}
			}
		}
		slices.SortFunc(starts, time.Time.Compare)
		if got := busiest(starts, 100*time.Millisecond); got > 25 {
			t.Errorf("%d probes within 100 ms when a site came back, want no herd", got)
		}
	})
}
