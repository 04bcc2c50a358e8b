package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The tests of content steering run the built binary and read its manifests as
// players do. A subtest named check_07_… shows check 7 of the list of 56 that a
// steering server is held to; what every manifest must be, whatever the
// situation, rig.ReadManifest holds each of them to.

// steered is an instance that steers between servers, each of which is a farm of
// its own and a pathway under the same name.
type steered struct {
	*rig.Pointsman
	stages map[string]*rig.Stage
	config rig.Config
}

// newSteered starts servers a, b, c … and an instance whose one location has them
// in this order. edits change the configuration.
func newSteered(t *testing.T, n int, edits ...func(rig.Config)) *steered {
	t.Helper()
	s := &steered{stages: map[string]*rig.Stage{}}
	s.config = s.document(t, n)
	for _, edit := range edits {
		edit(s.config)
	}
	s.Pointsman = rig.Start(t, s.config)
	return s
}

// document starts servers and writes a configuration for them.
func (s *steered) document(t *testing.T, n int) rig.Config {
	t.Helper()
	var farms []rig.Config
	var order []string
	for i := range n {
		name := string(rune('a' + i))
		s.stages[name] = rig.NewStage(t, name)
		farms = append(farms, probed(name, "share", name+" "+s.stages[name].URL()))
		order = append(order, name)
	}
	return steeringConfig(farms, place("all", strings.Join(order, " "), everywhere...))
}

// steeringConfig is a document with content steering, in which servers' states
// are known within a fraction of a second and a server that returns takes its
// viewers back at once.
func steeringConfig(farms []rig.Config, locations ...rig.Config) rig.Config {
	section := redirection(farms, locations)
	section["server_status_cache_time_sec"], section["request_timeout_sec"] = 0.2, 0.5
	section["vod_range_cache_time_sec"] = 3600
	return rig.Config{
		"core": trusting(), "admin": rig.Config{}, "log": rig.Config{}, "steering": rig.Config{},
		"probe":       rig.Config{"slow_start_sec": 0},
		"redirection": section,
	}
}

// steeringKeys sets keys of the section.
func steeringKeys(keys rig.Config) func(rig.Config) {
	return func(c rig.Config) { with(c, "steering", keys) }
}

// split sends a part of the sessions to farm a first and the others to b.
func split(a, b float64) func(rig.Config) {
	return func(c rig.Config) {
		c["redirection"].(rig.Config)["locations"].([]rig.Config)[0]["split"] = rig.Config{"a": a, "b": b}
	}
}

// quiet leaves the decisions out of the log.
func quiet(c rig.Config) { with(c, "log", rig.Config{"decisions": false}) }

// from is the header of viewer i, who is told from others by his address.
func from(i int) []string {
	return []string{"X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)}
}

// waitLong bounds waits for what happens by itself, on a machine that is busy with
// other tests.
const waitLong = 15 * time.Second

// override posts an operator's word about a pathway.
func (s *steered) override(pathway, body string) rig.Response {
	s.T.Helper()
	return s.Operator("POST", "/admin/pathways/"+pathway, body)
}

// mustOverride posts one that has to be taken.
func (s *steered) mustOverride(pathway, body string) {
	s.T.Helper()
	if res := s.override(pathway, body); res.StatusCode != 200 {
		s.T.Fatalf("overriding %s with %s: %d %s", pathway, body, res.StatusCode, res.Body)
	}
}

// takeBack deletes an override; scope is a query, "" the widest.
func (s *steered) takeBack(pathway, scope string) {
	s.T.Helper()
	if res := s.Operator("DELETE", "/admin/pathways/"+pathway+scope, ""); res.StatusCode != 200 {
		s.T.Fatalf("taking %s%s back: %d %s", pathway, scope, res.StatusCode, res.Body)
	}
}

// serverOf names the stage that a Location leads to, "" none.
func (s *steered) serverOf(location string) string {
	at := rig.Answer{Location: location}.Server()
	for name, stage := range s.stages {
		if stage.URL() == at {
			return name
		}
	}
	return ""
}

// stopAll stops every server and waits until that is known.
func (s *steered) stopAll() {
	s.T.Helper()
	for _, stage := range s.stages {
		stage.Stop()
	}
	for name := range s.stages {
		s.waitUp(name, "down")
	}
}

// waitUp waits until a server's state in /status is this one.
func (s *steered) waitUp(name, state string) {
	s.T.Helper()
	rig.Eventually(s.T, waitLong, func() error {
		if got := s.Status().State(name); got != state {
			return fmt.Errorf("server %s is %s, expected %s", name, got, state)
		}
		return nil
	})
}

// waitOrder waits until a manifest has this order.
func (s *steered) waitOrder(path string, header []string, want ...string) rig.Manifest {
	s.T.Helper()
	var m rig.Manifest
	rig.Eventually(s.T, waitLong, func() error {
		if m = s.Steer(path, header...); !slices.Equal(m.Priority, want) {
			return fmt.Errorf("%s has the order %v, expected %v", path, m.Priority, want)
		}
		return nil
	})
	return m
}

// wantOrder holds that a manifest has this order now.
func wantOrder(t *testing.T, what string, m rig.Manifest, want ...string) {
	t.Helper()
	if !slices.Equal(m.Priority, want) {
		t.Errorf("%s: the order is %v, expected %v", what, m.Priority, want)
	}
}

// known asks once as a player does, so that every server has answered about a
// channel.
func (s *steered) known(path string, order ...string) {
	s.T.Helper()
	s.waitOrder(path, from(0), order...)
	rig.Eventually(s.T, waitLong, func() error {
		s.Steer(path, from(0)...)
		for name, stage := range s.stages {
			if !slices.ContainsFunc(stage.Seen(), func(q rig.Seen) bool { return strings.Contains(q.URI, "/"+strings.Split(path, "/")[2]+"/") }) {
				return fmt.Errorf("server %s has not been asked about %s", name, path)
			}
		}
		return nil
	})
}
