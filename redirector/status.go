package redirector

import (
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Status is what /status says. Its JSON form is an interface for programs:
// append, never rename.
type Status struct {
	Generation uint64           `json:"generation"`
	Ready      bool             `json:"ready"`
	Time       time.Time        `json:"time"`
	Alarms     []AlarmOn        `json:"alarms"`
	Advices    []Advice         `json:"advices"`
	Known      int              `json:"known_contents"`
	Farms      []StatusFarm     `json:"farms"`
	Locations  []StatusLocation `json:"locations"`
}

// StatusFarm is one farm.
type StatusFarm struct {
	Name    string         `json:"name"`
	Policy  string         `json:"policy"`
	Servers []StatusServer `json:"servers"`
}

// StatusServer is one server of a farm.
type StatusServer struct {
	Name   string    `json:"name"`
	URL    string    `json:"url"`
	State  string    `json:"state"`  // up, down, warming, draining, disabled, unknown
	Since  time.Time `json:"since"`  // when the status probes' word began
	Reason string    `json:"reason"` // the last failure in words
	RTTMS  float64   `json:"rtt_ms"` // smoothed response time, 0 unknown
	Probed time.Time `json:"probed"` // when the last status probe ended
	Weight float64   `json:"weight"`
}

// StatusLocation is one location.
type StatusLocation struct {
	Name     string   `json:"name"`
	Prefixes int      `json:"prefixes"`
	Farms    []string `json:"farms"`
}

// Status gathers the state of things from the views that decisions read.
func (e *Engine) Status(now time.Time) Status {
	t := e.Table()
	known, _ := e.prober.Sizes()
	out := Status{
		Generation: t.Generation, Ready: e.Ready(), Time: now.UTC(), Alarms: e.alarms.On(), Known: known,
		Farms: []StatusFarm{}, Locations: []StatusLocation{},
	}
	out.Advices = advices(out.Alarms)
	overrides := *e.overrides.Load()
	for _, f := range t.Farms {
		sf := StatusFarm{Name: f.Name, Policy: f.Policy.String(), Servers: []StatusServer{}}
		for _, m := range f.Members {
			sf.Servers = append(sf.Servers, e.statusServer(m, t, overrides, now))
		}
		out.Farms = append(out.Farms, sf)
	}
	for _, l := range t.Locations {
		sl := StatusLocation{Name: l.Name, Prefixes: l.PrefixCount}
		for _, f := range l.Farms {
			sl.Farms = append(sl.Farms, f.Name)
		}
		out.Locations = append(out.Locations, sl)
	}
	return out
}

func (e *Engine) statusServer(m farms.Member, t *farms.Table, overrides farms.Overrides, now time.Time) StatusServer {
	s := m.Server
	out := StatusServer{Name: s.Name, URL: s.URL, Weight: float64(m.Weight) / farms.WeightScale}
	h := e.prober.Health(s.Endpoint)
	if h != nil {
		out.Since, out.Reason, out.RTTMS = h.Since.UTC(), h.Reason, float64(h.RTT.Microseconds())/1000
		out.Probed = h.Probed.UTC()
	}
	out.State = stateWord(h, overrides.State(s, now), &t.Rules, now)
	return out
}

// wantsPage tells a browser from a program.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

var statusPage = template.Must(template.New("status").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="5"><title>Pointsman status</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; font: 16px/1.4 system-ui, sans-serif }
body { max-width: 70rem; margin: 1rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5rem }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); vertical-align: top }
.up::before { content: "● "; color: #2a9d4a } .down::before { content: "■ "; color: #d33 }
.warming::before, .draining::before { content: "▲ "; color: #c80 } .disabled::before, .unknown::before { content: "○ " }
.wrap { overflow-x: auto }
</style></head><body>
<h1>Pointsman {{if .Ready}}is ready{{else}}is not ready{{end}}</h1>
<p>Generation {{.Generation}}, {{.Known}} known contents, {{.Time.Format "2006-01-02 15:04:05 MST"}}.</p>
{{range .Alarms}}<p role="alert"><strong>Alarm {{.Code}}{{with .Subject}} {{.}}{{end}}</strong> ({{.Severity}}) since {{.Since.UTC.Format "15:04:05 MST"}}: {{.Detail}}{{with .Config}}<br>This would mend it: <code>{{.}}</code>{{end}}</p>
{{else}}<p>No alarm is on.</p>
{{end}}
{{range .Farms}}<h2>Farm {{.Name}}</h2><div class="wrap"><table>
<caption hidden>Servers of farm {{.Name}}</caption>
<tr><th scope="col">Server</th><th scope="col">State</th><th scope="col">Since</th><th scope="col">Last probe</th><th scope="col">Answers in</th><th scope="col">Last failure</th></tr>
{{range .Servers}}<tr><td>{{.Name}}</td><td class="{{.State}}">{{.State}}</td><td>{{.Since.Format "01-02 15:04:05"}}</td><td>{{if not .Probed.IsZero}}{{.Probed.Format "15:04:05"}}{{end}}</td><td>{{if .RTTMS}}{{.RTTMS}} ms{{end}}</td><td>{{.Reason}}</td></tr>
{{end}}</table></div>
{{end}}
<h2>Locations</h2><div class="wrap"><table>
<tr><th scope="col">Location</th><th scope="col">Prefixes</th><th scope="col">Farms in order</th></tr>
{{range .Locations}}<tr><td>{{.Name}}</td><td>{{.Prefixes}}</td><td>{{range $i, $f := .Farms}}{{if $i}}, {{end}}{{$f}}{{end}}</td></tr>
{{end}}</table></div>
</body></html>
`))
