package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// saved returns what a board saves.
func saved(t *testing.T, b *Board) string {
	t.Helper()
	var out bytes.Buffer
	if err := b.Save(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What is known of the channels is back after a restart, with its age.
func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	bubble(t, "round_trip", func(t *testing.T) {
		set := defaults()
		s := newScene(t, set)
		live, frozenSince := streaming(liveBody), time.Now()
		s.serve(live)
		s.serve(streaming(func(*http.Request) string { return liveAt(frozenSince) }))
		s.serve(answers(403, ""))
		s.serve(answers(404, ""))
		s.start()
		s.after(firstSweep)
		s.ask("ch")
		s.after(set.LiveAge)
		s.ask("ch")
		s.board.Ask(hls("invented"), s.table.Servers[3:], false)
		s.hosts[0].handle(answers(503, "")) // held a moment ago, and in trouble now
		s.after(set.LiveAge)
		s.ask("ch")
		before := map[int]farms.Fact{}
		for i := range s.hosts {
			before[i] = s.fact("ch", i)
		}
		if !before[1].Frozen || before[0].Presence != farms.Trouble {
			t.Fatalf("the facts are %+v, not what this test needs", before)
		}
		text := saved(t, s.board)
		if strings.Contains(text, "invented") {
			t.Error("a stranger was saved")
		}

		s.after(time.Minute) // the restart takes a while
		next := NewBoard(s.board.opt, set)
		n, err := next.Load(strings.NewReader(text))
		if err != nil || n == 0 {
			t.Fatalf("loading: %d contents, %v", n, err)
		}
		now := time.Now()
		known := next.Content(hls("ch"))
		for i, want := range before {
			f := known.Of(s.table.Servers[i].Endpoint)
			if want.Presence == farms.Absent {
				if f != nil {
					t.Errorf("edge%d never had it: %+v", i, f)
				}
				continue
			}
			if f == nil {
				t.Errorf("edge%d: nothing is known any more", i)
				continue
			}
			if f.Presence != want.Presence || f.Kind != want.Kind || f.Multivariant != want.Multivariant || !f.HeldAt.Equal(want.HeldAt) || !f.MovedAt.Equal(want.MovedAt) {
				t.Errorf("edge%d: the fact is %+v, want %+v", i, f, want)
			}
			if f.FreshUntil.After(now) {
				t.Errorf("edge%d: the fact is fresh until %v, want it asked again", i, f.FreshUntil)
			}
			if serves := f.ServeUntil.After(now); serves != (want.Presence == farms.Present) {
				t.Errorf("edge%d (%v): serves until %v", i, want.Presence, f.ServeUntil)
			}
		}
		if k := next.Content(farms.Content{Channel: "ch", Path: "/ch/1.ts", Protocol: farms.ProtocolHLS, Kind: farms.KindChild}); k != known {
			t.Error("the channel does not lead to its manifest after the restart")
		}
		if again := saved(t, next); body(again) != body(text) {
			t.Errorf("saved again it is\n%s\nwant\n%s", again, text)
		}

		// The first look after the restart is not the first look.
		next.Update(s.table.Servers, set)
		s.board = next
		s.start()
		s.ask("ch")
		if f := s.fact("ch", 1); !f.Frozen || !f.HeldAt.Equal(before[1].HeldAt) {
			t.Errorf("the fact is %+v, want it frozen since before the restart", f)
		}
	})
}

// Children lead back to their manifest after a restart.
func TestLoadChildren(t *testing.T) {
	t.Parallel()
	bubble(t, "round_trip", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(streaming(func(r *http.Request) string {
			if r.URL.Path == "/ch/index.m3u8" {
				return multivariant
			}
			return liveAt(time.Now())
		}))
		s.start()
		s.ask("ch")
		next := NewBoard(s.board.opt, defaults())
		if _, err := next.Load(strings.NewReader(saved(t, s.board))); err != nil {
			t.Fatal(err)
		}
		if ch, ok := next.Parent("/ch/low/index.m3u8"); !ok || ch != "ch" {
			t.Errorf("the parent is %q, %v; want ch", ch, ok)
		}
	})
	t.Run("hostile", func(t *testing.T) {
		t.Parallel()
		var paths []string
		for i := range 100 {
			paths = append(paths, fmt.Sprintf("%q", fmt.Sprint("/", i)))
		}
		b := NewBoard(Options{}, defaults())
		text := fmt.Sprintf(`{"pointsman_facts":1}`+"\n"+`{"channel":"ch","path":"/ch","protocol":1,"children":["","x","/ch",%s],"facts":[{"ep":"1","is":"guarded"}]}`+"\n", strings.Join(paths, ","))
		if n, err := b.Load(strings.NewReader(text)); n != 1 || err != nil {
			t.Fatalf("loading: %d, %v", n, err)
		}
		if n := b.contents.children.Size(); n > maxChildren {
			t.Errorf("%d children are remembered, want at most %d", n, maxChildren)
		}
		for _, path := range []string{"", "x", "/ch"} {
			if ch, ok := b.Parent(path); ok {
				t.Errorf("%q is a child of %q", path, ch)
			}
		}
	})
}

// body is what was saved, without the head's time, in a fixed order.
func body(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestLoad(t *testing.T) {
	t.Parallel()
	const head = `{"pointsman_facts":1,"saved":0}` + "\n"
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of a bubble's clock
	ago := func(d time.Duration) int64 { return start.Add(-d).UnixMilli() }
	line := func(channel, fact string) string {
		return fmt.Sprintf(`{"channel":%q,"path":"/%s/index.m3u8","protocol":1,"facts":[%s]}`, channel, channel, fact) + "\n"
	}
	present := func(held int64) string {
		return fmt.Sprintf(`{"ep":"1","is":"present","held":%d,"moved":%d,"sig":"ab"}`, held, held)
	}
	tests := []struct {
		name, text string
		contents   int
		err        string
		held       time.Duration // age of the fact of "ch", -1: there is none
	}{
		{"nothing", "", 0, "line 1 is not the head", -1},
		{"no_head", line("ch", present(ago(0))), 0, "line 1 is not the head of version 1", -1},
		{"another_version", strings.Replace(head, ":1,", ":2,", 1) + line("ch", present(ago(0))), 0, "line 1 is not the head of version 1", -1},
		{"html", "<html>\n" + line("ch", present(ago(0))), 0, "line 1", -1},
		{"head_alone", head, 0, "", -1},
		{"one", head + line("ch", present(ago(time.Minute))), 1, "", time.Minute},
		{
			"garbage_between", head + "\x00\x01\n{}\n" + line("a", present(ago(0))) + `{"channel":` + "\n[]\n\n" + line("ch", present(ago(time.Minute))),
			2, "5 lines make no sense", time.Minute,
		},
		{"cut_off", head + line("ch", present(ago(time.Minute))) + line("b", present(ago(0)))[:40], 1, "1 lines make no sense", time.Minute},
		{"a_path_that_is_none", head + `{"channel":"x","path":"../etc","protocol":1,"facts":[` + present(ago(0)) + `]}`, 0, "1 lines", -1},
		{"clock_was_set_back", head + line("ch", present(ago(-time.Hour))), 1, "", 0},
		{"far_beyond_all_clocks", head + line("ch", present(1<<62)), 1, "", 0},
		{"older_than_the_horizon", head + line("ch", present(ago(601*time.Second))), 0, "", -1},
		{"just_within_the_horizon", head + line("ch", present(ago(599*time.Second))), 1, "", 599 * time.Second},
		{"never_held", head + line("ch", present(0)), 0, "", -1},
		{"held_before_time_began", head + line("ch", present(-5)), 0, "", -1},
		{"a_presence_that_is_none", head + line("ch", `{"ep":"1","is":"maybe","held":1}`), 0, "", -1},
		{"an_endpoint_that_is_none", head + line("ch", `{"ep":"xyz","is":"present","held":1}`), 0, "", -1},
		{"a_kind_that_is_none", head + line("ch", fmt.Sprintf(`{"ep":"1","is":"present","kind":77,"held":%d}`, ago(0))), 0, "", -1},
		{"a_protocol_that_is_none", strings.Replace(head+line("ch", present(ago(0))), `"protocol":1`, `"protocol":77`, 1), 0, "1 lines", -1},
		{"unasked", head + line("ch", fmt.Sprintf(`{"ep":"1","is":"unasked","held":%d}`, ago(0))), 0, "", -1},
		{"twice_the_same_endpoint", head + line("ch", present(ago(time.Minute))+","+present(ago(time.Minute))), 1, "", time.Minute},
		{"a_line_without_end", head + line("ch", present(ago(time.Minute))) + strings.Repeat("x", maxSavedLine+1), 1, "too long", time.Minute},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			b := NewBoard(Options{}, defaults())
			n, err := b.Load(strings.NewReader(tt.text))
			if n != tt.contents {
				t.Errorf("%d contents were taken over, want %d", n, tt.contents)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("the error is %v, want %q", err, tt.err)
			}
			f := b.Content(hls("ch")).Of(1)
			if (f == nil) != (tt.held < 0) {
				t.Fatalf("the fact is %+v", f)
			}
			if f == nil {
				return
			}
			if age := time.Since(f.HeldAt); age != tt.held {
				t.Errorf("held %v ago, want %v", age, tt.held)
			}
			if len(b.Content(hls("ch")).Facts) != 1 {
				t.Errorf("the facts are %+v, want one", b.Content(hls("ch")).Facts)
			}
		})
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestSaveTellsErrors(t *testing.T) {
	t.Parallel()
	b := NewBoard(Options{}, defaults())
	for i := range 2000 {
		c := promoted(b.contents, fmt.Sprint("ch", i), time.Now())
		c.mu.Lock()
		c.put(farms.Fact{Endpoint: 1, Presence: farms.Present, HeldAt: time.Now()})
		c.mu.Unlock()
	}
	if err := b.Save(failingWriter{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("the error is %v, want the disk's", err)
	}
	if err := b.Save(io.Discard); err != nil {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"pointsman_facts":1,"saved":0}` + "\n" + `{"channel":"ch","path":"/ch/index.m3u8","protocol":1,"facts":[{"ep":"1","is":"present","held":1767225600000,"sig":"ff"},{"ep":"0","is":"guarded"}]}` + "\n"))
	f.Add([]byte(`{"pointsman_facts":1}` + "\nnull\n[]\n"))
	f.Add([]byte(`{"pointsman_facts":1}` + "\n" + `{"channel":"ch","container":"ts","recorded":{"ep":"1","at":9000000000000,"seg":10000,"ranges":[[1,2],[3,4]]}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := NewBoard(Options{}, defaults())
		n, _ := b.Load(bytes.NewReader(text))
		now := time.Now()
		if known, all := b.Sizes(); known != all || known > n {
			t.Fatalf("%d contents loaded, %d known, %d in all", n, known, all)
		}
		b.contents.byContent.Range(func(_ farms.Content, c *content) bool {
			facts := c.view.Load().Facts
			for i, f := range facts {
				if f.HeldAt.After(now) || f.FreshUntil.After(now) || f.Presence == farms.Unasked {
					t.Fatalf("a fact from the future: %+v", f)
				}
				if i > 0 && facts[i-1].Endpoint >= f.Endpoint {
					t.Fatalf("the facts are not in order: %+v", facts)
				}
			}
			return true
		})
		again := saved(t, b)
		c := NewBoard(Options{}, defaults())
		if _, err := c.Load(strings.NewReader(again)); err != nil {
			t.Fatalf("what was saved cannot be loaded: %v\n%s", err, again)
		}
	})
}
