// Command bench measures, in one run, the CPU time that one redirect costs
// (a) a bare net/http handler with a constant 302, (b) pointsman with 1,000
// locations and its JSON decision log on, and (c) nginx with geo and return 302.
//
// Each server runs on one pinned core with the same load from the other one:
// keep-alive connections from many addresses of 127.0.0.0/8. What counts is the
// server's own CPU time (user and system) per request, so that the machine's
// other work does not. The rounds alternate and the median is taken.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"
)

func main() {
	bare := flag.String("bare", "", "internal: be the bare handler on this address")
	rounds := flag.Int("rounds", 5, "rounds of every server")
	seconds := flag.Float64("seconds", 3, "length of a round")
	bar := flag.Float64("bar", 1.4, "highest allowed ratio of (b) to (a)")
	flag.Parse()
	if *bare != "" {
		serveBare(*bare)
		return
	}
	if err := compare(*rounds, time.Duration(*seconds*float64(time.Second)), *bar); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serveBare is (a): the least a net/http redirect can be.
func serveBare(addr string) {
	location := []string{"http://127.0.0.1:1/channel1/index.m3u8"}
	zero := []string{"0"}
	srv := &http.Server{Addr: addr, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		h := rw.Header()
		h["Location"], h["Content-Length"] = location, zero
		rw.WriteHeader(http.StatusFound)
	})}
	fmt.Fprintln(os.Stderr, srv.ListenAndServe())
	os.Exit(1)
}

// contender is one server under test.
type contender struct {
	name    string
	process *process
	addr    string
	perReq  []time.Duration
}

func compare(rounds int, length time.Duration, bar float64) error {
	dir, err := os.MkdirTemp("", "pointsman-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	origin, err := startOrigin()
	if err != nil {
		return err
	}
	defer origin.Close()
	contenders, stop, err := startAll(dir, origin.url)
	defer stop()
	if err != nil {
		return err
	}
	for round := range rounds {
		for _, c := range contenders {
			if round == 0 { // warm: caches, buffers, the first questions
				if _, err := load(c.addr, length/3); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			before, err := c.process.cpu()
			if err != nil {
				return err
			}
			n, err := load(c.addr, length)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			after, err := c.process.cpu()
			if err != nil {
				return err
			}
			c.perReq = append(c.perReq, (after-before)/time.Duration(max(n, 1)))
		}
	}
	return report(contenders, bar)
}

func report(contenders []*contender, bar float64) error {
	base := median(contenders[0].perReq)
	for _, c := range contenders {
		m := median(c.perReq)
		fmt.Printf("%-58s %8v CPU per request  %.2f × (a)   rounds %v\n", c.name, m, float64(m)/float64(base), c.perReq)
	}
	if ratio := float64(median(contenders[1].perReq)) / float64(base); ratio > bar {
		return fmt.Errorf("(b) costs %.2f × (a), the bar is %.2f", ratio, bar)
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}
