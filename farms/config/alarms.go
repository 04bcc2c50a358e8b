package config

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// AlarmSeverity is how much an alarm hurts.
type AlarmSeverity string

// The severities, the least first.
const (
	AlarmInfo     AlarmSeverity = "info"
	AlarmWarning  AlarmSeverity = "warning"
	AlarmCritical AlarmSeverity = "critical"
)

// Alarms is when alarms come on and go, and who is told.
type Alarms struct {
	// How long a server or farm must be in a bad state before its alarm comes on.
	RaiseAfter time.Duration `json:"raise_after_sec" default:"5" limits:"0..3600"`
	// How long it must be well again before the alarm goes.
	ClearAfter time.Duration `json:"clear_after_sec" default:"30" limits:"0..3600"`
	// Age of the configuration in force, counted from when it was last loaded, at which
	// the alarm `config_too_old` comes on. For who writes it by a program and loads it
	// regularly. Absent: never.
	ConfigMaxAge time.Duration `json:"config_max_age_sec" limits:"1..31536000"`
	// Receivers that are told of alarms by HTTP POST.
	Webhooks []Webhook `json:"webhooks" limits:"0..16"`
}

// Webhook is a receiver of alarms.
type Webhook struct {
	// Where alarms are posted to, http or https; a query is allowed, a user and
	// password are not. Redirects are not followed. Required.
	URL string `json:"url" limits:"1..2048"`
	// File with the secret that signs what is posted (HMAC-SHA256): 16 to 512 visible
	// ASCII characters; relative to this file. Absent: nothing is signed.
	SecretFile string `json:"secret_file" limits:"1..4096"`
	// The least severity that is told. `info` is for advices.
	MinSeverity AlarmSeverity `json:"min_severity" default:"warning" enum:"info,warning,critical"`
	// Tell when an alarm goes, too.
	SendResolved bool `json:"send_resolved" default:"true"`

	// Secret is what the file holds; empty where there is none.
	Secret Secret `json:"-"`
	// Host is the host and port of the URL, by which the receiver is named where the
	// whole, with what is secret in it, is not to be shown.
	Host string `json:"-"`
}

func (l *loader) checkAlarms(n *node, a *Alarms) {
	entries := n.get("webhooks").items()
	for i := range a.Webhooks {
		l.checkWebhook(entries[i], a.Webhooks, i)
	}
}

func (l *loader) checkWebhook(n *node, hooks []Webhook, i int) {
	h := &hooks[i]
	h.Secret = l.readToken(n.get("secret_file"), &h.SecretFile)
	at := n.get("url")
	switch {
	case at.kind == kindAbsent && !n.failed:
		l.errorf(at, "is missing, expected the URL that alarms are posted to")
		return
	case !at.present():
		return
	}
	host, problem := webhookHost(h.URL)
	if problem != "" {
		l.errorf(at, "%s", problem)
		return
	}
	h.Host = host
	if first := slices.IndexFunc(hooks[:i], func(o Webhook) bool { return o.URL == h.URL }); first >= 0 {
		l.errorf(at, "is the url of alarms.webhooks[%d] already", first)
	}
}

// webhookHost checks a receiver's URL, which stays as it is written, and returns
// its host and port. The problem never repeats the URL, in which a token may stand.
func webhookHost(s string) (host, problem string) {
	base, query, _ := strings.Cut(s, "?")
	if _, rest, ok := strings.Cut(base, "://"); ok {
		if authority, _, _ := strings.Cut(rest, "/"); strings.Contains(authority, "@") {
			return "", "has a user or password, expected none; a receiver knows our messages by the signature that secret_file makes"
		}
	}
	u, problem := parseWebAddress(base)
	if problem != "" {
		return "", problem
	}
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c > '~' || c == '#' || c == '"' {
			return "", "has a query with a character that it cannot hold as it is; expected it to be percent-encoded"
		}
	}
	address := webAddress{host: u.host, literal: u.literal, port: cmp.Or(u.port, u.effectivePort())}
	return strings.TrimPrefix(address.String(), "://"), ""
}

// warnAlarms looks for receivers that cannot tell who speaks to them.
func (l *loader) warnAlarms(a *Alarms) {
	entries := l.root.get("alarms").get("webhooks").items()
	for i := range a.Webhooks {
		if a.Webhooks[i].SecretFile == "" {
			l.warnf(entries[i].get("secret_file"), "is missing, so that the receiver cannot tell our alarms from what anybody else posts")
		}
	}
}
