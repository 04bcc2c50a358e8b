package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// What players are tested with: the TTL is the least there is, the buffer is
// what player.js asks for, and playerSlack is for requests on their way and for
// a clock of a player's own, beside what the machine keeps the browser waiting.
const (
	playerTTL    = 2 * time.Second
	playerBuffer = 4 * time.Second
	playerSlack  = 1500 * time.Millisecond
	playerLength = 90 * time.Second // of the recording; a scenario takes a third of it

	playerPatience = 30 * time.Second // for what has no bound of its own
)

// playerMoves is how soon after a change of order the first segment comes from
// the other server.
const playerMoves = playerTTL + rig.SegmentTime + playerSlack

// TestPlayers has real players in a real browser follow our steering manifests,
// over an operator's word and a server's death. Which server they are on is told
// by whom they ask for segments.
func TestPlayers(t *testing.T) {
	rig.Chromium(t)
	dir := filepath.Join(t.TempDir(), "files")
	rig.EncodeCMAF(t, filepath.Join(dir, "film"), playerLength)
	browser := rig.StartBrowser(t, "/steering")
	for _, c := range []struct {
		name, player, manifest string
		// returns tells whether the player comes back to a server that failed it as
		// soon as the manifest has it first again: dash.js avoids it for one TTL,
		// hls.js for 300 s, when it left by itself, and Shaka for 60 s.
		returns func(rig.Report) bool
	}{
		{"hls.js", "hls.js", rig.AssetHLS, func(r rig.Report) bool { return len(r.Penalties) == 0 }},
		{"dash.js", "dash.js", rig.AssetDASH, func(rig.Report) bool { return true }},
		{"shaka_HLS", "shaka", rig.AssetHLS, func(rig.Report) bool { return false }},
		{"shaka_DASH", "shaka", rig.AssetDASH, func(rig.Report) bool { return false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newPlayerScene(t, dir)
			// session_key names this parameter, so the name decides where it starts.
			s.play(browser, c.player, "/film/"+c.manifest+"?token="+c.name+"~%2F")
			s.starts()
			s.follows()
			s.survives(c.returns)
			s.endsWell()
		})
	}
}

// playerScene is one player that plays from two servers, each a pathway.
type playerScene struct {
	*rig.Pointsman
	t       *testing.T
	page    *rig.Page
	servers map[string]*rig.FileServer // by pathway
	home    string                     // the pathway on which the player starts
	away    string                     // the other
	path    string                     // of the manifest that it plays, with the viewer's query
	session string                     // the query parameter that names its session
	begun   time.Time
}

func newPlayerScene(t *testing.T, dir string) *playerScene {
	t.Helper()
	s := &playerScene{t: t, servers: map[string]*rig.FileServer{}}
	var farms []rig.Config
	for _, name := range []string{"a", "b"} {
		server := rig.NewFileServer(t, name, dir)
		s.servers[name] = server
		farms = append(farms, rig.Config{
			"name": name, "public_url": server.PublicURL(),
			"servers": []any{rig.Config{"name": name + "1", "url": server.URL()}},
		})
	}
	c := with(scene(farms...), "redirection", fastStatus())
	// Half of the sessions begin on each, so that it is not by chance that the
	// redirect, the playlist and the steering manifest name the same.
	c["redirection"].(rig.Config)["locations"].([]any)[0].(rig.Config)["split"] = rig.Config{"a": 50, "b": 50}
	c["probe"] = rig.Config{"slow_start_sec": 1}
	c["steering"] = rig.Config{
		"decorate": true,
		"ttl_sec":  int(playerTTL.Seconds()), "degraded_ttl_sec": int(playerTTL.Seconds()), "min_ttl_sec": int(playerTTL.Seconds()),
	}
	s.Pointsman = rig.Start(t, c)
	return s
}

// play opens the link that a viewer is given.
func (s *playerScene) play(browser *rig.Browser, player, path string) {
	s.t.Helper()
	s.path, s.begun = path, time.Now()
	s.page = browser.Play(s.t, player, strings.Replace(s.Viewers, "127.0.0.1", "steer.localhost", 1)+path)
	s.t.Cleanup(func() {
		s.page.Screenshot(filepath.Join(s.t.ArtifactDir(), "page.png"))
		if s.t.Failed() {
			s.t.Logf("in seconds:\n%s", s.story())
		}
	})
}

// starts waits for the first segment and the first steering manifests, and
// expects that they, the playlist and the redirect are of one mind.
func (s *playerScene) starts() {
	s.t.Helper()
	rig.Eventually(s.t, playerPatience, func() error {
		r := s.page.Report()
		if r.Time() < 2*time.Second || len(r.Polls) < 2 {
			return fmt.Errorf("the player does not start: %v", r)
		}
		return nil
	})
	polls := s.page.Report().Polls
	first := s.manifest(polls[0])
	s.home = first.First()
	for id := range s.servers {
		if id != s.home {
			s.away = id
		}
	}
	s.session = "pm_sid=" + first.Session()
	for _, p := range polls {
		if got := s.manifest(p).First(); got != s.home {
			s.t.Errorf("the pathway that came first was %s, then %s, and nothing has happened", s.home, got)
		}
	}
	for _, d := range s.deliveries() {
		if d.Host != s.servers[s.home].Host() {
			s.t.Errorf("%s was asked for %s, expected that it starts on pathway %s", d.Host, d.Path, s.home)
		}
	}
	s.t.Logf("it starts on pathway %s", s.home)
	s.sends(s.home)
}

// decorated finds the pathway that a playlist or an MPD has players start on.
var decorated = regexp.MustCompile(`(?:#EXT-X-CONTENT-STEERING:.*PATHWAY-ID|defaultServiceLocation)="([^"]*)"`)

// sends expects that the session is sent to one pathway whatever it asks for: by
// the playlist, by the redirect in its place, which is told to who asks for JSON,
// and by the redirect for a segment.
func (s *playerScene) sends(pathway string) {
	s.t.Helper()
	want := s.servers[pathway].URL() + "/film/"
	r := s.Get(s.path + "&" + s.session)
	if m := decorated.FindStringSubmatch(r.Body); m == nil || m[1] != pathway {
		s.t.Errorf("the playlist begins with %q, expected pathway %s:\n%s", m, pathway, r.Body)
	}
	r = s.Get(s.path+"&"+s.session, "Accept", "application/json")
	var told struct{ URL, Farm string }
	if err := json.Unmarshal([]byte(r.Body), &told); err != nil || !strings.HasPrefix(told.URL, want) || told.Farm != pathway {
		s.t.Errorf("%s is answered %d %s, expected a redirect to %s of farm %s", s.path, r.StatusCode, r.Body, want, pathway)
	}
	r = s.Get("/film/" + rig.AssetSegment + "?" + s.session)
	if r.StatusCode != http.StatusFound || !strings.HasPrefix(r.Location(), want) {
		s.t.Errorf("a segment is answered %d to %s, expected a redirect to %s, pathway %s", r.StatusCode, r.Location(), want, pathway)
	}
}

// follows pins the other pathway, and takes that back.
func (s *playerScene) follows() {
	s.t.Helper()
	at := time.Now()
	if r := s.Operator("POST", "/admin/pathways/"+s.away, `{"action":"pin"}`); r.StatusCode != http.StatusOK {
		s.t.Fatalf("pinning %s: %d %s", s.away, r.StatusCode, r.Body)
	}
	s.moves("the other pathway was pinned", at, s.away)
	s.sends(s.away)
	s.stays(s.away, playerTTL)

	at = time.Now()
	if r := s.Operator("DELETE", "/admin/pathways/"+s.away, ""); r.StatusCode != http.StatusOK {
		s.t.Fatalf("taking the pin back: %d %s", r.StatusCode, r.Body)
	}
	s.moves("the pin was taken back", at, s.home)
	s.sends(s.home)
	s.stays(s.home, 2*rig.SegmentTime)
}

// survives kills the server that serves, and has it come back.
func (s *playerScene) survives(returns func(rig.Report) bool) {
	s.t.Helper()
	home := s.servers[s.home]
	before := s.page.Report().Time()
	at := time.Now()
	home.Stop()
	s.moves("its server died", at, s.away)
	s.offers(at, s.away)
	rig.Eventually(s.t, playerPatience, func() error {
		// What it had in its buffer was played, and more.
		if r := s.page.Report(); r.Time() < before+playerBuffer+rig.SegmentTime {
			return fmt.Errorf("it does not play on: it was at %v when its server died, and now %v", before, r)
		}
		return nil
	})

	at = time.Now()
	home.Start()
	offered := s.offers(at, s.home)
	s.t.Logf("pathway %s is offered first again %v after its server came back", s.home, offered.Sub(at).Round(time.Millisecond))
	s.sends(s.home)
	if returns(s.page.Report()) {
		s.moves("its server came back", offered, s.home)
	} else {
		s.stays("", rig.SegmentTime)
	}
}

// endsWell looks at the whole of it.
func (s *playerScene) endsWell() {
	s.t.Helper()
	r := s.page.Report()
	s.t.Log(r)
	if stall, since := r.LongestStall(); stall > playerBuffer {
		s.t.Errorf("the picture stood still for %v, from %.1f s on; expected at most its buffer, %v", stall, since.Sub(s.begun).Seconds(), playerBuffer)
	}
	if r.Frames == 0 {
		s.t.Error("no picture was shown")
	}
	polling := r.Polls[len(r.Polls)-1].At().Sub(r.Polls[0].At())
	// A player's TTL lasts longer than ours, by its answers' way and by what the
	// machine keeps it waiting.
	if n, most := len(r.Polls)-1, int(polling/playerTTL)+1; n > most || n < most*3/4-1 {
		s.t.Errorf("it asked %d times in %v after the first, expected about one every %v", n, polling, playerTTL)
	}
	_, own, _ := strings.Cut(s.path, "?")
	for _, p := range r.Polls {
		if !strings.Contains(p.URL, own) {
			s.t.Errorf("it asked for %s, which has lost the viewer's own %s", p.URL, own)
		}
	}
	moves := []string{s.home, s.away, s.home, s.away}
	if got := reported(r.Polls); len(got) < len(moves) || !slices.Equal(got[:len(moves)], moves) {
		s.t.Errorf("it reported to be on the pathways %v one after the other, expected %v", got, moves)
	}
	for _, e := range append(r.Errors, r.Wrong...) {
		s.t.Errorf("error in the page: %s", e)
	}
}

// moves waits for the first segment that is asked of a pathway's server after at,
// and expects it in time.
func (s *playerScene) moves(after string, at time.Time, pathway string) {
	s.t.Helper()
	host := s.servers[pathway].Host()
	var first rig.Delivery
	rig.Eventually(s.t, playerPatience, func() error {
		for _, d := range s.deliveries() {
			if d.Host == host && d.At.After(at) {
				first = d
				return nil
			}
		}
		return fmt.Errorf("after %s nobody asks %s for segments", after, host)
	})
	took := first.At.Sub(at)
	s.t.Logf("%v after %s: %s%s", took.Round(time.Millisecond), after, first.Host, first.Path)
	if late := s.page.Report().Late(at, first.At); took > playerMoves+late {
		s.t.Errorf("%v after %s the first segment was asked of %s, expected within %v, and %v for the machine", took, after, host, playerTTL+rig.SegmentTime, playerSlack+late)
	}
}

// stays waits until the player has played on for some time, and expects that it
// was served by one pathway meanwhile, "" any.
func (s *playerScene) stays(pathway string, d time.Duration) {
	s.t.Helper()
	from, at := s.page.Report().Time(), time.Now()
	rig.Eventually(s.t, playerPatience, func() error {
		if r := s.page.Report(); r.Time() < from+d {
			return fmt.Errorf("it does not play on: it was at %v, and now %v", from, r)
		}
		return nil
	})
	for _, x := range s.deliveries() {
		if pathway != "" && x.At.After(at) && x.Host != s.servers[pathway].Host() {
			s.t.Errorf("%s was asked for %s, expected %s to stay on pathway %s", x.Host, x.Path, s.page.Report(), pathway)
		}
	}
}

// offers waits until the player was sent a manifest, after at, that has a
// pathway first, and returns when.
func (s *playerScene) offers(at time.Time, pathway string) (when time.Time) {
	s.t.Helper()
	rig.Eventually(s.t, playerPatience, func() error {
		polls := s.page.Report().Polls
		for _, p := range polls {
			if p.At().After(at) && s.manifest(p).First() == pathway {
				when = p.At()
				return nil
			}
		}
		return fmt.Errorf("pathway %s is not offered first; the last of %d manifests was %s", pathway, len(polls), polls[len(polls)-1].Body)
	})
	return when
}

// reported lists the pathways that a player's polls name, each once for a stay.
func reported(polls []rig.Poll) (all []string) {
	for _, p := range polls {
		u, err := url.Parse(p.URL)
		if err != nil {
			continue // a player has asked for it
		}
		q := u.Query()
		// DASH players list all since the poll before, dash.js in quotes.
		for _, id := range strings.Split(strings.Trim(q.Get("_HLS_pathway")+q.Get("_DASH_pathway"), `"`), ",") {
			if id != "" && (len(all) == 0 || all[len(all)-1] != id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// manifest reads what the player was sent.
func (s *playerScene) manifest(p rig.Poll) rig.Manifest {
	s.t.Helper()
	m, err := rig.ReadManifest(p.Body)
	if err != nil || p.Status != http.StatusOK {
		s.t.Fatalf("%s was answered %d: %v", p.URL, p.Status, err)
	}
	return m
}

// deliveries are the segments that the player asked for, in order.
func (s *playerScene) deliveries() []rig.Delivery {
	var all []rig.Delivery
	for _, server := range s.servers {
		all = append(all, server.Deliveries()...)
	}
	slices.SortFunc(all, func(a, b rig.Delivery) int { return a.At.Compare(b.At) })
	return all
}

// story tells what happened when, for whoever has to find out why.
func (s *playerScene) story() string {
	type event struct {
		at   time.Time
		what string
	}
	var events []event
	for _, d := range s.deliveries() {
		events = append(events, event{d.At, d.Host + d.Path})
	}
	for _, p := range s.page.Report().Polls {
		var order struct {
			Priority json.RawMessage `json:"PATHWAY-PRIORITY"`
		}
		_ = json.Unmarshal([]byte(p.Body), &order)
		events = append(events, event{p.At(), fmt.Sprintf("poll %s: %d %s", p.URL, p.Status, order.Priority)})
	}
	for _, x := range s.page.Report().Samples {
		events = append(events, event{time.UnixMilli(int64(x[0])), fmt.Sprintf("plays %.2f", x[1])})
	}
	slices.SortFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%6.2f %s\n", e.at.Sub(s.begun).Seconds(), e.what)
	}
	return b.String()
}
