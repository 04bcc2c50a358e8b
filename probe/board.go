package probe

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// Depth is how deep a content probe looks.
type Depth uint8

// The depths.
const (
	DepthMedia    Depth = iota // a media playlist is judged, behind a multivariant playlist too
	DepthPlaylist              // the manifest itself is enough
)

// Settings are the parts of the configuration that probing needs. All durations
// and numbers are positive; the configuration's validation sees to it.
type Settings struct {
	StatusInterval   time.Duration // between two status probes of a server
	RequestTimeout   time.Duration // of a whole probe
	DecisionTimeout  time.Duration // a question that cannot begin within it is not asked
	LiveAge          time.Duration // age of a live fact
	VoDAge           time.Duration // age of a VoD fact and of a closed window's
	RangeAgeFraction float64       // age of a growing window's fact as a fraction of its length
	StaleIfError     time.Duration
	OffAir           time.Duration
	SweepInterval    time.Duration // of expired entries
	Rise, Fall       int
	Depth            Depth
	MaxInFlight      int     // per server
	MaxPerSec        float64 // per server
	StrangersPerSec  float64 // questions about content never seen, all servers together
	StrangersBurst   int
	SelfCheck        []string
}

// Options are what a [Board] works with.
type Options struct {
	Client *fetch.Client
	// Resolve looks a server's name up, to learn its address families.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Isolated is called when all servers stop answering at once, which says
	// more about us than about them, and when that is over. May be nil.
	Isolated func(on bool, detail string)
	// Changed is called after a server changed its condition. May be nil.
	Changed func(s *farms.Server, h *farms.Health)
	// Result counts one probe: kind and result are among [Results]. May be nil.
	Result func(kind, result string, took time.Duration)
}

// Results are the closed sets of words that [Options.Result] gets, by kind.
func Results() map[string][]string {
	return map[string][]string{
		"status":  {"up", "timeout", "refused", "name", "error"},
		"content": {"present", "absent", "guarded", "trouble", "timeout", "refused"},
	}
}

// Board knows the servers' health and facts. It implements farms.Facts.
type Board struct {
	opt        Options
	settings   atomic.Pointer[Settings]
	servers    atomic.Pointer[map[farms.Endpoint]*server]
	byEndpoint atomic.Pointer[farms.Endpoints[*server]] // the same, for decisions
	contents   *contents
	bucket     *rate.Limiter
	isolated   isolation

	ready     chan struct{}
	readyOnce sync.Once

	mu   sync.Mutex // Update and Run
	ctx  context.Context
	loop sync.WaitGroup
}

// NewBoard makes a board that knows nothing yet.
func NewBoard(opt Options, settings Settings) *Board {
	b := &Board{
		opt: opt, contents: newContents(),
		bucket: rate.NewLimiter(rate.Limit(settings.StrangersPerSec), settings.StrangersBurst),
		ready:  make(chan struct{}),
	}
	b.settings.Store(&settings)
	b.setServers(map[farms.Endpoint]*server{})
	return b
}

// Health implements farms.Facts.
func (b *Board) Health(ep farms.Endpoint) *farms.Health {
	if s := b.byEndpoint.Load().Get(ep); s != nil {
		return s.health.Load()
	}
	return nil
}

// Content implements farms.Facts. For a child it returns what is known about
// the manifest it belongs to.
func (b *Board) Content(c farms.Content) *farms.Known { return b.contents.known(c) }

// Parent returns the channel of the multivariant playlist that lists path as
// one of its media playlists.
func (b *Board) Parent(path string) (channel string, ok bool) { return b.contents.parent(path) }

// Manifest returns the manifest of a channel that was last seen on some server.
func (b *Board) Manifest(channel string) (farms.Content, bool) {
	c, ok := b.contents.byChannel.Load(channel)
	if !ok {
		return farms.Content{}, false
	}
	return c.key, true
}

// Ready is closed after the first sweep of status probes, five seconds after
// the start at the latest.
func (b *Board) Ready() <-chan struct{} { return b.ready }

// firstSweep is how long readiness waits for the first status answers.
const firstSweep = 5 * time.Second

// Start begins the loops, which end with ctx; Wait waits for their end. The
// servers are those of [Board.Update], before or after.
func (b *Board) Start(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx = ctx
	for _, s := range *b.servers.Load() {
		b.startServer(s)
	}
	b.loop.Go(func() { b.sweepLoop(ctx) })
	b.loop.Go(func() { b.selfCheckLoop(ctx) })
	b.loop.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(firstSweep):
			b.markReady()
		}
	})
	b.noteSwept()
}

// Wait returns when every loop and question has ended.
func (b *Board) Wait() { b.loop.Wait() }

// Update takes over a new set of servers: new endpoints are asked from now on,
// those that are not there any more are forgotten, the others keep all that is
// known.
func (b *Board) Update(servers []*farms.Server, settings Settings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settings.Store(&settings)
	b.bucket.SetLimit(rate.Limit(settings.StrangersPerSec))
	b.bucket.SetBurst(settings.StrangersBurst)
	old := *b.servers.Load()
	next := make(map[farms.Endpoint]*server, len(servers))
	var fresh []*server
	for _, fs := range servers {
		if next[fs.Endpoint] != nil {
			continue
		}
		s := old[fs.Endpoint]
		if s == nil {
			s = newServer(fs, &settings)
			fresh = append(fresh, s)
		} else {
			s.follow(fs, &settings)
		}
		next[fs.Endpoint] = s
	}
	b.setServers(next)
	for ep, s := range old {
		if next[ep] == nil && s.stop != nil {
			s.stop()
		}
	}
	if b.ctx != nil {
		for _, s := range fresh {
			b.startServer(s)
		}
		b.checkIsolation("the servers were changed by a reload")
		b.noteSwept()
	}
}

func (b *Board) setServers(servers map[farms.Endpoint]*server) {
	b.servers.Store(&servers)
	b.byEndpoint.Store(farms.NewEndpoints(servers))
}

// startServer begins the status loop of s. b.mu is held.
func (b *Board) startServer(s *server) {
	ctx, stop := context.WithCancel(b.ctx)
	s.stop = stop
	b.loop.Go(func() { b.statusLoop(ctx, s) })
}

// noteSwept marks the board ready when every server has answered once.
func (b *Board) noteSwept() {
	for _, s := range *b.servers.Load() {
		if !s.swept.Load() {
			return
		}
	}
	b.markReady()
}

func (b *Board) markReady() { b.readyOnce.Do(func() { close(b.ready) }) }

func (b *Board) count(kind, result string, took time.Duration) {
	if b.opt.Result != nil {
		b.opt.Result(kind, result, took)
	}
}
