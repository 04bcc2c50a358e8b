package test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/fake"
	"github.com/pointsman-tv/pointsman/test/rig"
)

// yesterday is the beginning of an hour a day ago, and a stretch of so many
// minutes of it.
func yesterday(from, to int) (int64, rig.Stretch) {
	hour := time.Now().Add(-24 * time.Hour).Truncate(time.Hour).Unix()
	return hour, stretch(hour+int64(from)*60, hour+int64(to)*60)
}

// unpaced lets as many questions go as a test asks.
func unpaced() rig.Config {
	return rig.Config{"max_per_sec_per_server": 10000, "max_in_flight_per_server": 64, "unknown_channels_per_sec": 100000, "unknown_channels_burst": 100000}
}

// TestColdWindowsBesideABlackhole: six servers, one of which swallows every
// question, one of which holds all, and the others a part.
func TestColdWindowsBesideABlackhole(t *testing.T) {
	t.Parallel()
	hour, all := yesterday(0, 60)
	var servers []*rig.Recorder
	for i := range 6 {
		_, part := yesterday(i*5, i*5+20)
		servers = append(servers, rig.NewRecorder(t, fmt.Sprint("s", i)).HoldsAll(part))
	}
	full, dead := servers[3].HoldsAll(all), servers[0]
	for _, policy := range []string{"first_response", "content_id", "weight", "share"} {
		t.Run(policy, func(t *testing.T) {
			dead.Set(rig.Recording)
			c := scene(recordedBy("main", rig.Config{"policy": policy}, servers...))
			c["probe"] = unpaced()
			p := rig.Start(t, c)
			dead.Set(rig.Blackholed)
			answers := p.Load(t.Context(), rig.Load{Connections: 10, Count: 100}, func(i int) rig.Ask {
				return rig.Ask{Target: fmt.Sprintf("/%s%d/archive-%d-3600.m3u8?token=t%d", policy, i, hour, i)}
			})
			var slowest time.Duration
			for i, a := range answers {
				slowest = max(slowest, a.Took)
				if want := fmt.Sprintf("%s/%s%d/archive-%d-3600.m3u8?token=t%d", full.URL(), policy, i, hour, i); a.Location != want {
					t.Errorf("viewer %d: %v after %v, want %s", i, a, a.Took, want)
				}
			}
			t.Logf("the slowest of %d took %v", len(answers), slowest)
			if slowest > 1500*time.Millisecond {
				t.Errorf("the slowest took %v, expected at most decision_timeout_sec", slowest)
			}
		})
	}
}

// TestProgrammeGuidesDiffer: edge case 43. Two viewers whose guides differ by
// seconds cost one question and each keep their own URL.
func TestProgrammeGuidesDiffer(t *testing.T) {
	t.Parallel()
	hour, all := yesterday(0, 120)
	a, b := rig.NewRecorder(t, "a").HoldsAll(all), rig.NewRecorder(t, "b").HoldsAll(all)
	p := rig.Start(t, scene(recordedBy("main", nil, a, b)))
	// On the grid of a minute both begin at 00:10 and end at 01:11.
	for i, window := range []string{"%d-3600", "%d-3620"} {
		path := fmt.Sprintf("/ort/archive-"+window+".m3u8?token=%%7Bme%%7D%d&t=%%zz", hour+620-int64(i)*20, i)
		r := p.Get(path)
		if r.StatusCode != 302 || r.Location() != a.URL()+path && r.Location() != b.URL()+path {
			t.Errorf("%d to %q, want the viewer's own %s", r.StatusCode, r.Location(), path)
		}
	}
	for _, r := range []*rig.Recorder{a, b} {
		if asked := r.Asked(); len(asked) != 1 || r.Questions() != 1 {
			t.Errorf("%s was asked %v, expected one question", r.Name, asked)
		}
		for target := range r.Asked() {
			if want := fmt.Sprintf("/ort/archive-%d-3660.m3u8", hour+600); target != want {
				t.Errorf("%s was asked for %s, want %s and nothing of the viewers' own", r.Name, target, want)
			}
		}
	}
}

// TestManyProgrammes: 10,000 programmes of 200 channels on ten servers that tell
// all their recordings at once cost one question a channel and server.
func TestManyProgrammes(t *testing.T) {
	t.Parallel()
	const channels, programmes = 200, 50
	day, _ := yesterday(0, 0)
	recorded := fake.Channel{Recorded: []fake.Range{{From: time.Unix(day, 0).Add(-24 * time.Hour), To: time.Unix(day, 0).Add(12 * time.Hour)}}}
	var servers []any
	var fakes []*fake.Flussonic
	for i := range 10 {
		opt, kind := fake.FlussonicOptions{}, rig.Config{} // half have no API but the viewers'
		if i%2 == 0 {
			opt = fake.FlussonicOptions{User: "pointsman", Password: "secret"}
			kind = rig.Config{"api_user": "pointsman", "api_secret": "secret"}
		}
		f := fake.NewFlussonic(opt)
		for ch := range channels {
			f.Set(fmt.Sprint("ch", ch), recorded)
		}
		url := serve(t, "127.0.0.1:0", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" { // the status is no question
				f.ServeHTTP(rw, r)
			}
		}))
		server := rig.Config{"name": fmt.Sprint("f", i), "url": url, "type": "flussonic"}
		maps.Copy(server, kind)
		fakes, servers = append(fakes, f), append(servers, server)
	}
	c := scene(rig.Config{"name": "main", "policy": "content_id", "servers": servers})
	c["probe"] = unpaced()
	p := rig.Start(t, with(c, "redirection", rig.Config{"vod_range_cache_time_sec": 600}))
	for _, round := range []string{"cold", "warm"} {
		answers := p.Load(t.Context(), rig.Load{Connections: 32, Count: channels * programmes}, func(i int) rig.Ask {
			return rig.Ask{Target: fmt.Sprintf("/ch%d/archive-%d-1800.m3u8?token=t%d", i%channels, day-24*3600+int64(i/channels)*1800, i)}
		})
		refused := map[string]int{}
		for _, a := range answers {
			if a.Status != 302 {
				refused[a.String()]++
			}
		}
		if len(refused) > 0 {
			t.Errorf("%s: not redirected: %v", round, refused)
		}
		questions := 0
		for i, f := range fakes {
			n := f.Count("ranges") + f.Count("recording_status")
			questions += n
			if n > channels {
				t.Errorf("%s: server %d was asked %d times for the recordings of %d channels", round, i, n, channels)
			}
			// A stream's own document goes with its ranges: it tells what is remote.
			if viewers, streams := f.Count("viewer"), f.Count("stream"); viewers > 0 || streams > channels {
				t.Errorf("%s: server %d was asked for %d playlists and %d streams besides", round, i, viewers, streams)
			}
		}
		t.Logf("%s: %d programmes, %d questions", round, len(answers), questions)
	}
}

// TestArchiveRefusals: what is refused, and that nobody is ever sent to live
// instead.
func TestArchiveRefusals(t *testing.T) {
	t.Parallel()
	hour, _ := yesterday(0, 0)
	future := time.Now().Add(24 * time.Hour).Unix()
	a, b := rig.NewRecorder(t, "a").Live(), rig.NewRecorder(t, "b").Live()
	p := rig.Start(t, scene(recordedBy("main", nil, a, b)))
	if r := p.Get("/ort/index.m3u8"); r.StatusCode != 302 {
		t.Fatalf("live: %d %s", r.StatusCode, r.Body)
	}
	for _, row := range []struct {
		name, path string
		status     int
		reason     string
	}{
		{"no_length", fmt.Sprintf("/ort/archive-%d-0.m3u8", hour), 400, "bad_window"},
		{"inverted", fmt.Sprintf("/ort/index.m3u8?start=%d&end=%d", hour+3600, hour), 400, "bad_window"},
		{"inverted_and_in_the_future", fmt.Sprintf("/ort/index.m3u8?start=%d&end=%d", future+3600, future), 400, "bad_window"},
		{"no_time", "/ort/index.m3u8?utc=now", 400, "bad_window"},
		{"not_read", "/ort/whatever-1767132000-3600.m3u8", 400, "bad_window"},
		{"future", fmt.Sprintf("/ort/archive-%d-3600.m3u8", future), 404, "archive_future"},
		{"nobody", fmt.Sprintf("/ort/archive-%d-3600.m3u8", hour), 404, "archive_missing"},
		{"nobody_siptv", fmt.Sprintf("/ort/index.m3u8?utc=%d&lutc=%d", hour, time.Now().Unix()), 404, "archive_missing"},
		{"nobody_until_now", fmt.Sprintf("/ort/archive-%d-now.m3u8", hour), 404, "archive_missing"},
		{"nobody_relative", "/ort/timeshift_rel-7200.m3u8", 404, "archive_missing"},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r, err := rig.Do(method, p.Viewers+row.path, "")
			if err != nil {
				t.Fatal(err)
			}
			h := r.Header
			if r.StatusCode != row.status || r.Location() != "" || h.Get("Content-Type") != "application/problem+json" ||
				h.Get("Cache-Control") != "no-store" || h.Get("Retry-After") != "" {
				t.Errorf("%s %s: %d %v %s", method, row.name, r.StatusCode, h, r.Body)
			}
			if method == "GET" && r.Reason() != row.reason {
				t.Errorf("%s: reason %q, want %q: %s", row.name, r.Reason(), row.reason, r.Body)
			}
			if method == "HEAD" && r.Body != "" {
				t.Errorf("HEAD %s has a body: %s", row.name, r.Body)
			}
		}
	}
}

// TestGrowingWindows: windows that end now or later grow, on the server that has
// held them from their start.
func TestGrowingWindows(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	start := now - 3600
	all := rig.NewRecorder(t, "all").HoldsAll(stretch(start-600, now+7200))
	late := rig.NewRecorder(t, "late").HoldsAll(stretch(start+600, now+7200))
	ended := rig.NewRecorder(t, "ended").HoldsAll(stretch(start-600, start+1800))
	p := rig.Start(t, scene(recordedBy("main", nil, ended, late, all)))
	for _, path := range []string{
		fmt.Sprintf("/ort/archive-%d-now.m3u8", start),
		fmt.Sprintf("/ort/index-%d-now.m3u8", start),
		fmt.Sprintf("/ort/archive-%d-7200.m3u8", start),
		fmt.Sprintf("/ort/timeshift_abs-%d.m3u8", start),
		fmt.Sprintf("/ort/index.m3u8?utc=%d&lutc=%d", start, now),
	} {
		for _, method := range []string{"GET", "HEAD"} { // 45: alike
			r, err := rig.Do(method, p.Viewers+path, "")
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != 302 || r.Location() != all.URL()+path || r.Body != "" {
				t.Errorf("%s %s: %d to %q %s", method, path, r.StatusCode, r.Location(), r.Body)
			}
		}
	}
	// One that begins now plays on from what is written last.
	path := fmt.Sprintf("/ort/archive-%d-3600.m3u8", time.Now().Unix()+5)
	if r := p.Get(path); r.StatusCode != 302 || r.Location() != all.URL()+path && r.Location() != late.URL()+path {
		t.Errorf("%s: %d to %q %s", path, r.StatusCode, r.Location(), r.Body)
	}
}

// TestHolderGoesDown: edge case 44. What is known of a window does not outlive
// its server.
func TestHolderGoesDown(t *testing.T) {
	t.Parallel()
	hour, all := yesterday(0, 60)
	_, part := yesterday(0, 20)
	full, rest := rig.NewRecorder(t, "full").HoldsAll(all), rig.NewRecorder(t, "rest").HoldsAll(part)
	rest.Holds("alone")
	p := rig.Start(t, with(scene(recordedBy("main", nil, full, rest)), "redirection",
		rig.Config{"server_status_cache_time_sec": 1, "vod_range_cache_time_sec": 600}))
	path, alone := fmt.Sprintf("/ort/archive-%d-3600.m3u8", hour), fmt.Sprintf("/alone/archive-%d-3600.m3u8", hour)
	for _, path := range []string{path, alone} {
		if r := p.Get(path); r.Location() != full.URL()+path {
			t.Fatalf("%d to %q, want %s", r.StatusCode, r.Location(), full.Name)
		}
	}
	full.Stop()
	rig.Eventually(t, 10*time.Second, func() error {
		if s := p.Status().State("full"); s != "down" {
			return fmt.Errorf("it is %s", s)
		}
		return nil
	})
	if r := p.Get(path); r.Location() != rest.URL()+path {
		t.Errorf("%d to %q %s, want the part that is left", r.StatusCode, r.Location(), r.Body)
	}
	if r := p.Get(alone); r.StatusCode != 503 || r.Reason() != "farm_down" || r.Location() != "" {
		t.Errorf("%d to %q %s, want 503 farm_down", r.StatusCode, r.Location(), r.Body)
	}
}

// TestOnlyGuardedHolders: edge case 41. Nobody but servers that want to be paid:
// the viewer is sent there, and the operator hears of it.
func TestOnlyGuardedHolders(t *testing.T) {
	t.Parallel()
	hour, _ := yesterday(0, 0)
	a := rig.NewRecorder(t, "a").Set(rig.Forbidden)
	p := rig.Start(t, scene(recordedBy("main", nil, a, rig.NewRecorder(t, "b"))))
	path := fmt.Sprintf("/ort/archive-%d-3600.m3u8", hour)
	if r := p.Get(path); r.Location() != a.URL()+path {
		t.Errorf("%d to %q %s", r.StatusCode, r.Location(), r.Body)
	}
	rig.Eventually(t, 5*time.Second, func() error {
		if !p.Status().Alarm("only_guarded") {
			return fmt.Errorf("no alarm only_guarded: %v", p.Status().Alarms)
		}
		return nil
	})
}

// TestCredentialsInPathsAreNotLogged: Xtream panels have user and password in
// the path, and a mistyped URL still has them.
func TestCredentialsInPathsAreNotLogged(t *testing.T) {
	t.Parallel()
	_, all := yesterday(-120, 120)
	a := rig.NewRecorder(t, "a").HoldsAll(all)
	start := time.Now().Add(-24 * time.Hour).UTC().Format("2006-01-02:15-04")
	for _, prefix := range []string{"", "/hls"} {
		c := scene(recordedBy("main", nil, a, rig.NewRecorder(t, "b")))
		c["log"] = rig.Config{"decisions": true}
		p := rig.Start(t, with(c, "redirection", rig.Config{"uri_path": prefix + "/"}))
		paths := []string{
			"/timeshift/xuser/xsecret/60/" + start + "/7.m3u8",
			"/timeshift/xuser/xsecret/sixty/" + start + "/7.m3u8",
			"/timeshift/xuser/x%73ecret/60/" + start + "/7.m3u8?password=xsecret",
			"/streaming/timeshift.php?username=u&password=xsecret&stream=7&start=" + start + "&duration=60",
		}
		for i, path := range paths {
			r := p.Get(prefix + path)
			if want := a.URL() + path; i%2 == 0 && r.Location() != want {
				t.Errorf("%s: %d to %q, want %s", path, r.StatusCode, r.Location(), want)
			}
		}
		var lines []string
		rig.Eventually(t, 5*time.Second, func() error {
			lines = nil
			for _, line := range p.Log() {
				if line["msg"] == "decision" {
					lines = append(lines, fmt.Sprint(line))
				}
			}
			if len(lines) < len(paths) {
				return fmt.Errorf("%d lines", len(lines))
			}
			return nil
		})
		for _, line := range p.Log() {
			for _, secret := range []string{"xuser", "xsecret", "x%73ecret"} {
				if text := fmt.Sprint(line); strings.Contains(text, secret) {
					t.Errorf("a log line holds %q: %s", secret, text)
				}
			}
		}
		if !strings.Contains(lines[0], "target:"+prefix+"/timeshift/*") {
			t.Errorf("the target is not there: %s", lines[0])
		}
	}
}

// TestKnownRecordingsCostNoQuestion: once a server has told a channel's
// recordings, any programme of it is answered from them, however many are asked
// for at once; the budget for questions about content never seen is not touched.
func TestKnownRecordingsCostNoQuestion(t *testing.T) {
	t.Parallel()
	const programmes = 3000
	day, _ := yesterday(0, 0)
	f := fake.NewFlussonic(fake.FlussonicOptions{})
	f.Set("ort", fake.Channel{Recorded: []fake.Range{{From: time.Unix(day, 0).Add(-100 * time.Hour), To: time.Unix(day, 0).Add(12 * time.Hour)}}})
	c := scene(rig.Config{"name": "main", "servers": []any{rig.Config{"name": "f", "url": serve(t, "127.0.0.1:0", f), "type": "flussonic"}}})
	p := rig.Start(t, with(c, "redirection", rig.Config{"vod_range_cache_time_sec": 600}))
	answers := p.Load(t.Context(), rig.Load{Connections: 8, Count: programmes}, func(i int) rig.Ask {
		return rig.Ask{Target: fmt.Sprintf("/ort/archive-%d-1800.m3u8", day-100*3600+int64(i)*60)}
	})
	refused := map[string]int{}
	for _, a := range answers {
		if a.Status != 302 {
			refused[a.String()]++
		}
	}
	if n := f.Count("recording_status"); len(refused) > 0 || n != 1 {
		t.Errorf("%d questions; of %d not redirected: %v", n, programmes, refused)
	}
}
