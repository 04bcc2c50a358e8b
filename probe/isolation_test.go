package probe

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// healthy makes a scene with n servers that are up and asked.
func healthy(t *testing.T, n int, set Settings) *scene {
	t.Helper()
	s := newScene(t, set)
	for range n {
		s.serve(streaming(liveBody))
	}
	s.start()
	s.after(firstSweep)
	if got := s.conditions(); got != strings.Repeat("u", n) {
		t.Fatalf("after the first sweep the servers are %s, want all up", got)
	}
	return s
}

// becomes changes how servers from, …, to-1 behave.
func (s *scene) becomes(state int32, from, to int) {
	for _, h := range s.hosts[from:to] {
		h.becomes(state)
	}
}

// The longest time until a silent server is known to be down: an interval, two
// timeouts and the second between them.
func untilDown(set Settings) time.Duration {
	return set.StatusInterval*6/5 + 2*set.RequestTimeout + recheckAfter
}

// toldAll checks that whoever follows the changes knows what the view says.
func (s *scene) toldAll() {
	s.t.Helper()
	for i, fs := range s.table.Servers {
		was := farms.ConditionUnknown
		for _, c := range s.changesOf(fs.Name) {
			if c.health.Condition == was {
				s.t.Errorf("%s: told twice in a row that it is %c", fs.Name, "?ud"[was])
			}
			was = c.health.Condition
		}
		if now := s.health(i).Condition; now != was {
			s.t.Errorf("%s is %c, and the last change told was to %c", fs.Name, "?ud"[now], "?ud"[was])
		}
	}
}

// A lost site is not isolation: 12 of 20 servers, all of one site, are down in
// due time and nobody cries wolf.
func TestLostSiteIsDown(t *testing.T) {
	t.Parallel()
	bubble(t, "12_of_20_silent", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 20, set)
		s.becomes(silent, 0, 12)
		s.after(untilDown(set))
		if got, want := s.conditions(), strings.Repeat("d", 12)+strings.Repeat("u", 8); got != want {
			t.Errorf("the servers are %s, want %s", got, want)
		}
		s.after(10 * time.Minute)
		if calls := s.isolationCalls(); len(calls) > 0 {
			t.Errorf("isolation was raised: %+v", calls)
		}
		if dials := s.net.dials.Load(); dials > 12 {
			t.Errorf("%d dials into the black hole are under way, want at most one a server", dials)
		}
	})
}

func TestIsolationHoldsTheViewForAMinute(t *testing.T) {
	t.Parallel()
	bubble(t, "20_of_20_silent", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 20, set)
		s.becomes(silent, 0, 20)
		s.after(set.StatusInterval*6/5 + set.RequestTimeout + recheckAfter)
		calls := s.isolationCalls()
		if len(calls) != 1 || !calls[0].on || calls[0].detail == "" {
			t.Fatalf("isolation calls are %+v, want it raised once, with its reason", calls)
		}
		raised := calls[0].at
		for time.Since(raised) < isolationHold-time.Second {
			if got := s.conditions(); got != strings.Repeat("u", 20) {
				t.Fatalf("%v after isolation the servers are %s, want all up as before", time.Since(raised), got)
			}
			s.after(time.Second)
		}
		s.toldAll()
		if h := s.health(0); !strings.Contains(h.Reason, "isolated") {
			t.Errorf("the reason of a held server is %q, want it to say so", h.Reason)
		}
		s.after(time.Until(raised.Add(isolationHold)) + time.Millisecond)
		if got := s.conditions(); got != strings.Repeat("d", 20) {
			t.Errorf("%v after isolation the servers are %s, want all down: a view is held at most a minute", time.Since(raised), got)
		}
		s.toldAll()
		if got := len(s.isolationCalls()); got != 1 {
			t.Errorf("%d isolation calls when the hold ended, want none: it is still dark", got-1)
		}
		s.becomes(serving, 7, 8)
		s.after(set.StatusInterval * 6 / 5)
		calls = s.isolationCalls()
		if len(calls) != 2 || calls[1].on {
			t.Fatalf("isolation calls are %+v, want it ended by one answer", calls)
		}
		if got, want := s.conditions(), strings.Repeat("d", 7)+"u"+strings.Repeat("d", 12); got != want {
			t.Errorf("the servers are %s, want %s", got, want)
		}
	})
}

// When the network comes back, one server answers first. That must not be the
// moment at which all the others, which are fine, are taken for down.
func TestIsolationEndsWithoutAHerd(t *testing.T) {
	t.Parallel()
	bubble(t, "back_within_the_hold", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 20, set)
		s.becomes(silent, 0, 20)
		for len(s.isolationCalls()) == 0 {
			s.after(time.Second)
		}
		s.after(20 * time.Second)
		s.becomes(serving, 0, 20)
		for range 120 {
			if got := s.conditions(); got != strings.Repeat("u", 20) {
				t.Fatalf("%v after the network came back the servers are %s, want all up throughout", time.Since(s.isolationCalls()[0].at), got)
			}
			s.after(time.Second)
		}
		if calls := s.isolationCalls(); len(calls) != 2 {
			t.Errorf("isolation calls are %+v, want raised and ended", calls)
		}
		if h := s.health(3); !h.WarmFrom.IsZero() {
			t.Errorf("a server that was never away warms up from %v", h.WarmFrom)
		}
		for _, h := range s.hosts {
			if got := busiest(h.starts(false)[1:], 20*time.Second); got > 2 {
				t.Errorf("a server was asked %d times in 20 s, want no herd", got)
			}
		}
	})
	bubble(t, "one_stays_dead", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 8, set)
		s.becomes(silent, 0, 8)
		for len(s.isolationCalls()) == 0 {
			s.after(time.Second)
		}
		s.becomes(serving, 1, 8)
		s.after(2*untilDown(set) + isolationHold)
		if got := s.conditions(); got != "duuuuuuu" {
			t.Errorf("the servers are %s, want the dead one down", got)
		}
		s.toldAll()
	})
}

// A refused connection is an answer: the network carried it.
func TestRefusedIsNeverIsolation(t *testing.T) {
	t.Parallel()
	bubble(t, "all_refused", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 10, set)
		s.becomes(refusing, 0, 10)
		s.after(set.StatusInterval*6/5 + time.Second)
		if got := s.conditions(); got != strings.Repeat("d", 10) {
			t.Errorf("the servers are %s, want all down", got)
		}
		if calls := s.isolationCalls(); len(calls) > 0 {
			t.Errorf("isolation was raised: %+v", calls)
		}
	})
	bubble(t, "one_refused_the_others_silent", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 10, set)
		s.becomes(refusing, 0, 1)
		s.becomes(silent, 1, 10)
		s.after(untilDown(set) + 5*time.Second)
		if got := s.conditions(); got != strings.Repeat("d", 10) {
			t.Errorf("the servers are %s, want all down", got)
		}
		if calls := s.isolationCalls(); len(calls) > 0 {
			t.Errorf("isolation was raised: %+v", calls)
		}
	})
	bubble(t, "refused_during_isolation_is_down", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 10, set)
		s.becomes(silent, 0, 10)
		for len(s.isolationCalls()) == 0 {
			s.after(time.Second)
		}
		s.becomes(refusing, 4, 5)
		s.after(set.StatusInterval*6/5 + set.RequestTimeout)
		if got := s.conditions()[4]; got != 'd' {
			t.Errorf("the server that refuses is %c, want it down", got)
		}
	})
	bubble(t, "5xx_is_an_answer", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 8, set)
		for _, h := range s.hosts {
			h.handle(answers(http.StatusBadGateway, "no"))
		}
		s.after(untilDown(set))
		if got := s.conditions(); got != "dddddddd" {
			t.Errorf("the servers are %s, want all down", got)
		}
		if calls := s.isolationCalls(); len(calls) > 0 {
			t.Errorf("isolation was raised: %+v", calls)
		}
	})
}

func TestIsolationNeedsAQuorum(t *testing.T) {
	t.Parallel()
	bubble(t, "7_servers_never", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 7, set)
		s.becomes(silent, 0, 7)
		s.after(untilDown(set) + isolationHold)
		if got := s.conditions(); got != "ddddddd" {
			t.Errorf("the servers are %s, want all down", got)
		}
		if calls := s.isolationCalls(); len(calls) > 0 {
			t.Errorf("isolation was raised: %+v", calls)
		}
	})
	bubble(t, "8_servers_do", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 8, set)
		s.becomes(silent, 0, 8)
		s.after(untilDown(set))
		if calls := s.isolationCalls(); len(calls) != 1 {
			t.Errorf("isolation calls are %+v, want it raised", calls)
		}
	})
}

// Servers that were down before stay down: the view from before is kept, and
// not one from when all was well.
func TestIsolationResurrectsNobody(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name  string
		state int32
	}{{"refused", refusing}, {"timed_out", silent}} {
		bubble(t, how.name, func(t *testing.T) {
			set := defaults()
			s := healthy(t, 12, set)
			s.becomes(how.state, 0, 4)
			s.after(10 * time.Minute)
			const before = "dddduuuuuuuu"
			if got := s.conditions(); got != before {
				t.Fatalf("the servers are %s, want %s", got, before)
			}
			s.becomes(silent, 0, 12)
			for len(s.isolationCalls()) == 0 {
				s.after(time.Second)
			}
			for time.Since(s.isolationCalls()[0].at) < isolationHold-time.Second {
				if got := s.conditions(); got != before {
					t.Fatalf("%v after isolation the servers are %s, want %s as before", time.Since(s.isolationCalls()[0].at), got, before)
				}
				s.after(time.Second)
			}
			s.becomes(serving, 4, 12)
			s.after(2 * time.Minute)
			if got := s.conditions(); got != before {
				t.Errorf("after isolation the servers are %s, want %s", got, before)
			}
		})
	}
}

// A self check that fails says that it is us, however few servers there are.
func TestSelfCheck(t *testing.T) {
	t.Parallel()
	bubble(t, "fails_and_servers_fall_silent_then", func(t *testing.T) {
		set := defaults()
		set.SelfCheck = []string{"http://gateway/"}
		s := newScene(t, set)
		gateway := s.net.host("gateway:80", answers(http.StatusNotFound, "any answer will do"))
		for range 3 {
			s.serve(streaming(liveBody))
		}
		s.start()
		s.after(firstSweep)
		gateway.becomes(silent)
		for len(s.isolationCalls()) == 0 {
			s.after(time.Second)
		}
		call := s.isolationCalls()[0]
		if !call.on || !strings.Contains(call.detail, "http://gateway/") {
			t.Errorf("the call is %+v, want isolation that names the URL", call)
		}
		s.becomes(silent, 0, 3)
		for time.Since(call.at) < isolationHold-time.Second {
			if got := s.conditions(); got != "uuu" {
				t.Fatalf("%v after isolation the servers are %s, want them held", time.Since(call.at), got)
			}
			s.after(time.Second)
		}
		s.after(2*time.Second + untilDown(set))
		if got := s.conditions(); got != "ddd" {
			t.Errorf("the servers are %s when the hold is long over, want down", got)
		}
		gateway.becomes(serving)
		s.after(set.StatusInterval)
		if calls := s.isolationCalls(); len(calls) != 2 || calls[1].on {
			t.Errorf("isolation calls are %+v, want it ended by the self check", calls)
		}
	})
	bubble(t, "passes_and_a_server_is_down", func(t *testing.T) {
		set := defaults()
		set.SelfCheck = []string{"http://gateway/"}
		s := newScene(t, set)
		s.net.host("gateway:80", answers(http.StatusInternalServerError, "even this"))
		for range 3 {
			s.serve(streaming(liveBody))
		}
		s.start()
		s.after(firstSweep)
		s.becomes(silent, 0, 3)
		s.after(untilDown(set))
		if got := s.conditions(); got != "ddd" {
			t.Errorf("the servers are %s, want down", got)
		}
		if calls := s.isolationCalls(); len(calls) > 0 {
			t.Errorf("isolation was raised: %+v", calls)
		}
	})
	bubble(t, "fails_and_a_server_still_answers", func(t *testing.T) {
		set := defaults()
		set.SelfCheck = []string{"http://nowhere/"}
		s := newScene(t, set)
		s.serve(streaming(liveBody))
		s.serve(answers(http.StatusServiceUnavailable, ""))
		s.start()
		s.after(time.Minute)
		if got := s.conditions(); got != "ud" {
			t.Errorf("the servers are %s, want ud: who answers is believed", got)
		}
	})
}

// A reload while we are isolated does not end it by itself.
func TestIsolationAndReload(t *testing.T) {
	t.Parallel()
	bubble(t, "reload_of_the_same_servers", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 10, set)
		s.becomes(silent, 0, 10)
		for len(s.isolationCalls()) == 0 {
			s.after(time.Second)
		}
		s.update(10, set)
		s.after(time.Second)
		if got := s.conditions(); got != strings.Repeat("u", 10) || len(s.isolationCalls()) != 1 {
			t.Errorf("the servers are %s and isolation calls %+v, want all as before the reload", got, s.isolationCalls())
		}
	})
	bubble(t, "below_the_quorum", func(t *testing.T) {
		set := defaults()
		s := healthy(t, 10, set)
		s.becomes(silent, 0, 10)
		for len(s.isolationCalls()) == 0 {
			s.after(time.Second)
		}
		s.update(7, set)
		if calls := s.isolationCalls(); len(calls) != 2 || calls[1].on {
			t.Errorf("isolation calls are %+v, want it ended: seven servers are not enough to tell", calls)
		}
	})
}

// At process start everything is unknown, which is usable. Silence all round
// keeps it so for a minute rather than refusing everybody.
func TestIsolatedFromTheStart(t *testing.T) {
	t.Parallel()
	bubble(t, "unknown_for_a_minute", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		for range 8 {
			s.serve(streaming(liveBody)).becomes(silent)
		}
		s.start()
		s.after(30 * time.Second)
		if got := s.conditions(); got != "????????" {
			t.Errorf("the servers are %s, want unknown", got)
		}
		s.after(isolationHold)
		if got := s.conditions(); got != "dddddddd" {
			t.Errorf("the servers are %s, want down", got)
		}
		if h := s.board.Health(s.table.Servers[0].Endpoint); h.Condition != farms.ConditionDown {
			t.Errorf("health is %+v", h)
		}
	})
}
