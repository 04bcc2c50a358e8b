package redirector

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

const ms = time.Millisecond

// in runs f in a bubble of fake time.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func wantList(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestOpenerLeavesWithFirstGoodAnswer(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b c")
		s.answers("a", 80*ms, farms.Present)
		s.answers("b", 5*ms, farms.Absent)
		s.answers("c", 20*ms, farms.Present)
		s.wants(s.visits(visit{}), "c", farms.ReasonOK, 20*ms)
		wantList(t, "asked at once", s.p.askedAt(s.start, 0), "a", "b", "c")
	})
}

// TestJoinerSpreads: who joins a question waits for a second good answer, for
// all answers, or for 25 ms after the first good one.
func TestJoinerSpreads(t *testing.T) {
	t.Parallel()
	type answer struct {
		after    time.Duration
		presence farms.Presence
	}
	for _, row := range []struct {
		name    string
		answers map[string]answer
		waited  time.Duration // the joiner comes at 5 ms
	}{
		{"second_good", map[string]answer{"a": {20 * ms, farms.Present}, "b": {35 * ms, farms.Present}, "c": {500 * ms, farms.Absent}}, 30 * ms},
		{"25_ms", map[string]answer{"a": {20 * ms, farms.Present}, "b": {500 * ms, farms.Present}, "c": {500 * ms, farms.Absent}}, 40 * ms},
		{"all_answers", map[string]answer{"a": {20 * ms, farms.Present}, "b": {22 * ms, farms.Absent}, "c": {30 * ms, farms.Trouble}}, 25 * ms},
		{"silent", map[string]answer{"a": {20 * ms, farms.Present}}, 40 * ms},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "first_response a b c")
				for name, a := range row.answers {
					s.answers(name, a.after, a.presence)
				}
				var opener, joiner Decision
				var all sync.WaitGroup
				all.Go(func() { opener = s.visits(visit{addr: "192.0.2.1"}) })
				all.Go(func() {
					<-time.After(5 * ms)
					joiner = s.visits(visit{addr: "192.0.2.2"})
				})
				all.Wait()
				s.wants(opener, "a", farms.ReasonOK, 20*ms)
				if joiner.Server == nil || joiner.Waited != row.waited {
					t.Errorf("the joiner waited %v for %v, want %v", joiner.Waited, joiner.Reason, row.waited)
				}
				if n := len(s.p.questions()); n != 3 {
					t.Errorf("%d questions for two viewers, want 3", n)
				}
			})
		})
	}
}

func TestJoinersUseBothAnswers(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b")
		s.answers("a", 20*ms, farms.Present)
		s.answers("b", 30*ms, farms.Present)
		var mu sync.Mutex
		got := map[string]int{}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				d := s.visits(visit{target: stagePath, agent: "player/" + string(rune('a'+i%26)) + time.Duration(i).String()})
				mu.Lock()
				defer mu.Unlock()
				got[d.Server.Name]++
			})
		}
		all.Wait()
		if got["a"] < 50 || got["b"] < 50 {
			t.Errorf("a crowd on a cold channel went %v", got)
		}
		if n := len(s.p.questions()); n != 2 {
			t.Errorf("%d questions for 200 viewers, want 2", n)
		}
	})
}

// TestRankedWaitsForBetter: under a ranked policy the best two are asked, the
// next only as they say no, and a better-ranked server is waited for up to
// 300 ms after the first good answer.
func TestRankedWaitsForBetter(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		a, b   reply
		c      reply
		server string
		waited time.Duration
		asked  []string
	}{
		{
			"better_in_time", reply{presence: farms.Present, after: 200 * ms}, reply{presence: farms.Present, after: 10 * ms}, reply{},
			"a", 200 * ms, []string{"a", "b"},
		},
		{
			"better_too_late", reply{presence: farms.Present, after: 400 * ms}, reply{presence: farms.Present, after: 10 * ms}, reply{},
			"b", 310 * ms, []string{"a", "b"},
		},
		{
			"better_says_no", reply{presence: farms.Absent, after: 50 * ms}, reply{presence: farms.Present, after: 10 * ms}, reply{},
			"b", 50 * ms, []string{"a", "b"},
		},
		{
			"best_first", reply{presence: farms.Present, after: 10 * ms}, reply{presence: farms.Present, after: 400 * ms}, reply{},
			"a", 10 * ms, []string{"a", "b"},
		},
		{
			"next_is_asked", reply{presence: farms.Absent, after: 10 * ms}, reply{presence: farms.Absent, after: 30 * ms}, reply{presence: farms.Present, after: 40 * ms},
			"c", 50 * ms, []string{"a", "b", "c", "d"}, // c and d become the best two one by one
		},
		{
			"guarded_is_passed_over", reply{presence: farms.Guarded, after: 10 * ms}, reply{presence: farms.Absent, after: 30 * ms}, reply{presence: farms.Present, after: 40 * ms},
			"c", 50 * ms, []string{"a", "b", "c", "d"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "weight a=10 b=5 c=3 d=1")
				for name, r := range map[string]reply{"a": row.a, "b": row.b, "c": row.c} {
					if r != (reply{}).withEdit(r) {
						s.answers(name, r.after, r.presence)
					}
				}
				s.wants(s.visits(visit{}), row.server, farms.ReasonOK, row.waited)
				wantList(t, "asked", s.p.questions(), row.asked...)
			})
		})
	}
}
