package redirector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pointsman-tv/pointsman/farms"
)

// Metrics are the service's metrics. Labels come from closed sets: farms and
// servers of the table, reasons, doors, probe results, alarm codes; never a
// channel, an address or a path.
type Metrics struct {
	Registry *prometheus.Registry

	decisions  *prometheus.CounterVec
	lookups    *prometheus.CounterVec
	servers    *prometheus.CounterVec
	waited     prometheus.Histogram
	probes     *prometheus.CounterVec
	probeTime  *prometheus.HistogramVec
	alarm      *prometheus.GaugeVec
	generation prometheus.Gauge
	reloadOK   prometheus.Gauge
	reloadTime prometheus.Gauge
	reopenOK   prometheus.Gauge
	lost       prometheus.Counter
	unsampled  prometheus.Counter
	flooded    prometheus.Counter
}

// NewMetrics makes the metrics in a registry of their own.
func NewMetrics(version, revision string) *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{
		Registry: r,
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pointsman_decisions_total", Help: "Decisions by door, reason and farm; farm is empty for refusals.",
		}, []string{"door", "reason", "farm"}),
		servers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pointsman_server_decisions_total", Help: "Viewers sent to each server.",
		}, []string{"server"}),
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pointsman_content_lookups_total", Help: "Decisions by what was known of their content: all (hit), all but somebody is asked anew (refresh), too little (miss).",
		}, []string{"result"}),
		waited: prometheus.NewHistogram(native(prometheus.HistogramOpts{
			Name: "pointsman_decision_wait_seconds", Help: "How long decisions waited for servers' answers; those that did not wait are not in it.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		})),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pointsman_probe_results_total", Help: "Probes by kind (status, content) and result.",
		}, []string{"kind", "result"}),
		probeTime: prometheus.NewHistogramVec(native(prometheus.HistogramOpts{
			Name: "pointsman_probe_duration_seconds", Help: "How long probes took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}), []string{"kind"}),
		alarm: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pointsman_alarm", Help: "1 while the alarm is on, else 0.",
		}, []string{"code"}),
		generation: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pointsman_config_generation", Help: "Number of the table in force.",
		}),
		reloadOK: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pointsman_config_last_reload_successful", Help: "1 when the newest configuration is in force, 0 when it was refused.",
		}),
		reloadTime: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pointsman_config_last_reload_success_timestamp_seconds", Help: "When the configuration in force was taken.",
		}),
		reopenOK: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pointsman_log_last_reopen_successful", Help: "1 when log.decisions_file could be opened the last time, 0 when the file before goes on.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pointsman_log_lines_lost_total", Help: "Log lines that a sink did not take: it blocked until the buffer was full, or failed.",
		}),
	}
	leftOut := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pointsman_log_lines_left_out_total", Help: "Lines of decisions that were not written: not in the sample (log.sample), or in a flood of refusals.",
	}, []string{"cause"})
	m.unsampled, m.flooded = leftOut.WithLabelValues("sample"), leftOut.WithLabelValues("flood")
	m.Reopened(true)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pointsman_build_info", Help: "Always 1; the labels say what runs.",
	}, []string{"version", "revision"})
	build.WithLabelValues(version, revision).Set(1)
	r.MustRegister(m.decisions, m.servers, m.lookups, m.waited, m.probes, m.probeTime, m.alarm, m.generation,
		m.reloadOK, m.reloadTime, m.reopenOK, m.lost, leftOut, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// native adds to a histogram's buckets a native histogram (Prometheus' own, which
// scrapes by protobuf get): buckets 10 % wide, a hundred of them at most.
func native(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	o.NativeHistogramBucketFactor = 1.1
	o.NativeHistogramMaxBucketNumber = 100
	o.NativeHistogramMinResetDuration = time.Hour
	return o
}

// Expect makes the series of a kind of probe, so that they are there before the
// first result: a rate of what was not there yesterday begins a scrape too late.
func (m *Metrics) Expect(kind string, results []string) {
	m.probeTime.WithLabelValues(kind)
	for _, result := range results {
		m.probes.WithLabelValues(kind, result)
	}
}

// Observe registers the gauges that are read from the engine when asked for.
func (m *Metrics) Observe(e *Engine) {
	gauge := func(name, help string, read func() float64) {
		m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	gauge("pointsman_ready", "1 when viewers are answered well, else 0.", func() float64 { return oneIf(e.Ready()) })
	gauge("pointsman_known_contents", "Contents that some server has had lately.", func() float64 {
		known, _ := e.prober.Sizes()
		return float64(known)
	})
	gauge("pointsman_remembered_contents", "All contents that are remembered, those nobody has included.", func() float64 {
		_, all := e.prober.Sizes()
		return float64(all)
	})
	gauge("pointsman_waiting_decisions", "Decisions that wait for servers' answers now.", func() float64 {
		return float64(e.waiting.Load())
	})
	gauge("pointsman_remembered_sessions", "Sessions that are remembered with their server.", func() float64 {
		return float64(e.sessions.count(time.Now().Add(-sessionMemory)))
	})
	m.Registry.MustRegister(newServerGauges(e))
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Alarm sets an alarm's gauge.
func (m *Metrics) Alarm(code string, on bool) { m.alarm.WithLabelValues(code).Set(oneIf(on)) }

// Probe counts one probe.
func (m *Metrics) Probe(kind, result string, took time.Duration) {
	m.probes.WithLabelValues(kind, result).Inc()
	m.probeTime.WithLabelValues(kind).Observe(took.Seconds())
}

// Reloaded notes the outcome of a reload.
func (m *Metrics) Reloaded(ok bool, generation uint64, now time.Time) {
	m.reloadOK.Set(oneIf(ok))
	if ok {
		m.generation.Set(float64(generation))
		m.reloadTime.Set(float64(now.Unix()))
	}
}

// Reopened notes whether log.decisions_file could be opened.
func (m *Metrics) Reopened(ok bool) { m.reopenOK.Set(oneIf(ok)) }

// LinesLost counts log lines that a sink did not take.
func (m *Metrics) LinesLost(n int) { m.lost.Add(float64(n)) }

// tableCounters are the counters of one table, resolved once: looking a label
// up costs fifteen times what counting does.
type tableCounters struct {
	http, steering doorCounters
	servers        []prometheus.Counter // by Server.Index
	waited         prometheus.Histogram
	lookups        [lookupCount]prometheus.Counter // nil: not counted
}

// doorCounters are those of one door.
type doorCounters struct {
	farms    []prometheus.Counter // by Farm.Index: decisions with reason ok
	refusals []prometheus.Counter // by Reason
}

func (m *Metrics) resolve(t *farms.Table) *tableCounters {
	c := &tableCounters{waited: m.waited, http: m.resolveDoor(DoorHTTP, t), steering: m.resolveDoor(DoorSteering, t)}
	for _, s := range t.Servers {
		c.servers = append(c.servers, m.servers.WithLabelValues(s.Name))
	}
	for l, name := range lookupNames {
		if name != "" {
			c.lookups[l] = m.lookups.WithLabelValues(name)
		}
	}
	return c
}

func (m *Metrics) resolveDoor(door Door, t *farms.Table) (c doorCounters) {
	for _, f := range t.Farms {
		c.farms = append(c.farms, m.decisions.WithLabelValues(door.String(), farms.ReasonOK.String(), f.Name))
	}
	for _, r := range farms.Reasons() {
		if r == farms.ReasonOK {
			c.refusals = append(c.refusals, nil)
			continue
		}
		c.refusals = append(c.refusals, m.decisions.WithLabelValues(door.String(), r.String(), ""))
	}
	return c
}

// forget drops the series of farms and servers that a reload removed.
func (m *Metrics) forget(old, next *farms.Table) {
	keep := make(map[string]bool, len(next.Servers))
	for _, s := range next.Servers {
		keep[s.Name] = true
	}
	for _, s := range old.Servers {
		if !keep[s.Name] {
			m.servers.DeleteLabelValues(s.Name)
		}
	}
	keep = make(map[string]bool, len(next.Farms))
	for _, f := range next.Farms {
		keep[f.Name] = true
	}
	for _, f := range old.Farms {
		if !keep[f.Name] {
			m.decisions.DeleteLabelValues(DoorHTTP.String(), farms.ReasonOK.String(), f.Name)
			m.decisions.DeleteLabelValues(DoorSteering.String(), farms.ReasonOK.String(), f.Name)
		}
	}
}

// count counts one decision. A HEAD is a decision, but no viewer yet.
func (c *tableCounters) count(d *Decision, l lookup) {
	if n := c.lookups[l]; n != nil {
		n.Inc()
	}
	door := &c.http
	if d.Request.Door == DoorSteering {
		door = &c.steering
	}
	if d.Reason == farms.ReasonOK {
		door.farms[d.Farm.Index].Inc()
		if d.Request.Method == "GET" && d.Request.Door == DoorHTTP {
			c.servers[d.Server.Index].Inc()
		}
	} else {
		door.refusals[d.Reason].Inc()
	}
	if d.Waited > 0 {
		c.waited.Observe(d.Waited.Seconds())
	}
}
