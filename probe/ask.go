package probe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Ask makes sure that servers are asked about c, each at most once at a time.
// It never waits: answers show up in the view, whose Changed channel tells.
// force asks also where a fact is still fresh.
func (b *Board) Ask(c farms.Content, servers []*farms.Server, force bool) farms.Asked {
	now := time.Now()
	set := b.settings.Load()
	e := b.contents.load(c)
	if e == nil {
		free := !slices.ContainsFunc(servers, func(fs *farms.Server) bool { return !b.hasTold(c, fs) })
		if !free && !b.bucket.AllowN(now, 1) {
			return farms.Asked{Busy: true}
		}
		e = b.contents.add(c)
		e.mu.Lock()
		if !free && e.paid.IsZero() {
			e.paid = now.Add(absentAge(set))
		}
	} else {
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	e.used.Store(now.UnixNano())
	var out farms.Asked
	// Of a window all servers are asked: what they hold must be compared.
	scarce := !e.known && !c.Kind.Windowed() && len(servers) > enough
	if scarce {
		servers = b.soonest(servers, now)
	}
	for _, fs := range servers {
		s := (*b.servers.Load())[fs.Endpoint]
		if s == nil || b.ctx == nil {
			out.Deferred++
			continue
		}
		if slices.Contains(e.asking, s.endpoint) {
			out.Joined++
			continue
		}
		f := e.view.Load().Of(s.endpoint)
		if f != nil && !force && now.Before(f.FreshUntil) {
			continue // answered between the decision and this call
		}
		if !e.known && !now.Before(e.paid) && !b.hasTold(c, fs) { // one token a question, however many servers it asks
			if !b.bucket.AllowN(now, 1) {
				out.Busy = true
				return out
			}
			e.paid = now.Add(absentAge(set))
		}
		if scarce && out.Opened+out.Joined >= enough && s.pace.Load().wait(now, true) > 0 {
			out.Deferred++ // places are scarce: those that are asked already must do
			continue
		}
		if c.Kind.Windowed() && !isWide(c) && apis[fs.Type] != nil && b.askWide(s, e, force, now, set, &out) {
			continue
		}
		b.open(s, e, f, now, set, &out)
	}
	return out
}

// enough is how many servers are asked about content that nobody has had when
// their rates leave no place at once for more: so a farm learns many new
// channels a second, and not as many as one server may be asked about.
const enough = 2

// soonest returns servers by how soon they have a place for a question about
// content that nobody has had.
func (b *Board) soonest(servers []*farms.Server, now time.Time) []*farms.Server {
	wait := make(map[*farms.Server]time.Duration, len(servers))
	for _, fs := range servers {
		if s := (*b.servers.Load())[fs.Endpoint]; s != nil {
			wait[fs] = s.pace.Load().wait(now, true)
		}
	}
	out := slices.Clone(servers)
	slices.SortStableFunc(out, func(x, y *farms.Server) int { return cmp.Compare(wait[x], wait[y]) })
	return out
}

// open begins one question when the server has a place for it in time. e.mu is
// held.
func (b *Board) open(s *server, e *content, f *farms.Fact, now time.Time, set *Settings, out *farms.Asked) bool {
	wait, ok := s.pace.Load().reserve(now, !e.known, set.DecisionTimeout)
	if !ok {
		out.Deferred++
		if f != nil {
			b.stretch(e, *f, wait, now)
		}
		return false
	}
	out.Opened++
	e.asking = append(e.asking, s.endpoint)
	b.loop.Go(func() { b.question(s, e, wait) })
	return true
}

// hasTold tells whether a server's interface has told the recordings of a
// window's channel, which somebody has: then a programme of it that nobody asked
// for before is no question about content never seen.
func (b *Board) hasTold(c farms.Content, fs *farms.Server) bool {
	if !c.Kind.Windowed() || isWide(c) || apis[fs.Type] == nil {
		return false
	}
	wide := b.contents.load(wideKey(c, fs))
	if wide == nil || !wide.isKnown() {
		return false
	}
	f := wide.view.Load().Of(fs.Endpoint)
	return f != nil && f.Presence != farms.Unasked
}

// askWide answers a window's question from what a server's interface says of
// all recordings of the channel, which is asked for once for all windows. It
// returns false when the interface does not speak of this channel's recordings.
// e.mu is held; a window's lock is taken before its channel's, never after.
func (b *Board) askWide(s *server, e *content, force bool, now time.Time, set *Settings, out *farms.Asked) bool {
	wide := b.contents.add(wideKey(e.key, s.spec.Load()))
	wide.mu.Lock()
	defer wide.mu.Unlock()
	wide.used.Store(now.UnixNano())
	f := wide.view.Load().Of(s.endpoint)
	if f != nil && f.Presence == farms.Unasked && now.Before(f.FreshUntil) {
		return false
	}
	if f != nil && f.Presence != farms.Unasked {
		mine := told(*f, e.key, set)
		if have := e.view.Load().Of(s.endpoint); have == nil || have.At.Before(mine.At) {
			e.put(mine) // old or not: while it is asked for again it is the last word
		}
		if !force && now.Before(mine.FreshUntil) {
			return true
		}
	}
	switch {
	case slices.Contains(wide.asking, s.endpoint):
		out.Joined++
	case !b.open(s, wide, f, now, set, out):
		return true
	}
	wide.waiters = append(wide.waiters, waiter{s.endpoint, e})
	e.asking = append(e.asking, s.endpoint)
	return true
}

// hand gives the answer about a channel's recordings to the windows that wait
// for it; without an answer they stop waiting, and where the interface does not
// speak of these recordings the playlists of the windows are asked for.
func (b *Board) hand(s *server, wide *content, f *farms.Fact) {
	wide.mu.Lock()
	var mine []*content
	wide.waiters = slices.DeleteFunc(wide.waiters, func(w waiter) bool {
		if w.endpoint == s.endpoint {
			mine = append(mine, w.content)
		}
		return w.endpoint == s.endpoint
	})
	wide.mu.Unlock()
	set, now := b.settings.Load(), time.Now()
	for _, e := range mine {
		e.mu.Lock()
		e.endQuestion(s.endpoint)
		switch {
		case f == nil:
		case f.Presence == farms.Unasked:
			var out farms.Asked
			b.open(s, e, e.view.Load().Of(s.endpoint), now, set, &out)
		default:
			e.put(told(*f, e.key, set))
			if f.Presence == farms.Present || f.Presence == farms.Guarded {
				b.contents.promote(e)
			}
		}
		e.mu.Unlock()
	}
}

// Touch notes that a decision read the content, so that it is not forgotten.
func (b *Board) Touch(c farms.Content, now time.Time) {
	if e := b.contents.load(c); e != nil {
		// Once a second is enough, and spares the cache line.
		if n := now.UnixNano(); n-e.used.Load() > int64(time.Second) {
			e.used.Store(n)
		}
	}
}

// checkEvery bounds the checks that returning viewers start at one server.
const checkEvery = time.Second

// Check starts one status and one content probe of a server, at most once a
// second, because a viewer came back from it. It tells whether it did.
func (b *Board) Check(c farms.Content, fs *farms.Server) bool {
	s := (*b.servers.Load())[fs.Endpoint]
	if s == nil {
		return false
	}
	now := time.Now().UnixNano()
	last := s.checked.Load()
	if now-last < int64(checkEvery) || !s.checked.CompareAndSwap(last, now) {
		return false
	}
	s.recheck()
	b.Ask(c, []*farms.Server{fs}, true)
	return true
}

// stretch lets a fact live on whose refresh has no place within the server's
// rate: it is our own restraint, and not the server's silence. It never
// outlives what a server in trouble would be given. e.mu is held.
func (b *Board) stretch(e *content, f farms.Fact, wait time.Duration, now time.Time) {
	set := b.settings.Load()
	if f.Presence != farms.Present || now.Sub(f.HeldAt) > set.StaleIfError {
		return
	}
	f.FreshUntil = now.Add(min(wait, set.LiveAge))
	f.ServeUntil = f.FreshUntil.Add(set.LiveAge)
	e.put(f)
}

// question asks one server about one content, after its place has come, and
// takes the answer.
func (b *Board) question(s *server, e *content, wait time.Duration) {
	ctx := b.ctx
	set := b.settings.Load()
	if !sleep(ctx, wait, nil) {
		b.forget(s, e)
		return
	}
	p := s.pace.Load() // a reload may replace it meanwhile
	place, cancel := context.WithTimeout(ctx, set.DecisionTimeout)
	err := p.begin(place)
	cancel()
	switch {
	case ctx.Err() != nil:
		b.forget(s, e)
		return
	case err != nil:
		b.take(s, e, verdict{presence: farms.Trouble, detail: "too many questions to it wait for an answer"})
		return
	}
	defer p.end()
	asked, cancel := context.WithTimeout(ctx, set.RequestTimeout)
	defer cancel()
	start := time.Now()
	v, latency, refused := b.askContent(asked, s, e.key)
	switch {
	case ctx.Err() != nil:
		b.forget(s, e)
		return
	case v.generic:
		b.noInterface(s, e)
		return
	}
	word := v.word
	if word == "" {
		word = v.presence.String()
	}
	b.count("content", word, time.Since(start))
	if refused {
		b.refused(s, "content probe: "+v.detail)
	} else {
		s.mu.Lock()
		if latency > 0 {
			s.observeRTT(latency)
		}
		if !isWide(e.key) {
			s.heard(v.presence)
		}
		s.publish(time.Now())
		s.mu.Unlock()
	}
	b.take(s, e, v)
}

// noInterface notes that a server's interface does not speak of a channel's
// recordings, and has the windows that wait ask for their playlists.
func (b *Board) noInterface(s *server, wide *content) {
	now := time.Now()
	f := farms.Fact{Endpoint: s.endpoint, At: now, FreshUntil: now.Add(b.settings.Load().VoDAge), Detail: "its interface does not tell"}
	wide.mu.Lock()
	wide.endQuestion(s.endpoint)
	wide.put(f)
	wide.mu.Unlock()
	b.hand(s, wide, &f)
}

// forget ends a question without an answer.
func (b *Board) forget(s *server, e *content) {
	e.mu.Lock()
	e.endQuestion(s.endpoint)
	e.mu.Unlock()
	if isWide(e.key) {
		b.hand(s, e, nil)
	}
}

func (c *content) endQuestion(ep farms.Endpoint) {
	c.asking = slices.DeleteFunc(c.asking, func(a farms.Endpoint) bool { return a == ep })
}

// take turns an answer into a fact and publishes it.
func (b *Board) take(s *server, e *content, v verdict) {
	f := b.learn(s, e, v)
	if isWide(e.key) {
		b.hand(s, e, &f)
	}
}

// learn makes the fact and publishes it in the content's own view.
func (b *Board) learn(s *server, e *content, v verdict) farms.Fact {
	set := b.settings.Load()
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endQuestion(s.endpoint)
	f := farms.Fact{Endpoint: s.endpoint}
	if old := e.view.Load().Of(s.endpoint); old != nil {
		f = *old
	}
	f.Presence, f.At, f.Detail = v.presence, now, bounded(v.detail)
	switch v.presence {
	case farms.Present:
		age := e.takePresent(&f, v, set, now)
		f.FreshUntil = now.Add(age)
		f.ServeUntil = f.FreshUntil.Add(age)
		b.contents.promote(e)
		if !e.gone && !e.key.Kind.Windowed() { // nothing would remove it again
			b.contents.byChannel.Store(e.key.Channel, e)
			b.takeChildren(s, e, v)
		}
	case farms.Guarded:
		f.FreshUntil = now.Add(set.LiveAge)
		f.ServeUntil = f.FreshUntil.Add(set.LiveAge)
		b.contents.promote(e)
	case farms.Absent:
		f.Frozen = false
		f.Ranges, f.Unplaced, f.Until, f.Ended = nil, 0, 0, false
		age := absentAge(set)
		if e.key.Kind.Windowed() {
			age = min(set.VoDAge, maxAbsentWindowAge)
		}
		if v.soon || !e.known && !e.key.Kind.Windowed() {
			// Not yet there, or never there yet: the question may have been what
			// starts an on-demand source.
			age = min(age, firstAbsentAge)
		}
		f.FreshUntil = now.Add(age)
		f.ServeUntil = f.FreshUntil
	case farms.Trouble:
		f.FreshUntil = now.Add(min(set.LiveAge, troubleAge))
		f.ServeUntil = f.FreshUntil
	}
	e.put(f)
	return f
}

// takePresent fills in what a present fact says and returns its age.
func (c *content) takePresent(f *farms.Fact, v verdict, set *Settings, now time.Time) time.Duration {
	f.Kind, f.Multivariant, f.Frozen = v.kind, v.multivariant, false
	f.HeldAt = now
	if isWide(c.key) && len(f.Ranges) > 0 && len(v.ranges) > 0 && v.ranges[0].From > f.Ranges[0].From {
		f.ErodedAt = now
	}
	f.Ranges, f.Unplaced, f.Segment, f.Source = v.ranges, v.unplaced, v.segment, v.source
	f.Until, f.Ended = v.until, v.ended
	if c.key.Kind.Windowed() {
		f.MovedAt = now
		return windowAge(c.key, set)
	}
	if v.kind == farms.KindVoD {
		return set.VoDAge
	}
	if v.signature == 0 {
		f.MovedAt = now
		return set.LiveAge
	}
	m := c.motionOf(f.Endpoint)
	*m, f.Frozen = m.observe(v.signature, v.fresh, v.target, now)
	f.MovedAt = m.movedAt
	if f.Frozen {
		f.HeldAt = m.movedAt
		f.Detail = bounded(v.detail + ", has not moved for " + now.Sub(m.movedAt).Round(time.Second).String())
	}
	if !m.sure {
		// Seen once: only a second look tells whether it moves. RFC 8216 §6.2.1
		// has it change within 1.5 target durations.
		return min(set.LiveAge, max(v.target+v.target/2, time.Second))
	}
	return set.LiveAge
}

// takeChildren remembers the media playlists of a multivariant playlist. e.mu
// is held.
func (b *Board) takeChildren(s *server, e *content, v verdict) {
	if !v.multivariant {
		return
	}
	base := s.spec.Load().URL
	var paths []string
	for _, u := range v.children {
		if p, ok := childPath(base, u); ok && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	if !slices.Equal(paths, e.children) {
		b.contents.setChildren(e, paths)
	}
}

// The ages that no key configures.
const (
	maxAbsentAge   = 5 * time.Second         // of an absent fact, at most
	firstAbsentAge = 2500 * time.Millisecond // of an absent fact of a content nobody had before
	troubleAge     = 5 * time.Second         // until a server in trouble is asked again

	maxAbsentWindowAge = 10 * time.Second // of an absent window: a replica may still copy it
)

func absentAge(set *Settings) time.Duration { return min(set.LiveAge, maxAbsentAge) }

// maxDetail bounds the words of a fact.
const maxDetail = 200

func bounded(s string) string {
	if len(s) > maxDetail {
		return s[:maxDetail] + "…"
	}
	return s
}

// sweepLoop forgets what expired.
func (b *Board) sweepLoop(ctx context.Context) {
	for sleep(ctx, b.settings.Load().SweepInterval, nil) {
		set := b.settings.Load()
		servers := *b.servers.Load()
		b.contents.sweep(time.Now(), max(set.StaleIfError, set.OffAir), func(ep farms.Endpoint) bool { return servers[ep] != nil })
	}
}

// Sizes returns how many contents are known and how many are remembered in all.
func (b *Board) Sizes() (known, all int) { return b.contents.sizes() }
