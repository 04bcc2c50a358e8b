package fetch_test

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"sync"
	"testing"
	"time"
)

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// talk starts a server that hands its connections to talk as they are, and
// returns its address.
func talk(t testing.TB, talk func(net.Conn)) string {
	t.Helper()
	l := listen(t)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				talk(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	return l.Addr().String()
}

// pipe is a dialer in memory, for fake time: each connection is handed to talk.
func pipe(talk func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			talk(theirs)
		}()
		return ours, nil
	}
}

// drip writes head and then a byte a second until the other side is gone.
func drip(c net.Conn, head string) {
	if _, err := io.WriteString(c, head); err != nil {
		return
	}
	for {
		time.Sleep(time.Second)
		if _, err := io.WriteString(c, "x"); err != nil {
			return
		}
	}
}

func newReader(c net.Conn) *bufio.Reader { return bufio.NewReader(c) }

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// corrupt flips the last byte but four, in gzip's checksum.
func corrupt(z []byte) []byte {
	z[len(z)-5] ^= 0xff
	return z
}
