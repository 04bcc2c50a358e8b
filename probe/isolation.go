package probe

import (
	"context"
	"sync"
	"time"

	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// isolationQuorum is the least number of servers whose common silence is taken
// as our own trouble. A lost site is not isolation.
const isolationQuorum = 8

// isolationHold is how long the view from before the silence is kept.
const isolationHold = time.Minute

// isolation watches for the silence of all servers at once. A refused
// connection is an answer: the network carried it.
type isolation struct {
	mu     sync.Mutex
	failed string    // the self check that fails, in words
	since  time.Time // zero: not isolated
	over   bool      // the hold is over: the servers' own state counts
}

// allSilent tells whether every server's last status probe got no answer.
func (b *Board) allSilent() bool {
	servers := *b.servers.Load()
	for _, s := range servers {
		if !s.silent.Load() {
			return false
		}
	}
	return len(servers) >= isolationQuorum
}

// checkIsolation raises or ends the isolation and has the servers publish what
// follows from it.
func (b *Board) checkIsolation(detail string) {
	silent := b.allSilent()
	i := &b.isolated
	i.mu.Lock()
	isolated := i.failed != "" || silent
	was, wasOver := !i.since.IsZero(), i.over
	now := time.Now()
	switch {
	case isolated && !was:
		i.since, i.over = now, false
		if i.failed != "" {
			detail = i.failed
		}
	case isolated:
		i.over = now.Sub(i.since) >= isolationHold
	default:
		i.since, i.over = time.Time{}, false
	}
	hold := isolated && !i.over
	changed := isolated != was || i.over != wasOver
	i.mu.Unlock()
	if !changed {
		return
	}
	for _, s := range *b.servers.Load() {
		s.mu.Lock()
		s.hold = hold && s.silent.Load()
		s.publish(now)
		s.mu.Unlock()
	}
	if isolated != was && b.opt.Isolated != nil {
		b.opt.Isolated(isolated, detail)
	}
}

// selfCheckLoop asks the configured URLs every interval. One that fails says
// that the network near us is in trouble.
func (b *Board) selfCheckLoop(ctx context.Context) {
	for sleep(ctx, jitter(b.settings.Load().StatusInterval)/2, nil) {
		failed := ""
		for _, u := range b.settings.Load().SelfCheck {
			if err := b.selfCheck(ctx, u); err != nil {
				failed = "self_check " + u + ": " + err.Error()
				break
			}
		}
		if ctx.Err() != nil {
			return
		}
		b.isolated.mu.Lock()
		b.isolated.failed = failed
		b.isolated.mu.Unlock()
		b.checkIsolation(failed) // also ends the hold when its time is over
	}
}

func (b *Board) selfCheck(ctx context.Context, u string) error {
	ctx, cancel := context.WithTimeout(ctx, b.settings.Load().RequestTimeout)
	defer cancel()
	_, err := b.opt.Client.Get(ctx, fetch.Request{URL: u, MaxBody: statusBody, Cut: true, NoFollow: true})
	return err
}
