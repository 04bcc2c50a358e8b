package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
	"github.com/pointsman-tv/pointsman/redirector/notify"
)

// webhooks tells the receivers of section alarms about alarms.
type webhooks struct {
	notifier *notify.Notifier
	metrics  *redirector.WebhookMetrics
	names    []string // of the receivers
}

// newWebhooks joins alarms and receivers, of which there are none yet.
func newWebhooks(alarms *redirector.Alarms, m *redirector.Metrics, log zerolog.Logger) *webhooks {
	version, _ := buildVersion()
	var results []string
	for _, r := range notify.Results() {
		results = append(results, string(r))
	}
	w := &webhooks{metrics: redirector.NewWebhookMetrics(m, results)}
	instance, err := os.Hostname()
	if err != nil {
		instance = "" // a receiver of several instances cannot tell this one, which is no reason to be silent
	}
	w.notifier = notify.New(notify.Options{
		Instance: instance, Started: time.Now(),
		Post:    newPoster("pointsman/" + version).post,
		Random:  rand.Float64,
		Result:  func(hook string, r notify.Result) { w.metrics.Delivery(hook, string(r)) },
		Waiting: w.metrics.Waiting,
		Trouble: func(hook string, err error) {
			if err != nil {
				log.Warn().Str("webhook", hook).Err(err).Msg("webhook takes no alarms; they wait")
			} else {
				log.Info().Str("webhook", hook).Msg("webhook takes alarms again")
			}
		},
	})
	alarms.Tell(func(a redirector.AlarmOn) {
		w.notifier.Tell(notify.Alarm{
			ID: a.ID, Code: a.Code, Subject: a.Subject, Severity: a.Severity, Rank: int(a.Alarm().Severity()),
			Detail: a.Detail, Config: a.Config, Since: a.Since, Until: a.Until,
		})
	})
	return w
}

// update takes over the receivers of a document.
func (w *webhooks) update(doc *config.Document) {
	var hooks []notify.Hook
	var names []string
	for i := range doc.Alarms.Webhooks {
		h := &doc.Alarms.Webhooks[i]
		name := h.Host
		for n := 2; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s#%d", h.Host, n)
		}
		names = append(names, name)
		hooks = append(hooks, notify.Hook{
			Name: name, URL: h.URL, Secret: []byte(h.Secret.Reveal()), MinRank: rank(h.MinSeverity), SendResolved: h.SendResolved,
		})
	}
	w.metrics.Follow(nil, names)
	w.notifier.Update(hooks)
	w.metrics.Follow(w.names, names)
	w.names = names
}

// rank is a severity's place among those of the redirector.
func rank(s config.AlarmSeverity) int {
	switch s {
	case config.AlarmCritical:
		return int(redirector.SeverityCritical)
	case config.AlarmWarning:
		return int(redirector.SeverityWarning)
	default:
		return int(redirector.SeverityInfo)
	}
}

// poster posts messages to receivers.
type poster struct {
	client *http.Client
	agent  string
}

// maxReply bounds the head of a receiver's answer. Its body is not read: only the
// status counts.
const maxReply = 64 << 10

func newPoster(agent string) *poster {
	return &poster{agent: agent, client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment,
			// Alarms are rare; a connection kept would have gone by the next one.
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxReply,
		},
		// Whoever is sent elsewhere would take our signed message there.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// post delivers one message. Its errors do not repeat the URL.
func (p *poster) post(ctx context.Context, m notify.Message) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return 0, withoutURL(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", p.agent)
	r.Header.Set("Pointsman-Timestamp", m.Timestamp)
	if m.Signature != "" {
		r.Header.Set("Pointsman-Signature", m.Signature)
	}
	res, err := p.client.Do(r)
	if err != nil {
		return 0, withoutURL(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, nil
}

func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}
