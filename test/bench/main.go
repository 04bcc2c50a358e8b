// Command bench measures, in one run, the CPU time that one redirect costs
// (a) a bare net/http handler with a constant 302, (b) pointsman with 1,000
// locations and its JSON decision log on, and (c) nginx with geo and return 302;
// and that one steering manifest costs (d) a bare handler with a constant body
// of the same size and (e) pointsman, its log on, for players that poll with
// their session and their report.
//
// Each server runs on one pinned core with the same load from the other one:
// keep-alive connections from many addresses of 127.0.0.0/8. What counts is the
// server's own CPU time (user and system) per request, so that the machine's
// other work does not. The rounds alternate and the median is taken.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"
)

func main() {
	bare := flag.String("bare", "", "internal: be a bare handler on this address")
	body := flag.Int("body", 0, "internal: answer with a body of so many bytes instead of a 302")
	rounds := flag.Int("rounds", 5, "rounds of every server")
	seconds := flag.Float64("seconds", 3, "length of a round")
	bar := flag.Float64("bar", 1.4, "highest allowed ratio of (b) to (a)")
	manifestBar := flag.Float64("manifest-bar", 1.5, "highest allowed ratio of (e) to (d)")
	flag.Parse()
	if *bare != "" {
		serveBare(*bare, *body)
		return
	}
	if err := compare(*rounds, time.Duration(*seconds*float64(time.Second)), *bar, *manifestBar); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serveBare is (a) or (d): the least a net/http answer can be.
func serveBare(addr string, size int) {
	location := []string{"http://127.0.0.1:1/channel1/index.m3u8"}
	zero := []string{"0"}
	body := bytes.Repeat([]byte("x"), size)
	srv := &http.Server{Addr: addr, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if size > 0 {
			_, _ = rw.Write(body)
			return
		}
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
	polls   bool // for steering manifests, not for redirects
	perReq  []time.Duration
}

func compare(rounds int, length time.Duration, bar, manifestBar float64) error {
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
				if _, err := load(c, length/3); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			before, err := c.process.cpu()
			if err != nil {
				return err
			}
			n, err := load(c, length)
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
	return report(contenders, bar, manifestBar)
}

func report(all []*contender, bar, manifestBar float64) error {
	ratio := func(i, base int) float64 { return float64(median(all[i].perReq)) / float64(median(all[base].perReq)) }
	for i, c := range all {
		base := 0
		if c.polls {
			base = manifestBase
		}
		fmt.Printf("%-62s %8v CPU per request  %.2f × %.3s   rounds %v\n", c.name, median(c.perReq), ratio(i, base), all[base].name, c.perReq)
	}
	var errs []error
	if r := ratio(1, 0); r > bar {
		errs = append(errs, fmt.Errorf("(b) costs %.2f × (a), the bar is %.2f", r, bar))
	}
	if r := ratio(manifestBase+1, manifestBase); r > manifestBar {
		errs = append(errs, fmt.Errorf("(e) costs %.2f × (d), the bar is %.2f", r, manifestBar))
	}
	return errors.Join(errs...)
}

// manifestBase is the position of (d) among the contenders.
const manifestBase = 3

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}
