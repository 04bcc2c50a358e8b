package redirector

import "github.com/prometheus/client_golang/prometheus"

// WebhookMetrics count what becomes of the messages to webhooks. The label
// webhook is a host of the configuration, result one of a closed set.
type WebhookMetrics struct {
	deliveries *prometheus.CounterVec
	waiting    *prometheus.GaugeVec
	dropped    *prometheus.CounterVec
	results    []string
}

// NewWebhookMetrics adds the metrics of webhooks to m. results are all that
// [WebhookMetrics.Delivery] will be told.
func NewWebhookMetrics(m *Metrics, results []string) *WebhookMetrics {
	w := &WebhookMetrics{
		results: results,
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pointsman_webhook_deliveries_total", Help: "Messages to each webhook by result (delivered, refused, timeout, error).",
		}, []string{"webhook", "result"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pointsman_webhook_waiting_alarms", Help: "Alarms that a webhook has not taken yet.",
		}, []string{"webhook"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pointsman_webhook_dropped_alarms_total", Help: "Alarms that were pushed out of a webhook's full queue.",
		}, []string{"webhook"}),
	}
	m.Registry.MustRegister(w.deliveries, w.waiting, w.dropped)
	return w
}

// Follow replaces the set of webhooks. All series of one are there from the
// beginning.
func (w *WebhookMetrics) Follow(old, next []string) {
	keep := make(map[string]bool, len(next))
	for _, name := range next {
		keep[name] = true
		for _, result := range w.results {
			w.deliveries.WithLabelValues(name, result)
		}
		w.waiting.WithLabelValues(name)
		w.dropped.WithLabelValues(name)
	}
	for _, name := range old {
		if !keep[name] {
			w.deliveries.DeletePartialMatch(prometheus.Labels{"webhook": name})
			w.waiting.DeleteLabelValues(name)
			w.dropped.DeleteLabelValues(name)
		}
	}
}

// Delivery counts one message.
func (w *WebhookMetrics) Delivery(name, result string) {
	w.deliveries.WithLabelValues(name, result).Inc()
}

// Waiting sets how many alarms a webhook has not taken yet, and counts those that
// were pushed out.
func (w *WebhookMetrics) Waiting(name string, waiting, dropped int) {
	w.waiting.WithLabelValues(name).Set(float64(waiting))
	w.dropped.WithLabelValues(name).Add(float64(dropped))
}
