package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
)

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return b
}

// document parses a configuration of one farm with these servers; top is added
// at its top, redirection in its section, both as JSON without braces.
func document(t testing.TB, top, redirection string, servers ...string) *config.Document {
	t.Helper()
	var list []string
	for _, s := range servers {
		list = append(list, fmt.Sprintf(`{"name":%q,"url":"http://%s.example"}`, s, s))
	}
	text := fmt.Sprintf(`{%s "redirection":{%s "uri_path":"/","farms":[{"name":"f","servers":[%s]}],"locations":[{"farms":["f"],"uri_regex":".*","ip_mask":["0.0.0.0/0","::/0"]}]}}`,
		top, redirection, strings.Join(list, ","))
	doc, findings := config.Parse(config.Source{Data: []byte(text)})
	if doc == nil {
		t.Fatalf("%s: %v", text, findings)
	}
	return doc
}

func TestRemovedServers(t *testing.T) {
	t.Parallel()
	table, err := farms.Build(document(t, "", "", "a", "b", "c", "d").Spec(), 1)
	must(t, err)
	for _, row := range []struct {
		servers []string
		removed int
	}{{[]string{"a", "b", "c", "d"}, 0}, {[]string{"a", "b", "e"}, 2}, {[]string{"e"}, 4}} {
		if removed, had := removedServers(table, document(t, "", "", row.servers...)); removed != row.removed || had != 4 {
			t.Errorf("%v: %d of %d removed, want %d of 4", row.servers, removed, had, row.removed)
		}
	}
}

// TestRefusalIsBounded: a broken file may have thousands of errors, and one log
// line and one alarm are told of them.
func TestRefusalIsBounded(t *testing.T) {
	t.Parallel()
	var findings []config.Finding
	for i := range 1000 {
		findings = append(findings, config.Finding{Severity: config.Error, Path: fmt.Sprintf("x[%d]", i), Message: "is wrong"})
		findings = append(findings, config.Finding{Severity: config.Warning, Path: "y", Message: "is doubtful"})
	}
	text := refusal("pointsman.json", findings).Error()
	if !strings.HasPrefix(text, "pointsman.json has 1000 errors: ") || !strings.Contains(text, "x[4]") || strings.Contains(text, "x[5]") || strings.Contains(text, "doubtful") {
		t.Errorf("%s", text)
	}
}

func TestFixedKeys(t *testing.T) {
	t.Parallel()
	base := document(t, "", "", "a", "b")
	for _, row := range []struct {
		name, top, redirection string
		want                   []string
	}{
		{"nothing", "", "", nil},
		{"port", `"core":{"port":9301},`, "", []string{"core.port"}},
		{"interface", `"core":{"interface":"127.0.0.1"},`, "", []string{"core.interface"}},
		{"followed", `"core":{"hosts":["tv.example"],"health_path":"/up","watch_config":true,"drain_delay_sec":1,"trusted_proxies":["10.0.0.0/8"]},`, `"sticky_sec":3,`, nil},
		{"admin", `"admin":{"port":9302},`, "", []string{"admin.port"}},
		{"agent", `"probe":{"user_agent":"x"},`, "", []string{"probe.user_agent"}},
		{"level", `"log":{"level":"debug"},`, "", []string{"log.level"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := fixedKeys(base, document(t, row.top, row.redirection, "a", "b")); !slices.Equal(got, row.want) {
				t.Errorf("%v need a restart, want %v", got, row.want)
			}
		})
	}
}

// TestStandardInputIsReadOnce: there is nothing to load again.
func TestStandardInputIsReadOnce(t *testing.T) {
	t.Parallel()
	doc := document(t, "", "", "a", "b")
	c, err := newCore(doc, coreOptions{log: zerolog.Nop(), decisions: zerolog.Nop()})
	must(t, err)
	t.Cleanup(c.client.Close)
	svc := &service{path: "-", doc: doc, core: c, log: zerolog.Nop(), decisions: newDecisionLog(nil, nil), generation: 1}
	if err := svc.reload(true); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("%v", err)
	}
	if on := c.alarms.On(); len(on) != 1 || on[0].Code != redirector.AlarmConfigRefused.String() {
		t.Errorf("alarms %v, want config_refused", on)
	}
}

func TestEdgeSettings(t *testing.T) {
	t.Parallel()
	doc := document(t, `"core":{"hosts":["TV.example"]},"log":{"redact":["PIN"]},`,
		`"session_key":["sid"],"channel_regex":"(a)(b)","channel_regex_index":2,"return_evidence":"move","decision_timeout_sec":0.5,`, "a", "b")
	set, err := edgeSettings(doc)
	must(t, err)
	if !set.Hosts["tv.example"] || len(set.Hosts) != 1 || set.URIPath != "" || set.ChannelGroup != 2 || set.ChannelRegex.String() != "(a)(b)" ||
		set.ReturnEvidence != redirector.EvidenceMove || set.DecisionTimeout.Milliseconds() != 500 || !slices.Equal(set.SessionKeys, []string{"sid"}) ||
		!slices.Contains(set.Redact, "pin") || !slices.Contains(set.Redact, "token") || !set.LogDecisions || set.HealthPath != "/.pointsman/health" {
		t.Errorf("%+v", set)
	}
	for word, want := range map[string]redirector.ReturnEvidence{"check": redirector.EvidenceCheck, "off": redirector.EvidenceOff} {
		set, err := edgeSettings(document(t, "", `"return_evidence":"`+word+`",`, "a", "b"))
		if err != nil || set.ReturnEvidence != want {
			t.Errorf("return_evidence %s is %v, %v", word, set.ReturnEvidence, err)
		}
	}
}

// TestStatusDepthAssumesContent: who probes no deeper than the status cannot
// know what a server has.
func TestStatusDepthAssumesContent(t *testing.T) {
	t.Parallel()
	for depth, want := range map[string]bool{"status": true, "playlist": false, "media": false} {
		spec := tableSpec(document(t, `"probe":{"depth":"`+depth+`"},`, "", "a", "b"))
		if spec.Farms[0].Assume != want {
			t.Errorf("depth %s: assumed %v, want %v", depth, spec.Farms[0].Assume, want)
		}
	}
}

// TestDecisionsHaveNoLevel: log.level is about our own doings.
func TestDecisionsHaveNoLevel(t *testing.T) {
	t.Parallel()
	for level, lines := range map[config.Level]int{config.LevelDebug: 3, config.LevelInfo: 2, config.LevelError: 1} {
		var b bytes.Buffer
		log, decisions := newLog(&b, &b, level)
		log.Debug().Msg("d")
		log.Info().Msg("i")
		decisions.Log().Msg("decision")
		if n := strings.Count(b.String(), "\n"); n != lines {
			t.Errorf("level %s: %d lines, want %d: %s", level, n, lines, b.String())
		}
	}
}
