package probe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// TestRecent: the ring is bounded, the newest is last, and a probe without a
// good answer shows.
func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	if got := r.list(); len(got) != 0 {
		t.Errorf("before the first probe there are %v", got)
	}
	for i := range recentProbes + 3 {
		r.add(time.Duration(i))
	}
	got := r.list()
	if len(got) != recentProbes || got[0] != 3 || got[recentProbes-1] != recentProbes+2 {
		t.Errorf("%v", got)
	}
	bubble(t, "of_a_board", func(t *testing.T) {
		s := healthy(t, 2, defaults())
		s.hosts[0].becomes(refusing)
		s.after(time.Minute)
		ep := s.table.Servers[0].Endpoint
		if got := s.board.Recent(ep); len(got) < 2 || got[len(got)-1] != 0 {
			t.Errorf("the response times of a server that went down are %v, want 0 at the end", got)
		}
		if got := s.board.Recent(s.table.Servers[1].Endpoint); len(got) < 2 {
			t.Errorf("after a minute there are %v", got)
		}
		if got := s.board.Recent(1); got != nil {
			t.Errorf("a server that is not there has %v", got)
		}
	})
}

// TestRecheck: the operator's word has a server asked at once, for its status and
// for what viewers want, and no other server.
func TestRecheck(t *testing.T) {
	t.Parallel()
	bubble(t, "asks", func(t *testing.T) {
		s := healthy(t, 2, defaults())
		s.ask("old")
		s.after(2 * recheckWanted)
		s.ask("ch")
		was, others := len(s.hosts[0].requests(true)), len(s.hosts[1].requests(true))
		status := len(s.hosts[0].requests(false))
		n, ok := s.board.Recheck(s.table.Servers[0])
		if !ok || n != 1 {
			t.Fatalf("%d contents, %v; want the one that is wanted", n, ok)
		}
		if f := s.fact("old", 0); time.Now().Before(f.FreshUntil) {
			t.Errorf("what nobody wants is still believed: %+v", f)
		}
		s.after(0)
		if got := len(s.hosts[0].requests(true)) - was; got != 1 {
			t.Errorf("%d questions about content, want 1", got)
		}
		if got := len(s.hosts[0].requests(false)) - status; got != 1 {
			t.Errorf("%d status probes, want 1", got)
		}
		if got := len(s.hosts[1].requests(true)) - others; got != 0 {
			t.Errorf("the other server was asked %d questions", got)
		}
		if f := s.fact("ch", 0); time.Since(f.At) != 0 {
			t.Errorf("the fact is %v old", time.Since(f.At))
		}
		if _, ok := s.board.Recheck(s.table.Servers[0]); ok {
			t.Error("a second recheck within a second began")
		}
		s.after(recheckEvery)
		if _, ok := s.board.Recheck(s.table.Servers[0]); !ok {
			t.Error("a second later none began")
		}
		if _, ok := s.board.Recheck(&farms.Server{Endpoint: 1}); ok {
			t.Error("a server that is not there was rechecked")
		}
	})
	bubble(t, "within_the_rate", func(t *testing.T) {
		set := defaults()
		set.MaxPerSec = 4
		s := healthy(t, 1, set)
		for i := range 30 {
			s.ask(fmt.Sprintf("ch%d", i))
			s.after(time.Second)
		}
		was := len(s.hosts[0].requests(true))
		n, _ := s.board.Recheck(s.table.Servers[0])
		s.after(set.DecisionTimeout)
		if got := len(s.hosts[0].requests(true)) - was; got != n || n < 4 || n > 12 {
			t.Errorf("%d questions for %d contents, want what %v a second leaves room for in %v", got, n, set.MaxPerSec, set.DecisionTimeout)
		}
	})
}

// TestForget: the next viewer has everybody asked; other channels stay.
func TestForget(t *testing.T) {
	t.Parallel()
	bubble(t, "a_channel", func(t *testing.T) {
		s := healthy(t, 2, defaults())
		s.ask("ch")
		s.ask("other")
		if n := s.board.Forget("ch"); n != 1 {
			t.Errorf("%d contents forgotten, want 1", n)
		}
		if got := s.board.Content(hls("ch")); got != nil {
			t.Errorf("it is still known: %+v", got)
		}
		if known, all := s.board.Sizes(); known != 1 || all != 1 {
			t.Errorf("%d known of %d, want the other channel alone", known, all)
		}
		if _, ok := s.board.Manifest("ch"); ok {
			t.Error("its manifest is still known")
		}
		if n := s.board.Forget("nothing"); n != 0 {
			t.Errorf("%d contents of a channel that is not there", n)
		}
		if got := s.ask("ch"); len(got.Facts) != 2 {
			t.Errorf("asked again, there are %+v", got.Facts)
		}
	})
	bubble(t, "with_a_question_under_way", func(t *testing.T) {
		s := healthy(t, 1, defaults())
		s.board.Ask(hls("ch"), s.table.Servers, false)
		s.board.Forget("ch")
		s.after(time.Second)
		if known, all := s.board.Sizes(); known != 0 || all != 0 {
			t.Errorf("the late answer is kept: %d known of %d", known, all)
		}
	})
}

// TestRecordings: what interfaces told of a channel is listed, by either name.
func TestRecordings(t *testing.T) {
	t.Parallel()
	bubble(t, "of_a_channel", func(t *testing.T) {
		s, _, c := recordingScene(t, 3)
		if got := s.board.Recorded(10); len(got) != 0 {
			t.Errorf("before any question there are %v", got)
		}
		s.board.Ask(c, s.table.Servers, false)
		s.after(0)
		facts := s.board.Recordings(c.Channel)
		if len(facts) == 0 || len(facts[0].Ranges) != 3 || facts[0].Endpoint != s.table.Servers[0].Endpoint {
			t.Errorf("%+v", facts)
		}
		if got := s.board.Recorded(10); !slices.Equal(got, []string{c.Channel}) {
			t.Errorf("the channels are %v", got)
		}
		if got := s.board.Recorded(0); len(got) > 1 {
			t.Errorf("without room there are %v", got)
		}
		if got := s.board.Recordings("nothing"); len(got) != 0 {
			t.Errorf("another channel has %+v", got)
		}
	})
}
