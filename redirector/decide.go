package redirector

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// How long a decision waits on, once it has a good answer, for a better one.
const (
	// joinedWait: under first_response, who joined a question waits for a second
	// good answer, so that a crowd on a cold channel spreads.
	joinedWait = 25 * time.Millisecond
	// betterWait: for a better-ranked server or an earlier farm.
	betterWait = 300 * time.Millisecond
)

// work is the memory of one decision, used again for the next.
type work struct {
	decision Decision
	query    farms.Query
	world    farms.World
	loads    loads
	scratch  farms.Scratch
	order    []*farms.Farm
	url      []byte
	target   target
	identity uint64
	children uint64 // session under which the manifest's children look, 0 none
	counted  bool   // the session is in its prior server's load
	evidence evidenceNote
	need     need // of an archive window; query.Need points to it
	steer    steer
	zones    []zoneReading
	barred   []*farms.Farm // whose servers would refuse the URL
	chosen   farms.Choice
	asked    []*farms.Server // of explain: whom the decision had asked
	every    bool            // judge every farm: explain
	dead     *farms.Server   // of explain: taken to be down, nil none
	lookup   lookup
}

// lookup is what was found of a decision's content in what is remembered.
type lookup uint8

// The lookups. Their words are an interface: append, never rename.
const (
	lookupNone    lookup = iota // nobody's answer was wanted
	lookupHit                   // all that was wanted was known
	lookupRefresh               // it was, and somebody is asked anew meanwhile
	lookupMiss                  // a server had to be asked first
	lookupCount
)

var lookupNames = [lookupCount]string{lookupHit: "hit", lookupRefresh: "refresh", lookupMiss: "miss"}

// begin takes a work from the pool; end gives it back.
func (e *Engine) begin() *work {
	w := e.works.Get().(*work)
	w.steer.reset()
	*w = work{scratch: w.scratch, order: w.order[:0], url: w.url[:0], steer: w.steer}
	w.scratch.Candidates = w.scratch.Candidates[:0] // of an earlier decision
	return w
}

func (e *Engine) end(w *work) { e.works.Put(w) }

// decide fills in w.decision for r. It waits for answers when ctx and the
// decision's deadline allow. It has no effect on what later decisions see, but
// for the questions it asks; commit has.
func (e *Engine) decide(ctx context.Context, w *work, v *view, r Request) {
	path, plain, ok := e.place(w, v, r)
	if !ok {
		return
	}
	d := &w.decision
	if !e.read(w, v, path, plain) {
		return
	}
	e.identify(w, v, path)
	w.nameChildren(v, plain)
	e.heed(w, v)
	decorate := w.wantsDecoration(v)
	w.every = w.every || w.steer.on || decorate // the order of all pathways is wanted
	w.order = append(w.order[:0], farms.Order(d.Location, d.Session, w.order)...)
	w.takeZones()
	e.choose(ctx, w, v)
	if r.Door == DoorExplain && (w.query.Need != nil && w.dead == nil || len(w.asked) > 0) {
		e.complete(ctx, w, v)
	}
	if w.steer.on {
		e.concludeManifest(w, v, path)
		return
	}
	e.conclude(w, v, path)
	if decorate {
		e.decorate(ctx, w, v, path)
	}
}

// read reads what the URL asks for, as its door does.
func (e *Engine) read(w *work, v *view, path, plain string) (ok bool) {
	if w.steer.on {
		return e.readSteered(w, v, path, plain)
	}
	return e.readURL(w, v, path, plain)
}

// place accepts the request and finds the viewer's location. It returns the
// path after uri_path, as written and percent-decoded; ok is false when the
// request was refused.
func (e *Engine) place(w *work, v *view, r Request) (path, plain string, ok bool) {
	d := &w.decision
	d.Request, d.Time = r, time.Now()
	d.Generation = v.table.Generation
	if !e.accept(w, v) {
		return "", "", false
	}
	if w.steer.on {
		path, plain = v.manifestPath(w.target.Path, w.target.Plain)
	} else if path, plain, ok = stripPrefix(w.target.Path, w.target.Plain, v.set.URIPath); !ok {
		d.refuse(farms.ReasonUnknownPath, "")
		return "", "", false
	}
	if d.Location = v.table.Locate(r.Viewer.Addr, d.Host, plain); d.Location == nil {
		d.refuse(farms.ReasonNoLocation, "")
		return "", "", false
	}
	return path, plain, true
}

// accept checks the request itself: method, target, Host.
func (e *Engine) accept(w *work, v *view) bool {
	d := &w.decision
	r := &d.Request
	switch r.Method {
	case "GET", "HEAD":
	case "OPTIONS":
		d.refuse(farms.ReasonPreflight, "")
		return false
	default:
		d.refuse(farms.ReasonMethodNotAllowed, "")
		return false
	}
	if r.Expect {
		d.refuse(farms.ReasonBadRequest, "an Expect header was sent, none can be met")
		d.Status = 417
		return false
	}
	if r.HasBody {
		d.refuse(farms.ReasonBadRequest, "a request body was sent, none is expected")
		return false
	}
	raw := r.RawTarget
	if v.set.Steering.names(raw) {
		raw = w.takeQuery(raw)
		if r.Door == DoorHTTP {
			r.Door = DoorSteering
		}
	}
	t, bad := parseTarget(raw)
	if bad != nil {
		reason := farms.ReasonBadRequest
		if bad.Status == statusOf[farms.ReasonURITooLong] {
			reason = farms.ReasonURITooLong
		}
		d.refuse(reason, bad.Detail)
		return false
	}
	if w.steer.on { // what takeQuery left
		t.Query, t.HasQuery = w.target.Query, w.target.HasQuery
	}
	w.target = t
	d.Host = hostName(r.Host)
	if t.Authority != "" {
		d.Host = hostName(t.Authority)
	}
	if d.Host == "" && r.Door == DoorExplain {
		return true // asked about a path alone
	}
	if len(v.set.Hosts) > 0 && !v.set.Hosts[d.Host] {
		d.refuse(farms.ReasonUnknownHost, "")
		return false
	}
	return true
}

// hostName lower-cases a Host header and drops port, brackets and trailing dot.
func hostName(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > 0 {
		if host[0] == '[' && host[i-1] == ']' || strings.IndexByte(host, ':') == i {
			host = host[:i]
		}
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		return strings.ToLower(host[1 : len(host)-1])
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// stripPrefix takes uri_path off both spellings of a path.
func stripPrefix(path, plain, prefix string) (string, string, bool) {
	if prefix == "" {
		return path, plain, true
	}
	p, ok := strings.CutPrefix(path, prefix)
	q, okPlain := strings.CutPrefix(plain, prefix)
	if !ok || !okPlain || p == "" || p[0] != '/' {
		return "", "", false
	}
	return p, q, true
}

// identify fills in session and what is remembered of the viewer.
func (e *Engine) identify(w *work, v *view, path string) {
	d, q := &w.decision, &w.query
	if d.Content.Protocol == farms.ProtocolHLS && !d.Content.Kind.Windowed() {
		if channel, ok := e.prober.Parent(path); ok {
			d.Content.Channel, d.Content.Kind = channel, farms.KindChild
		} else if isRefresh(w.target.Query) {
			d.Content.Kind = farms.KindChild
		}
	}
	w.identity = identityOf(v.set.SessionKeys, w.target.Query, d.Request.Viewer.Addr, d.Request.UserAgent)
	e.sessionToken(w, v)
	d.Session = sessionOf(w.identity, d.Content.Channel)
	*q = farms.Query{
		Content: d.Content, Secure: d.Request.Viewer.HTTPS, Reach: reachOf(d.Request.Viewer.Addr),
		Session: d.Session, Draw: rand.Uint64(), Now: d.Time, Need: q.Need,
	}
	e.remember(w, v)
	if v.set.ReturnEvidence != EvidenceOff && !w.steer.on && d.Content.Protocol == farms.ProtocolHLS && d.Content.Kind == farms.KindLive {
		w.evidence = e.noteOf(hashPair(w.identity, hashString(path)), d.Time)
		q.Avoid = w.evidence.avoid(v.set.ReturnEvidence, d.Time)
	}
}

// nameChildren notes under which channel the children of a manifest will look for
// their session, where that is another than the one its dialect reads: times that
// stand before the channel's name are a folder to them.
func (w *work) nameChildren(v *view, plain string) {
	d := &w.decision
	if d.Archive.Dialect == "" || d.Content.Kind == farms.KindChild {
		return
	}
	folder := v.channel.channel(plain)
	if rest, below := strings.CutPrefix(folder, d.Content.Channel); !below || rest != "" && rest[0] != '/' {
		w.children = sessionOf(w.identity, folder)
	}
}

// remember looks up the server the session was given last. A child may lie in
// a folder below its channel's, so the folders above it are tried too.
func (e *Engine) remember(w *work, v *view) {
	d, q := &w.decision, &w.query
	const maxFolders = 8
	channel := d.Content.Channel
	for range maxFolders {
		session := sessionOf(w.identity, channel)
		id, counted, at, ok := e.sessions.get(session)
		if ok && d.Time.Sub(at) < sessionMemory && v.table.Server(farms.ServerID(id)) != nil {
			q.Prior, q.Sticky = farms.ServerID(id), d.Time.Sub(at) < v.sticky
			q.Content.Channel, d.Content.Channel = channel, channel
			q.Session, d.Session = session, session
			w.counted = counted == sessionCounted
			return
		}
		i := strings.LastIndexByte(channel, '/')
		if d.Content.Kind != farms.KindChild || i <= 0 {
			return
		}
		channel = channel[:i]
	}
}

// choose asks and waits until the choice is settled or the deadline is there.
func (e *Engine) choose(ctx context.Context, w *work, v *view) {
	w.loads = loads{v.loads, e.tick(w.decision.Time)}
	w.world = farms.World{Facts: e.prober, Overrides: *e.overrides.Load()}
	if w.dead != nil {
		w.world.Facts = afterDeath{e.prober, w.dead.Endpoint}
	}
	if v.bounded {
		w.world.Loads = &w.loads
	}
	opt := farms.Options{Every: w.every, Widen: w.steer.on}
	known := e.prober.Content(w.query.Content)
	c := farms.Choose(w.order, &w.query, &w.world, &v.table.Rules, opt, &w.scratch)
	missed := len(c.Ask) > 0
	if c.Chosen == nil || missed {
		c = e.wait(ctx, w, v, known, c)
	}
	w.chosen = c
	w.lookup = w.lookedUp(missed)
	if c.Chosen != nil && w.query.Content.Kind != farms.KindChild {
		if len(c.Refresh) > 0 {
			e.ask(w, c.Refresh)
		}
		content := w.query.Content
		if z := w.zoneOf(c.Chosen.Farm); z != nil {
			content = z.content
		}
		e.prober.Touch(content, w.query.Now)
	}
}

// lookedUp tells what the choice found.
func (w *work) lookedUp(missed bool) lookup {
	switch c := &w.chosen; {
	case missed:
		return lookupMiss
	case w.query.Content.Kind == farms.KindChild, c.Chosen != nil && c.Chosen.Farm.Assume:
		return lookupNone
	case len(c.Refresh) > 0:
		return lookupRefresh
	default:
		return lookupHit
	}
}

// wait is the slow half of choose: the first farm's servers are asked, then all
// the others at once, under one deadline; half of it gone, nobody waits any more
// for the first farm alone, nor for the best two of a ranked farm.
func (e *Engine) wait(ctx context.Context, w *work, v *view, known *farms.Known, c farms.Choice) farms.Choice {
	start := w.query.Now
	defer func() { w.decision.Waited = time.Since(start) }()
	opt := farms.Options{Every: w.every, Widen: w.steer.on}
	again := func() farms.Choice {
		w.query.Now = time.Now()
		return farms.Choose(w.order, &w.query, &w.world, &v.table.Rules, opt, &w.scratch)
	}
	final := func() farms.Choice {
		opt.Final = true
		return again()
	}
	if e.waiting.Add(1) > maxWaiting {
		e.waiting.Add(-1)
		opt.Busy = true
		return final()
	}
	defer e.waiting.Add(-1)

	timeout := v.set.DecisionTimeout
	if w.steer.on {
		timeout = v.set.Steering.Deadline
	}
	deadline, half := start.Add(timeout), start.Add(timeout/2)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	firstFarm, opened := c.AskFarm, false
	var good time.Time // since when there is a choice
	for {
		asked := farms.Asked{}
		if len(c.Ask) > 0 {
			if c.Chosen == nil && c.AskFarm != firstFarm && !opt.Widen {
				opt.Widen = true // the first farm said no
				c = again()
				continue
			}
			asked = e.ask(w, c.Ask)
			if w.decision.Request.Door == DoorExplain {
				w.asked = append(w.asked, c.Ask...)
			}
			opened = opened || asked.Opened > 0
			opt.Busy = asked.Busy
		}
		now := time.Now()
		until := deadline
		if c.Chosen != nil {
			if good.IsZero() {
				good = now
			}
			linger := e.linger(c, opened, asked)
			if linger == 0 || !now.Before(good.Add(linger)) {
				return c
			}
			until = minTime(deadline, good.Add(linger))
		} else {
			underway := asked.Opened+asked.Joined > 0
			if len(c.Ask) == 0 || !underway && (asked.Busy || asked.Deferred > 0) {
				if opt.Hurry || len(c.Ask) == 0 {
					opt.Busy = opt.Busy || asked.Deferred > 0 // nobody had a place for the question
					return final()
				}
				opt.Widen, opt.Hurry = true, true
				c = again()
				continue
			}
			if !opt.Hurry {
				until = minTime(deadline, half)
			}
		}
		if next := e.prober.Content(w.query.Content); next == known && (next != nil || len(w.query.Others) > 0) {
			var changed chan struct{}
			if known != nil {
				changed = known.Changed
			}
			if len(w.query.Others) > 0 { // their answers come elsewhere
				until = minTime(until, now.Add(zonePoll))
			}
			timer.Reset(until.Sub(now))
			select {
			case <-changed:
			case <-timer.C:
			case <-ctx.Done():
				return final()
			}
		}
		now = time.Now()
		switch {
		case !now.Before(deadline):
			return final()
		case c.Chosen == nil && !now.Before(half):
			opt.Widen, opt.Hurry = true, true
		}
		known = e.prober.Content(w.query.Content)
		c = again()
	}
}

// linger returns how long a choice that is good enough waits for a better one.
func (e *Engine) linger(c farms.Choice, opened bool, asked farms.Asked) time.Duration {
	if len(c.Ask) > 0 { // a better-ranked server or an earlier farm has not answered
		if asked.Opened+asked.Joined == 0 {
			return 0
		}
		return betterWait
	}
	if c.Chosen.Farm.Policy == farms.FirstResponse && !opened && c.Good < 2 && c.Open > 0 {
		return joinedWait
	}
	return 0
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// conclude turns the choice into the answer.
func (e *Engine) conclude(w *work, v *view, path string) {
	d := &w.decision
	c := w.chosen
	if w.query.Need != nil {
		d.Asked = w.query.Need.Asked()
	}
	if c.Chosen == nil {
		d.refuse(c.Reason, "")
		if d.Location.FallbackURL != "" {
			w.url = appendLocation(w.url[:0], d.Location.FallbackURL, w.target, path)
			d.URL, d.Fallback, d.Status, d.RetryAfter = string(w.url), true, statusOf[farms.ReasonOK], 0
		}
		return
	}
	d.Reason, d.Status = farms.ReasonOK, statusOf[farms.ReasonOK]
	d.Farm, d.Server, d.Why, d.Held = c.Chosen.Farm, c.Chosen.Member.Server, c.Chosen.Why, c.Chosen.Held
	w.readAs(d.Farm)
	t := w.target
	if st := v.set.Steering; st != nil && st.Decorate {
		t.Query, t.HasQuery = w.withToken(st), true
	}
	w.url = appendLocation(w.url[:0], d.Server.Base(w.query.Secure), t, path)
	d.URL = string(w.url)
}

// sessionCounted marks a session that its server's load counts.
const sessionCounted = 1

// commit is the only step with effects: stickiness, load, evidence, counters,
// alarms. HEAD is asked before a GET by some players, so it binds a session but
// counts as no viewer. A child begins no session, but it is a request of the one
// it belongs to.
func (e *Engine) commit(w *work, v *view) {
	d := &w.decision
	if d.Server != nil {
		stays, child := w.query.Prior == d.Server.ID, d.Content.Kind == farms.KindChild && !w.steer.on
		counted := uint64(0)
		switch {
		case stays && w.counted:
			counted = sessionCounted
		case d.Request.Method == "GET" && !child:
			v.loads[d.Server.ID].add(w.loads.tick)
			counted = sessionCounted
		}
		if !child || stays {
			e.sessions.put(d.Session, uint64(d.Server.ID), counted, d.Time)
			if w.children != 0 {
				e.sessions.put(w.children, uint64(d.Server.ID), counted, d.Time)
			}
		}
		if d.Request.Method == "GET" && !w.steer.on {
			e.takeEvidence(w, v)
		}
	} else if d.refused() {
		e.refusals.take(w, v)
	}
	e.alarmChoice(w, v)
	v.counters.count(d, w.lookup)
}
