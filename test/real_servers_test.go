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
	f := &realField{servers, rig.Start(t, realConfig(servers, "share", "first_response"))}

	// The players play beside what else needs everything to be well.
	hls := rig.Play(t, f.Viewers+realNewsHLS, "player-hls", realPlayTime)
	dash := rig.Play(t, f.Viewers+realNewsDASH, "player-dash", realPlayTime)
	undated := rig.Play(t, f.Viewers+realSportHLS, "player-undated", realPlayTime)
	t.Run("crowd-spreads", f.crowdSpreads)
	t.Run("fastcgi", func(t *testing.T) { realFastCGISame(t, servers) })
	t.Run("hls-plays", func(t *testing.T) { f.played(t, hls.Wait(), "player-hls") })
	t.Run("dash-plays", func(t *testing.T) { f.played(t, dash.Wait(), "player-dash") })
	t.Run("undated-hls-plays", func(t *testing.T) { f.played(t, undated.Wait(), "player-undated") })

	f.server("near-1").encoders[realSport].Kill()
	f.server("near-2").encoders[realNews].Kill()
	t.Run("undated-hls-frozen", func(t *testing.T) { f.frozen(t, "near-1", "near-2", realSportHLS) })
	t.Run("hls-frozen", func(t *testing.T) { f.frozen(t, "near-2", "near-1", realNewsHLS) })
	t.Run("dash-frozen", func(t *testing.T) { f.frozen(t, "near-2", "near-1", realNewsDASH) })
	t.Run("moves-again", f.movesAgain)
	t.Run("removed", f.removed)
	t.Run("silent", f.silent)
	t.Run("killed", f.killed)
	t.Run("killed-farm", f.killedFarm)
	if extra := f.NotJSON(); len(extra) > 0 {
		t.Errorf("the log has lines that are no JSON: %q", extra)
	}
}

// realPlayTime is how long ffmpeg plays.
const realPlayTime = 20 * time.Second

// crowdSpreads expects a crowd on both servers of the first farm.
func (f *realField) crowdSpreads(t *testing.T) {
	got := f.viewers(t, realNewsHLS, 0, 1000)
	t.Logf("1,000 viewers: %v", got)
	if got["near-1"] < 300 || got["near-2"] < 300 || got["near-1"]+got["near-2"] != 1000 {
		t.Errorf("1,000 viewers: %v, expected about half on each server of farm near", got)
	}
}

// played expects that ffmpeg has played a channel through the redirect, from
// one server.
func (f *realField) played(t *testing.T, played rig.Played, agent string) {
	t.Logf("played %v", played)
	// Five pictures a second; one may be lost at either end.
	if want := 5*int(realPlayTime/time.Second) - 2; played.Status != 0 || played.Frames < want || played.Length < realPlayTime-time.Second {
		t.Errorf("played %v; expected %v in at least %d pictures", played, realPlayTime, want)
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
	if status := realFetch(t, f.server(server), path); status != http.StatusOK {
		t.Errorf("%s answers %d for its standing playlist, expected 200", server, status)
	}
	if got := f.viewers(t, path, 0, 200); got[other] != 200 {
		t.Errorf("200 viewers of %s: %v, expected all on %s", path, got, other)
	}
}

// realFetch asks a server itself for a viewer's path and returns the status.
func realFetch(t *testing.T, s *realServer, path string) int {
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
	f.server("near-1").encoders[realSport].Start()
	f.server("near-2").encoders[realNews].Start()
	for _, at := range []struct{ server, path string }{{"near-1", realSportHLS}, {"near-2", realNewsHLS}, {"near-2", realNewsDASH}} {
		f.awaitViewers(t, at.server, at.path)
	}
}

// removed expects that a channel which one server has no longer is served by
// the other.
func (f *realField) removed(t *testing.T) {
	f.viewers(t, realSportHLS, 0, 200) // some of them have been on near-1
	f.server("near-1").encoders[realSport].Remove()
	if status := realFetch(t, f.server("near-1"), realSportHLS); status != http.StatusNotFound {
		t.Fatalf("near-1 answers %d for a channel that it has no longer", status)
	}
	f.awaitWhy(t, 10*time.Second, "near-1", realSportHLS, "absent")
	if got := f.viewers(t, realSportHLS, 0, 400); got["near-2"] != 400 {
		t.Errorf("400 viewers: %v, expected all on near-2", got)
	}
	if got := f.viewers(t, realNewsHLS, 0, 400); got["near-1"] == 0 {
		t.Errorf("400 viewers of the channel that stayed: %v, expected some on near-1", got)
	}
}

// silent expects that a server which answers nothing more gets none of the next
// thousand viewers once its timeouts are counted, and viewers when it is back.
func (f *realField) silent(t *testing.T) {
	before := f.viewers(t, realNewsHLS, 5000, 1000)
	from := len(f.Log())
	f.server("near-2").Pause()
	line := f.WaitLog(20*time.Second, "server is down", from)
	if line["server"] != "near-2" || !strings.Contains(line["why"].(string), "time") {
		t.Errorf("the log says %v, expected timeouts of near-2", line)
	}
	f.none(t, "near-2", before, f.viewers(t, realNewsHLS, 5000, 1000))
	f.server("near-2").Resume()
	f.awaitState(t, "near-2", "up")
	f.awaitViewers(t, "near-2", realNewsHLS)
}

// killed expects that a server which refuses connections gets none of the next
// thousand viewers once that has been seen.
func (f *realField) killed(t *testing.T) {
	before := f.viewers(t, realNewsHLS, 9000, 1000)
	from := len(f.Log())
	f.server("near-1").Kill()
	line := f.WaitLog(20*time.Second, "server is down", from)
	if line["server"] != "near-1" || !strings.Contains(line["why"].(string), "refused") {
		t.Errorf("the log says %v, expected refused connections of near-1", line)
	}
	f.none(t, "near-1", before, f.viewers(t, realNewsHLS, 9000, 1000))
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
	for _, path := range []string{realNewsHLS, realNewsDASH, realSportHLS} {
		got := f.viewers(t, path, 0, 500)
		t.Logf("500 viewers of %s: %v", path, got)
		if got["far-1"]+got["far-2"] != 500 {
			t.Errorf("500 viewers of %s: %v, expected all on the servers of farm far", path, got)
		}
	}
	f.server("near-2").Start()
	f.awaitState(t, "near-2", "up")
	f.awaitViewers(t, "near-2", realNewsHLS)
	if got := f.viewers(t, realNewsHLS, 0, 200); got["near-2"] != 200 {
		t.Errorf("200 viewers after near-2 came back: %v, expected all there", got)
	}
}
