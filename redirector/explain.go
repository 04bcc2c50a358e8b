package redirector

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// Explanation is a decision with every candidate and its why. Its JSON form is
// an interface for programs: append, never rename.
type Explanation struct {
	Status         int              `json:"status"`          // HTTP status of the answer
	Reason         string           `json:"reason"`          // why the answer is what it is
	Detail         string           `json:"detail"`          // a refusal in words, else empty
	LocationHeader string           `json:"location_header"` // where the viewer is sent, "" nowhere
	Fallback       bool             `json:"fallback"`        // it is the location's fallback_url
	RetryAfter     int              `json:"retry_after"`     // seconds, 0 none
	Location       string           `json:"location"`        // name or index, "" none
	Farm           string           `json:"farm"`            // that serves, "" none
	Server         string           `json:"server"`          // that serves, "" none
	Generation     uint64           `json:"generation"`
	Client         string           `json:"client"` // the viewer's address
	WaitedMS       int64            `json:"waited_ms"`
	Content        ExplainedContent `json:"content"`
	Farms          []ExplainedFarm  `json:"farms"` // in the order tried

	// With content steering: the pathways in the order of a manifest. Of a
	// manifest's own URL the TTL too, before its jitter is drawn anew.
	Pathways []ExplainedPathway `json:"pathways,omitempty"`
	TTL      int                `json:"ttl,omitempty"`

	Steps []ExplainedStep `json:"steps"` // the decision, step by step

	// The same decision, were the chosen server down; absent when none was chosen.
	IfChosenDied *ExplainedDeath `json:"if_chosen_died,omitempty"`
}

// ExplainedStep is one step of the decision.
type ExplainedStep struct {
	Step string `json:"step"` // request, location, content, session, farms, knowledge, choice, answer
	Says string `json:"says"` // in words
}

// ExplainedDeath is where the viewer would be sent if the chosen server died.
type ExplainedDeath struct {
	Server   string `json:"server"` // "" none
	Farm     string `json:"farm"`
	Reason   string `json:"reason"`
	Fallback bool   `json:"fallback"`
}

// ExplainedFact is what a server said of the content, as it is remembered.
type ExplainedFact struct {
	Presence string  `json:"presence"`  // unasked, present, absent, guarded, trouble
	AgeSec   float64 `json:"age_sec"`   // since it said so
	FreshSec float64 `json:"fresh_sec"` // how long it is believed without question, 0 no more
	Frozen   bool    `json:"frozen"`    // its live playlist does not move
}

// ExplainedPathway is one pathway of a steering manifest.
type ExplainedPathway struct {
	ID   string `json:"id"`
	URL  string `json:"url"` // where viewers find its content; of a clone ""
	Why  string `json:"why"` // of its best server
	Well bool   `json:"well"`
}

// ExplainedContent is what the URL asks for.
type ExplainedContent struct {
	Channel  string `json:"channel"`
	Kind     string `json:"kind"`
	Protocol string `json:"protocol"`
	Dialect  string `json:"dialect"` // that read the URL, "" none
	Start    int64  `json:"start"`   // of an archive window, unix seconds, else 0
	End      int64  `json:"end"`
	Open     bool   `json:"open"` // the window has no fixed end
}

// ExplainedFarm is one farm of the location.
type ExplainedFarm struct {
	Name    string            `json:"name"`
	Policy  string            `json:"policy"`
	Servers []ExplainedServer `json:"servers"`
}

// ExplainedServer is one candidate.
type ExplainedServer struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Chosen bool   `json:"chosen"`
	Why    string `json:"why"`
	Detail string `json:"detail"`

	Fact *ExplainedFact `json:"fact,omitempty"` // absent when nothing is known, or content is assumed

	HeldSec  int64         `json:"held_sec"`          // of an archive window: how much it holds
	AskedSec int64         `json:"asked_sec"`         // of how much
	Ranges   []farms.Range `json:"ranges,omitempty"`  // recorded, in and next to the window, unix milliseconds
	Gaps     []farms.Range `json:"gaps,omitempty"`    // of the window
	Source   string        `json:"source,omitempty"`  // "api" or "playlist"
	AgeSec   float64       `json:"age_sec,omitempty"` // since its server told
}

// ExplainRequest is the question of `explain`.
type ExplainRequest struct {
	IP        netip.Addr
	URL       string // absolute, or a path
	UserAgent string
	Now       time.Time // the clock windows are read by, zero: the real one
	ParseOnly bool      // stop when the URL is understood
}

// Explain decides as for a viewer, with every farm judged, and says why. It may
// ask servers, but it remembers, counts and reserves nothing.
func (e *Engine) Explain(ctx context.Context, q ExplainRequest) Explanation {
	// Both decisions together take no longer than one may.
	deadline := time.Now().Add(e.view.Load().set.DecisionTimeout)
	x, server := e.explain(ctx, q, nil)
	if server != nil {
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		after, _ := e.explain(ctx, q, server)
		x.IfChosenDied = &ExplainedDeath{after.Server, after.Farm, after.Reason, after.Fallback}
	}
	return x
}

// explain explains a decision as if a server were down, nil none, and returns
// which was chosen.
func (e *Engine) explain(ctx context.Context, q ExplainRequest, dead *farms.Server) (Explanation, *farms.Server) {
	w := e.begin()
	defer e.end(w)
	w.every, w.dead = true, dead
	v := e.view.Load()
	if q.ParseOnly {
		if path, plain, ok := e.place(w, v, q.request()); ok && e.read(w, v, path, plain) {
			w.decision.Status = http.StatusOK
		}
		return w.explanation(), nil
	}
	e.decide(ctx, w, v, q.request())
	if v.set.Steering != nil && w.decision.Location != nil && !w.steer.on {
		e.rankPathways(w)
		w.orderIDs(v)
	}
	x := w.explanation()
	x.Steps = w.steps(v)
	return x, w.decision.Server
}

// Servers returns the servers of the farms of the viewer's location: those that
// an explanation may ask.
func (e *Engine) Servers(q ExplainRequest) []*farms.Server {
	w := e.begin()
	defer e.end(w)
	if _, _, ok := e.place(w, e.view.Load(), q.request()); !ok {
		return nil
	}
	var out []*farms.Server
	for _, f := range w.decision.Location.Farms {
		for _, m := range f.Members {
			if !slices.Contains(out, m.Server) {
				out = append(out, m.Server)
			}
		}
	}
	return out
}

func (q ExplainRequest) request() Request {
	addr := q.IP.Unmap().WithZone("")
	target, _, _ := strings.Cut(q.URL, "#") // players keep the fragment to themselves
	return Request{
		Door: DoorExplain, Method: "GET", RawTarget: target, UserAgent: q.UserAgent, Now: q.Now,
		Viewer: clientip.Viewer{Addr: addr, Peer: addr, HTTPS: hasPrefixFold(q.URL, "https:")},
	}
}

func (w *work) explanation() Explanation {
	d := &w.decision
	out := Explanation{
		Status: d.Status, Reason: d.Reason.String(), Detail: d.Detail, LocationHeader: d.URL, Fallback: d.Fallback,
		RetryAfter: d.RetryAfter, Generation: d.Generation, Client: d.Request.Viewer.Addr.String(),
		WaitedMS: d.Waited.Milliseconds(), Farms: []ExplainedFarm{}, Steps: []ExplainedStep{},
	}
	if d.Location != nil {
		out.Location = d.Location.Name
		kind := d.Content.Kind
		if c := w.chosen.Chosen; c != nil && c.Fact != nil && c.Fact.Presence == farms.Present && kind == farms.KindLive {
			kind = c.Fact.Kind // the playlist says whether it is live
		}
		out.Content = ExplainedContent{
			Channel: d.Content.Channel, Kind: kind.String(), Protocol: d.Content.Protocol.String(), Dialect: d.Archive.Dialect,
		}
		if win := d.Archive.Window; !win.IsZero() {
			out.Content.Start, out.Content.End, out.Content.Open = win.Start.Unix(), win.End.Unix(), win.Open
		}
	}
	if d.Server != nil {
		out.Farm, out.Server = d.Farm.Name, d.Server.Name
	}
	out.TTL = d.TTL
	for _, id := range w.steer.ids {
		out.Pathways = append(out.Pathways, w.explainPathway(id))
	}
	for i := range w.scratch.Candidates {
		c := &w.scratch.Candidates[i]
		if n := len(out.Farms); n == 0 || out.Farms[n-1].Name != c.Farm.Name {
			out.Farms = append(out.Farms, ExplainedFarm{Name: c.Farm.Name, Policy: c.Farm.Policy.String(), Servers: []ExplainedServer{}})
		}
		f := &out.Farms[len(out.Farms)-1]
		f.Servers = append(f.Servers, ExplainedServer{
			Name: c.Member.Server.Name, URL: c.Member.Server.URL,
			Chosen: d.Server == c.Member.Server && d.Farm == c.Farm, Why: c.Why.String(), Detail: detailOf(c, w.query.Now), Fact: explainFact(c.Fact, w.query.Now),
		})
		if w.query.Need != nil {
			w.explainHeld(&f.Servers[len(f.Servers)-1], c)
		}
	}
	return out
}

func explainFact(f *farms.Fact, now time.Time) *ExplainedFact {
	if f == nil {
		return nil
	}
	return &ExplainedFact{
		Presence: f.Presence.String(), AgeSec: age(now, f.At).Seconds(),
		FreshSec: max(f.FreshUntil.Sub(now), 0).Round(100 * time.Millisecond).Seconds(), Frozen: f.Frozen,
	}
}

func (w *work) explainPathway(id string) ExplainedPathway {
	for i := range w.steer.standing {
		if st := &w.steer.standing[i]; st.Pathway.ID == id {
			return ExplainedPathway{ID: id, URL: st.Pathway.Base(w.query.Secure), Why: st.Why.String(), Well: st.Well}
		}
	}
	for i := range w.steer.clones { // it is as well as what it is a clone of
		if c := &w.steer.clones[i]; c.ID == id {
			p := w.explainPathway(c.Base)
			p.ID, p.URL = id, ""
			return p
		}
	}
	return ExplainedPathway{ID: id}
}

// Bounds of the ranges and of the gaps that are listed for a server: for
// programs, and for a person.
const (
	maxExplained = 200
	maxPrinted   = 6
)

// explainHeld says what a candidate holds of the window.
func (w *work) explainHeld(s *ExplainedServer, c *farms.Candidate) {
	need := w.needOf(c.Farm)
	s.HeldSec, s.AskedSec = int64(c.Held.Seconds()), int64(need.Asked().Seconds())
	f := c.Fact
	if f == nil || f.Presence != farms.Present {
		return
	}
	s.Source, s.AgeSec = f.Source, age(w.query.Now, f.At).Seconds()
	// Who is not asked again, because another holds it all, has not been measured.
	s.HeldSec = int64(need.Held(f, c.Farm.Archive).Seconds())
	if need.begins {
		goes := "goes on"
		if s.HeldSec == 0 {
			goes = "does not go on"
		}
		s.Detail = "the window begins now, and the channel " + goes + " (" + s.Source + "); " + s.Detail
		return
	}
	if len(f.Ranges) > 0 {
		s.Ranges = around(need.window, f.Ranges)
		gaps := archive.Gaps(need.window, f.Ranges)
		s.Gaps = gaps[:min(len(gaps), maxExplained)]
	}
	words := fmt.Sprintf("holds %d of %d s", s.HeldSec, s.AskedSec)
	if n := len(s.Gaps); n > 0 {
		words += fmt.Sprintf(" with %d gaps", n)
	}
	if f.Unplaced > 0 {
		words += ", unverified: it has no dates"
	}
	if !need.GoesOn(f) {
		words += ", and does not go on"
	}
	s.Detail = words + " (" + s.Source + "); " + s.Detail
}

// around returns the ranges that have a part of a window and the nearest on
// either side of it, up to [maxExplained].
func around(window farms.Range, ranges []farms.Range) []farms.Range {
	first := slices.IndexFunc(ranges, func(r farms.Range) bool { return r.To > window.From })
	if first < 0 {
		first = len(ranges)
	}
	first = max(first-1, 0)
	end := first
	for end < len(ranges) && end-first < maxExplained {
		end++
		if ranges[end-1].From >= window.To {
			break
		}
	}
	return ranges[first:end]
}

// printRanges lists ranges for a person.
func printRanges(b *strings.Builder, name string, ranges []farms.Range) {
	for i, r := range ranges {
		if i == maxPrinted {
			fmt.Fprintf(b, "            %-8s %d more\n", "", len(ranges)-i)
			return
		}
		const layout = "2006-01-02T15:04:05Z"
		fmt.Fprintf(b, "            %-8s %s to %s, %v\n", name, time.UnixMilli(r.From).UTC().Format(layout),
			time.UnixMilli(r.To).UTC().Format(layout), r.Length().Round(time.Second))
		name = ""
	}
}

// detailOf says in words what is known of a candidate.
func detailOf(c *farms.Candidate, now time.Time) string {
	var parts []string
	if h := c.Health; h != nil {
		switch h.Condition {
		case farms.ConditionDown:
			parts = append(parts, fmt.Sprintf("down for %v: %s", age(now, h.Since), h.Reason))
		case farms.ConditionUp:
			if h.RTT > 0 {
				parts = append(parts, fmt.Sprintf("answers in %v", h.RTT.Round(10*time.Microsecond)))
			}
		case farms.ConditionUnknown:
			parts = append(parts, "status not known yet")
		}
	}
	if f := c.Fact; f != nil {
		words := fmt.Sprintf("%s %v ago", f.Presence, age(now, f.At))
		if f.Detail != "" {
			words += ": " + f.Detail
		}
		parts = append(parts, words)
		if f.Presence == farms.Trouble && !f.HeldAt.IsZero() {
			parts = append(parts, fmt.Sprintf("had it %v ago", age(now, f.HeldAt)))
		}
	} else if c.Farm.Assume {
		parts = append(parts, "its content is assumed")
	}
	if c.Member.LastResort {
		parts = append(parts, "last resort")
	}
	return strings.Join(parts, "; ")
}

func age(now, then time.Time) time.Duration {
	return max(now.Sub(then), 0).Round(100 * time.Millisecond)
}

// Text renders an explanation for a person.
func (x *Explanation) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("viewer", "%s", x.Client)
	if x.Location == "" {
		line("answer", "%d %s: %s", x.Status, x.Reason, x.Detail)
		return b.String()
	}
	line("location", "%s", x.Location)
	line("content", "channel %q, %s, %s", x.Content.Channel, x.Content.Kind, x.Content.Protocol)
	if x.Content.End != 0 {
		end := time.Unix(x.Content.End, 0).UTC().Format(time.RFC3339)
		if x.Content.Open {
			end = "open"
		}
		line("window", "%s to %s (dialect %s)", time.Unix(x.Content.Start, 0).UTC().Format(time.RFC3339), end, x.Content.Dialect)
	}
	for i, f := range x.Farms {
		line(fmt.Sprintf("farm %d", i+1), "%s (policy %s)", f.Name, f.Policy)
		for _, s := range f.Servers {
			mark := " "
			if s.Chosen {
				mark = ">"
			}
			fmt.Fprintf(&b, "        %s %-24s %-11s %s\n", mark, s.Name, s.Why, s.Detail)
			if s.Source != "" {
				fmt.Fprintf(&b, "            %-8s %s, told %.1f s ago\n", "source", s.Source, s.AgeSec)
				printRanges(&b, "recorded", s.Ranges)
				printRanges(&b, "missing", s.Gaps)
			}
		}
	}
	for i, p := range x.Pathways {
		name := ""
		if i == 0 {
			name = "pathways"
		}
		well := "well"
		if !p.Well {
			well = "not well"
		}
		line(name, "%d. %-20s %-11s %s", i+1, p.ID, p.Why, well)
	}
	switch {
	case x.TTL > 0:
		line("answer", "%d %s: a steering manifest, TTL %d s", x.Status, x.Reason, x.TTL)
	case x.Fallback:
		line("answer", "%d to the location's fallback_url, because %s: %s", x.Status, x.Reason, x.Detail)
	case x.Server != "":
		line("answer", "%d %s: server %s of farm %s", x.Status, x.Reason, x.Server, x.Farm)
	default:
		line("answer", "%d %s: %s", x.Status, x.Reason, x.Detail)
		if x.RetryAfter > 0 {
			line("", "Retry-After: %d", x.RetryAfter)
		}
	}
	if x.LocationHeader != "" {
		line("Location", "%s", x.LocationHeader)
	}
	switch died := x.IfChosenDied; {
	case died == nil:
	case died.Server != "":
		line("if it died", "server %s of farm %s", died.Server, died.Farm)
	case died.Fallback:
		line("if it died", "to the location's fallback_url, because %s", died.Reason)
	default:
		line("if it died", "%s", died.Reason)
	}
	return b.String()
}
