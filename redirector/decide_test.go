package redirector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
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
	for _, row := range []struct {
		name    string
		answers map[string]said
		waited  time.Duration // the joiner comes at 5 ms
	}{
		{"second_good", map[string]said{"a": {20 * ms, farms.Present}, "b": {35 * ms, farms.Present}, "c": {500 * ms, farms.Absent}}, 30 * ms},
		{"25_ms", map[string]said{"a": {20 * ms, farms.Present}, "b": {500 * ms, farms.Present}, "c": {500 * ms, farms.Absent}}, 40 * ms},
		{"all_answers", map[string]said{"a": {20 * ms, farms.Present}, "b": {22 * ms, farms.Absent}, "c": {30 * ms, farms.Trouble}}, 25 * ms},
		{"silent", map[string]said{"a": {20 * ms, farms.Present}}, 40 * ms},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "first_response a b c")
				s.say(row.answers)
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
		name    string
		answers map[string]said
		server  string
		waited  time.Duration
		asked   []string
	}{
		{"better_in_time", map[string]said{"a": {200 * ms, farms.Present}, "b": {10 * ms, farms.Present}}, "a", 200 * ms, []string{"a", "b"}},
		{"better_too_late", map[string]said{"a": {400 * ms, farms.Present}, "b": {10 * ms, farms.Present}}, "b", 310 * ms, []string{"a", "b"}},
		{"better_says_no", map[string]said{"a": {50 * ms, farms.Absent}, "b": {10 * ms, farms.Present}}, "b", 50 * ms, []string{"a", "b"}},
		{"best_first", map[string]said{"a": {10 * ms, farms.Present}, "b": {400 * ms, farms.Present}}, "a", 10 * ms, []string{"a", "b"}},
		{
			"next_as_one_says_no",
			map[string]said{"a": {10 * ms, farms.Absent}, "b": {30 * ms, farms.Absent}, "c": {40 * ms, farms.Present}},
			"c", 50 * ms,
			[]string{"a", "b", "c", "d"},
		},
		{
			"guarded_is_passed_over",
			map[string]said{"a": {10 * ms, farms.Guarded}, "b": {30 * ms, farms.Absent}, "c": {40 * ms, farms.Present}},
			"c", 50 * ms,
			[]string{"a", "b", "c", "d"},
		},
		{
			"trouble_is_passed_over",
			map[string]said{"a": {10 * ms, farms.Trouble}, "b": {30 * ms, farms.Present}},
			"b", 30 * ms,
			[]string{"a", "b", "c"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "weight a=10 b=5 c=3 d=1")
				s.say(row.answers)
				s.wants(s.visits(visit{}), row.server, farms.ReasonOK, row.waited)
				wantList(t, "asked", s.p.questions(), row.asked...)
			})
		})
	}
}

// TestEscalates: when the first farm says no, all the others are asked at once;
// when it is silent, they are at half of the deadline.
func TestEscalates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		answers map[string]said
		server  string
		reason  farms.Reason
		waited  time.Duration
		late    time.Duration // when the other farms are asked
	}{
		{
			"first_says_no",
			map[string]said{"a": {20 * ms, farms.Absent}, "b": {30 * ms, farms.Absent}, "c": {100 * ms, farms.Present}, "d": {50 * ms, farms.Absent}, "e": {10 * ms, farms.Present}},
			"c", farms.ReasonOK, 130 * ms, 30 * ms,
		},
		{
			"earlier_farm_is_waited_for",
			map[string]said{"a": {20 * ms, farms.Absent}, "b": {30 * ms, farms.Absent}, "c": {500 * ms, farms.Present}, "e": {10 * ms, farms.Present}},
			"e", farms.ReasonOK, 340 * ms, 30 * ms,
		},
		{"first_is_silent", map[string]said{"e": {20 * ms, farms.Present}, "c": {30 * ms, farms.Absent}, "d": {30 * ms, farms.Absent}}, "e", farms.ReasonOK, 1070 * ms, 750 * ms},
		{"silent_first_answers_late", map[string]said{"a": {900 * ms, farms.Present}, "e": {20 * ms, farms.Present}}, "a", farms.ReasonOK, 900 * ms, 750 * ms},
		{"nobody_answers", nil, "", farms.ReasonFarmDown, 1500 * ms, 750 * ms},
		{
			"all_say_no",
			map[string]said{"a": {20 * ms, farms.Absent}, "b": {30 * ms, farms.Absent}, "c": {10 * ms, farms.Absent}, "d": {10 * ms, farms.Absent}, "e": {40 * ms, farms.Absent}},
			"", farms.ReasonContentMissing, 70 * ms, 30 * ms,
		},
		{"guarded_at_the_deadline", map[string]said{"a": {20 * ms, farms.Guarded}}, "a", farms.ReasonOK, 1500 * ms, 750 * ms},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "first_response a b", "first_response c d", "content_id e")
				s.say(row.answers)
				s.wants(s.visits(visit{}), row.server, row.reason, row.waited)
				wantList(t, "asked first", s.p.askedAt(s.start, 0), "a", "b")
				wantList(t, "asked then", s.p.askedAt(s.start, row.late), "c", "d", "e")
			})
		})
	}
}

func TestDeadlineServesWhatIsKnown(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b")
		s.knows("a", farms.Present, func(f *farms.Fact) { // past its age, held a minute ago
			f.FreshUntil, f.ServeUntil, f.HeldAt = time.Now().Add(-30*time.Second), time.Now().Add(-20*time.Second), time.Now().Add(-time.Minute)
		})
		d := s.visits(visit{})
		s.wants(d, "a", farms.ReasonOK, 1500*ms)
		if d.Why != farms.WhyStale {
			t.Errorf("why %v, want stale", d.Why)
		}
	})
}

func TestBusyAndDeferred(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		set    func(s *stage)
		server string
		reason farms.Reason
		waited time.Duration
	}{
		{"bucket_is_empty", func(s *stage) { s.p.busy = true }, "", farms.ReasonBusy, 0},
		{"bucket_is_empty_others_asked_already", func(s *stage) {
			s.answers("a", 100*ms, farms.Present)
			s.p.Ask(stageContent(), []*farms.Server{s.server("a")}, false)
			s.p.busy = true
		}, "a", farms.ReasonOK, 125 * ms}, // it joined
		{"bucket_is_empty_the_one_asked_says_no", func(s *stage) {
			s.answers("a", 100*ms, farms.Absent)
			s.p.Ask(stageContent(), []*farms.Server{s.server("a")}, false)
			s.p.busy = true
		}, "", farms.ReasonBusy, 100 * ms},
		{"known_needs_no_bucket", func(s *stage) {
			s.knows("c", farms.Present, nil)
			s.knows("a", farms.Absent, nil)
			s.knows("b", farms.Absent, nil)
			s.p.busy = true
		}, "c", farms.ReasonOK, 0},
		{"no_place_anywhere", func(s *stage) {
			for _, x := range s.table.Servers {
				s.p.deferred[x.Endpoint] = true
			}
		}, "", farms.ReasonBusy, 0},
		{"no_place_in_the_first_farm", func(s *stage) {
			s.p.deferred[s.server("a").Endpoint], s.p.deferred[s.server("b").Endpoint] = true, true
			s.answers("c", 40*ms, farms.Present)
		}, "c", farms.ReasonOK, 40 * ms},
		{"no_place_at_one_server", func(s *stage) {
			s.p.deferred[s.server("a").Endpoint] = true
			s.answers("b", 40*ms, farms.Present)
		}, "b", farms.ReasonOK, 40 * ms},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "first_response a b", "first_response c")
				row.set(s)
				s.wants(s.visits(visit{}), row.server, row.reason, row.waited)
				if n := s.e.waiting.Load(); n != 0 {
					t.Errorf("%d decisions wait after the last has left", n)
				}
			})
		})
	}
}

func TestViewerGoesAway(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b", "first_response c")
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		s.wants(s.visits(visit{ctx: ctx}), "", farms.ReasonFarmDown, 100*ms)
		if n := s.e.waiting.Load(); n != 0 {
			t.Errorf("%d decisions wait after the last has left", n)
		}
	})
}

func TestNoMoreThanMaxWaiting(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b")
		s.answers("a", 10*ms, farms.Present)
		s.e.waiting.Store(maxWaiting)
		s.wants(s.visits(visit{}), "", farms.ReasonBusy, 0)
		if n := s.e.waiting.Load(); n != maxWaiting {
			t.Errorf("%d decisions wait, want %d", n, maxWaiting)
		}
		if q := s.p.questions(); len(q) > 0 {
			t.Errorf("asked %v without a place to wait", q)
		}
		s.e.waiting.Store(maxWaiting - 1)
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 10*ms)
	})
}

// TestRankedFarmHurries: when the best two of a ranked farm are silent, the
// others are asked at half of the deadline, whichever of them has it.
func TestRankedFarmHurries(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"content_id", "weight", "share"} {
		for _, holder := range []string{"a", "b", "c", "d", "e"} {
			t.Run(policy+"/"+holder, func(t *testing.T) {
				t.Parallel()
				in(t, func(t *testing.T) {
					s := newStage(t, policy+" a b c d e")
					s.answers(holder, 40*ms, farms.Present)
					d := s.visits(visit{})
					if d.Server == nil || d.Server.Name != holder {
						t.Fatalf("decided %v (%s) after %v, want %s: the others are silent", d.Server, d.Reason, d.Waited, holder)
					}
				})
			})
		}
	}
}

// TestRefreshNeverWaits: a present fact past its age serves while it is asked
// anew.
func TestRefreshNeverWaits(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"first_response", "content_id", "weight", "share"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, policy+" a")
				s.knows("a", farms.Present, nil)
				s.p.replies[s.server("a").Endpoint] = reply{presence: farms.Present, after: time.Second}
				<-time.After(9 * time.Second)
				s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
				wantList(t, "asked while fresh", s.p.questions())
				<-time.After(2 * time.Second)
				s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
				wantList(t, "asked past its age", s.p.questions(), "a")
				if s.p.touched != 2 {
					t.Errorf("noted as wanted %d times, want 2: it would be forgotten", s.p.touched)
				}
			})
		})
	}
}

func TestChildrenNeverAsk(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b c d")
		s.p.parents["/ch/media.m3u8"] = "ch"
		for _, target := range []string{"/ch/1.ts", "/ch/hi/1.ts", "/ch/media.m3u8", "/ch/index.m3u8?_HLS_msn=12&_HLS_part=1"} {
			d := s.visits(visit{target: target})
			if d.Server == nil || d.Waited != 0 || d.Content.Kind != farms.KindChild {
				t.Errorf("%s: server %v, %v, waited %v, kind %v; want one at once", target, d.Server, d.Reason, d.Waited, d.Content.Kind)
			}
		}
		if q := s.p.questions(); len(q) > 0 {
			t.Errorf("children had %v asked", q)
		}
		if s.p.touched > 0 {
			t.Error("a child counts as a wish for a manifest")
		}
	})
}

// TestChildrenFollowTheirManifest: a session's children go to its server, even
// when another one would be chosen now.
func TestChildrenFollowTheirManifest(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a=10 b=5")
		s.p.parents["/ch/media.m3u8"] = "ch"
		s.knows("a", farms.Absent, nil)
		s.knows("b", farms.Present, nil)
		s.wants(s.visits(visit{}), "b", farms.ReasonOK, 0)
		s.knows("a", farms.Present, nil)
		for _, target := range []string{"/ch/1.ts", "/ch/hi/deep/1.ts", "/ch/media.m3u8", "/ch/index.m3u8?_HLS_msn=12"} {
			s.wants(s.visits(visit{target: target}), "b", farms.ReasonOK, 0)
		}
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
	})
}

// TestChildrenOfADialectsChannel: where times stand before the channel's name, the
// folder of the children is not the channel.
func TestChildrenOfADialectsChannel(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		dialect, err := archive.New(archive.Options{Custom: []archive.Custom{{
			Name: "times-first", Path: `^/start_(?P<start>\d+)/stop_(?P<end>\d+)/(?P<channel>[^/]+)/[^/]+\.(?P<ext>mpd)$`,
		}}})
		if err != nil {
			t.Fatal(err)
		}
		s := newStageOf(t, stageSpec(t, "weight a=10 b=5"), func(set *Settings) { set.Archive = dialect })
		s.answers("a", 0, farms.Absent)
		s.p.replies[s.server("b").Endpoint] = reply{presence: farms.Present, edit: func(f *farms.Fact) {
			f.Ranges = []farms.Range{{From: 0, To: time.Now().UnixMilli()}}
		}}
		now := time.Now().Unix()
		folder := fmt.Sprintf("/start_%d/stop_%d/news", now-7200, now-3600)
		s.wants(s.visits(visit{target: folder + "/index.mpd"}), "b", farms.ReasonOK, 0)
		for _, target := range []string{folder + "/init.mp4", folder + "/V300/1.m4s"} {
			s.wants(s.visits(visit{target: target}), "b", farms.ReasonOK, 0)
		}
	})
}

// TestChildrenKeepTheSessionAlive: the last request counts, and a player that
// resolves segments against us asks for nothing else. It must not lose its
// server in the middle of a film.
func TestChildrenKeepTheSessionAlive(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b")
		s.knows("a", farms.Present, nil)
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
		s.knows("b", farms.Present, nil)
		for range 5 * 60 { // five hours
			<-time.After(time.Minute)
			s.wants(s.visits(visit{target: "/ch/1.ts"}), "a", farms.ReasonOK, 0)
		}
		<-time.After(30 * time.Second)
		s.knows("a", farms.Present, nil)
		s.knows("b", farms.Present, nil)
		d := s.visits(visit{})
		s.wants(d, "a", farms.ReasonOK, 0)
		if d.Why != farms.WhyKept {
			t.Errorf("why %v, want kept", d.Why)
		}
	})
}

// TestLoadCountsSessions: one session is one, however it asks.
func TestLoadCountsSessions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		visits []visit
		want   float64
	}{
		{"get", []visit{{}}, 1},
		{"again", []visit{{}, {}, {}}, 1},
		{"two_viewers", []visit{{}, {addr: "192.0.2.2"}}, 2},
		{"head_alone", []visit{{method: "HEAD"}}, 0},
		{"head_before_get", []visit{{method: "HEAD"}, {}, {}}, 1},
		{"children_of_a_session", []visit{{}, {target: "/ch/1.ts"}, {target: "/ch/2.ts"}}, 1},
		{"children_of_nobody", []visit{{target: "/ch/1.ts"}, {target: "/ch/2.ts"}, {target: "/ch/3.ts"}}, 0},
		{"refused", []visit{{method: "POST"}, {target: "bad"}}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "weight a=10 b=1")
				s.knows("a", farms.Present, nil)
				s.knows("b", farms.Present, nil)
				for _, v := range row.visits {
					s.visits(v)
				}
				l := loads{s.e.view.Load().loads, s.e.tick(time.Now())}
				if got := l.Load(s.server("a").ID) + l.Load(s.server("b").ID); got != row.want {
					t.Errorf("a load of %v, want %v", got, row.want)
				}
			})
		})
	}
}
