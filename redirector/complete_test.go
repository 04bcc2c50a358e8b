package redirector

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// TestExplainShowsEveryServer: of an archive window explain waits for every
// server, also when one that holds it all ends the decision, and says what each
// holds, where that is known from and since when.
func TestExplainShowsEveryServer(t *testing.T) {
	t.Parallel()
	const start = 900_000_000
	target := "/ch/archive-900000000-3600.m3u8"
	span := func(from, to int64) farms.Range {
		return farms.Range{From: (start + from) * 1000, To: (start + to) * 1000}
	}
	holds := func(source string, ranges ...farms.Range) func(*farms.Fact) {
		return func(f *farms.Fact) { f.Ranges, f.Source = ranges, source }
	}
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight late=9 full=5 silent=1", "weight other=1"), func(set *Settings) { set.Archive = dialects(t) })
		s.table.Rules.GoodEnough = 0.95
		for name, r := range map[string]reply{
			"full":  {presence: farms.Present, after: 10 * ms, edit: holds(farms.SourceAPI, span(-7200, -3700), span(-60, 9000), span(9100, 9200), span(9300, 9400))},
			"late":  {presence: farms.Present, after: 400 * ms, edit: holds(farms.SourcePlaylist, span(0, 600), span(1200, 3600))},
			"other": {presence: farms.Absent, after: 300 * ms},
		} {
			s.p.replies[s.server(name).Endpoint] = r
		}
		began := time.Now()
		x := s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: target})
		if x.Server != "full" || x.WaitedMS != 10 {
			t.Errorf("%s serves after %d ms, want full after 10", x.Server, x.WaitedMS)
		}
		if took := time.Since(began); took != s.e.view.Load().set.DecisionTimeout {
			t.Errorf("it took %v, want the decision's timeout: one server is silent", took)
		}
		got := map[string]ExplainedServer{}
		for _, f := range x.Farms {
			for _, c := range f.Servers {
				got[c.Name] = c
			}
		}
		for name, want := range map[string]ExplainedServer{
			"full":   {Why: "chosen", HeldSec: 3600, Source: "api", AgeSec: 1.5},
			"late":   {Why: "holds_less", HeldSec: 3000, Source: "playlist", AgeSec: 1.1},
			"silent": {Why: "not_needed"},
			"other":  {Why: "absent"},
		} {
			c := got[name]
			if c.Why != want.Why || c.HeldSec != want.HeldSec || c.AskedSec != 3600 || c.Source != want.Source || c.AgeSec != want.AgeSec {
				t.Errorf("%s: %+v, want %+v", name, c, want)
			}
		}
		if r := got["full"].Ranges; len(r) != 3 || r[1] != span(-60, 9000) {
			t.Errorf("it lists %v of full, want what holds the window and the nearest beside it", r)
		}
		if g := got["late"].Gaps; len(g) != 1 || g[0] != span(600, 1200) {
			t.Errorf("it lists the gaps %v of late", g)
		}
		text := x.Text()
		for _, want := range []string{
			"source   api, told 1.5 s ago", "recorded 1998-07-09T14:00:00Z to 1998-07-09T14:58:20Z, 58m20s",
			"missing  1998-07-09T16:10:00Z to 1998-07-09T16:20:00Z, 10m0s",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the text has no %q:\n%s", want, text)
			}
		}
	})
}

// TestExplainWaitsForWhomItAsked: of a channel explain waits for the servers that
// the decision has asked, and asks no other.
func TestExplainWaitsForWhomItAsked(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight best=9 next=5 third=1", "weight other=1")
		s.answers("best", 10*ms, farms.Present)
		s.answers("next", 400*ms, farms.Absent)
		s.answers("third", 10*ms, farms.Absent)
		x := s.e.Explain(t.Context(), ExplainRequest{IP: netip.MustParseAddr(stageViewer), URL: stagePath})
		if x.Server != "best" || x.WaitedMS != 10 {
			t.Errorf("%s serves after %d ms, want best after 10", x.Server, x.WaitedMS)
		}
		whys := ""
		for _, f := range x.Farms {
			for _, c := range f.Servers {
				whys += c.Name + " " + c.Why + ", "
			}
		}
		if want := "best chosen, next absent, third not_needed, other not_needed, "; whys != want {
			t.Errorf("whys %s, want %s", whys, want)
		}
	})
}
