package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Load says how many viewers ask at once and how fast.
type Load struct {
	Connections int     // kept alive; all are open before the first request leaves
	Count       int     // requests
	PerSecond   float64 // 0: as fast as the answers come
}

// Ask is one request of a load: its target, and header name, value, name,
// value….
type Ask struct {
	Target string
	Header []string
}

// Answer is what one request of a load got.
type Answer struct {
	At       time.Time // when it was asked; zero: the load was ended before
	Took     time.Duration
	Status   int
	Location string
	Reason   string // a refusal's word
	Err      error  // no answer came
}

// Server is the base URL of the server that the viewer was sent to.
func (a Answer) Server() string {
	u, err := url.Parse(a.Location)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// String is an answer in a few words, for failing tests.
func (a Answer) String() string {
	switch {
	case a.Err != nil:
		return a.Err.Error()
	case a.Location != "":
		return fmt.Sprintf("%d to %s", a.Status, a.Location)
	default:
		return fmt.Sprintf("%d %s", a.Status, a.Reason)
	}
}

// answerWithin bounds the wait for one answer: more than the longest decision.
const answerWithin = 20 * time.Second

// Load asks the viewer listener for ask(0), ask(1)… and returns the answers in
// that order, once all are there or ctx has ended. It speaks HTTP/1.1 by itself,
// because the standard client costs more than what it measures here.
func (p *Pointsman) Load(ctx context.Context, l Load, ask func(i int) Ask) []Answer {
	addr := strings.TrimPrefix(p.Viewers, "http://")
	answers := make([]Answer, l.Count)
	var next atomic.Int64
	var open, done sync.WaitGroup
	begin := make(chan struct{})
	var start time.Time
	open.Add(l.Connections)
	for range l.Connections {
		done.Go(func() {
			c := &viewerConn{addr: addr}
			defer c.close()
			err := c.dial()
			open.Done()
			<-begin
			for {
				i := int(next.Add(1)) - 1
				if i >= l.Count || ctx.Err() != nil {
					return
				}
				if l.PerSecond > 0 {
					at := start.Add(time.Duration(float64(i) / l.PerSecond * float64(time.Second)))
					select {
					case <-time.After(time.Until(at)):
					case <-ctx.Done():
						return
					}
				}
				answers[i], err = c.ask(ask(i), err)
			}
		})
	}
	open.Wait()
	start = time.Now()
	close(begin)
	done.Wait()
	return answers
}

// viewerConn is one connection to the viewer listener.
type viewerConn struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
}

func (c *viewerConn) dial() error {
	conn, err := net.DialTimeout("tcp", c.addr, answerWithin)
	if err != nil {
		return err
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	return nil
}

func (c *viewerConn) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// ask sends one request; broken says that the last one failed, so that the
// connection is made anew.
func (c *viewerConn) ask(a Ask, broken error) (out Answer, err error) {
	out.At = time.Now()
	defer func() {
		out.Took, out.Err = time.Since(out.At), err
	}()
	if broken != nil || c.conn == nil {
		c.close()
		if err = c.dial(); err != nil {
			return out, err
		}
	}
	_ = c.conn.SetDeadline(out.At.Add(answerWithin))
	if _, err = io.WriteString(c.conn, a.head(c.addr)); err != nil {
		return out, err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return out, err
	}
	out.Status, out.Location = res.StatusCode, res.Header.Get("Location")
	var problem struct {
		Reason string `json:"reason"`
	}
	if len(body) > 0 {
		if err = json.Unmarshal(body, &problem); err != nil {
			return out, fmt.Errorf("reading the refusal %q: %w", body, err)
		}
	}
	out.Reason = problem.Reason
	if res.Close {
		c.close()
	}
	return out, nil
}

// head writes the request; a Host among its headers takes the place of the
// listener's.
func (a Ask) head(host string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\n", a.Target)
	for i := 0; i+1 < len(a.Header); i += 2 {
		if strings.EqualFold(a.Header[i], "Host") {
			host = a.Header[i+1]
			continue
		}
		fmt.Fprintf(&b, "%s: %s\r\n", a.Header[i], a.Header[i+1])
	}
	fmt.Fprintf(&b, "Host: %s\r\n\r\n", host)
	return b.String()
}

// Busiest returns the most questions that an origin got in any window of a
// length. A question is one request for a multivariant playlist and the request
// for the media playlist that may follow; it is counted by the former.
func (o *Origin) Busiest(window time.Duration) int {
	var starts []time.Time
	for _, s := range o.Seen() {
		if path, _, _ := strings.Cut(s.URI, "?"); strings.HasSuffix(path, "/index.m3u8") {
			starts = append(starts, s.At)
		}
	}
	most, first := 0, 0
	for i, at := range starts {
		for at.Sub(starts[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
