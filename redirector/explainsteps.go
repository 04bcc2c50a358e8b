package redirector

import (
	"fmt"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// afterDeath is what is known, but that one server has just gone down.
type afterDeath struct {
	farms.Facts
	dead farms.Endpoint
}

// Health implements [farms.Facts].
func (a afterDeath) Health(ep farms.Endpoint) *farms.Health {
	h := a.Facts.Health(ep)
	if ep != a.dead {
		return h
	}
	down := farms.Health{}
	if h != nil {
		down = *h
	}
	down.Condition, down.Since, down.Reason = farms.ConditionDown, time.Now(), "taken to be down"
	return &down
}

// steps says in words what each step of a decision came to, from the values that
// the decision left.
func (w *work) steps(v *view) []ExplainedStep {
	d := &w.decision
	var out []ExplainedStep
	say := func(step, format string, args ...any) {
		out = append(out, ExplainedStep{step, fmt.Sprintf(format, args...)})
	}
	if d.Location == nil {
		say("request", "refused: %s", d.Detail)
		say("answer", "%d %s", d.Status, d.Reason)
		return out
	}
	scheme := "http"
	if d.Request.Viewer.HTTPS {
		scheme = "https"
	}
	say("request", "from %s by %s, the target is acceptable", d.Request.Viewer.Addr, scheme)
	say("location", "%s holds this address and path (of %d)", d.Location.Name, len(v.table.Locations))
	content := fmt.Sprintf("channel %q, %s, %s", d.Content.Channel, d.Content.Kind, d.Content.Protocol)
	if d.Archive.Dialect != "" {
		content += ", read by dialect " + d.Archive.Dialect
	}
	if win := d.Archive.Window; !win.IsZero() {
		content += fmt.Sprintf(", from %s to %s", win.Start.UTC().Format(time.RFC3339), win.End.UTC().Format(time.RFC3339))
		if win.Open {
			content += " and on"
		}
	}
	say("content", "%s", content)
	if len(w.scratch.Candidates) == 0 && d.Server == nil {
		say("answer", "%d %s: %s", d.Status, d.Reason, d.Detail)
		return out
	}
	if s := v.table.Server(w.query.Prior); s != nil {
		say("session", "was given server %s last", s.Name)
	} else {
		say("session", "is new here")
	}
	names := make([]string, 0, len(w.order))
	for _, f := range w.order {
		names = append(names, fmt.Sprintf("%s (%s)", f.Name, f.Policy))
	}
	say("farms", "%s", strings.Join(names, ", then "))
	if d.Waited > 0 {
		say("knowledge", "servers were asked, and %v waited for", d.Waited.Round(time.Millisecond))
	} else {
		say("knowledge", "all that was needed was known")
	}
	if d.Server != nil {
		choice := fmt.Sprintf("server %s of farm %s: %s", d.Server.Name, d.Farm.Name, d.Why)
		if d.Asked > 0 {
			choice += fmt.Sprintf(", holds %v of %v", d.Held.Round(time.Second), d.Asked.Round(time.Second))
		}
		say("choice", "%s", choice)
	} else {
		say("choice", "nobody: %s", d.Reason)
	}
	switch {
	case w.steer.on:
		say("answer", "%d, a steering manifest", d.Status)
	case d.Fallback:
		say("answer", "%d to the location's fallback_url", d.Status)
	case d.URL != "":
		say("answer", "%d to %s", d.Status, d.URL)
	default:
		say("answer", "%d %s: %s", d.Status, d.Reason, d.Detail)
	}
	return out
}
