package redirector

import (
	"slices"

	"github.com/pointsman-tv/pointsman/farms"
)

// alarmChoice signals that a viewer was sent where nothing better was left, or
// nowhere because every playlist of his channel stands still.
func (e *Engine) alarmChoice(w *work, v *view) {
	d := &w.decision
	switch {
	case d.Server == nil:
		if d.Reason == farms.ReasonOffAir && v.table.Rules.RefuseFrozen && w.sawFrozen() && e.alarms.due(AlarmOnlyFrozen, d.Time) {
			path := bounded(d.Content.Path, maxWords)
			e.alarms.Signal(AlarmOnlyFrozen, path, "every playlist of "+path+" stands still, so that its viewers are refused (probe.frozen)", d.Time)
		}
	case d.Why == farms.WhyGuarded && e.alarms.due(AlarmOnlyGuarded, d.Time):
		path := bounded(d.Content.Path, maxWords)
		e.alarms.Signal(AlarmOnlyGuarded, path, "all that is left for "+path+" are servers that answer 401 or 403 to our probes, first "+
			d.Server.Name+"; give probe_headers or probe_query a token", d.Time)
	case d.Why == farms.WhyFrozen && e.alarms.due(AlarmOnlyFrozen, d.Time):
		path := bounded(d.Content.Path, maxWords)
		e.alarms.Signal(AlarmOnlyFrozen, path, "every playlist of "+path+" stands still, the freshest is on "+d.Server.Name, d.Time)
	}
}

func (w *work) sawFrozen() bool {
	return slices.ContainsFunc(w.scratch.Candidates, func(c farms.Candidate) bool { return c.Why == farms.WhyFrozen })
}

// maxWords bounds what of a viewer's bytes is repeated in an alarm.
const maxWords = 120

func bounded(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
