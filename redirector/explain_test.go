package redirector

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// traces is everything that a decision leaves behind.
func (s *stage) traces() map[string]any {
	s.t.Helper()
	loads := map[string]uint64{}
	for _, x := range s.table.Servers {
		loads[x.Name] = s.e.view.Load().loads[x.ID].word.Load()
	}
	return map[string]any{
		"sessions": s.e.sessions.dump(), "evidence": s.e.evidence.dump(), "loads": loads,
		"alarms": s.e.alarms.On(), "counters": s.counters(), "waiting": s.e.waiting.Load(),
	}
}

// counters are the engine's own metrics as text.
func (s *stage) counters() []string {
	s.t.Helper()
	m := s.e.metrics
	r := prometheus.NewRegistry()
	r.MustRegister(m.decisions, m.servers, m.waited)
	families, err := r.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		for _, x := range f.GetMetric() {
			out = append(out, f.GetName()+x.String())
		}
	}
	slices.Sort(out)
	return out
}

func TestExplainLeavesNoTrace(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a=10 b=5"), func(set *Settings) { set.ReturnEvidence = EvidenceMove })
		s.knows("a", farms.Guarded, nil)
		s.knows("b", farms.Present, nil)
		s.visits(visit{})
		before := s.traces()
		for range 5 {
			x := s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: stagePath, UserAgent: "player"})
			if x.Server != "b" || x.Status != 302 {
				t.Fatalf("explained %+v", x)
			}
		}
		s.knows("b", farms.Absent, nil) // only guarded is left: an alarm when it is committed
		if x := s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: stagePath}); x.Server != "a" {
			t.Fatalf("explained %+v", x)
		}
		s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: "no target"})
		if after := s.traces(); !reflect.DeepEqual(before, after) {
			t.Errorf("explain left traces:\n%v\n%v", before, after)
		}
		wantList(t, "checked", s.p.checks())
	})
}

// TestExplainMayAsk: it waits for answers as a viewer would.
func TestExplainMayAsk(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a b", "first_response c")
		s.answers("b", 40*ms, farms.Present)
		x := s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: "http://tv.example" + stagePath})
		if x.Server != "b" || x.WaitedMS != 40 {
			t.Errorf("explained %+v", x)
		}
		var whys []string
		for _, f := range x.Farms {
			for _, c := range f.Servers {
				whys = append(whys, f.Name+"/"+c.Name+"/"+c.Why)
			}
		}
		wantList(t, "whys", whys, "f1/a/not_needed", "f1/b/chosen", "f2/c/not_needed")
	})
}

// TestExplainTakesAPath: a path is enough, also where core.hosts names hosts.
func TestExplainTakesAPath(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.Hosts = map[string]bool{"tv.example": true} })
		s.knows("a", farms.Present, nil)
		for target, want := range map[string]string{
			stagePath: "ok", "http://tv.example" + stagePath: "ok", "http://TV.example:80" + stagePath: "ok",
			"http://other.example" + stagePath: "unknown_host",
		} {
			x := s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: target})
			if x.Reason != want {
				t.Errorf("%s: %s (%s), want %s", target, x.Reason, x.Detail, want)
			}
		}
		if d := s.visits(visit{host: " "}); d.Reason != farms.ReasonUnknownHost {
			t.Errorf("a viewer without a known Host: %v", d.Reason)
		}
	})
}

func TestExplainIsWholeForPrograms(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a")
		for _, q := range []ExplainRequest{
			{IP: netip.MustParseAddr(stageViewer), URL: "/a/../b"},
			{IP: netip.MustParseAddr("::ffff:192.0.2.1"), URL: stagePath},
			{IP: netip.MustParseAddr("fe80::1%eth0"), URL: stagePath},
		} {
			x := s.e.Explain(t.Context(), q)
			b, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			var back Explanation
			if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(x, back) {
				t.Errorf("%s does not come back as it was: %v", b, err)
			}
			if strings.Contains(string(b), "null") {
				t.Errorf("%s has a null where programs expect a value", b)
			}
			if x.Client == "" || strings.Contains(x.Client, "%") || strings.Contains(x.Client, "ffff") {
				t.Errorf("client %q, want a plain address", x.Client)
			}
			if text := x.Text(); !strings.Contains(text, x.Reason) || !strings.Contains(text, fmt.Sprint(x.Status)) {
				t.Errorf("the text does not say the answer:\n%s", text)
			}
		}
	})
}

// FuzzExplainEqualsDecide: judging every farm changes nothing of the choice.
func FuzzExplainEqualsDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("two farms, one of them down, a third whose content is assumed"))
	f.Add([]byte{1, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 3, 3, 1, 0, 1, 2, 1, 2, 1, 1, 2, 3, 1, 1, 1, 2, 1, 1, 0, 0, 1, 1, 1, 5, 5, 5})
	f.Add([]byte{0, 3, 5, 7, 1, 2, 7, 7, 1, 4, 6, 0, 1, 3, 1, 3, 9, 3, 3, 2, 0, 200, 100, 50, 25, 12, 6, 3, 1, 255, 254, 9, 8, 7, 6, 5, 4, 3, 2, 1, 11, 13, 17, 19, 23})
	f.Fuzz(checkExplain)
}

func TestExplainEqualsDecide(t *testing.T) {
	t.Parallel()
	randomWorlds(t, 200, checkExplain)
}

func checkExplain(t *testing.T, data []byte) {
	t.Helper()
	in(t, func(t *testing.T) {
		d := &dice{data}
		s := fuzzedWorld(t, d)
		target := [...]string{stagePath, stagePath + "?a=1", "/ch/1.ts", "/ch/index.mpd", "/ch/index.m3u8?_HLS_msn=3", "/../x"}[d.throw(6)]
		addr := netip.MustParseAddr([...]string{stageViewer, "2001:db8::1"}[d.throw(2)])
		r := Request{Method: "GET", RawTarget: target, UserAgent: "player", Viewer: clientip.Viewer{Addr: addr, Peer: addr, HTTPS: d.rarely(4)}}
		for range d.throw(4) { // he has been here before
			w := s.e.begin()
			view := s.e.view.Load()
			s.e.decide(t.Context(), w, view, r)
			s.e.commit(w, view)
			s.e.end(w)
			<-time.After(time.Duration(d.throw(3)) * 20 * time.Second)
		}
		before := s.traces()
		draw := uint64(d.throw(256))<<56 | uint64(d.throw(256))<<24
		plain, every := s.decideWith(r, false, draw), s.decideWith(r, true, draw)
		checkExplained(t, s, plain, every)
		if after := s.traces(); !reflect.DeepEqual(before, after) {
			t.Errorf("explain left traces:\n%v\n%v", before, after)
		}
	})
}

func checkExplained(t *testing.T, s *stage, plain, every *work) {
	t.Helper()
	a, b := &plain.decision, &every.decision
	if a.Server != b.Server || a.Farm != b.Farm || a.Reason != b.Reason || a.URL != b.URL || a.Status != b.Status || a.RetryAfter != b.RetryAfter {
		t.Errorf("a viewer gets %v %q, explain says %v %q", a.Reason, a.URL, b.Reason, b.URL)
	}
	x := every.explanation()
	if b.Location == nil {
		return
	}
	if len(x.Farms) != len(s.table.Farms) {
		t.Errorf("%d farms explained, want all %d", len(x.Farms), len(s.table.Farms))
	}
	chosen := 0
	for _, f := range x.Farms {
		for _, c := range f.Servers {
			if c.Chosen {
				chosen++
				if c.Name != x.Server || f.Name != x.Farm {
					t.Errorf("%s of %s is marked, %s of %s serves", c.Name, f.Name, x.Server, x.Farm)
				}
			} else if c.Why == farms.WhyChosen.String() || c.Why == farms.WhyKept.String() {
				t.Errorf("%s of %s: why %s, but %s of %s serves", c.Name, f.Name, c.Why, x.Server, x.Farm)
			}
		}
	}
	if want := min(1, len(x.Server)); chosen != want {
		t.Errorf("%d candidates are marked as chosen, want %d", chosen, want)
	}
}
