package redirector_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/redirector"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// pipes is a network in memory: every host is the same streaming server, and a
// synctest bubble's clock governs it.
type pipes struct {
	hanging atomic.Bool // playlists hang, the status answers
	server  http.Server
	conns   chan net.Conn
	closed  chan struct{}
	close   sync.Once
}

func newPipes(t *testing.T) *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.server = http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = p.server.Serve(p) }()
	t.Cleanup(func() { _ = p.server.Close() })
	return p
}

func (p *pipes) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// ServeHTTP is up, and has every channel.
func (p *pipes) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/":
	case p.hanging.Load():
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	default:
		sequence := time.Now().Unix() / 2
		_, _ = fmt.Fprintf(rw, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:%d\n", sequence)
		for i := range int64(3) {
			_, _ = fmt.Fprintf(rw, "#EXTINF:2.000,\nseg%d.ts\n", sequence+i)
		}
	}
}

const decisionTimeout = 1500 * time.Millisecond

// scene joins a real board and an engine, as the command does, with the
// configuration's default settings.
func scene(t *testing.T, p *pipes, policy farms.Policy, servers int) http.Handler {
	t.Helper()
	client, err := fetch.New(fetch.Options{UserAgent: "pointsman-probe/test", Dial: p.dial})
	if err != nil {
		t.Fatal(err)
	}
	spec := &farms.Spec{
		Rules: farms.Rules{StaleIfError: 600 * time.Second, OffAir: 600 * time.Second, SlowStart: 30 * time.Second, Sticky: time.Minute},
	}
	farm := farms.FarmSpec{Name: "main", Policy: policy}
	for i := range servers {
		name := fmt.Sprint("edge", i)
		spec.Servers = append(spec.Servers, farms.ServerSpec{Name: name, URL: "http://" + name, StatusPath: "/"})
		farm.Members = append(farm.Members, farms.MemberSpec{Server: name, Weight: 1})
	}
	spec.Farms = []farms.FarmSpec{farm}
	spec.Locations = []farms.LocationSpec{{Name: "everybody", Farms: []string{"main"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}}
	table, err := farms.Build(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := clientip.New(nil, clientip.XForwardedFor)
	if err != nil {
		t.Fatal(err)
	}
	set := probe.Settings{
		StatusInterval: 30 * time.Second, RequestTimeout: 5 * time.Second, DecisionTimeout: decisionTimeout,
		LiveAge: 10 * time.Second, VoDAge: 20 * time.Second, StaleIfError: 600 * time.Second, OffAir: 600 * time.Second,
		SweepInterval: time.Minute, Rise: 1, Fall: 2, MaxInFlight: 8, MaxPerSec: 20, StrangersPerSec: 50, StrangersBurst: 500,
	}
	metrics := redirector.NewMetrics("test", "test")
	board := probe.NewBoard(probe.Options{Client: client, Result: metrics.Probe}, set)
	engine := redirector.New(redirector.Options{
		Prober: board, Log: zerolog.Nop(), Decisions: zerolog.Nop(), Metrics: metrics,
		Alarms: redirector.NewAlarms(zerolog.Nop(), metrics.Alarm),
	})
	board.Update(table.Servers, set)
	engine.Swap(table, &redirector.Settings{Clients: clients, DecisionTimeout: set.DecisionTimeout})
	ctx, end := context.WithCancel(t.Context())
	board.Start(ctx)
	t.Cleanup(func() {
		end()
		board.Wait()
		client.Close()
	})
	<-board.Ready()
	return engine.Viewers()
}

// open has a viewer open a channel and returns the answer's status, and where
// it leads or why it does not.
func open(viewers http.Handler, channel, viewer int) (status int, answer string) {
	r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/ch%d/index.m3u8", channel), nil)
	r.RemoteAddr = fmt.Sprintf("192.0.2.%d:4000", viewer%250+1)
	r.Header.Set("User-Agent", fmt.Sprint("player ", viewer))
	rw := httptest.NewRecorder()
	viewers.ServeHTTP(rw, r)
	return rw.Code, rw.Header().Get("Location") + rw.Body.String()
}

// Playlists hang for five minutes while the servers' status is up: a server
// that cannot be asked is not one that has not got the channel, so nobody who
// opens a channel known before is refused.
func TestScenario3PlaylistsHang(t *testing.T) {
	t.Parallel()
	const (
		servers  = 4
		channels = 100
		reopened = 10_000
		hang     = 5 * time.Minute
	)
	for _, policy := range []farms.Policy{farms.FirstResponse, farms.ContentID, farms.Share, farms.ByWeight} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPipes(t)
				viewers := scene(t, p, policy, servers)
				for i := range 4 * channels { // every channel becomes known
					if status, answer := open(viewers, i%channels, i); status != http.StatusFound {
						t.Fatalf("channel %d before the hang: %d %s", i%channels, status, answer)
					}
					time.Sleep(150 * time.Millisecond)
				}
				p.hanging.Store(true)
				var done sync.WaitGroup
				var refused, waited atomic.Int64
				start := time.Now()
				for i := range reopened {
					done.Go(func() {
						asked := time.Now()
						status, answer := open(viewers, i*7%channels, i/2)
						if status != http.StatusFound && refused.Add(1) == 1 {
							t.Errorf("channel %d, %v into the hang: %d %s", i*7%channels, asked.Sub(start), status, answer)
						}
						took := time.Since(asked)
						if took > decisionTimeout {
							t.Errorf("channel %d, %v into the hang: the answer took %v", i*7%channels, asked.Sub(start), took)
						}
						if took > 0 {
							waited.Add(1)
						}
					})
					time.Sleep(hang / reopened)
				}
				done.Wait()
				t.Logf("%d of %d reopenings refused, %d waited for an answer", refused.Load(), reopened, waited.Load())
				p.hanging.Store(false)
				time.Sleep(time.Minute)
				if status, answer := open(viewers, 0, 1); status != http.StatusFound {
					t.Errorf("after the hang: %d %s", status, answer)
				}
			})
		})
	}
}
