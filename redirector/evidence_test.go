package redirector

import (
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// evidenceStage has two servers with the stage's multivariant playlist, a the
// preferred one.
func evidenceStage(t *testing.T, mode ReturnEvidence) *stage {
	t.Helper()
	s := newStageOf(t, stageSpec(t, "weight a=10 b=5"), func(set *Settings) { set.ReturnEvidence = mode })
	s.stay(nil)
	return s
}

// stay makes both servers' answers good for an hour.
func (s *stage) stay(edit func(*farms.Fact)) {
	for _, name := range []string{"a", "b"} {
		s.knows(name, farms.Present, func(f *farms.Fact) {
			f.FreshUntil = f.At.Add(time.Hour)
			f.ServeUntil = f.FreshUntil
			if edit != nil {
				edit(f)
			}
		})
	}
}

// at waits until so many seconds after the stage's start.
func (s *stage) at(sec float64) {
	<-time.After(time.Until(s.start.Add(time.Duration(sec * float64(time.Second)))))
}

func TestReturnsAreEvidence(t *testing.T) {
	t.Parallel()
	type step struct {
		at      float64 // seconds
		server  string
		checked string
	}
	for _, row := range []struct {
		name  string
		mode  ReturnEvidence
		steps []step
	}{
		{"check_second_soon", EvidenceCheck, []step{{0, "a", ""}, {3, "a", "a"}, {6, "a", "a"}, {9, "a", "a"}}},
		{"check_at_30_s", EvidenceCheck, []step{{0, "a", ""}, {30, "a", "a"}}},
		{"check_later", EvidenceCheck, []step{{0, "a", ""}, {30.5, "a", ""}, {60, "a", "a"}}},
		{"check_all_the_time", EvidenceCheck, []step{{0, "a", ""}, {20, "a", "a"}, {40, "a", "a"}, {60, "a", "a"}, {80, "a", "a"}, {100, "a", "a"}}},
		{"move_third", EvidenceMove, []step{{0, "a", ""}, {3, "a", "a"}, {6, "b", "a"}}},
		{"move_third_at_60_s", EvidenceMove, []step{{0, "a", ""}, {30, "a", "a"}, {60, "b", "a"}}},
		{"move_not_in_a_minute", EvidenceMove, []step{{0, "a", ""}, {30, "a", "a"}, {61, "a", ""}}},
		{"move_any_three_in_a_minute", EvidenceMove, []step{{0, "a", ""}, {50, "a", ""}, {70, "a", "a"}, {80, "b", "a"}}},
		{"move_holds_five_minutes", EvidenceMove, []step{{0, "a", ""}, {3, "a", "a"}, {6, "b", "a"}, {100, "b", ""}, {200, "b", ""}, {305, "b", ""}, {307, "a", ""}}},
		{"move_checks_the_next_too", EvidenceMove, []step{{0, "a", ""}, {3, "a", "a"}, {6, "b", "a"}, {10, "b", "b"}}},
		{"move_slow", EvidenceMove, []step{{0, "a", ""}, {40, "a", ""}, {80, "a", ""}, {120, "a", ""}}},
		{"off", EvidenceOff, []step{{0, "a", ""}, {3, "a", ""}, {6, "a", ""}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := evidenceStage(t, row.mode)
				for _, x := range row.steps {
					s.at(x.at)
					d := s.visits(visit{})
					if d.Server == nil || d.Server.Name != x.server {
						t.Errorf("at %v s: sent to %v, want %s", x.at, d.Server, x.server)
					}
					var want []string
					if x.checked != "" {
						want = []string{x.checked}
					}
					wantList(t, "checked", s.p.checks(), want...)
				}
			})
		})
	}
}

// TestWhatIsNoEvidence: reloads of media playlists, HEAD, DASH, children, other
// viewers, other playlists and refusals move and check nobody.
func TestWhatIsNoEvidence(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		visits []visit
		edit   func(s *stage)
	}{
		{"media_playlist", []visit{{}, {}, {}}, func(s *stage) { s.stay(func(f *farms.Fact) { f.Multivariant = false }) }},
		{"listed_media_playlist", []visit{{target: "/ch/media.m3u8"}, {target: "/ch/media.m3u8"}, {target: "/ch/media.m3u8"}}, func(s *stage) { s.p.parents["/ch/media.m3u8"] = "ch" }},
		{"low_latency_reload", []visit{{target: stagePath + "?_HLS_msn=1"}, {target: stagePath + "?_HLS_msn=2"}, {target: stagePath + "?_HLS_msn=3"}}, nil},
		{"head", []visit{{method: "HEAD"}, {method: "HEAD"}, {method: "HEAD"}}, nil},
		{"head_and_get", []visit{{method: "HEAD"}, {}, {method: "HEAD"}}, nil},
		{"other_viewers", []visit{{addr: "192.0.2.1"}, {addr: "192.0.2.2"}, {addr: "192.0.2.3"}}, nil},
		{"other_agents", []visit{{agent: "x"}, {agent: "y"}, {agent: "z"}}, nil},
		{"options", []visit{{}, {method: "OPTIONS"}, {method: "OPTIONS"}}, nil},
		{"segments", []visit{{}, {target: "/ch/1.ts"}, {target: "/ch/2.ts"}, {target: "/ch/3.ts"}}, nil},
		{"nobody_has_it", []visit{{}, {}, {}}, func(s *stage) {
			s.knows("a", farms.Absent, nil)
			s.knows("b", farms.Absent, nil)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := evidenceStage(t, EvidenceMove)
				if row.edit != nil {
					row.edit(s)
				}
				for _, v := range row.visits {
					if d := s.visits(v); d.Server != nil && d.Server.Name != "a" {
						t.Errorf("%+v was moved to %s", v, d.Server.Name)
					}
					<-time.After(time.Second)
				}
				wantList(t, "checked", s.p.checks())
			})
		})
	}
}

// TestMoveWithNowhereToGo: who cannot be moved stays where he is.
func TestMoveWithNowhereToGo(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := evidenceStage(t, EvidenceMove)
		s.down("b", time.Hour)
		for range 6 {
			s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
			<-time.After(2 * time.Second)
		}
		s.p.health[s.server("b").Endpoint].Condition = farms.ConditionUp
		s.wants(s.visits(visit{}), "b", farms.ReasonOK, 0)
	})
}

// TestMoveLeavesTheSticky: under first_response too the third goes elsewhere,
// and stays there.
func TestMoveLeavesTheSticky(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "first_response a b"), func(set *Settings) { set.ReturnEvidence = EvidenceMove })
		s.stay(nil)
		first := s.visits(visit{}).Server
		for i := range 20 {
			<-time.After(time.Second)
			d := s.visits(visit{})
			if moved := d.Server != first; moved != (i >= 1) {
				t.Errorf("return %d: on %s, began on %s", i+1, d.Server.Name, first.Name)
			}
		}
	})
}

// TestEvidenceOfARemovedServer: a note about a server that a reload
// removed checks nobody.
func TestEvidenceOfARemovedServer(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := evidenceStage(t, EvidenceMove)
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
		next, err := farms.Build(stageSpec(t, "weight b=5"), 2)
		if err != nil {
			t.Fatal(err)
		}
		s.e.Swap(next, s.set)
		<-time.After(time.Second)
		s.wants(s.visits(visit{}), "b", farms.ReasonOK, 0)
		wantList(t, "checked", s.p.checks())
	})
}
