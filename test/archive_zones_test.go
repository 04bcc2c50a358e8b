package test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestFarmsInOtherZones: a time without its zone is read by each server in its
// farm's, so each farm is asked and judged about its own window, and coverage is
// compared across them. Of 01:30 on 2025-12-31 Moscow makes 22:30 UTC on the day
// before, Tashkent 20:30.
func TestFarmsInOtherZones(t *testing.T) {
	t.Parallel()
	load := func(name string) *time.Location {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return zone
	}
	const (
		url      = "/timeshift/u/p/60/2025-12-31:01-30/7.m3u8"
		moscow   = int64(1767133800)
		tashkent = moscow - 2*3600
	)
	minutes := func(start int64, n int64) rig.Stretch { return stretch(start, start+n*60) }
	for _, row := range []struct {
		name  string
		zones string        // of the farms, a word each: m, t, or - for the default, which is Moscow
		holds []rig.Stretch // of each farm's server
		now   int64
		want  int // the farm, or -1
		start int64
	}{
		{"both_hold_their_own", "m t", []rig.Stretch{minutes(moscow, 60), minutes(tashkent, 60)}, archiveNow, 0, moscow},
		{"both_hold_the_others", "m t", []rig.Stretch{minutes(tashkent, 60), minutes(moscow, 60)}, archiveNow, -1, 0},
		{"the_second_holds_its_own", "m t", []rig.Stretch{minutes(tashkent, 60), minutes(tashkent, 60)}, archiveNow, 1, tashkent},
		{"the_second_holds_more", "m t", []rig.Stretch{minutes(moscow, 30), minutes(tashkent, 60)}, archiveNow, 1, tashkent},
		{"the_first_holds_more", "m t", []rig.Stretch{minutes(moscow, 50), minutes(tashkent, 30)}, archiveNow, 0, moscow},
		{"the_third_is_where_the_first_is", "m t m", []rig.Stretch{minutes(moscow, 10), minutes(tashkent, 30), minutes(moscow, 60)}, archiveNow, 2, moscow},
		{"the_default", "- t", []rig.Stretch{minutes(moscow, 30), minutes(tashkent, 60)}, archiveNow, 1, tashkent},
		{"one_zone", "t t", []rig.Stretch{minutes(tashkent, 30), minutes(tashkent, 60)}, archiveNow, 1, tashkent},
		{"in_the_future_of_the_first", "m t", []rig.Stretch{minutes(moscow, 60), minutes(tashkent, 60)}, tashkent + 3000, 1, tashkent},
		{"in_the_future_of_the_second", "t m", []rig.Stretch{minutes(tashkent, 60), minutes(moscow, 60)}, tashkent + 3000, 0, tashkent},
		{"in_the_future_of_both", "m t", []rig.Stretch{minutes(moscow, 60), minutes(tashkent, 60)}, tashkent - 3000, -1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var list []rig.Config
			var servers []*rig.Recorder
			for i, word := range []byte(row.zones) {
				if i%2 == 1 {
					continue
				}
				zone, edit := load("Europe/Moscow"), rig.Config{"timezone": "Europe/Moscow"}
				switch word {
				case 't':
					zone, edit = load("Asia/Tashkent"), rig.Config{"timezone": "Asia/Tashkent"}
				case '-':
					edit = nil
				}
				n := len(servers)
				r := rig.NewRecorder(t, fmt.Sprint("s", n)).In(zone).At(time.Unix(row.now, 0)).Holds("7", row.holds[n])
				servers = append(servers, r)
				list = append(list, recordedBy(fmt.Sprint("farm", n), edit, r))
			}
			c := with(scene(list...), "archive", rig.Config{"timezone": "Europe/Moscow"})
			x := explainAt(t, configFile(t, c), row.now, url)
			if row.want < 0 {
				reason := "archive_missing"
				if row.now < tashkent {
					reason = "archive_future"
				}
				refusedFor(t, x, 404, reason)
				return
			}
			sentTo(t, x, servers[row.want], url)
			if x.Content.Start != row.start || x.Content.End != row.start+3600 {
				t.Errorf("read as %v to %v", time.Unix(x.Content.Start, 0).UTC(), time.Unix(x.Content.End, 0).UTC())
			}
		})
	}
}

// TestFarmsInOtherZonesServe: the same for viewers, cold and warm; a URL that
// tells its zone is one window for all.
func TestFarmsInOtherZonesServe(t *testing.T) {
	t.Parallel()
	moscow, err := time.LoadLocation("Europe/Moscow")
	if err != nil {
		t.Fatal(err)
	}
	tashkent, err := time.LoadLocation("Asia/Tashkent")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-24 * time.Hour).Truncate(time.Hour)
	local := start.In(tashkent).Format("2006-01-02:15-04")
	a := rig.NewRecorder(t, "a").In(moscow).HoldsAll(stretch(start.Unix()+2*3600, start.Unix()+2*3600+1200))
	b := rig.NewRecorder(t, "b").In(tashkent).HoldsAll(stretch(start.Unix(), start.Unix()+3600))
	p := rig.Start(t, scene(
		recordedBy("moscow", rig.Config{"timezone": "Europe/Moscow"}, a),
		recordedBy("tashkent", rig.Config{"timezone": "Asia/Tashkent"}, b),
	))
	for _, path := range []string{
		"/timeshift/u/p/60/" + local + "/7.m3u8?token=cold",
		"/timeshift/u/p/60/" + local + "/7.m3u8?token=warm",
		fmt.Sprintf("/7/archive-%d-3600.m3u8?token=told", start.Unix()),
	} {
		if r := p.Get(path); r.StatusCode != 302 || r.Location() != b.URL()+path {
			t.Errorf("%s: %d to %q %s, want b", path, r.StatusCode, r.Location(), r.Body)
		}
	}
	for _, r := range []*rig.Recorder{a, b} {
		asked := r.Asked()
		panel := "/timeshift/u/p/60/" + local + "/7.m3u8"
		var targets []string
		for target, times := range asked {
			targets = append(targets, target)
			if times != 1 {
				t.Errorf("%s was asked %d times for %s", r.Name, times, target)
			}
		}
		if len(asked) != 2 || !slices.Contains(targets, panel) {
			t.Errorf("%s was asked for %v", r.Name, targets)
		}
	}
}

// TestFarmsInOtherZonesWithoutTheFirst: nobody of the first zone can be asked.
func TestFarmsInOtherZonesWithoutTheFirst(t *testing.T) {
	t.Parallel()
	tashkent, err := time.LoadLocation("Asia/Tashkent")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-24 * time.Hour).Truncate(time.Hour)
	b := rig.NewRecorder(t, "b").In(tashkent).HoldsAll(stretch(start.Unix(), start.Unix()+3600))
	slow := rig.NewRecorder(t, "slow").In(tashkent).Set(rig.Silent)
	off := rig.NewRecorder(t, "off")
	c := scene(
		rig.Config{"name": "moscow", "timezone": "Europe/Moscow", "servers": []any{rig.Config{"name": "off", "url": off.URL(), "state": "disabled"}}},
		recordedBy("tashkent", rig.Config{"timezone": "Asia/Tashkent"}, slow, b),
	)
	path := "/timeshift/u/p/60/" + start.In(tashkent).Format("2006-01-02:15-04") + "/7.m3u8"
	sentTo(t, explainAt(t, configFile(t, c), time.Now().Unix(), path), b, path)
	p := rig.Start(t, c)
	began := time.Now()
	if r := p.Get(path); r.StatusCode != 302 || r.Location() != b.URL()+path {
		t.Errorf("%d to %q %s, want b", r.StatusCode, r.Location(), r.Body)
	}
	t.Logf("it took %v", time.Since(began))
	if n := off.Questions(); n > 0 {
		t.Errorf("the disabled server was asked %d times", n)
	}
}
