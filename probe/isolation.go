package probe

import (
	"context"
	"sync"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
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
	mu     sync.Mutex // before any server's
	failed string     // the self check that fails, in words
	since  time.Time  // zero: not isolated
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
	i := &b.isolated
	i.mu.Lock()
	defer i.mu.Unlock()
	isolated, was := i.failed != "" || b.allSilent(), !i.since.IsZero()
	if !isolated && !was {
		return
	}
	now := time.Now()
	if !was {
		i.since = now
		b.loop.Go(func() {
			if sleep(b.ctx, isolationHold, nil) {
				b.checkIsolation(detail) // the hold is over
			}
		})
	}
	hold := isolated && now.Sub(i.since) < isolationHold
	// Whoever was silent for longer than a round of probes takes was so before.
	set := b.settings.Load()
	before := i.since.Add(-longestJitter(set.StatusInterval) - set.RequestTimeout)
	for _, s := range *b.servers.Load() {
		if h, changed := s.follows(hold, isolated, before, now); changed {
			b.changed(s, h)
		}
	}
	if !isolated {
		i.since = time.Time{}
	}
	if isolated == was || b.opt.Isolated == nil {
		return
	}
	if i.failed != "" {
		detail = i.failed
	}
	b.opt.Isolated(isolated, detail)
}

// follows holds the server's condition from before its silence, when that began
// after before, or lets it go.
func (s *server) follows(hold, isolated bool, before, now time.Time) (h *farms.Health, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hold = hold && s.silent.Load() && s.silentSince.After(before)
	if hold == s.held {
		return nil, false
	}
	if !isolated {
		s.letGo()
	}
	s.held = hold
	return s.publish(now)
}

// letGo ends a hold because the silence turned out to be ours: then what it did
// to the server's condition never was. s.mu is held.
func (s *server) letGo() {
	if s.held {
		s.damper, s.held = s.prior.copy(), false
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
		b.checkIsolation(failed)
	}
}

func (b *Board) selfCheck(ctx context.Context, u string) error {
	ctx, cancel := context.WithTimeout(ctx, b.settings.Load().RequestTimeout)
	defer cancel()
	_, err := b.opt.Client.Get(ctx, fetch.Request{URL: u, MaxBody: statusBody, Cut: true, NoFollow: true})
	return err
}
