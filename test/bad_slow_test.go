package test

import (
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestBadSlowHeads holds fault F42: connections whose request never comes are
// closed at the deadline of the head, and viewers notice nothing meanwhile.
func TestBadSlowHeads(t *testing.T) {
	const slow = 2000
	s := newBadScene(t, rig.Config{"trusted_proxies": []string{"127.0.0.1/32"}})
	s.warm(t, noLine, forwardedFor)
	base := s.p.Footprint()

	conns := make([]net.Conn, slow)
	begun := make([]time.Time, slow)
	for i := range conns {
		begun[i] = time.Now()
		conn, err := rig.DialFrom("127.0.0.3", s.p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		conns[i] = conn
	}
	var closed sync.WaitGroup
	var soonest, latest atomic.Int64 // nanoseconds from the connection's beginning
	soonest.Store(int64(time.Hour))
	start := time.Now()
	for i, conn := range conns {
		closed.Go(func() {
			stall(conn, i)
			took := int64(time.Since(begun[i]))
			for old := soonest.Load(); took < old && !soonest.CompareAndSwap(old, took); old = soonest.Load() {
			}
			for old := latest.Load(); took > old && !latest.CompareAndSwap(old, took); old = latest.Load() {
			}
		})
	}
	var over atomic.Bool
	go func() { closed.Wait(); over.Store(true) }()

	waits := make([][]time.Duration, 2)
	var viewers sync.WaitGroup
	for i := range waits {
		k := s.p.KeepAlive()
		viewers.Go(func() {
			for !over.Load() && time.Since(start) < 20*time.Second {
				asked := time.Now()
				if res, err := k.Get(knownPath); err != nil || res.StatusCode != 302 {
					t.Errorf("a viewer was answered %v, %v", res.Response, err)
					return
				}
				waits[i] = append(waits[i], time.Since(asked))
				<-time.After(time.Millisecond)
			}
		})
	}
	viewers.Wait()
	if !over.Load() {
		t.Fatal("slow connections are still open after 20 s")
	}
	// The head's deadline is the five seconds and the decision's.
	if d := time.Duration(latest.Load()); d > 9*time.Second {
		t.Errorf("the last slow connection was closed after %v, expected 6.5 s", d)
	}
	if d := time.Duration(soonest.Load()); d < 6*time.Second {
		t.Errorf("the first slow connection was closed after %v, expected 6.5 s", d)
	}
	all := slices.Sorted(slices.Values(slices.Concat(waits...)))
	if p99 := all[len(all)*99/100]; p99 > 50*time.Millisecond {
		t.Errorf("p99 of %d viewers was %v beside %d slow connections", len(all), p99, slow)
	}
	t.Logf("%d viewers: median %v, p99 %v", len(all), all[len(all)/2], all[len(all)*99/100])
	s.p.Settles(10*time.Second, base)
}

// stall keeps a connection busy without ever ending a head until the other side
// closes it: some say nothing, some begin a TLS handshake, some send a byte every
// half second.
func stall(conn net.Conn, i int) {
	switch i % 3 {
	case 0:
	case 1:
		_, _ = conn.Write(clientHello())
	case 2:
		_, _ = io.WriteString(conn, "GET /known/index.m3u8 HTTP/1.1\r\nX-Slow: ")
		done := make(chan struct{})
		defer close(done)
		go func() {
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_, _ = conn.Write([]byte("a"))
				case <-done:
					return
				}
			}
		}()
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.Copy(io.Discard, conn)
}
