package test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestArchiveAcrossFarms: the greatest coverage wins, whichever farm has it;
// among equals the earliest farm.
func TestArchiveAcrossFarms(t *testing.T) {
	t.Parallel()
	const (
		programme = int64(1767132000)
		url       = "/ort/archive-1767132000-6000.m3u8" // a hundred minutes: one is a percent
	)
	minutes := func(from, to float64) rig.Stretch {
		return stretch(programme+int64(from*60), programme+int64(to*60))
	}
	type parts []rig.Stretch
	for _, row := range []struct {
		name    string
		holds   []parts // by farm, one server each: f1, f2 …
		edit    rig.Config
		first   rig.Config // of the first farm alone
		archive rig.Config
		want    string // the server, or a refusal's reason
	}{
		{name: "the_second_holds_all", holds: []parts{{minutes(0, 50)}, {minutes(0, 100)}}, want: "f2"},
		{name: "the_second_holds_more", holds: []parts{{minutes(0, 50)}, {minutes(0, 60)}}, want: "f2"},
		{name: "the_third_holds_the_most", holds: []parts{{minutes(0, 50)}, {minutes(0, 40)}, {minutes(20, 80)}}, want: "f3"},
		{name: "good_enough", holds: []parts{{minutes(0, 96)}, {minutes(0, 100)}}, want: "f1"},
		{name: "not_good_enough", holds: []parts{{minutes(0, 94)}, {minutes(0, 100)}}, want: "f2"},
		{
			name: "good_enough_as_configured", holds: []parts{{minutes(0, 50)}, {minutes(0, 100)}},
			archive: rig.Config{"good_enough": 0.5}, want: "f1",
		},
		{
			name: "nothing_but_all_is_good_enough", holds: []parts{{minutes(0, 97)}, {minutes(0, 100)}},
			archive: rig.Config{"good_enough": 1}, want: "f2",
		},
		{name: "equal_within_a_segment", holds: []parts{{minutes(0, 50)}, {minutes(0, 50.15)}}, want: "f1"},
		{name: "equal_within_a_percent", holds: []parts{{minutes(0, 90)}, {minutes(0, 90.8)}}, want: "f1"},
		{name: "more_than_a_percent", holds: []parts{{minutes(0, 90)}, {minutes(0, 91.5)}}, want: "f2"},
		{
			name:  "equal_to_the_greatest_and_not_to_each_other",
			holds: []parts{{minutes(0, 90)}, {minutes(0, 90.6)}, {minutes(0, 91.4)}}, want: "f2",
		},
		{name: "equal_and_elsewhere", holds: []parts{{minutes(50, 100)}, {minutes(0, 50)}}, want: "f1"},
		{
			name: "contiguous", holds: []parts{{minutes(0, 30), minutes(40, 100)}, {minutes(0, 40)}},
			edit: rig.Config{"archive": rig.Config{"prefer": "contiguous"}}, want: "f2",
		},
		{
			name: "min_coverage_of_one_farm", holds: []parts{{minutes(0, 50)}, {minutes(0, 30)}},
			first: rig.Config{"archive": rig.Config{"min_coverage": 0.6}}, want: "f2",
		},
		{
			name: "min_coverage_of_all", holds: []parts{{minutes(0, 50)}, {minutes(0, 30)}},
			edit: rig.Config{"archive": rig.Config{"min_coverage": 0.6}}, want: "archive_missing",
		},
		{
			name: "min_coverage_is_reached", holds: []parts{{minutes(0, 60)}, {minutes(0, 30)}},
			edit: rig.Config{"archive": rig.Config{"min_coverage": 0.6}}, want: "f1",
		},
		{
			name: "must_cover_start", holds: []parts{{minutes(10, 90)}, {minutes(0, 30)}},
			edit: rig.Config{"archive": rig.Config{"must_cover_start": true}}, want: "f2",
		},
		{
			name: "must_cover_start_of_one_farm", holds: []parts{{minutes(10, 90)}, {minutes(20, 50)}},
			first: rig.Config{"archive": rig.Config{"must_cover_start": true}}, want: "f2",
		},
		{
			name: "nobody_covers_the_start", holds: []parts{{minutes(10, 90)}, {minutes(20, 50)}},
			edit: rig.Config{"archive": rig.Config{"must_cover_start": true}}, want: "archive_missing",
		},
		{name: "only_the_last_farm", holds: []parts{{}, {}, {minutes(30, 40)}}, want: "f3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			servers := map[string]*rig.Recorder{}
			var list []rig.Config
			for i, holds := range row.holds {
				name := fmt.Sprint("f", i+1)
				servers[name] = rig.NewRecorder(t, name).Holds("ort", holds...)
				farm := recordedBy("farm"+fmt.Sprint(i+1), row.edit, servers[name])
				if i == 0 {
					for k, v := range row.first {
						farm[k] = v
					}
				}
				list = append(list, farm)
			}
			c := scene(list...)
			if row.archive != nil {
				c["archive"] = row.archive
			}
			x := explainAt(t, configFile(t, c), archiveNow, url)
			if r := servers[row.want]; r != nil {
				sentTo(t, x, r, url)
			} else {
				refusedFor(t, x, 404, row.want)
			}
		})
	}
}

// TestArchiveWithoutDates: a playlist that tells no times is taken to begin
// where the window does, and says so.
func TestArchiveWithoutDates(t *testing.T) {
	t.Parallel()
	const url = "/ort/archive-1767132000-3600.m3u8"
	a := rig.NewRecorder(t, "a").Undated().Holds("ort", stretch(1767132000, 1767132000+2400))
	b := rig.NewRecorder(t, "b").Holds("ort", stretch(1767132000, 1767132000+1800))
	x := explainAt(t, configFile(t, scene(recordedBy("main", nil, b, a))), archiveNow, url)
	sentTo(t, x, a, url)
	if held, asked := x.held("a"); held != 2400 || asked != 3600 {
		t.Errorf("it holds %d of %d s, want 2400 of 3600", held, asked)
	}
	x.wantWhy(t, "b", "holds_less")
}

// TestArchiveTroubleIsNotAbsence: who answers 5xx or nothing may hold the window.
func TestArchiveTroubleIsNotAbsence(t *testing.T) {
	t.Parallel()
	const url = "/ort/archive-1767132000-3600.m3u8"
	all := stretch(1767132000, 1767135600)
	for _, mode := range []struct {
		name string
		mode rig.RecorderMode
		why  map[string]bool
	}{
		{"5xx", rig.Failing, map[string]bool{"trouble": true}},
		{"silent", rig.Silent, map[string]bool{"trouble": true, "unanswered": true}},
		{"blackholed", rig.Blackholed, map[string]bool{"trouble": true, "unanswered": true, "down": true}},
	} {
		for _, timeout := range []float64{0.3, 5} {
			name := fmt.Sprintf("%s_request_timeout_%v", mode.name, timeout)
			config := func(servers ...*rig.Recorder) rig.Config {
				return with(scene(recordedBy("main", nil, servers...)), "redirection", rig.Config{"request_timeout_sec": timeout, "decision_timeout_sec": 1})
			}
			t.Run(name+"_alone", func(t *testing.T) {
				t.Parallel()
				a := rig.NewRecorder(t, "a").HoldsAll(all).Set(mode.mode)
				b := rig.NewRecorder(t, "b")
				x := explainAt(t, configFile(t, config(a, b)), archiveNow, url)
				refusedFor(t, x, 503, "farm_down")
				if !mode.why[x.why("a")] {
					t.Errorf("a is %q: %v", x.why("a"), x)
				}
				x.wantWhy(t, "b", "absent")
			})
			t.Run(name+"_beside_a_part", func(t *testing.T) {
				t.Parallel()
				a := rig.NewRecorder(t, "a").HoldsAll(all).Set(mode.mode)
				b := rig.NewRecorder(t, "b").HoldsAll(stretch(1767132000, 1767133000))
				x := explainAt(t, configFile(t, config(a, b)), archiveNow, url)
				sentTo(t, x, b, url)
				if why := x.why("a"); why == "absent" || why == "holds_less" {
					t.Errorf("a is %q: %v", why, x)
				}
			})
		}
	}
}

// TestClocksGoBackAndForth: 02:30 comes twice in Berlin on 2026-10-25 and never
// on 2026-03-29.
func TestClocksGoBackAndForth(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) int64 {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when.Unix()
	}
	hour := func(text string) rig.Stretch { return stretch(at(text), at(text)+3600) }
	for _, row := range []struct {
		name  string
		local string
		a, b  rig.Stretch
		start string // that is read
		now   string
	}{
		{"twice", "2026-10-25:02-30", hour("2026-10-25T00:30:00Z"), hour("2026-10-25T01:30:00Z"), "2026-10-25T00:30:00Z", "2026-11-01T00:00:00Z"},
		{"never", "2026-03-29:02-30", hour("2026-03-29T01:30:00Z"), hour("2026-03-29T00:30:00Z"), "2026-03-29T01:30:00Z", "2026-04-01T00:00:00Z"},
		{"winter", "2026-01-10:02-30", hour("2026-01-10T01:30:00Z"), hour("2026-01-10T00:30:00Z"), "2026-01-10T01:30:00Z", "2026-02-01T00:00:00Z"},
		{"summer", "2026-07-10:02-30", hour("2026-07-10T00:30:00Z"), hour("2026-07-10T01:30:00Z"), "2026-07-10T00:30:00Z", "2026-08-01T00:00:00Z"},
	} {
		for _, where := range []string{"archive", "farm"} {
			t.Run(row.name+"_zone_of_the_"+where, func(t *testing.T) {
				t.Parallel()
				now := time.Unix(at(row.now), 0)
				a := rig.NewRecorder(t, "a").In(berlin).At(now).Holds("7", row.a)
				b := rig.NewRecorder(t, "b").In(berlin).At(now).Holds("7", row.b)
				c := scene(recordedBy("main", nil, a, b))
				if where == "archive" {
					c["archive"] = rig.Config{"timezone": "Europe/Berlin"}
				} else {
					c = scene(recordedBy("main", rig.Config{"timezone": "Europe/Berlin"}, a, b))
				}
				url := "/timeshift/u/p/60/" + row.local + "/7.m3u8"
				x := explainAt(t, configFile(t, c), now.Unix(), url)
				sentTo(t, x, a, url)
				if x.Content.Start != at(row.start) || x.Content.End != at(row.start)+3600 {
					t.Errorf("read as %v to %v", time.Unix(x.Content.Start, 0).UTC(), time.Unix(x.Content.End, 0).UTC())
				}
				if held, asked := x.held("a"); held != asked {
					t.Errorf("a holds %d of %d s", held, asked)
				}
			})
		}
	}
}
