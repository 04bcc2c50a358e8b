package redirector

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

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
}

// ExplainedContent is what the URL asks for.
type ExplainedContent struct {
	Channel  string `json:"channel"`
	Kind     string `json:"kind"`
	Protocol string `json:"protocol"`
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
}

// ExplainRequest is the question of `explain`.
type ExplainRequest struct {
	IP        netip.Addr
	URL       string // absolute, or a path
	UserAgent string
}

// Explain decides as for a viewer, with every farm judged, and says why. It may
// ask servers, but it remembers, counts and reserves nothing.
func (e *Engine) Explain(ctx context.Context, q ExplainRequest) Explanation {
	w := e.begin()
	defer e.end(w)
	w.every = true
	e.decide(ctx, w, e.view.Load(), q.request())
	return w.explanation()
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
	return Request{
		Door: DoorExplain, Method: "GET", RawTarget: q.URL, UserAgent: q.UserAgent,
		Viewer: clientip.Viewer{Addr: addr, Peer: addr, HTTPS: hasPrefixFold(q.URL, "https:")},
	}
}

func (w *work) explanation() Explanation {
	d := &w.decision
	out := Explanation{
		Status: d.Status, Reason: d.Reason.String(), Detail: d.Detail, LocationHeader: d.URL, Fallback: d.Fallback,
		RetryAfter: d.RetryAfter, Generation: d.Generation, Client: d.Request.Viewer.Addr.String(),
		WaitedMS: d.Waited.Milliseconds(), Farms: []ExplainedFarm{},
	}
	if d.Location != nil {
		out.Location = d.Location.Name
		kind := d.Content.Kind
		if c := w.chosen.Chosen; c != nil && c.Fact != nil && c.Fact.Presence == farms.Present && kind == farms.KindLive {
			kind = c.Fact.Kind // the playlist says whether it is live
		}
		out.Content = ExplainedContent{d.Content.Channel, kind.String(), d.Content.Protocol.String()}
	}
	if d.Server != nil {
		out.Farm, out.Server = d.Farm.Name, d.Server.Name
	}
	for i := range w.scratch.Candidates {
		if d.Location == nil {
			break // candidates of an earlier decision
		}
		c := &w.scratch.Candidates[i]
		if n := len(out.Farms); n == 0 || out.Farms[n-1].Name != c.Farm.Name {
			out.Farms = append(out.Farms, ExplainedFarm{Name: c.Farm.Name, Policy: c.Farm.Policy.String(), Servers: []ExplainedServer{}})
		}
		f := &out.Farms[len(out.Farms)-1]
		f.Servers = append(f.Servers, ExplainedServer{
			Name: c.Member.Server.Name, URL: c.Member.Server.URL,
			Chosen: d.Server == c.Member.Server && d.Farm == c.Farm, Why: c.Why.String(), Detail: detailOf(c, w.query.Now),
		})
	}
	return out
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
	for i, f := range x.Farms {
		line(fmt.Sprintf("farm %d", i+1), "%s (policy %s)", f.Name, f.Policy)
		for _, s := range f.Servers {
			mark := " "
			if s.Chosen {
				mark = ">"
			}
			fmt.Fprintf(&b, "        %s %-24s %-11s %s\n", mark, s.Name, s.Why, s.Detail)
		}
	}
	switch {
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
	return b.String()
}
