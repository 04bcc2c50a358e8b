package test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// realArchive is two recorders, a and b, behind Pointsman, each an nginx that
// hands out what a real ffmpeg has written. An hour of theirs is the two minutes
// that it begins with: all hours are of one tape. Where both hold as much, a is
// chosen.
//
//   - news has a playlist for each programme, archive-START-LENGTH.m3u8. At 17
//     and 19 a lost a part, which its playlists say (EXT-X-GAP); at 20 a was
//     interrupted, and nothing but the dates says so. 22 is partly on either.
//   - sport has one VoD playlist of all hours, whatever window the query names.
//   - event is on the air: a playlist of type EVENT, which grows.
type realArchive struct {
	*rig.Pointsman
	midnight time.Time // of yesterday
	servers  map[string]*rig.Nginx
	sport    map[string]*rig.Archive
	event    map[string]string // its file of event
}

const (
	realTape = 2 * time.Minute
	// realAhead is by how much b's segments begin earlier than a's: two encoders
	// never cut at the same time.
	realAhead = 740 * time.Millisecond
)

// realPasts are how long before its restart a server had begun to record event.
var realPasts = map[string]time.Duration{"a": 2 * time.Minute, "b": time.Minute}

// realPart is what is recorded of an hour, in seconds since it began.
type realPart struct{ hour, from, to time.Duration }

// realProgramme is a programme of yesterday.
type realProgramme struct {
	name  string
	start time.Duration // since midnight
	sec   int64
	want  string // who is chosen; nobody: 404 archive_missing
	a, b  int64  // seconds of it that each holds
}

// realNewsProgrammes are asked for by path.
var realNewsProgrammes = []realProgramme{
	{"only-a", clock(18, 0, 0), 60, "a", 60, 0},
	{"only-b", clock(21, 0, 20), 60, "b", 0, 60},
	{"from-first-to-last-second", clock(18, 0, 0), 120, "a", 120, 0},
	{"runs-out", clock(18, 1, 30), 60, "a", 30, 0},
	{"begins-before", clock(20, 59, 30), 60, "b", 0, 30},
	{"begins-where-it-ends", clock(18, 2, 0), 60, "", 0, 0},
	{"ends-where-it-begins", clock(16, 59, 0), 60, "", 0, 0},
	{"nobody", clock(23, 0, 0), 60, "", 0, 0},
	{"a-was-interrupted", clock(20, 0, 0), 120, "b", 100, 120},
	{"before-the-interruption", clock(20, 0, 0), 40, "a", 40, 40},
	{"during-the-interruption", clock(20, 0, 40), 20, "b", 0, 20},
	{"after-the-interruption", clock(20, 1, 0), 50, "a", 50, 50},
	{"a-has-a-gap", clock(19, 0, 0), 60, "b", 40, 60},
	{"only-a-and-with-a-gap", clock(17, 0, 0), 60, "a", 40, 0},
	{"only-the-gap", clock(17, 0, 20), 20, "", 0, 0},
	{"b-has-more", clock(22, 0, 0), 120, "b", 50, 80},
	{"a-has-more", clock(22, 0, 0), 60, "a", 50, 20},
}

// realSportProgrammes are asked for by query, in seconds that are on no grid.
var realSportProgrammes = []realProgramme{
	{"only-a", clock(18, 0, 7), 65, "a", 65, 0},
	{"only-b", clock(19, 0, 13), 47, "b", 0, 47},
	{"runs-out", clock(20, 1, 31), 59, "a", 29, 28},
	{"a-was-interrupted", clock(20, 0, 11), 81, "b", 61, 81},
	{"before-the-interruption", clock(20, 0, 3), 33, "a", 33, 33},
	{"after-the-interruption", clock(20, 1, 7), 41, "a", 41, 41},
	{"nobody", clock(22, 0, 3), 33, "", 0, 0},
}

// TestRealArchive asks programme by programme, and has ffmpeg download through
// the redirect those that somebody holds.
func TestRealArchive(t *testing.T) {
	t.Parallel()
	f := newRealArchive(t)
	for _, p := range realNewsProgrammes {
		p.name = "news-" + p.name
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f.programme(t, p, "/tv/news/"+f.file(p), rig.Wanted{})
		})
	}
	for _, p := range realSportProgrammes {
		p.name = "sport-" + p.name
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			from := f.at(p.start)
			var part rig.Wanted // of a playlist that is no programme's
			if p.want != "" {
				part = rig.Wanted{After: f.sport[p.want].Offset(from), Length: time.Duration(p.sec) * time.Second}
			}
			f.programme(t, p, fmt.Sprintf("/tv/sport/index.m3u8?start=%d&end=%d", from.Unix(), from.Unix()+p.sec), part)
		})
	}
	t.Run("explain", f.explained)
	t.Run("event", f.onTheAir)
}

// newRealArchive records everything and starts Pointsman.
func newRealArchive(t *testing.T) *realArchive {
	t.Helper()
	f := &realArchive{
		midnight: time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour),
		servers:  map[string]*rig.Nginx{}, sport: map[string]*rig.Archive{}, event: map[string]string{},
	}
	f.servers["a"], f.servers["b"] = rig.NewNginx(t, "127.0.0.51", rig.Files), rig.NewNginx(t, "127.0.0.52", rig.Files)
	tape := rig.NewTape(t, realTape)
	record := func(server, channel string, parts ...realPart) *rig.Archive {
		var ahead time.Duration
		zone := time.UTC
		if server == "b" { // and its clock is set to summer
			ahead, zone = realAhead, time.FixedZone("", 2*60*60)
		}
		a := rig.NewArchive(t, tape, filepath.Join(f.servers[server].Root, channel), zone)
		for _, p := range parts {
			a.Record(f.at(clock(p.hour, 0, 0)).Add(-ahead), p.from*time.Second, p.to*time.Second)
		}
		return a
	}
	newsA := record("a", "news", realPart{17, 0, 120}, realPart{18, 0, 120}, realPart{19, 0, 120},
		realPart{20, 0, 40}, realPart{20, 60, 120}, realPart{22, 0, 50})
	for _, hour := range []time.Duration{17, 19} {
		newsA.Lose(f.at(clock(hour, 0, 20)), f.at(clock(hour, 0, 40)))
	}
	newsB := record("b", "news", realPart{19, 0, 120}, realPart{20, 0, 120}, realPart{21, 0, 120}, realPart{22, 40, 120})
	for _, p := range realNewsProgrammes {
		from := f.at(p.start)
		to := from.Add(time.Duration(p.sec) * time.Second)
		newsA.Write(f.file(p), from, to)
		newsB.Write(f.file(p), from, to)
	}
	f.sport["a"] = record("a", "sport", realPart{18, 0, 120}, realPart{20, 0, 40}, realPart{20, 60, 120})
	f.sport["b"] = record("b", "sport", realPart{19, 0, 120}, realPart{20, 0, 120})
	f.sport["a"].WriteAll()
	f.sport["b"].WriteAll()
	for server, past := range realPasts {
		dir := filepath.Join(f.servers[server].Root, "event")
		rig.NewEvent(t, dir, past)
		f.event[server] = filepath.Join(dir, "media.m3u8")
	}

	c := scene(rig.Config{"name": "main", "policy": "weight", "servers": []rig.Config{
		{"name": "a", "url": f.servers["a"].URL(), "weight": 2}, {"name": "b", "url": f.servers["b"].URL(), "weight": 1},
	}})
	c["probe"] = unpaced()
	f.Pointsman = rig.Start(t, with(c, "redirection", rig.Config{"uri_path": "/tv", "live_cache_time_sec": 1}))
	return f
}

// clock is a time of day.
func clock(h, m, s time.Duration) time.Duration {
	return h*time.Hour + m*time.Minute + s*time.Second
}

// at returns a time of yesterday.
func (f *realArchive) at(since time.Duration) time.Time { return f.midnight.Add(since) }

// file returns the name of a programme's playlist.
func (f *realArchive) file(p realProgramme) string {
	return fmt.Sprintf("archive-%d-%d.m3u8", f.at(p.start).Unix(), p.sec)
}

// programme expects that a viewer of a programme is sent where the most of it
// is, and can download that.
func (f *realArchive) programme(t *testing.T, p realProgramme, target string, part rig.Wanted) {
	first := []string{p.want}
	if p.a == p.b && p.want != "" { // who answers first: it holds all
		first = []string{"a", "b"}
	}
	f.sent(t, p.name+"-first", target, first...)
	rig.Eventually(t, 5*time.Second, func() error { // who holds all ends the wait for the other
		x := f.explain(t, target)
		if x.Server != p.want {
			return fmt.Errorf("explain says %v, want it to choose %q", x, p.want)
		}
		if a, b := x.near("a", p.a, p.sec), x.near("b", p.b, p.sec); !a || !b {
			return fmt.Errorf("explain says %v, want that a holds %d and b %d of %d s", x, p.a, p.b, p.sec)
		}
		return nil
	})
	f.sent(t, p.name+"-again", target, p.want)
	if p.want != "" {
		f.download(t, p, target, part)
	}
}

// sent expects a viewer to be sent to one of some servers, his path and query as
// they are, or, to "", that nobody has it.
func (f *realArchive) sent(t *testing.T, agent, target string, servers ...string) {
	t.Helper()
	r := f.Get(target, "User-Agent", agent)
	got := fmt.Sprintf("%d %s %s", r.StatusCode, r.Reason(), r.Location())
	for _, name := range servers {
		want := "404 archive_missing "
		if s := f.servers[name]; s != nil {
			want = "302  " + s.URL() + strings.TrimPrefix(target, "/tv")
		}
		if got == want {
			return
		}
	}
	t.Errorf("%s: %s, want a redirect to %q: %s", target, got, servers, r.Body)
}

// near tells whether a server is said to hold so much of so much, to within one
// segment: recordings are cut there.
func (x *windowExplanation) near(server string, held, of int64) bool {
	const segment = int64(rig.SegmentTime / time.Second)
	gotHeld, gotOf := x.held(server)
	return max(gotHeld-held, held-gotHeld) <= segment && gotOf == of
}

// explain asks the running instance.
func (f *realArchive) explain(t *testing.T, target string) *windowExplanation {
	t.Helper()
	r := f.Operator("GET", "/explain?ip=198.51.100.7&url="+url.QueryEscape(target), "")
	x := new(windowExplanation)
	if err := json.Unmarshal([]byte(r.Body), x); err != nil {
		t.Fatalf("explain of %s answered %d %s: %v", target, r.StatusCode, r.Body, err)
	}
	return x
}

// download expects that ffmpeg gets from the chosen server, and from nobody
// else, as much as that one holds, to within one segment.
func (f *realArchive) download(t *testing.T, p realProgramme, target string, part rig.Wanted) {
	got := rig.Download(t, f.Viewers+target, p.name, part)
	want := time.Duration(map[string]int64{"a": p.a, "b": p.b}[p.want]) * time.Second
	for _, length := range []time.Duration{got.Length, got.Pictures} {
		if (length - want).Abs() > rig.SegmentTime {
			t.Errorf("ffmpeg downloaded %v through %s, want %v", got, target, want)
		}
	}
	for name, s := range f.servers {
		segments := 0
		for _, answer := range s.Answered(p.name) {
			if strings.HasPrefix(answer, "20") && strings.HasSuffix(answer, ".ts") { // 200 or 206
				segments++
			}
		}
		if least := int(want / rig.SegmentTime); name == p.want && segments < least-1 || name != p.want && segments > 0 {
			t.Errorf("%s sent %d segments, want at least %d, all from %s", name, segments, least-1, p.want)
		}
	}
}

// explained expects that the command, too, asks real servers how much they
// hold. Nobody holds all of these programmes, so both are waited for.
func (f *realArchive) explained(t *testing.T) {
	for _, p := range realNewsProgrammes {
		if p.name != "a-has-more" && p.name != "b-has-more" {
			continue
		}
		x := explainAt(t, f.File, time.Now().Unix(), "/tv/news/"+f.file(p))
		other := map[string]string{"a": "b", "b": "a"}[p.want]
		if x.Server != p.want || !x.near("a", p.a, p.sec) || !x.near("b", p.b, p.sec) || x.why(p.want) != "chosen" || x.why(other) != "holds_less" {
			t.Errorf("%s: %v, want %s, and that a holds %d and b %d of %d s", p.name, x, p.want, p.a, p.b, p.sec)
		}
		if x.Content.Kind != "archive" || x.Content.Dialect != "flussonic-archive" {
			t.Errorf("%s: read as %+v", p.name, x.Content)
		}
	}
}

// onTheAir expects that a programme that is still on the air is with whom
// recorded more of its beginning, and that what is written meanwhile counts: the
// last twenty seconds are asked of nobody, so it waits until new segments are.
func (f *realArchive) onTheAir(t *testing.T) {
	t.Parallel()
	begun := rig.ReadTape(t, f.event["a"]).Segments[0].Date
	start := begun.Add(-10 * time.Second) // a whole holder would spare b the question
	target := fmt.Sprintf("/tv/event/index.m3u8?start=%d", start.Unix())
	f.sent(t, "event-first", target, "a")
	restarted := begun.Add(realPasts["a"])
	rig.Eventually(t, time.Minute, func() error {
		x := f.explain(t, target)
		_, asked := x.held("a")
		if least := int64(restarted.Sub(start).Seconds()) + 3; asked < least {
			return fmt.Errorf("%d s are asked for, want %d", asked, least)
		}
		a, b := f.missed(t, "a", start), f.missed(t, "b", start)
		if x.Server != "a" || x.Content.Kind != "event" || !x.near("a", asked-a, asked) || !x.near("b", asked-b, asked) {
			t.Errorf("%v, want a, and that a and b lack %d and %d s", x, a, b)
		}
		return nil
	})
	f.sent(t, "event-again", target, "a")
	part := rig.Wanted{Growing: true, Length: time.Since(begun).Truncate(time.Second) - 3*rig.SegmentTime}
	f.download(t, realProgramme{name: "event", want: "a", a: int64(part.Length / time.Second)}, target, part)
}

// missed returns how many seconds since a time a server has not recorded of
// event: before it began, and while its recorder was started anew.
func (f *realArchive) missed(t *testing.T, server string, since time.Time) int64 {
	t.Helper()
	var missed time.Duration
	for _, s := range rig.ReadTape(t, f.event[server]).Segments {
		if hole := s.Date.Sub(since); hole > rig.SegmentTime/2 {
			missed += hole
		}
		since = s.Date.Add(s.Length)
	}
	return int64(missed.Seconds())
}
