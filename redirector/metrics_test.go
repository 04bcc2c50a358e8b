package redirector

import (
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/pointsman-tv/pointsman/farms"
)

// gathered returns the metrics by name and labels, like
// pointsman_server_state{server=a,state=up}; of histograms the number of
// observations.
func gathered(t testing.TB, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, x := range family.Metric {
			var labels []string
			for _, l := range x.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := family.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			out[name] = x.GetCounter().GetValue() + x.GetGauge().GetValue() + float64(x.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// observed gives a stage's engine all its gauges, as the command does.
func (s *stage) observed() *stage {
	s.e.metrics.Expect("status", []string{"up", "error"})
	s.e.metrics.Observe(s.e)
	return s
}

func TestMetricsAreNamedByTheRules(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight a b", "share b c").observed()
	families, err := s.e.metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestSeriesAreThereFromTheStart: what visits and probes count is there, at zero,
// before the first of them.
func TestSeriesAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a b", "share b c").observed()
		before := gathered(t, s.e.metrics)
		for name, want := range map[string]float64{
			"pointsman_decisions_total{door=http,farm=f1,reason=ok}":            0,
			"pointsman_decisions_total{door=steering,farm=,reason=bad_request}": 0,
			"pointsman_server_decisions_total{server=c}":                        0,
			"pointsman_content_lookups_total{result=hit}":                       0,
			"pointsman_content_lookups_total{result=refresh}":                   0,
			"pointsman_content_lookups_total{result=miss}":                      0,
			"pointsman_probe_results_total{kind=status,result=error}":           0,
			"pointsman_probe_duration_seconds{kind=status}":                     0,
			"pointsman_decision_wait_seconds":                                   0,
			"pointsman_server_up{server=a}":                                     1,
			"pointsman_server_state{server=a,state=up}":                         1,
			"pointsman_server_state{server=a,state=down}":                       0,
			"pointsman_server_recent_sessions{server=a}":                        0,
			"pointsman_farm_servers{farm=f2,state=up}":                          2,
			"pointsman_farm_servers{farm=f2,state=draining}":                    0,
			"pointsman_log_lines_left_out_total{cause=flood}":                   0,
			"pointsman_log_lines_lost_total":                                    0,
			"pointsman_remembered_sessions":                                     0,
		} {
			if got, ok := before[name]; !ok || got != want {
				t.Errorf("%s is %v (there: %v), want %v", name, got, ok, want)
			}
		}
		s.answers("a", 10*ms, farms.Present)
		s.answers("b", 10*ms, farms.Absent)
		s.answers("c", 10*ms, farms.Present)
		s.get(http.MethodGet, stagePath)
		s.get(http.MethodGet, stagePath)
		s.get(http.MethodGet, "/no/../where")
		s.get(http.MethodGet, "/elsewhere/index.m3u8?_HLS_msn=1")
		after := gathered(t, s.e.metrics)
		for name := range after {
			if _, ok := before[name]; !ok && !strings.HasPrefix(name, "go_") {
				t.Errorf("the series %s is new", name)
			}
		}
		for name, want := range map[string]float64{
			"pointsman_content_lookups_total{result=miss}": 1, "pointsman_content_lookups_total{result=hit}": 1,
			"pointsman_remembered_sessions": 1, "pointsman_server_recent_sessions{server=a}": 1,
		} {
			if math.Abs(after[name]-want) > 0.01 {
				t.Errorf("%s is %v, want %v", name, after[name], want)
			}
		}
		<-time.After(sessionMemory + time.Minute)
		if n := gathered(t, s.e.metrics)["pointsman_remembered_sessions"]; n != 0 {
			t.Errorf("%v sessions are remembered after %v", n, sessionMemory)
		}
	})
}

// TestLookups: what counts as found.
func TestLookups(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, farm, target string
		know               func(s *stage)
		want               string // the only one that counts, "" none
	}{
		{"absent_and_known", "weight a", stagePath, func(s *stage) { s.knows("a", farms.Absent, nil) }, "hit"},
		{"past_its_age", "weight a", stagePath, func(s *stage) {
			s.knows("a", farms.Present, func(f *farms.Fact) { f.FreshUntil = time.Now() })
		}, "refresh"},
		{"assumed", "weight/assume a", stagePath, func(*stage) {}, ""},
		{"child", "weight a", "/ch/media.ts", func(*stage) {}, ""},
		{"refused", "weight a", "/no/../where", func(*stage) {}, ""},
		{"silent", "weight a", stagePath, func(*stage) {}, "miss"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, row.farm)
				row.know(s)
				s.visits(visit{target: row.target})
				for _, l := range lookupNames[lookupHit:] {
					want := 0.0
					if l == row.want {
						want = 1
					}
					if got := gathered(t, s.e.metrics)["pointsman_content_lookups_total{result="+l+"}"]; got != want {
						t.Errorf("%s is %v, want %v", l, got, want)
					}
				}
			})
		})
	}
}

// TestServerGauges: a server's gauges say what /status says of it, and go with it.
func TestServerGauges(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a b", "weight c").observed()
		s.down("b", time.Minute)
		s.p.mu.Lock()
		delete(s.p.health, s.server("c").Endpoint)
		s.p.health[s.server("a").Endpoint] = &farms.Health{Condition: farms.ConditionUp, RTT: 20 * ms}
		s.p.mu.Unlock()
		if err := s.e.SetOverride("a", &farms.Override{State: farms.StateDraining}); err != nil {
			t.Fatal(err)
		}
		got := gathered(t, s.e.metrics)
		for _, f := range s.e.Status(time.Now()).Farms {
			for _, x := range f.Servers {
				for _, state := range serverStates {
					if want := oneIf(state == x.State); got["pointsman_server_state{server="+x.Name+",state="+state+"}"] != want {
						t.Errorf("%s is %s: its gauge for %s is not %v", x.Name, x.State, state, want)
					}
				}
				if !slices.Contains(serverStates[:], x.State) {
					t.Errorf("%s is %q, which is none of the states", x.Name, x.State)
				}
			}
		}
		for name, want := range map[string]float64{
			"pointsman_server_up{server=a}": 1, "pointsman_server_up{server=b}": 0, "pointsman_server_up{server=c}": 0,
			"pointsman_server_response_seconds{server=a}": 0.02,
			"pointsman_farm_servers{farm=f1,state=down}":  1, "pointsman_farm_servers{farm=f1,state=draining}": 1,
			"pointsman_farm_servers{farm=f2,state=unknown}": 1,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if v := got["pointsman_server_response_seconds{server=b}"]; !math.IsNaN(v) {
			t.Errorf("the response time of a server that never answered is %v", v)
		}
		next, err := farms.Build(stageSpec(t, "weight a", "weight d"), 2)
		if err != nil {
			t.Fatal(err)
		}
		s.e.Swap(next, s.set)
		for name := range maps.Keys(gathered(t, s.e.metrics)) {
			if strings.Contains(name, "server=b") || strings.Contains(name, "server=c") {
				t.Errorf("%s is still there after its server went", name)
			}
		}
	})
}

// TestHistogramsAreNativeToo: who scrapes by protobuf gets native histograms, who
// reads text the classic buckets.
func TestHistogramsAreNativeToo(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight a").observed()
	s.e.metrics.Probe("status", "up", 20*time.Millisecond)
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Host = "127.0.0.1"
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	rw := httptest.NewRecorder()
	s.e.Admin(AdminOptions{}).ServeHTTP(rw, r)
	dec := expfmt.NewDecoder(rw.Body, expfmt.ResponseFormat(rw.Header()))
	native := map[string]bool{}
	for {
		var f dto.MetricFamily
		if err := dec.Decode(&f); err != nil {
			break
		}
		for _, m := range f.Metric {
			if h := m.GetHistogram(); h != nil && h.Schema != nil && len(h.Bucket) > 0 {
				native[f.GetName()] = true
			}
		}
	}
	for _, name := range []string{"pointsman_probe_duration_seconds", "pointsman_decision_wait_seconds"} {
		if !native[name] {
			t.Errorf("%s has no native histogram beside its buckets", name)
		}
	}
}
