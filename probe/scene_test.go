package probe

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// scene is a board over a network in memory, inside a synctest bubble.
type scene struct {
	t      *testing.T
	net    *memNet
	board  *Board
	table  *farms.Table
	client *fetch.Client
	hosts  []*memHost
	end    context.CancelFunc

	mu       sync.Mutex
	changes  []change
	isolated []isolationCall
	results  map[string]int // by kind and word
}

type change struct {
	at     time.Time
	server string
	health *farms.Health
}

type isolationCall struct {
	at     time.Time
	on     bool
	detail string
}

// defaults are the configuration's default settings.
func defaults() Settings {
	return Settings{
		StatusInterval: 30 * time.Second, RequestTimeout: 5 * time.Second, DecisionTimeout: 1500 * time.Millisecond,
		LiveAge: 10 * time.Second, VoDAge: 20 * time.Second, StaleIfError: 600 * time.Second, OffAir: 600 * time.Second,
		SweepInterval: time.Minute, Rise: 1, Fall: 2, Depth: DepthMedia,
		MaxInFlight: 8, MaxPerSec: 20, StrangersPerSec: 50, StrangersBurst: 500,
	}
}

// newScene makes a board that is not started: servers are added first.
func newScene(t *testing.T, set Settings) *scene {
	t.Helper()
	s := &scene{t: t, net: newMemNet(t), results: make(map[string]int)}
	client, err := fetch.New(fetch.Options{UserAgent: "pointsman-probe/test", Dial: s.net.dial})
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	s.board = NewBoard(Options{
		Client: client,
		Isolated: func(on bool, detail string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.isolated = append(s.isolated, isolationCall{time.Now(), on, detail})
		},
		Changed: func(fs *farms.Server, h *farms.Health) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changes = append(s.changes, change{time.Now(), fs.Name, h})
		},
		Result: func(kind, result string, _ time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.results[kind+" "+result]++
		},
	}, set)
	return s
}

// serve adds a server edgeN with a handler.
func (s *scene) serve(h http.Handler) *memHost {
	host := s.net.host(fmt.Sprintf("edge%d:80", len(s.hosts)), h)
	s.hosts = append(s.hosts, host)
	return host
}

// spec is the table's spec of the first n servers.
func (s *scene) spec(n int) *farms.Spec {
	spec := &farms.Spec{}
	farm := farms.FarmSpec{Name: "main"}
	for i := range n {
		name := fmt.Sprintf("edge%d", i)
		spec.Servers = append(spec.Servers, farms.ServerSpec{Name: name, URL: "http://" + name, StatusPath: "/"})
		farm.Members = append(farm.Members, farms.MemberSpec{Server: name, Weight: 1})
	}
	spec.Farms = []farms.FarmSpec{farm}
	return spec
}

func build(t testing.TB, spec *farms.Spec) *farms.Table {
	t.Helper()
	table, err := farms.Build(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// update loads a table of the first n servers.
func (s *scene) update(n int, set Settings) {
	s.t.Helper()
	s.load(s.spec(n), set)
}

func (s *scene) load(spec *farms.Spec, set Settings) {
	s.t.Helper()
	s.table = build(s.t, spec)
	s.board.Update(s.table.Servers, set)
}

// start loads all servers and starts the board until the test ends. synctest
// itself fails the test when a goroutine is left then.
func (s *scene) start() {
	s.t.Helper()
	if s.table == nil && len(s.hosts) > 0 { // a table has no farm without servers
		s.update(len(s.hosts), *s.board.settings.Load())
	}
	ctx, end := context.WithCancel(s.t.Context())
	s.end = end
	s.board.Start(ctx)
	s.t.Cleanup(func() {
		end()
		s.board.Wait()
		s.client.Close()
	})
}

// after lets fake time pass.
func (s *scene) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// hls is a generic HLS content.
func hls(channel string) farms.Content {
	return farms.Content{Channel: channel, Path: "/" + channel + "/index.m3u8", Protocol: farms.ProtocolHLS}
}

// ask asks all servers about a channel and waits for the answers.
func (s *scene) ask(channel string) *farms.Known {
	s.t.Helper()
	s.board.Ask(hls(channel), s.table.Servers, false)
	s.after(0)
	return s.board.Content(hls(channel))
}

// fact is what server i said about a channel.
func (s *scene) fact(channel string, i int) farms.Fact {
	s.t.Helper()
	f := s.board.Content(hls(channel)).Of(s.table.Servers[i].Endpoint)
	if f == nil {
		s.t.Fatalf("nothing is known of %s on edge%d", channel, i)
	}
	return *f
}

// health is the health of server i.
func (s *scene) health(i int) farms.Health {
	s.t.Helper()
	h := s.board.Health(s.table.Servers[i].Endpoint)
	if h == nil {
		s.t.Fatalf("nothing is known of edge%d", i)
	}
	return *h
}

// conditions writes the servers' conditions as a word: u up, d down, ? unknown.
func (s *scene) conditions() string {
	s.t.Helper()
	out := make([]byte, len(s.table.Servers))
	for i := range out {
		out[i] = "?ud"[s.health(i).Condition]
	}
	return string(out)
}

func (s *scene) isolationCalls() []isolationCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]isolationCall(nil), s.isolated...)
}

func (s *scene) changesOf(server string) []change {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []change
	for _, c := range s.changes {
		if c.server == server {
			out = append(out, c)
		}
	}
	return out
}

// bubble runs a test in fake time.
func bubble(t *testing.T, name string, run func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, run)
	})
}
