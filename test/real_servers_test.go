package test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestRealServers puts Pointsman in front of two farms of nginx with ffmpeg
// behind them, and ffmpeg and nginx before it. Its parts run in this order:
// each leaves the field whole but for what the next needs gone.
func TestRealServers(t *testing.T) {
	servers := realServers(t)
	f := &realField{servers, rig.Start(t, realConfig(servers, "first_response"))}

	t.Run("all-well", func(t *testing.T) {
		t.Run("hls-plays", func(t *testing.T) { t.Parallel(); f.plays(t, newsHLS, "player-hls") })
		t.Run("dash-plays", func(t *testing.T) { t.Parallel(); f.plays(t, newsDASH, "player-dash") })
		t.Run("undated-hls-plays", func(t *testing.T) { t.Parallel(); f.plays(t, sportHLS, "player-sport") })
		t.Run("fastcgi", func(t *testing.T) { t.Parallel(); compareFastCGI(t, servers) })
		t.Run("crowd-spreads", func(t *testing.T) {
			t.Parallel()
			got := f.viewers(t, newsHLS, 0, 1000)
			if got["near-1"] < 300 || got["near-2"] < 300 || len(got) != 2 {
				t.Errorf("1,000 viewers: %v, expected about half on each server of farm near", got)
			}
			t.Logf("1,000 viewers: %v", got)
		})
	})
	t.Run("frozen", func(t *testing.T) {
		f.server("near-1").encoders[sport].Kill()
		f.server("near-2").encoders[news].Kill()
		t.Run("undated-hls", func(t *testing.T) { t.Parallel(); f.frozen(t, "near-1", "near-2", sportHLS) })
		t.Run("dated-hls", func(t *testing.T) { t.Parallel(); f.frozen(t, "near-2", "near-1", newsHLS) })
		t.Run("dash", func(t *testing.T) { t.Parallel(); f.frozen(t, "near-2", "near-1", newsDASH) })
	})
	t.Run("moves-again", f.movesAgain)
	t.Run("removed", f.removed)
	t.Run("silent", f.silent)
	t.Run("killed", f.killed)
	t.Run("killed-farm", f.killedFarm)
	if extra := f.NotJSON(); len(extra) > 0 {
		t.Errorf("the log has lines that are no JSON: %q", extra)
	}
}

// playTime is how long ffmpeg plays.
const playTime = 20 * time.Second

// plays has ffmpeg play a channel through the redirect.
func (f *realField) plays(t *testing.T, path, agent string) {
	played := rig.Play(t, f.Viewers+path, agent, playTime)
	t.Logf("played %v", played)
	// Five pictures a second; one may be lost at either end.
	if want := 5*int(playTime/time.Second) - 2; played.Status != 0 || played.Frames < want || played.Length < playTime-time.Second {
		t.Errorf("played %v; expected %v in at least %d pictures", played, playTime, want)
	}
	// Who was asked for segments, and that nothing was refused on the way.
	segments, from := 0, map[string]bool{}
	for _, s := range f.servers {
		for _, answer := range s.Answered(agent) {
			status, target, _ := strings.Cut(answer, " ")
			if status != "200" && status != "206" {
				t.Errorf("%s answered the player %s", s.name, answer)
			}
			if strings.HasSuffix(target, ".ts") || strings.HasSuffix(target, ".m4s") {
				segments++
				from[s.name] = true
			}
		}
	}
	if segments < 10 || len(from) != 1 || !from["near-1"] && !from["near-2"] {
		t.Errorf("%d segments came from %v, expected at least 10 from one server of farm near", segments, from)
	}
	decisions := 0
	for _, line := range f.Log() {
		if line["msg"] == "decision" && line["ua"] == agent {
			decisions++
			if server, _ := line["server"].(string); line["reason"] != "ok" || !from[server] {
				t.Errorf("the player was sent elsewhere than it played from: %v", line)
			}
		}
	}
	if decisions == 0 {
		t.Error("the log has no decision for the player")
	}
	t.Logf("%d segments from %v after %d decisions", segments, from, decisions)
}

// frozen expects that a server whose playlist stands still, while it goes on
// answering 200, gets no viewer.
func (f *realField) frozen(t *testing.T, server, other, path string) {
	f.awaitWhy(t, 40*time.Second, server, path, "frozen")
	if status := fetch(t, f.server(server), path); status != http.StatusOK {
		t.Errorf("%s answers %d for its standing playlist, expected 200", server, status)
	}
	if got := f.viewers(t, path, 0, 200); got[other] != 200 {
		t.Errorf("200 viewers of %s: %v, expected all on %s", path, got, other)
	}
}

// fetch asks a server itself for a viewer's path and returns the status.
func fetch(t *testing.T, s *realServer, path string) int {
	t.Helper()
	res, err := http.Get(s.URL() + strings.TrimPrefix(path, "/tv"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// movesAgain expects viewers back on servers whose encoders run again.
func (f *realField) movesAgain(t *testing.T) {
	f.server("near-1").encoders[sport].Start()
	f.server("near-2").encoders[news].Start()
	for _, at := range []struct{ server, path string }{{"near-1", sportHLS}, {"near-2", newsHLS}, {"near-2", newsDASH}} {
		rig.Eventually(t, 20*time.Second, func() error {
			f.viewers(t, at.path, 3000, 20) // what nobody asks for is not looked at again
			return f.usable(t, at.server, at.path)
		})
		if got := f.viewers(t, at.path, 4000, 200); got[at.server] == 0 {
			t.Errorf("200 viewers of %s: %v, expected some on %s again", at.path, got, at.server)
		}
	}
}

// removed expects that a channel which one server has no longer is served by
// the other.
func (f *realField) removed(t *testing.T) {
	f.viewers(t, sportHLS, 0, 200) // some of them have been on near-1
	f.server("near-1").encoders[sport].Remove()
	if status := fetch(t, f.server("near-1"), sportHLS); status != http.StatusNotFound {
		t.Fatalf("near-1 answers %d for a channel that it has no longer", status)
	}
	f.awaitWhy(t, 10*time.Second, "near-1", sportHLS, "absent")
	if got := f.viewers(t, sportHLS, 0, 400); got["near-2"] != 400 {
		t.Errorf("400 viewers: %v, expected all on near-2", got)
	}
	if got := f.viewers(t, newsHLS, 0, 400); got["near-1"] == 0 {
		t.Errorf("400 viewers of the channel that stayed: %v, expected some on near-1", got)
	}
}

// silent expects that a server which answers nothing more gets none of the next
// thousand viewers once its timeouts are counted, and viewers when it is back.
func (f *realField) silent(t *testing.T) {
	before := f.viewers(t, newsHLS, 5000, 1000)
	from := len(f.Log())
	f.server("near-2").Pause()
	line := f.WaitLog(20*time.Second, "server is down", from)
	if line["server"] != "near-2" || !strings.Contains(line["why"].(string), "time") {
		t.Errorf("the log says %v, expected timeouts of near-2", line)
	}
	f.none(t, "near-2", before, f.viewers(t, newsHLS, 5000, 1000))
	f.server("near-2").Resume()
	f.awaitState(t, "near-2", "up")
	rig.Eventually(t, 20*time.Second, func() error {
		f.viewers(t, newsHLS, 3000, 20)
		return f.usable(t, "near-2", newsHLS)
	})
	if got := f.viewers(t, newsHLS, 7000, 200); got["near-2"] == 0 {
		t.Errorf("200 viewers after it came back: %v, expected some on near-2", got)
	}
}

// killed expects that a server which refuses connections gets none of the next
// thousand viewers once that has been seen.
func (f *realField) killed(t *testing.T) {
	before := f.viewers(t, newsHLS, 9000, 1000)
	from := len(f.Log())
	f.server("near-1").Kill()
	line := f.WaitLog(20*time.Second, "server is down", from)
	if line["server"] != "near-1" || !strings.Contains(line["why"].(string), "refused") {
		t.Errorf("the log says %v, expected refused connections of near-1", line)
	}
	f.none(t, "near-1", before, f.viewers(t, newsHLS, 9000, 1000))
}

// none expects that a server had some of a thousand viewers before and has none
// of them after.
func (f *realField) none(t *testing.T, server string, before, after map[string]int) {
	t.Helper()
	t.Logf("1,000 viewers before: %v, after: %v", before, after)
	if before[server] == 0 {
		t.Errorf("of 1,000 viewers before: %v, expected some on %s", before, server)
	}
	if after[server] != 0 || after["near-1"]+after["near-2"] != 1000 {
		t.Errorf("of the next 1,000 viewers: %v, expected none on %s and all on the other server of farm near", after, server)
	}
}

// killedFarm expects viewers on the next farm when nobody of theirs is left,
// and back when somebody is.
func (f *realField) killedFarm(t *testing.T) {
	from := len(f.Log())
	f.server("near-2").Kill()
	f.WaitLog(20*time.Second, "server is down", from)
	for _, path := range []string{newsHLS, newsDASH, sportHLS} {
		got := f.viewers(t, path, 0, 500)
		t.Logf("500 viewers of %s: %v", path, got)
		if got["far-1"]+got["far-2"] != 500 || got["far-1"] == 0 || got["far-2"] == 0 {
			t.Errorf("500 viewers of %s: %v, expected all on the two servers of farm far", path, got)
		}
	}
	f.server("near-2").Start()
	f.awaitState(t, "near-2", "up")
	rig.Eventually(t, 20*time.Second, func() error {
		f.viewers(t, newsHLS, 3000, 20)
		return f.usable(t, "near-2", newsHLS)
	})
	if got := f.viewers(t, newsHLS, 0, 200); got["near-2"] != 200 {
		t.Errorf("200 viewers after near-2 came back: %v, expected all there", got)
	}
}
