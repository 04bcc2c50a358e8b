package redirector

import "github.com/pointsman-tv/pointsman/farms"

// alarmChoice signals that a viewer was sent where nothing better was left.
func (e *Engine) alarmChoice(w *work) {
	d := &w.decision
	switch d.Why {
	case farms.WhyGuarded:
		e.alarms.Signal(AlarmOnlyGuarded, "all that is left for "+bounded(d.Content.Path)+" are servers that answer 401 or 403 to our probes, first "+
			d.Server.Name+"; give probe_headers or probe_query a token", d.Time)
	case farms.WhyFrozen:
		e.alarms.Signal(AlarmOnlyFrozen, "every playlist of "+bounded(d.Content.Path)+" stands still, the freshest is on "+d.Server.Name, d.Time)
	}
}

// maxWords bounds what of a viewer's bytes is repeated in an alarm.
const maxWords = 120

func bounded(s string) string {
	if len(s) > maxWords {
		return s[:maxWords] + "…"
	}
	return s
}
