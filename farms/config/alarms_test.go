package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAlarmsDefaults(t *testing.T) {
	t.Parallel()
	d, findings := parse(minimal, nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	if diff := cmp.Diff(Alarms{RaiseAfter: 5 * time.Second, ClearAfter: 30 * time.Second}, d.Alarms); diff != "" {
		t.Error(diff)
	}
}

func TestAlarmsKeys(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-24-characters"
	d, findings := parse(section(t, "alarms", `{
		"raise_after_sec": 0, "clear_after_sec": 1.5, "config_max_age_sec": 3600,
		"webhooks": [
			{"url": "https://[2001:db8::1]/services/T0/B0/?room=tv%20ops&x", "secret_file": "hook.key", "min_severity": "critical", "send_resolved": false},
			{"url": "HTTP://Pager.example:8080/"}
		]}`), map[string]string{"hook.key": secret + "\n"})
	if d == nil {
		t.Fatal(texts(findings))
	}
	want := Alarms{
		ClearAfter: 1500 * time.Millisecond, ConfigMaxAge: time.Hour,
		Webhooks: []Webhook{
			{
				URL: "https://[2001:db8::1]/services/T0/B0/?room=tv%20ops&x", SecretFile: "conf/hook.key", MinSeverity: AlarmCritical,
				Secret: secret, Host: "[2001:db8::1]:443",
			},
			{URL: "HTTP://Pager.example:8080/", MinSeverity: AlarmWarning, SendResolved: true, Host: "pager.example:8080"},
		},
	}
	if diff := cmp.Diff(want, d.Alarms); diff != "" {
		t.Error(diff)
	}
	if got := texts(findings); len(got) != 1 ||
		got[0] != "warning alarms.webhooks[1].secret_file: is missing, so that the receiver cannot tell our alarms from what anybody else posts" {
		t.Error(got)
	}
}

// TestWebhookSecrets: neither the secret nor the URL, in which one may stand, is
// in what is said about them.
func TestWebhookSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://user:hush@hooks.example/", "https://hooks.example/hush hush", "https://hooks.example/?hush\u00e9", "hush", "https://hush_/"} {
		d, findings := parse(section(t, "alarms", `{"webhooks": [{"url": "`+url+`", "secret_file": "s"}]}`), map[string]string{"s": "hush hush hush hush"})
		if d != nil || len(findings) == 0 {
			t.Errorf("%s was taken", url)
		}
		for _, text := range texts(findings) {
			if strings.Contains(text, "hush") && !strings.Contains(text, `host "hush_"`) {
				t.Errorf("%s", text)
			}
		}
	}
}
