package steering

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"
)

var (
	feedbackStart = time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	twoPolls      = FeedbackRules{LowBPS: 1_000_000, Polls: 2, Dwell: time.Minute}
)

// pathwayHash makes a hash of a letter.
func pathwayHash(id string) uint64 {
	if id == "" {
		return 0
	}
	return uint64(id[0]) * 0x9e3779b97f4a7c15
}

// poll is one poll of the session and what must hold after it.
type poll struct {
	at      float64 // seconds after the start
	pathway string  // reported
	kbps    int64
	demoted string
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	every := func(step float64, polls ...poll) []poll {
		for i := range polls {
			polls[i].at = step * float64(i)
		}
		return polls
	}
	at := func(s float64, p string, kbps int64, demoted string) poll { return poll{s, p, kbps, demoted} }
	next := func(p string, kbps int64, demoted string) poll { return poll{0, p, kbps, demoted} }
	for _, c := range []struct {
		name  string
		rules FeedbackRules
		polls []poll
	}{
		{"one_low_report_is_none", twoPolls, every(30, next("a", 500, ""), next("a", 5000, ""), next("a", 400, ""), next("a", 5001, ""))},
		{"two_in_a_row", twoPolls, every(30, next("a", 5000, ""), next("a", 500, ""), next("a", 400, "a"))},
		{"two_at_the_start", twoPolls, every(2, next("a", 500, ""), next("a", 400, "a"))},
		{"three_wanted", FeedbackRules{1_000_000, 3, 0}, every(30, next("a", 500, ""), next("a", 400, ""), next("a", 300, "a"))},
		{"one_wanted", FeedbackRules{1_000_000, 0, 0}, every(30, next("a", 5000, ""), next("a", 999, "a"))},
		{"exactly_the_limit_is_not_low", twoPolls, every(30, next("a", 1000, ""), next("a", 1000, ""), next("a", 999, ""), next("a", 1000, ""))},
		{"frozen_low_value_counts_once", twoPolls, every(30, next("a", 500, ""), next("a", 500, ""), next("a", 500, ""), next("a", 500, ""), next("a", 499, "a"))},
		{"frozen_value_does_not_end_a_row", twoPolls, every(30, next("a", 5000, ""), next("a", 500, ""), next("a", 500, ""), next("a", 400, "a"))},
		{"unknown_is_no_sample", twoPolls, every(30, next("a", 500, ""), next("a", 0, ""), next("a", -5, ""), next("a", 400, "a"))},
		{"unknown_pathway_teaches_nothing", twoPolls, every(30, next("a", 500, ""), next("", 400, ""), next("", 300, ""), next("a", 200, "a"))},
		{"row_is_about_one_pathway", twoPolls, every(30, next("a", 500, ""), next("b", 400, ""), next("a", 300, ""), next("b", 200, ""))},
		// hls.js freezes its estimate while it flees a dead pathway.
		{"frozen_over_a_change", twoPolls, every(30, next("a", 500, ""), next("b", 500, ""), next("b", 500, ""), next("b", 500, ""), next("b", 500, ""))},
		{"off", FeedbackRules{0, 1, 0}, every(30, next("a", 1, ""), next("a", 2, ""))},

		// The reported pathway counts, not the one served first: a player that fled to
		// b by itself stays there a dwell time before we send it away.
		{"dwell_after_its_own_change", twoPolls, []poll{
			at(0, "a", 5000, ""), at(30, "b", 500, ""), at(50, "b", 400, ""), at(89, "b", 300, ""), at(90, "b", 200, "b"),
		}},
		// A demotion lasts twice the dwell time and twice the polls, counted from when
		// the player is on the other pathway.
		{"ends_by_time", twoPolls, []poll{
			at(0, "a", 500, ""), at(10, "a", 400, "a"), at(20, "b", 5000, "a"), at(30, "b", 5001, "a"), at(40, "b", 5002, "a"), at(50, "b", 5003, "a"),
			at(139, "b", 5004, "a"), at(140, "b", 5005, ""),
		}},
		{"ends_by_polls", twoPolls, every(300, next("a", 500, ""), next("a", 400, "a"), next("b", 5000, "a"), next("b", 5001, "a"), next("b", 5002, "a"), next("b", 5003, ""))},
		{"polls_without_samples_count", twoPolls, every(300, next("a", 500, ""), next("a", 400, "a"), next("b", 0, "a"), next("b", 400, "a"), next("b", 400, "a"), next("b", 0, ""))},
		{"ends_though_the_player_stays", twoPolls, every(300, next("a", 500, ""), next("a", 400, "a"), next("a", 300, "a"), next("a", 200, "a"), next("a", 100, "a"), next("a", 90, ""))},
		// The viewer's own line is slow: b is no better than a. Not more than one
		// pathway is set aside, and each time for longer.
		{"slow_line", twoPolls, every(
			300,
			next("a", 500, ""), next("a", 501, "a"), // after 2 polls
			next("b", 502, "a"), next("b", 503, "a"), next("b", 504, "a"), next("b", 505, ""), // for 4
			next("a", 506, ""), next("a", 507, "a"),
			next("b", 508, "a"), next("b", 509, "a"), next("b", 510, "a"), next("b", 511, "a"),
			next("b", 512, "a"), next("b", 513, "a"), next("b", 514, "a"), next("b", 515, ""), // for 8
			next("a", 516, ""), next("a", 517, "a"),
		)},
		{"good_reports_shorten_the_next", twoPolls, every(
			300,
			next("a", 500, ""), next("a", 501, "a"), next("b", 502, "a"), next("b", 503, "a"), next("b", 504, "a"), next("b", 505, ""),
			next("a", 5000, ""), next("a", 506, ""), next("a", 507, "a"),
			next("b", 508, "a"), next("b", 509, "a"), next("b", 510, "a"), next("b", 511, ""), // for 4 again
		)},
		{"forgotten_after_a_long_silence", twoPolls, []poll{
			at(0, "a", 500, ""), at(10, "a", 400, "a"), at(10+FeedbackLife.Seconds(), "a", 300, "a"), at(11+2*FeedbackLife.Seconds(), "a", 200, ""), at(12+2*FeedbackLife.Seconds(), "a", 100, "a"),
		}},
		{"polls_in_the_wrong_order", twoPolls, []poll{at(30, "a", 500, ""), at(10, "a", 400, "a"), at(5, "b", 5000, "a")}},
		{"polls_before_the_start", twoPolls, []poll{at(-30, "a", 500, ""), at(-10, "a", 400, "a")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := NewFeedback(100, feedbackStart)
			for i, p := range c.polls {
				now := feedbackStart.Add(time.Duration(p.at * float64(time.Second)))
				bps := p.kbps * 1000
				f.Observe(7, pathwayHash(p.pathway), bps, now, c.rules)
				for range 2 { // asking changes nothing
					got, ok := f.Demoted(7, now)
					if got != pathwayHash(p.demoted) || ok != (p.demoted != "") {
						t.Fatalf("poll %d, %v s on %q at %d kbit/s: demoted %x %v, want %q", i, p.at, p.pathway, p.kbps, got, ok, p.demoted)
					}
				}
				if other, ok := f.Demoted(8, now); ok {
					t.Fatalf("poll %d: a session that never polled has %x demoted", i, other)
				}
			}
		})
	}
}

func TestFeedbackIsForgottenInSilence(t *testing.T) {
	t.Parallel()
	f := NewFeedback(1, feedbackStart)
	f.Observe(7, 1, 500, feedbackStart, twoPolls)
	f.Observe(7, 1, 400, feedbackStart, twoPolls)
	for after, want := range map[time.Duration]bool{0: true, FeedbackLife: true, FeedbackLife + time.Second: false} {
		if _, ok := f.Demoted(7, feedbackStart.Add(after)); ok != want {
			t.Errorf("%v after the last report: demoted %v, want %v", after, ok, want)
		}
	}
}

// TestFeedbackDoesNotFlap: a player that obeys, on whatever line, with whatever
// reports, gets its order changed at most once in Polls polls and, but for the
// first change, once in a dwell time (check 47).
func TestFeedbackDoesNotFlap(t *testing.T) {
	t.Parallel()
	draws := rand.New(rand.NewPCG(4, 7))
	for round := range 300 {
		rules := FeedbackRules{LowBPS: 1_000_000, Polls: 1 + draws.IntN(5), Dwell: time.Duration(draws.IntN(120)) * time.Second}
		ttl := time.Duration(1+draws.IntN(60)) * time.Second
		low := draws.Float64()
		f := NewFeedback(1, feedbackStart)
		now, on, order := feedbackStart, "a", "a"
		lastPoll, lastTime, changes := 0, time.Time{}, 0
		for i := range 400 {
			on = order
			if draws.IntN(20) == 0 {
				on = "b" // its own penalty
			}
			bps := int64(2_000_000 + i)
			if draws.Float64() < low {
				bps = int64(500_000 + i)
			}
			f.Observe(7, pathwayHash(on), bps, now, rules)
			first := "a"
			if p, ok := f.Demoted(7, now); ok && p == pathwayHash("a") {
				first = "b"
			}
			if first != order {
				if changes > 0 && (i-lastPoll < rules.Polls || now.Sub(lastTime) < rules.Dwell) {
					t.Fatalf("round %d, %+v, TTL %v: changed after %d polls and %v", round, rules, ttl, i-lastPoll, now.Sub(lastTime))
				}
				order, lastPoll, lastTime, changes = first, i, now, changes+1
			}
			now = now.Add(ttl)
		}
		if low > 0.9 && changes == 0 {
			t.Errorf("round %d: %.2f of the reports are low and nothing happened", round, low)
		}
	}
}

// TestFeedbackKeepsWhoReportedLast of those that share a set.
func TestFeedbackKeepsWhoReportedLast(t *testing.T) {
	t.Parallel()
	f := NewFeedback(feedbackWays, feedbackStart) // one set
	rules := FeedbackRules{LowBPS: 1000, Polls: 1}
	for session := range uint64(feedbackWays) {
		f.Observe(session, 1+session, 5, feedbackStart, rules)
	}
	f.Observe(0, 1, 6, feedbackStart, rules) // again: now session 1 is the oldest
	f.Observe(100, 101, 5, feedbackStart, rules)
	f.Observe(101, 102, 5, feedbackStart, rules)
	for session := range uint64(feedbackWays) {
		p, ok := f.Demoted(session, feedbackStart)
		if want := session != 1 && session != 2; ok != want || ok && p != 1+session {
			t.Errorf("session %d: demoted %d %v, want %v", session, p, ok, want)
		}
	}
	for _, session := range []uint64{100, 101} {
		if p, ok := f.Demoted(session, feedbackStart); !ok || p != session+1 {
			t.Errorf("session %d is not there", session)
		}
	}
}

// TestFeedbackSpreads: sessions whose hashes differ in few bits do not crowd in a
// few sets.
func TestFeedbackSpreads(t *testing.T) {
	t.Parallel()
	rules := FeedbackRules{LowBPS: 1000, Polls: 1}
	for _, step := range []uint64{1, 1 << 10, 1 << 20, 1 << 32, 1<<32 + 1} {
		f := NewFeedback(1024, feedbackStart)
		for i := range uint64(1024) {
			f.Observe(i*step, 1, 5, feedbackStart, rules)
		}
		kept := 0
		for i := range uint64(1024) {
			if _, ok := f.Demoted(i*step, feedbackStart); ok {
				kept++
			}
		}
		if kept < 800 {
			t.Errorf("step %#x: %d of 1024 sessions kept", step, kept)
		}
	}
}

// TestFeedbackMemory: 100,000 places take what is documented, and a flood of new
// sessions takes no more.
func TestFeedbackMemory(t *testing.T) {
	if size := unsafe.Sizeof(heard{}); size != 32 {
		t.Errorf("a session takes %d bytes", size)
	}
	if size := unsafe.Sizeof(paddedLock{}); size != 64 {
		t.Errorf("a lock takes %d bytes", size)
	}
	const sessions, documented = 100_000, 100_000*32 + 4<<10
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := NewFeedback(sessions, feedbackStart)
	for i := range uint64(3 * sessions) {
		f.Observe(rand.Uint64(), 1+i%7, int64(i), feedbackStart.Add(time.Duration(i)), twoPolls)
	}
	runtime.ReadMemStats(&after)
	const slack = 64 << 10 // the runtime rounds sizes up, and other goroutines live
	if got := after.TotalAlloc - before.TotalAlloc; got > documented+slack {
		t.Errorf("%d bytes for %d sessions, documented are %d", got, sessions, documented)
	}
	runtime.KeepAlive(f)
}

// TestFeedbackIsConcurrent: what is said of a session is never another's. Run
// with -race.
func TestFeedbackIsConcurrent(t *testing.T) {
	t.Parallel()
	f := NewFeedback(256, feedbackStart)
	rules := FeedbackRules{LowBPS: 1_000_000, Polls: 2}
	var all sync.WaitGroup
	for worker := range uint64(8) {
		all.Go(func() {
			draws := rand.New(rand.NewPCG(worker, 1))
			for i := range 10_000 {
				session := draws.Uint64N(512)
				now := feedbackStart.Add(time.Duration(i) * time.Second)
				f.Observe(session, session+1, draws.Int64N(2_000_000), now, rules)
				if p, ok := f.Demoted(session, now); ok && p != session+1 {
					t.Errorf("session %d has the pathway %d of another", session, p)
					return
				}
			}
		})
	}
	all.Wait()
}
