package test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// feedbackRules switches feedback on: less than 1 Mbit/s is low, two reports move
// a session, and it stays for dwell seconds.
func feedbackRules(dwell float64) func(rig.Config) {
	return steeringKeys(rig.Config{"feedback": rig.Config{"low_bps": 1_000_000, "polls": 2, "dwell_sec": dwell}})
}

// reporter is one viewer with a player that reports.
type reporter struct {
	s    *steered
	i    int
	last rig.Manifest
}

func (s *steered) reporter(i int) *reporter {
	return &reporter{s, i, s.Steer("/steering/ch/index.m3u8", from(i)...)}
}

// hls polls with what hls.js would report.
func (r *reporter) hls(pathway string, bps int) rig.Manifest {
	r.s.T.Helper()
	r.last = r.s.Again(r.last, fmt.Sprintf("_HLS_pathway=%s&_HLS_throughput=%d", pathway, bps), from(r.i)...)
	return r.last
}

// dash polls with the lists that dash.js would report.
func (r *reporter) dash(pathways, throughputs string) rig.Manifest {
	r.s.T.Helper()
	r.last = r.s.Again(r.last, fmt.Sprintf("_DASH_pathway=%%22%s%%22&_DASH_throughput=%s", pathways, throughputs), from(r.i)...)
	return r.last
}

// TestSteeringFeedback shows check 47, and what checks 20, 24 and 25 say of how a
// report is read.
func TestSteeringFeedback(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, feedbackRules(3600), quiet)
	const path = "/steering/ch/index.m3u8"
	s.known(path, "a", "b")

	t.Run("check_47_low_reports_move_the_session_and_nobody_else", func(t *testing.T) {
		one, other := s.reporter(1), s.reporter(2)
		wantOrder(t, "a first low report", one.hls("a", 500_000), "a", "b")
		wantOrder(t, "a second", one.hls("a", 400_000), "b", "a")
		wantOrder(t, "another viewer", other.hls("a", 450_000), "a", "b")
		wantOrder(t, "a new viewer", s.Steer(path, from(3)...), "a", "b")
		wantOrder(t, "another channel of the same viewer", s.Steer("/steering/other/index.m3u8", from(1)...), "a", "b")
		// His redirects follow, by his address and by his session.
		if res := s.Get("/ch/index.m3u8", from(1)...); s.serverOf(res.Location()) != "b" {
			t.Errorf("he is redirected to %s", res.Location())
		}
		if res := s.Get("/ch/index.m3u8?pm_sid="+one.last.Session(), from(77)...); s.serverOf(res.Location()) != "b" {
			t.Errorf("with his session he is redirected to %s", res.Location())
		}
		if res := s.Get("/ch/index.m3u8", from(2)...); s.serverOf(res.Location()) != "a" {
			t.Errorf("the other is redirected to %s", res.Location())
		}
	})
	t.Run("check_47_dwell", func(t *testing.T) {
		r := s.reporter(10)
		r.hls("a", 500_000)
		wantOrder(t, "two low reports", r.hls("a", 400_000), "b", "a")
		for i := range 60 { // whatever follows within the dwell time
			pathway, bps := "b", 300_000+i
			if i%3 == 0 {
				pathway, bps = "a", 9_000_000+i
			}
			wantOrder(t, fmt.Sprintf("report %d after the move", i), r.hls(pathway, bps), "b", "a")
		}
	})
	t.Run("check_47_a_frozen_report_is_no_report", func(t *testing.T) {
		r := s.reporter(20)
		for range 20 { // hls.js while it flees a dead pathway
			wantOrder(t, "the same low report again", r.hls("a", 500_000), "a", "b")
		}
		wantOrder(t, "a new one", r.hls("a", 499_999), "b", "a")
	})
	t.Run("check_47_in_a_row", func(t *testing.T) {
		r := s.reporter(30)
		for i := range 10 {
			wantOrder(t, "low", r.hls("a", 500_000+i), "a", "b")
			wantOrder(t, "good", r.hls("a", 5_000_000+i), "a", "b")
		}
	})
	t.Run("check_47_the_pathway_reported_counts_not_the_one_served", func(t *testing.T) {
		r := s.reporter(40) // on b by its own penalty for a
		for i := range 10 {
			wantOrder(t, "b is low", r.hls("b", 500_000+i), "a", "b")
		}
		r = s.reporter(41)
		r.hls("b", 500_000)
		r.hls("a", 400_000)
		wantOrder(t, "one low report each", r.hls("b", 300_000), "a", "b")
	})
	t.Run("check_20_the_last_of_a_list_is_in_use", func(t *testing.T) {
		r := s.reporter(50)
		r.dash("b%2Ca", "9000000%2C500000")
		wantOrder(t, "b, then a, which is low", r.dash("b%2Ca", "9000001%2C400000"), "b", "a")
		r = s.reporter(51)
		for i := range 5 {
			wantOrder(t, "a, which is low, then b", r.dash("a%2Cb", fmt.Sprintf("%d%%2C9000000", 500_000+i)), "a", "b")
		}
		r = s.reporter(52)
		for i := range 5 {
			wantOrder(t, "a without a sample", r.dash("b%2Ca", fmt.Sprintf("%d%%2C", 500_000+i)), "a", "b")
		}
		r = s.reporter(53)
		for i := range 5 {
			wantOrder(t, "an unknown one in use", r.dash("a%2Cnobody", fmt.Sprintf("%d%%2C%d", 500_000+i, 400_000+i)), "a", "b")
		}
	})
	t.Run("check_24_no_number_is_no_sample", func(t *testing.T) {
		r := s.reporter(60)
		for i, bps := range []int{-1794967296, 0, -1, -1794967295, 705032704, 1_000_000} {
			wantOrder(t, fmt.Sprint("report ", i), r.hls("a", bps), "a", "b")
		}
		for _, text := range []string{"NaN", "", "x", "999999999999999999999999999999", "1e9", "null"} {
			wantOrder(t, text, s.Again(r.last, "_HLS_pathway=a&_HLS_throughput="+text, from(60)...), "a", "b")
		}
		r = s.reporter(61)
		for _, text := range []string{"12.5", "1e3"} { // numbers, and low ones
			r.last = s.Again(r.last, "_HLS_pathway=a&_HLS_throughput="+text, from(61)...)
		}
		wantOrder(t, "two low fractions", r.last, "b", "a")
	})
	t.Run("check_25_of_repeated_ones_the_last", func(t *testing.T) {
		r := s.reporter(70)
		for i := range 2 {
			r.last = s.Again(r.last, fmt.Sprintf("_HLS_pathway=b&_HLS_throughput=9000000&_HLS_pathway=a&_HLS_throughput=%d", 500_000+i), from(70)...)
		}
		wantOrder(t, "a low, behind b good", r.last, "b", "a")
	})
	t.Run("a_slow_pathway_is_better_than_a_dead_one", func(t *testing.T) {
		r := s.reporter(80)
		r.hls("a", 500_000)
		wantOrder(t, "two low reports", r.hls("a", 400_000), "b", "a")
		s.stages["b"].Stop()
		s.waitOrder(path, from(80), "a", "b")
		s.stages["b"].Start()
		s.waitOrder(path, from(80), "b", "a")
		s.mustOverride("a", `{"action":"pin"}`)
		wantOrder(t, "the operator's pin is above it", s.Steer(path, from(80)...), "a", "b")
		s.takeBack("a", "")
	})
	t.Run("a_reload_forgets_nothing", func(t *testing.T) {
		r := s.reporter(90)
		r.hls("a", 500_000)
		wantOrder(t, "two low reports", r.hls("a", 400_000), "b", "a")
		if res := s.Operator("POST", "/admin/reload", ""); res.StatusCode != 200 {
			t.Fatalf("%d %s", res.StatusCode, res.Body)
		}
		wantOrder(t, "after a reload", s.Steer(path, from(90)...), "b", "a")
	})
}

// TestSteeringFeedbackEnds: a pathway that was set aside for a session comes back.
func TestSteeringFeedbackEnds(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, feedbackRules(0.25), quiet)
	s.known("/steering/ch/index.m3u8", "a", "b")

	t.Run("check_47_it_comes_back", func(t *testing.T) {
		r := s.reporter(1)
		r.hls("a", 500_000)
		wantOrder(t, "two low reports", r.hls("a", 400_000), "b", "a")
		polls := 0
		rig.Eventually(t, waitLong, func() error {
			polls++
			if m := r.hls("b", 5_000_000+polls); m.First() != "a" {
				return errors.New("a has not come back")
			}
			return nil
		})
		if polls < 4 {
			t.Errorf("a came back after %d polls, expected four at least", polls)
		}
		// Slow again, and set aside again, for longer.
		rig.Eventually(t, waitLong, func() error {
			polls++
			if m := r.hls("a", 500_000+polls); m.First() != "b" {
				return errors.New("a is not set aside again")
			}
			return nil
		})
	})
	t.Run("check_47_at_most_one_change_in_two_polls", func(t *testing.T) {
		r := s.reporter(2)
		changed, at := r.last.First(), -2
		for i := range 100 { // whatever it is on is low
			if m := r.hls(r.last.First(), 500_000+i); m.First() != changed {
				if i-at < 2 {
					t.Errorf("the order changed at poll %d and at %d", at, i)
				}
				changed, at = m.First(), i
			}
		}
	})
}

// TestSteeringFeedbackOff: without the section reports teach nothing.
func TestSteeringFeedbackOff(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, quiet)
	s.known("/steering/ch/index.m3u8", "a", "b")
	r := s.reporter(1)
	for i := range 20 {
		wantOrder(t, "a low report", r.hls("a", 1+i), "a", "b")
	}
}
