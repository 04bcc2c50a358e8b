package probe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// recheckAfter is the pause before a status probe is repeated to make sure.
const recheckAfter = time.Second

// statusBody bounds what is read of a status answer; it is thrown away, but
// read so that the connection can be used again.
const statusBody = 64 << 10

// firstSpread bounds the time over which the first status probes are spread:
// readiness waits for them.
const firstSpread = 2 * time.Second

// statusLoop asks one server for its status until ctx ends: first within
// firstSpread, then every interval, a second after an answer that has to be
// made sure of, and with doubling pauses after it went down.
func (b *Board) statusLoop(ctx context.Context, s *server) {
	n := time.Duration(len(*b.servers.Load()))
	spread := min(firstSpread, n*5*time.Millisecond)
	if !sleep(ctx, time.Duration(rand.Float64()*float64(spread)), nil) {
		return
	}
	// The first interval is drawn from its whole length, so that the probes of
	// many servers that begin together spread over it for good.
	interval := func() time.Duration { return jitter(b.settings.Load().StatusInterval) }
	next := time.Duration(rand.Float64() * float64(b.settings.Load().StatusInterval))
	for down := 0; ; {
		b.askStatus(ctx, s)
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		unsure, isDown := s.damper.streak > 0, s.damper.condition == farms.ConditionDown
		s.mu.Unlock()
		pause := next
		switch {
		case unsure:
			pause = min(pause, recheckAfter)
		case isDown && down < 10:
			pause = min(pause, recheckAfter<<down)
			down++
		}
		if !isDown {
			down = 0
		}
		if !sleep(ctx, pause, s.kick) {
			return
		}
		next = interval()
	}
}

// sleep waits for d, or for wake; it returns false when ctx ended.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-t.C:
	}
	return true
}

// askStatus asks once and takes the result.
func (b *Board) askStatus(ctx context.Context, s *server) {
	set := b.settings.Load()
	spec := s.spec.Load()
	ctx, cancel := context.WithTimeout(ctx, set.RequestTimeout)
	defer cancel()
	reach := b.lookUp(ctx, s)
	start := time.Now()
	res, err := b.opt.Client.Get(ctx, fetch.Request{
		URL: withQuery(spec.URL+spec.StatusPath, spec.ProbeQuery), Headers: spec.ProbeHeaders,
		MaxBody: statusBody, Cut: true, NoFollow: true,
	})
	if err != nil && fetch.KindOf(err) == fetch.Canceled {
		return
	}
	b.takeStatus(s, statusResult(res, err), reach, time.Since(start))
}

// result is one status answer.
type result struct {
	good    bool
	hard    bool // a refused connection: down at once
	silent  bool // nothing came back: it may be us
	reason  string
	word    string // for the counter
	latency time.Duration
}

// statusResult judges a status answer: anything below 500 is up.
func statusResult(res *fetch.Response, err error) result {
	if err == nil {
		if res.Status < 500 {
			return result{good: true, word: "up", latency: res.Latency}
		}
		return result{reason: fmt.Sprintf("status probe answered %d, expected below 500", res.Status), word: "error"}
	}
	r := result{reason: "status probe: " + err.Error(), word: "error"}
	switch fetch.KindOf(err) {
	case fetch.Refused:
		r.hard, r.word = true, "refused"
	case fetch.Timeout:
		r.silent, r.word = true, "timeout"
	case fetch.Name:
		r.silent, r.word = true, "name"
	}
	return r
}

func (b *Board) takeStatus(s *server, r result, reach farms.Reach, took time.Duration) {
	b.count("status", r.word, took)
	now := time.Now()
	s.mu.Lock()
	s.probed = now
	if reach != farms.ReachUnknown {
		s.reach = reach
	}
	if was := s.silent.Swap(r.silent); r.silent && !was {
		s.silentSince, s.prior = now, s.damper.copy()
	} else if !r.silent {
		s.letGo()
	}
	s.recent.add(r.latency) // 0 when there was no good answer
	if r.good {
		s.observeRTT(r.latency)
		s.damper.good(now)
	} else {
		s.damper.bad(now, r.reason, r.hard)
	}
	health, changed := s.publish(now)
	s.mu.Unlock()
	if changed {
		b.changed(s, health)
	}
	if !s.swept.Swap(true) {
		b.noteSwept()
	}
	b.checkIsolation(r.reason)
}

// refused takes a refused or reset connection that any probe met: the server
// is down at once, and soon asked again.
func (b *Board) refused(s *server, reason string) {
	now := time.Now()
	s.mu.Lock()
	s.silent.Store(false)
	s.letGo()
	s.damper.bad(now, reason, true)
	health, changed := s.publish(now)
	s.mu.Unlock()
	if changed {
		b.changed(s, health)
		s.recheck()
	}
	b.checkIsolation(reason)
}

func (b *Board) changed(s *server, h *farms.Health) {
	if b.opt.Changed != nil {
		b.opt.Changed(s.spec.Load(), h)
	}
}

// lookUp learns in which address families a server's name resolves; unknown
// for literals and when the name cannot be looked up now.
func (b *Board) lookUp(ctx context.Context, s *server) farms.Reach {
	name, _ := s.host()
	if name == "" || b.opt.Resolve == nil {
		return farms.ReachUnknown
	}
	addrs, err := b.opt.Resolve(ctx, name)
	if err != nil {
		return farms.ReachUnknown
	}
	var r farms.Reach
	for _, a := range addrs {
		if a.Unmap().Is4() {
			r |= farms.ReachV4
		} else {
			r |= farms.ReachV6
		}
	}
	return r
}

// withQuery appends a raw query to a URL that has none or some.
func withQuery(u, query string) string {
	switch {
	case query == "":
		return u
	case strings.Contains(u, "?"):
		return u + "&" + query
	default:
		return u + "?" + query
	}
}
