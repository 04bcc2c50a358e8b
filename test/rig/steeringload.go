package rig

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Polled is the answer to one request of [Pointsman.Polls].
type Polled struct {
	Status   int
	Location string
	Body     string
}

// pipelined is how many requests leave at once on a connection.
const pipelined = 32

// Polls asks the viewer listener for ask(0) to ask(count-1), over connections on
// which requests follow each other without waiting for answers, and hands over
// each answer, from several goroutines. It reads no more of HTTP than the answers
// need, because a test with tens of thousands of viewers should spend its time on
// what it tests.
func (p *Pointsman) Polls(ctx context.Context, connections, count int, ask func(i int) Ask, got func(i int, a Polled)) {
	p.T.Helper()
	var done sync.WaitGroup
	errs := make(chan error, connections)
	for n := range connections {
		done.Go(func() {
			if err := p.polls(ctx, n, connections, count, ask, got); err != nil {
				errs <- err
			}
		})
	}
	done.Wait()
	close(errs)
	for err := range errs {
		p.T.Fatal(err)
	}
}

// polls asks for every i that leaves the remainder n.
func (p *Pointsman) polls(ctx context.Context, n, of, count int, ask func(i int) Ask, got func(i int, a Polled)) error {
	conn, err := DialFrom("", p.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	for at := n; at < count; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var out strings.Builder
		first := at
		for i := 0; i < pipelined && at < count; i, at = i+1, at+of {
			out.WriteString(ask(at).head(p.Addr()))
		}
		_ = conn.SetDeadline(time.Now().Add(answerWithin))
		if _, err := io.WriteString(conn, out.String()); err != nil {
			return fmt.Errorf("polling: %w", err)
		}
		for i := first; i < at; i += of {
			a, err := readPolled(in)
			if err != nil {
				return fmt.Errorf("polling, request %d: %w", i, err)
			}
			got(i, a)
		}
	}
	return nil
}

// readPolled reads one answer, which must have a Content-Length.
func readPolled(in *bufio.Reader) (a Polled, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return a, err
	}
	if a.Status, err = strconv.Atoi(string(line[len("HTTP/1.1 "):len("HTTP/1.1 200")])); err != nil {
		return a, err
	}
	length := -1
	for {
		line, err = in.ReadSlice('\n')
		if err != nil {
			return a, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return a, err
			}
		case "Location":
			a.Location = string(value)
		}
	}
	if length < 0 {
		return a, fmt.Errorf("status %d without Content-Length", a.Status)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return a, err
	}
	a.Body = string(body)
	return a, nil
}
