package redirector

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/status"
)

// configState is what became of the newest configuration.
type configState struct {
	source  string
	loaded  time.Time
	refused string // why a newer one was refused, "" when none was
	at      time.Time
}

// ServerChanged shows at once, on the pages that are open, that a server's
// condition is another one. It never waits.
func (e *Engine) ServerChanged() { e.live.Nudge() }

// ConfigLoaded notes where the table in force came from, for /status.
func (e *Engine) ConfigLoaded(source string, now time.Time) {
	e.config.Store(&configState{source: source, loaded: now})
}

// ConfigRefused notes why a newer configuration was refused, for /status.
func (e *Engine) ConfigRefused(why string, now time.Time) {
	next := configState{}
	if old := e.config.Load(); old != nil {
		next = *old
	}
	next.refused, next.at = why, now
	e.config.Store(&next)
}

// Status gathers the state of things from the views that decisions read. There
// must be a table.
func (e *Engine) Status(now time.Time) *status.Document {
	v := e.view.Load()
	t := v.table
	known, _ := e.prober.Sizes()
	decisions, given := e.recent.lastMinute(t)
	out := &status.Document{
		Version: status.Version, Generation: t.Generation, Ready: e.Ready(), Time: now.UTC(), Known: known,
		Config: e.statusConfig(now), Alarms: []status.Alarm{}, Advices: []status.Advice{}, Farms: make([]status.Farm, 0, len(t.Farms)),
		Locations: make([]status.Location, 0, len(t.Locations)), Decisions: decisions, Refusals: e.refusals.last(),
	}
	for _, a := range e.alarms.On() {
		out.Alarms = append(out.Alarms, status.Alarm{
			Code: a.Code, Since: a.Since.UTC(), Detail: a.Detail, Subject: a.Subject, Severity: a.Severity, Config: a.Config, ID: a.ID,
		})
		if a.Config != "" {
			out.Advices = append(out.Advices, status.Advice{Code: a.Code, Since: a.Since.UTC(), Detail: a.Detail, Config: a.Config})
		}
	}
	servers := make([]status.Server, len(t.Servers))
	e.statusServers(servers, v, given, now)
	for _, f := range t.Farms {
		sf := status.Farm{Name: f.Name, Policy: f.Policy.String(), Servers: make([]status.Server, 0, len(f.Members))}
		for _, m := range f.Members {
			s := servers[m.Server.Index]
			s.Weight = float64(m.Weight) / farms.WeightScale
			sf.Servers = append(sf.Servers, s)
		}
		out.Farms = append(out.Farms, sf)
	}
	overrides := statusOverrides(words(*e.pathways.Load(), now))
	for _, l := range t.Locations {
		sl := status.Location{Name: l.Name, Prefixes: l.PrefixCount, Farms: make([]string, 0, len(l.Farms))}
		for _, f := range l.Farms {
			sl.Farms = append(sl.Farms, f.Name)
		}
		if v.set.Steering != nil {
			sl.Pathways = statusPathways(l, v.set.Steering, overrides)
		}
		out.Locations = append(out.Locations, sl)
	}
	if st := v.set.Steering; st != nil {
		out.Steering = &status.Steering{
			Path: st.Path, TTLSec: int(st.TTL.TTL.Seconds()), DegradedSec: int(st.TTL.Degraded.Seconds()), Overrides: overrides,
		}
	}
	return out
}

func (e *Engine) statusConfig(now time.Time) status.Config {
	out := status.Config{}
	c := e.config.Load()
	if c == nil {
		return out
	}
	out.Source, out.Loaded, out.AgeSec = c.source, c.loaded.UTC(), int64(now.Sub(c.loaded).Seconds())
	if c.refused != "" {
		at := c.at.UTC()
		out.Error, out.ErrorAt = c.refused, &at
	}
	return out
}

// statusServers fills in every server of a table, but for what its farm says.
func (e *Engine) statusServers(out []status.Server, v *view, given []uint64, now time.Time) {
	overrides := *e.overrides.Load()
	var all uint64
	for _, n := range given {
		all += n
	}
	tick := e.tick(now)
	for i, s := range v.table.Servers {
		h := e.prober.Health(s.Endpoint)
		x := status.Server{Name: s.Name, URL: s.URL, State: stateWord(h, overrides.State(s, now), &v.table.Rules, now), Given: given[i]}
		if h != nil {
			x.Since, x.Reason, x.RTTMS, x.Probed = h.Since.UTC(), h.Reason, milliseconds(h.RTT), h.Probed.UTC()
		}
		if o, ok := overrides[s.Name]; ok && !o.Ended(now) {
			x.Override = &status.OverrideOn{State: o.State.String(), Until: timeOrNil(o.Until)}
		}
		times := e.prober.Recent(s.Endpoint)
		x.RTTs = make([]float64, 0, len(times))
		for _, d := range times {
			x.RTTs = append(x.RTTs, milliseconds(d))
		}
		if all > 0 {
			x.Share = rounded(float64(given[i])/float64(all), 4)
		}
		if l := v.loads[s.ID]; l != nil {
			x.Sessions = rounded(decayed(l.word.Load(), tick), 1)
		}
		out[i] = x
	}
}

// milliseconds rounds to hundredths.
func milliseconds(d time.Duration) float64 { return rounded(float64(d.Microseconds())/1000, 2) }

func rounded(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// statusPathways lists the pathways of a location in the configured order, each
// followed by its clones, with the overrides that hold for the location; as many
// as a manifest may have.
func statusPathways(l *farms.Location, st *SteeringSettings, overrides []status.PathwayOverride) []status.Pathway {
	var out []status.Pathway
	add := func(id string) {
		if len(out) == farms.MaxPathways {
			return
		}
		p := status.Pathway{ID: id}
		for _, o := range overrides {
			if o.Pathway == id && (o.Location == "" || o.Location == l.Name) {
				p.Overrides = append(p.Overrides, o)
			}
		}
		out = append(out, p)
	}
	for _, p := range l.Pathways() {
		add(p.ID)
		for i := range st.Clones {
			if c := &st.Clones[i]; c.Base == p.ID && c.Locations[l.Name] {
				add(c.ID)
			}
		}
	}
	return out
}

func statusOverrides(ws []PathwayWord) []status.PathwayOverride {
	out := make([]status.PathwayOverride, 0, len(ws))
	for _, w := range ws {
		o := status.PathwayOverride{Pathway: w.Pathway, Action: w.Action, Location: w.Location, Channel: w.Channel}
		if w.Until != nil {
			o.Until = timeOrNil(w.Until.Time)
		}
		out = append(out, o)
	}
	return out
}

// wantsPage tells a browser from a program.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
