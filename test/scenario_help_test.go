package test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// The operators' scenarios run the built binary against fake servers. Where a
// scenario speaks of minutes, the configuration shortens the intervals.

// liveServers starts n fake servers that have every channel, live.
func liveServers(t testing.TB, name string, n int) []*rig.Origin {
	t.Helper()
	out := make([]*rig.Origin, n)
	for i := range out {
		out[i] = rig.NewOrigin(t, fmt.Sprintf("%s%d", name, i), "")
		out[i].SetRest(rig.Live)
	}
	return out
}

// farmOf is a farm of fake servers under their own names.
func farmOf(name, policy string, servers []*rig.Origin) rig.Config {
	var list []any
	for _, o := range servers {
		list = append(list, rig.Config{"name": o.Name, "url": o.URL()})
	}
	return rig.Config{"name": name, "policy": policy, "servers": list}
}

// scene is a configuration with one location for everybody that has all farms
// in order. Decisions are not logged: a load writes many.
func scene(farms ...rig.Config) rig.Config {
	var list, names []any
	for _, f := range farms {
		list, names = append(list, f), append(names, f["name"])
	}
	return rig.Config{
		"log": rig.Config{"decisions": false},
		"redirection": rig.Config{
			"uri_path": "/", "session_key": []any{"token"},
			"farms":     list,
			"locations": []any{rig.Config{"name": "everybody", "farms": names}},
		},
	}
}

// with sets keys of a section of a configuration.
func with(c rig.Config, section string, keys rig.Config) rig.Config {
	s, ok := c[section].(rig.Config)
	if !ok {
		s = rig.Config{}
		c[section] = s
	}
	for k, v := range keys {
		s[k] = v
	}
	return c
}

// fastStatus has servers asked every second, half a second each.
func fastStatus() rig.Config {
	return rig.Config{"server_status_cache_time_sec": 1, "request_timeout_sec": 0.5, "live_cache_time_sec": 2}
}

// tally counts answers by what they are: the name of the server, the word of a
// refusal, or an error.
func tally(answers []rig.Answer, servers []*rig.Origin) map[string]int {
	names := map[string]string{}
	for _, o := range servers {
		names[o.URL()] = o.Name
	}
	out := map[string]int{}
	for _, a := range answers {
		switch name, ok := names[a.Server()]; {
		case a.At.IsZero():
			out["not sent"]++
		case a.Status == http.StatusFound && ok:
			out[name]++
		default:
			out[a.String()]++
		}
	}
	return out
}

// allRedirected fails the test unless every answer is a redirect to one of the
// servers, and returns how many each got.
func allRedirected(t testing.TB, what string, answers []rig.Answer, servers []*rig.Origin) map[string]int {
	t.Helper()
	got := tally(answers, servers)
	n := 0
	for _, o := range servers {
		n += got[o.Name]
	}
	if n != len(answers) {
		t.Errorf("%s: %d of %d viewers were sent to %s; %v", what, n, len(answers), names(servers), got)
	}
	return got
}

func names(servers []*rig.Origin) string {
	var out []string
	for _, o := range servers {
		out = append(out, o.Name)
	}
	return strings.Join(out, " ")
}

// viewer is a viewer of a channel with a token of his own.
func viewer(channel string, token int) rig.Ask {
	return rig.Ask{Target: fmt.Sprintf("/%s/index.m3u8?token=t%d", channel, token)}
}

// waitState waits until servers have a state in /status and returns how long it
// took.
func waitState(t testing.TB, p *rig.Pointsman, within time.Duration, state string, servers ...*rig.Origin) time.Duration {
	t.Helper()
	start := time.Now()
	rig.Eventually(t, within, func() error {
		s := p.Status()
		for _, o := range servers {
			if got := s.State(o.Name); got != state {
				return fmt.Errorf("server %s is %s, expected %s", o.Name, got, state)
			}
		}
		return nil
	})
	return time.Since(start)
}

// alarmLines counts the log lines with which an alarm came on.
func alarmLines(p *rig.Pointsman, code string) int {
	n := 0
	for _, line := range p.Log() {
		if line["msg"] == "alarm on" && line["alarm"] == code {
			n++
		}
	}
	return n
}

func alarmGauge(p *rig.Pointsman, code string) float64 {
	v, _ := p.Metric(fmt.Sprintf("pointsman_alarm{code=%q}", code))
	return v
}

// residentKB is the resident memory of a process.
func residentKB(t testing.TB, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * (os.Getpagesize() >> 10)
}

// serve answers with a handler on loopback until the test ends, and returns the
// base URL.
func serve(t testing.TB, addr string, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "http://" + l.Addr().String()
}

// bySession returns the server of each answer, by the viewer's number.
func bySession(answers []rig.Answer) []string {
	out := make([]string, len(answers))
	for i, a := range answers {
		out[i] = a.Server()
	}
	return out
}

// moved counts the sessions that are on another server than before.
func moved(before, after []string) int {
	n := 0
	for i := range before {
		if before[i] != after[i] {
			n++
		}
	}
	return n
}

// settled repeats a load of the same sessions until all of them are redirected
// and none has moved for a while: then every server that counts has answered.
func settled(t testing.TB, servers []*rig.Origin, still, within time.Duration, load func() []rig.Answer) []rig.Answer {
	t.Helper()
	before, since := load(), time.Now()
	rig.Eventually(t, within, func() error {
		again := load()
		got, n := tally(again, servers), moved(bySession(before), bySession(again))
		before = again
		for what := range got {
			if !strings.Contains(" "+names(servers)+" ", " "+what+" ") {
				n++
			}
		}
		if n > 0 {
			since = time.Now()
		}
		if time.Since(since) < still {
			return fmt.Errorf("not settled, the last change %v ago: %v", time.Since(since), got)
		}
		return nil
	})
	return before
}
