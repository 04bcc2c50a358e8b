package probe

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
)

// windowOf is the content of a window of a channel.
func windowOf(channel string, kind farms.Kind, from, to time.Time) farms.Content {
	return farms.Content{
		Channel: channel, Path: fmt.Sprintf("/%s/archive-%d-%d.m3u8", channel, from.Unix(), int(to.Sub(from).Seconds())),
		Protocol: farms.ProtocolHLS, Kind: kind, Slot: archive.RangeOf(from, to),
	}
}

// recordedAs is a playlist of ten-second segments from a time on.
func recordedAs(from time.Time, segments int, end string) string {
	out := "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n#EXT-X-MEDIA-SEQUENCE:1\n#EXT-X-PROGRAM-DATE-TIME:" +
		from.UTC().Format(time.RFC3339) + "\n"
	for i := range segments {
		out += fmt.Sprintf("#EXTINF:10,\n%d.ts\n", i)
	}
	return out + end
}

// TestRecordedPlaylist: what a window's playlist says of its end.
func TestRecordedPlaylist(t *testing.T) {
	t.Parallel()
	from := time.Unix(1_767_132_000, 0)
	for _, row := range []struct {
		name  string
		kind  farms.Kind
		end   string
		ended bool
	}{
		{"closed", farms.KindArchive, "#EXT-X-ENDLIST\n", false},
		{"closed_and_open", farms.KindArchive, "", false},
		{"grows", farms.KindEvent, "", false},
		{"grows_and_has_an_end", farms.KindEvent, "#EXT-X-ENDLIST\n", true},
		{"rewinds_and_has_an_end", farms.KindWindow, "#EXT-X-ENDLIST\n", true},
		{"point_and_has_an_end", farms.KindTimeshift, "#EXT-X-ENDLIST\n", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := windowOf("ch", row.kind, from, from.Add(5*time.Minute))
			v, _ := judgeRecorded(c, []byte(recordedAs(from, 60, row.end)), "http://edge/ch.m3u8")
			if v.presence != farms.Present || v.ended != row.ended {
				t.Errorf("it is %v, ended %t, want %t: %s", v.presence, v.ended, row.ended, v.detail)
			}
			// It shows ten minutes, five of which are asked for.
			if want := from.Add(10 * time.Minute).UnixMilli(); v.until != want || v.ranges[0].To != c.Slot.To {
				t.Errorf("it is recorded until %d, want %d; it holds %v of %v", v.until, want, v.ranges, c.Slot)
			}
		})
	}
}

// TestTold: the age of an interface's word for one window (reference archive.md
// §4.1).
func TestTold(t *testing.T) {
	t.Parallel()
	set := defaults()
	set.VoDAge, set.RangeAgeFraction = 15*time.Minute, 0.05
	now := time.Now()
	edge := now.Add(-7 * 24 * time.Hour)
	for _, row := range []struct {
		name   string
		kind   farms.Kind
		from   time.Duration // behind the oldest end
		length time.Duration
		eroded time.Duration // ago, 0 never
		want   time.Duration
	}{
		{"closed", farms.KindArchive, 24 * time.Hour, time.Hour, time.Minute, 10 * time.Minute},
		{"closed_at_an_end_that_stays", farms.KindArchive, 0, time.Hour, 0, 10 * time.Minute},
		{"closed_near_an_end_that_moves", farms.KindArchive, 2 * time.Minute, time.Hour, time.Minute, 2 * time.Minute},
		{"closed_nearer", farms.KindArchive, time.Second, time.Hour, time.Minute, 5 * time.Second},
		{"closed_at_an_end_that_moves", farms.KindArchive, -30 * time.Second, time.Hour, time.Minute, 5 * time.Second},
		{"closed_and_its_start_is_gone", farms.KindArchive, -2 * time.Minute, time.Hour, time.Minute, 10 * time.Minute},
		{"closed_near_an_end_that_moved_once", farms.KindArchive, 2 * time.Minute, time.Hour, 2 * time.Hour, 10 * time.Minute},
		{"grows", farms.KindEvent, 6 * 24 * time.Hour, time.Hour, 0, 10 * time.Second},
		{"grows_for_a_moment", farms.KindEvent, 6 * 24 * time.Hour, 10 * time.Second, 0, 5 * time.Second},
		{"point", farms.KindTimeshift, 6 * 24 * time.Hour, time.Minute, 0, 5 * time.Second},
		{"rewind", farms.KindWindow, 6 * 24 * time.Hour, 2 * time.Minute, 0, 6 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := farms.Fact{
				Presence: farms.Present, At: now, Ranges: []farms.Range{archive.RangeOf(edge, now)},
				FreshUntil: now.Add(10 * time.Minute), ServeUntil: now.Add(20 * time.Minute),
			}
			if row.eroded > 0 {
				f.ErodedAt = now.Add(-row.eroded)
			}
			start := edge.Add(row.from)
			got := told(f, windowOf("ch", row.kind, start, start.Add(row.length)), &set)
			if got := got.FreshUntil.Sub(now); got != row.want {
				t.Errorf("it is fresh for %v, want %v", got, row.want)
			}
			if !got.ServeUntil.Equal(f.ServeUntil) {
				t.Errorf("it serves until %v, want %v", got.ServeUntil, f.ServeUntil)
			}
		})
	}
}

// TestErosion: what falls off the old end of a recording is noticed in time, and
// costs questions only where a window is about to lose its start.
func TestErosion(t *testing.T) {
	t.Parallel()
	bubble(t, "an_hour_of_retention", func(t *testing.T) {
		set := defaults()
		set.VoDAge = time.Minute
		s := newScene(t, set)
		var questions atomic.Int64
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/recording_status.json") {
				questions.Add(1)
				_, _ = fmt.Fprintf(w, `[{"stream":"ch","ranges":[{"from":%d,"duration":3600}]}]`, time.Now().Unix()-3600)
			}
		}))
		spec := s.spec(1)
		spec.Servers[0].Type, spec.Servers[0].APIURL = "flussonic", spec.Servers[0].URL
		s.load(spec, set)
		s.start()
		s.after(firstSweep)
		ask := func(c farms.Content) farms.Fact {
			t.Helper()
			s.board.Ask(c, s.table.Servers, false)
			s.after(0)
			f := s.board.Content(c).Of(s.table.Servers[0].Endpoint)
			if f == nil || f.Presence != farms.Present {
				t.Fatalf("the fact is %+v", f)
			}
			return *f
		}
		now := time.Now()
		young := windowOf("ch", farms.KindArchive, now.Add(-20*time.Minute), now.Add(-10*time.Minute))
		ask(young)
		s.after(set.VoDAge)
		ask(young) // the second answer: its oldest end moves
		if n := questions.Load(); n != 2 {
			t.Fatalf("%d questions, want 2", n)
		}
		now = time.Now()
		old := windowOf("ch", farms.KindArchive, now.Add(-time.Hour+20*time.Second), now.Add(-50*time.Minute))
		if f := ask(old); f.Ranges[0].From > old.Slot.From {
			t.Fatalf("it does not hold the start: %v of %v", f.Ranges, old.Slot)
		}
		s.after(10 * time.Second)
		ask(old)
		if n := questions.Load(); n != 2 {
			t.Errorf("%d questions before the start falls off, want 2", n)
		}
		s.after(11 * time.Second)
		if f := ask(old); f.Ranges[0].From <= old.Slot.From {
			t.Errorf("21 s later it still holds the start: %v of %v", f.Ranges, old.Slot)
		}
		ask(young)
		if n := questions.Load(); n != 3 {
			t.Errorf("%d questions when it fell off, want 3", n)
		}
	})
}

// TestGrowingWindowOfAnInterface: what an interface told serves a window that
// grows as long as a live fact does, and meanwhile a closed one costs nothing.
func TestGrowingWindowOfAnInterface(t *testing.T) {
	t.Parallel()
	bubble(t, "one_question_for_both", func(t *testing.T) {
		set := defaults()
		set.RangeAgeFraction, set.VoDAge = 0.05, time.Minute
		s := newScene(t, set)
		var questions atomic.Int64
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/recording_status.json") {
				questions.Add(1)
				_, _ = fmt.Fprintf(w, `[{"stream":"ch","ranges":[{"from":%d,"duration":86400}]}]`, time.Now().Unix()-86400)
			}
		}))
		spec := s.spec(1)
		spec.Servers[0].Type, spec.Servers[0].APIURL = "flussonic", spec.Servers[0].URL
		s.load(spec, set)
		s.start()
		s.after(firstSweep)
		now := time.Now()
		closed := windowOf("ch", farms.KindArchive, now.Add(-2*time.Hour), now.Add(-time.Hour))
		event := windowOf("ch", farms.KindEvent, now.Add(-time.Hour), now.Add(time.Hour))
		for step, want := range []int64{1, 1, 2, 2, 3} {
			s.board.Ask(closed, s.table.Servers, false)
			s.board.Ask(event, s.table.Servers, false)
			s.after(0)
			f := s.board.Content(event).Of(s.table.Servers[0].Endpoint)
			if f == nil || !time.Now().Before(f.FreshUntil) || time.Now().UnixMilli()-f.Until > 10_000 {
				t.Errorf("step %d: the fact is %+v", step, f)
			}
			if n := questions.Load(); n != want {
				t.Errorf("step %d: %d questions, want %d", step, n, want)
			}
			s.after(5 * time.Second)
		}
	})
}
