package probe

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// recordingScene is a board with one server whose interface tells an hour of
// recording of every channel, in pieces of a minute less a second, and counts
// questions.
func recordingScene(t *testing.T, pieces int) (*scene, *atomic.Int64, farms.Content) {
	t.Helper()
	s := newScene(t, defaults())
	start := time.Now().Add(-2 * time.Hour)
	questions := new(atomic.Int64)
	s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/recording_status.json") {
			return
		}
		questions.Add(1)
		var list []string
		for i := range pieces {
			list = append(list, fmt.Sprintf(`{"from":%d,"duration":59}`, start.Unix()+int64(i*60)))
		}
		_, _ = fmt.Fprintf(w, `[{"stream":"ch","ranges":[%s]}]`, strings.Join(list, ","))
	}))
	s.load(recordingSpec(s), defaults())
	s.start()
	s.after(firstSweep)
	return s, questions, windowOf("ch", farms.KindArchive, start, start.Add(30*time.Minute))
}

func recordingSpec(s *scene) *farms.Spec {
	spec := s.spec(1)
	spec.Servers[0].Type, spec.Servers[0].APIURL = "flussonic", spec.Servers[0].URL
	return spec
}

// TestSaveAndLoadRecordings: what interfaces told is back after a restart, with
// its age: it answers at once while it is asked for again, and is the last word
// of a server in trouble. A window's playlist is not.
func TestSaveAndLoadRecordings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		pieces int
		away   time.Duration
		loaded int
	}{
		{"a_minute", 60, time.Minute, 1},
		{"too_long", 60, 11 * time.Minute, 0},
		{"too_many_pieces", maxSavedRanges + 1, time.Minute, 0},
	} {
		bubble(t, row.name, func(t *testing.T) {
			s, questions, c := recordingScene(t, row.pieces)
			s.board.Ask(c, s.table.Servers, false)
			s.after(0)
			before := s.board.Content(c).Facts[0]
			if before.Presence != farms.Present || len(before.Ranges) != row.pieces {
				t.Fatalf("the fact is %+v", before)
			}
			plain := windowOf("plain", farms.KindArchive, time.Now().Add(-time.Hour), time.Now())
			p := s.board.contents.add(plain)
			p.mu.Lock()
			p.put(farms.Fact{Endpoint: before.Endpoint, Presence: farms.Present, HeldAt: time.Now()})
			s.board.contents.promote(p)
			p.mu.Unlock()
			text := saved(t, s.board)

			s.after(row.away)
			next := NewBoard(s.board.opt, defaults())
			n, err := next.Load(strings.NewReader(text))
			if err != nil || n != row.loaded {
				t.Fatalf("%d loaded, %v; want %d of\n%s", n, err, row.loaded, text)
			}
			if next.Content(plain) != nil {
				t.Error("the playlist of a window came back")
			}
			if n == 0 {
				return
			}
			if again := saved(t, next); !strings.Contains(again, `"recorded"`) {
				t.Errorf("saved again, it is gone:\n%s", again)
			}
			next.Update(s.table.Servers, defaults())
			next.Start(t.Context())
			was := questions.Load()
			asked := next.Ask(c, s.table.Servers, false)
			f := next.Content(c).Of(before.Endpoint)
			if f == nil || f.Presence != farms.Present || !time.Now().Before(f.ServeUntil) || asked.Opened+asked.Joined != 1 {
				t.Fatalf("before any answer the fact is %+v; %+v", f, asked)
			}
			if age := time.Since(f.At); age != row.away || len(f.Ranges) != row.pieces || f.Until != before.Until || f.Segment != before.Segment {
				t.Errorf("it is %v old, want %v: %+v", age, row.away, f)
			}
			s.after(0)
			f = next.Content(c).Of(before.Endpoint)
			if questions.Load() != was+1 || time.Since(f.At) != 0 || !time.Now().Before(f.FreshUntil) {
				t.Errorf("%d questions, then %+v", questions.Load()-was, f)
			}
			s.end()
			s.after(0)
		})
	}
}

// TestLoadRecordings: lines that make no sense are left out.
func TestLoadRecordings(t *testing.T) {
	t.Parallel()
	const head = `{"pointsman_facts":1,"saved":0}` + "\n"
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() // of a bubble's clock
	line := func(recorded string) string {
		return head + `{"channel":"ch","recorded":` + strings.ReplaceAll(recorded, "NOW", fmt.Sprint(now)) + "}\n"
	}
	many := strings.TrimSuffix(strings.Repeat("[1,2],", maxSavedRanges+1), ",")
	for _, row := range []struct {
		name, text string
		loaded     bool
	}{
		{"good", line(`{"ep":"1","at":NOW,"seg":10000,"ranges":[[1,2],[3,4]]}`), true},
		{"from_the_future", line(`{"ep":"1","at":9000000000000000,"seg":1,"ranges":[[1,2]]}`), true}, // a clock that was set back: new
		{"no_channel", head + `{"recorded":{"ep":"1","at":1,"ranges":[[1,2]]}}` + "\n", false},
		{"with_a_path", head + fmt.Sprintf(`{"channel":"ch","path":"/x","recorded":{"ep":"1","at":%d,"ranges":[[1,2]]}}`, now) + "\n", false},
		{"no_endpoint", line(`{"ep":"x","at":NOW,"ranges":[[1,2]]}`), false},
		{"no_ranges", line(`{"ep":"1","at":NOW,"ranges":[]}`), false},
		{"too_many_ranges", line(`{"ep":"1","at":NOW,"ranges":[` + many + `]}`), false},
		{"inverted", line(`{"ep":"1","at":NOW,"ranges":[[2,1]]}`), false},
		{"overlapping", line(`{"ep":"1","at":NOW,"ranges":[[1,3],[2,4]]}`), false},
		{"descending", line(`{"ep":"1","at":NOW,"ranges":[[5,6],[1,2]]}`), false},
		{"before_1970", line(`{"ep":"1","at":NOW,"ranges":[[-5,2]]}`), false},
		{"in_the_far_future", line(`{"ep":"1","at":NOW,"ranges":[[1,9000000000000]]}`), false},
		{"a_segment_of_a_day", line(`{"ep":"1","at":NOW,"seg":86400000,"ranges":[[1,2]]}`), false},
		{"old", line(`{"ep":"1","at":1,"ranges":[[1,2]]}`), false},
		{"no_age", line(`{"ep":"1","ranges":[[1,2]]}`), false},
	} {
		bubble(t, row.name, func(t *testing.T) {
			b := NewBoard(Options{}, defaults())
			n, err := b.Load(strings.NewReader(row.text))
			if known, all := b.Sizes(); (n == 1) != row.loaded || known != n || all != n {
				t.Errorf("%d loaded (%v), %d known of %d", n, err, known, all)
			}
		})
	}
	bubble(t, "of_too_many_servers", func(t *testing.T) {
		var text strings.Builder
		text.WriteString(head)
		for i := range maxSavedServers + 10 {
			text.WriteString(strings.TrimPrefix(line(fmt.Sprintf(`{"ep":"%x","at":NOW,"ranges":[[1,2]]}`, i+1)), head))
		}
		b := NewBoard(Options{}, defaults())
		if n, err := b.Load(strings.NewReader(text.String())); n != 1 || err != nil {
			t.Errorf("%d loaded, %v", n, err)
		}
		if n := len(b.Content(farms.Content{Channel: "ch", Kind: farms.KindArchive}).Facts); n != maxSavedServers {
			t.Errorf("it is of %d servers, want at most %d", n, maxSavedServers)
		}
	})
}
