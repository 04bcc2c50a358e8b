package redirector

import (
	"context"
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// complete waits for those servers that a decision has asked and need not wait
// for, and asks about an archive window all the others, too, so that an
// explanation shows what each of them says, and decides again when all is known or
// the decision's deadline is there.
func (e *Engine) complete(ctx context.Context, w *work, v *view) {
	deadline := w.decision.Time.Add(v.set.DecisionTimeout)
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for opt := (farms.Options{Every: true}); !opt.Final; {
		known := e.prober.Content(w.query.Content)
		w.query.Now = time.Now()
		w.chosen = farms.Choose(w.order, &w.query, &w.world, &v.table.Rules, opt, &w.scratch)
		var open []*farms.Server
		for i := range w.scratch.Candidates {
			if c := &w.scratch.Candidates[i]; c.Open() && (w.query.Need != nil || slices.Contains(w.asked, c.Member.Server)) {
				open = append(open, c.Member.Server)
			}
		}
		asked := farms.Asked{}
		if len(open) > 0 && w.query.Now.Before(deadline) {
			asked = e.ask(w, open)
		}
		if opt.Final = asked.Opened+asked.Joined == 0; opt.Final || known == nil && len(w.query.Others) == 0 {
			continue // nobody is asked, or only now there is somebody to wait for
		}
		var changed chan struct{}
		if known != nil {
			changed = known.Changed
		}
		var poll <-chan time.Time
		if len(w.query.Others) > 0 {
			poll = time.After(zonePoll)
		}
		select {
		case <-changed:
		case <-poll:
		case <-timer.C:
			opt.Final = true
		case <-ctx.Done():
			opt.Final = true
		}
	}
	w.query.Now = time.Now()
	w.chosen = farms.Choose(w.order, &w.query, &w.world, &v.table.Rules, farms.Options{Every: true, Final: true}, &w.scratch)
}
