package redirector

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
)

// journal collects the lines of decisions by their message.
type journal struct {
	s *stage
	b bytes.Buffer
}

func (s *stage) journal() *journal {
	j := &journal{s: s}
	s.e.decisions = zerolog.New(&j.b)
	s.e.Swap(s.table, s.set)
	return j
}

// lines takes the lines since it was called last.
func (j *journal) lines(msg string) (out []map[string]any) {
	j.s.t.Helper()
	for _, text := range strings.Split(strings.TrimSpace(j.b.String()), "\n") {
		var line map[string]any
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			j.s.t.Fatalf("%q: %v", text, err)
		}
		if line[zerolog.MessageFieldName] == msg {
			out = append(out, line)
		}
	}
	return out
}

// valueOf is the value of a counter.
func valueOf(t testing.TB, c prometheus.Metric) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestSampleOfDecisions(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		const visits = 4000
		for _, row := range []struct{ part, least, most float64 }{{1, 1, 1}, {0.25, 0.2, 0.3}, {0, 0, 0}} {
			s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.LogDecisions, set.LogSample = true, row.part })
			s.knows("a", farms.Present, nil)
			j := s.journal()
			for range visits {
				if rw := s.get(http.MethodGet, stagePath); rw.Code != http.StatusFound {
					t.Fatalf("answered %d", rw.Code)
				}
			}
			s.get(http.MethodOptions, stagePath)
			lines := j.lines("decision")
			if n := float64(len(lines)); n < row.least*visits || n > row.most*visits+1 {
				t.Errorf("of %d decisions %v have a line, with log.sample %v", visits, n, row.part)
			}
			if got, want := valueOf(t, s.e.metrics.unsampled), float64(visits+1-len(lines)); got != want {
				t.Errorf("%v lines are counted as not in the sample, want %v", got, want)
			}
			for _, line := range lines {
				if said, ok := line["sample"]; row.part < 1 && said != row.part || row.part == 1 && ok {
					t.Fatalf("a line of a sample of %v says %v", row.part, line)
				}
			}
			s.get(http.MethodGet, "/no/../where")
			if n := len(j.lines("decision")); n != len(lines)+1 {
				t.Errorf("a refusal made %d lines with log.sample %v", n-len(lines), row.part)
			}
		}
	})
}

// TestFloodOfRefusals: of one reason so many are written in a second, the others
// are counted and the count is written; another reason has its own lines.
func TestFloodOfRefusals(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.LogDecisions, set.LogSample = true, 0 })
		j := s.journal()
		second := time.Now()
		for range 3 * floodLines {
			s.get(http.MethodGet, "/no/../where")
		}
		s.get(http.MethodPut, stagePath)
		if n := len(j.lines("decision")); n != floodLines+1 {
			t.Errorf("%d refusals were written, want %d of the flood and one other", n, floodLines)
		}
		<-time.After(time.Until(second.Truncate(time.Second).Add(time.Second)))
		s.e.TellLeftOut(time.Now())
		s.e.TellLeftOut(time.Now())
		told := j.lines("refusals left out")
		if len(told) != 1 || told[0]["reason"] != "bad_request" || told[0]["left_out"] != 2.0*floodLines || told[0]["time"] == nil {
			t.Errorf("what was left out is told as %v", told)
		}
		if got := valueOf(t, s.e.metrics.flooded); got != 2*floodLines {
			t.Errorf("%v refusals are counted as left out, want %d", got, 2*floodLines)
		}
		j.b.Reset()
		s.get(http.MethodGet, "/no/../where")
		if n := len(j.lines("decision")); n != 1 {
			t.Errorf("%d refusals were written in the next second, want 1", n)
		}
	})
}
