package redirector

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman-tv/pointsman/farms"
)

// serverGauges are the gauges of servers and farms. They are read when somebody
// asks, from the views that decisions read, so that they are there from the first
// scrape on, say what /status says, and go with the server.
type serverGauges struct {
	e *Engine

	up, state, response, sessions, farm *prometheus.Desc
}

func newServerGauges(e *Engine) *serverGauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &serverGauges{
		e:        e,
		up:       desc("pointsman_server_up", "1 when the server's status probes are good, else 0.", "server"),
		state:    desc("pointsman_server_state", "1 for the state the server is in, 0 for the others.", "server", "state"),
		response: desc("pointsman_server_response_seconds", "Smoothed response time of the server to probes, NaN before the first.", "server"),
		sessions: desc("pointsman_server_recent_sessions", "Sessions the server was given, each counting half as much a minute later.", "server"),
		farm:     desc("pointsman_farm_servers", "Servers of the farm by state.", "farm", "state"),
	}
}

// serverStates are the words of [status.Server.State].
var serverStates = [...]string{"up", "warming", "draining", "disabled", "down", "unknown"}

// Describe implements prometheus.Collector.
func (g *serverGauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.up, g.state, g.response, g.sessions, g.farm} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *serverGauges) Collect(out chan<- prometheus.Metric) {
	v := g.e.view.Load()
	if v == nil {
		return
	}
	now := time.Now()
	overrides := *g.e.overrides.Load()
	tell := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	states := make([]string, len(v.table.Servers)) // by index
	current := loads{v.loads, g.e.tick(now)}
	for i, s := range v.table.Servers {
		states[i] = stateOf(s, g.e.prober.Health(s.Endpoint), v.table, overrides, now)
		for _, state := range serverStates {
			tell(g.state, oneIf(state == states[i]), s.Name, state)
		}
		up, response := 0.0, math.NaN()
		if h := g.e.prober.Health(s.Endpoint); h != nil {
			up = oneIf(h.Condition == farms.ConditionUp)
			if h.RTT > 0 {
				response = h.RTT.Seconds()
			}
		}
		tell(g.up, up, s.Name)
		tell(g.response, response, s.Name)
		tell(g.sessions, current.Load(s.ID), s.Name)
	}
	for _, f := range v.table.Farms {
		count := map[string]int{}
		for _, m := range f.Members {
			count[states[m.Server.Index]]++
		}
		for _, state := range serverStates {
			tell(g.farm, float64(count[state]), f.Name, state)
		}
	}
}
