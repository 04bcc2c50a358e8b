package redirector

import (
	"sync/atomic"

	"github.com/pointsman-tv/pointsman/redirector/status"
)

// The bounds of what is remembered of refusals.
const (
	refusalsKept      = 100
	refusalsPerSecond = 200 // more are counted only: a flood would push everything else out, and is soon seen
	refusalCandidates = 8
)

// refusals are the last decisions that sent a viewer to no server. Nobody waits
// for anybody: writers take places in a ring.
type refusals struct {
	ring   [refusalsKept]atomic.Pointer[keptRefusal]
	next   atomic.Uint64 // place of the next one
	second atomic.Int64  // unix seconds, and
	within atomic.Int64  // how many there were in it
	total  atomic.Uint64 // all there ever were
}

type keptRefusal struct {
	refusal *status.Refusal
	number  uint64 // among all there ever were
	place   uint64 // among those kept
}

// take remembers a decision without a server.
func (r *refusals) take(w *work, v *view) {
	d := &w.decision
	number := r.total.Add(1)
	if now := d.Time.Unix(); r.second.Load() != now && r.second.Swap(now) != now {
		r.within.Store(0)
	}
	if r.within.Add(1) > refusalsPerSecond {
		return
	}
	f := &status.Refusal{
		Time: d.Time.UTC(), Door: d.Request.Door.String(), Reason: d.Reason.String(), Status: d.Status,
		Detail: clip(d.Detail, maxLogTarget), Method: clip(d.Request.Method, maxLogMethod),
		Client: v.set.logged(d.Request.Viewer.Addr).String(), Peer: v.set.logged(d.Request.Viewer.Peer).String(),
		Host: clip(d.Host, maxLogHost), Target: clip(v.redacted(d), maxLogTarget),
		UserAgent: clip(d.Request.UserAgent, maxLogAgent), Fallback: d.Fallback, WaitedMS: d.Waited.Milliseconds(),
	}
	if d.Location != nil {
		f.Location, f.Channel = d.Location.Name, clip(d.Content.Channel, maxLogTarget)
		for i := range w.scratch.Candidates {
			if i == refusalCandidates {
				break
			}
			c := &w.scratch.Candidates[i]
			f.Candidates = append(f.Candidates, status.RefusedWhy{Server: c.Member.Server.Name, Why: c.Why.String()})
		}
	}
	place := r.next.Add(1) - 1
	r.ring[place%refusalsKept].Store(&keptRefusal{f, number, place})
}

// last lists them, the newest first.
func (r *refusals) last() status.Refusals {
	out := status.Refusals{Last: []*status.Refusal{}}
	end, oldest := r.next.Load(), r.total.Load()+1
	all := oldest - 1
	for i := end; i > 0 && end-i < refusalsKept; i-- {
		// A place whose writer is not done yet, or that a newer one has taken, is
		// left out.
		if k := r.ring[(i-1)%refusalsKept].Load(); k != nil && k.place == i-1 {
			out.Last = append(out.Last, k.refusal)
			oldest = min(oldest, k.number)
		}
	}
	if newer := all + 1 - oldest; newer > uint64(len(out.Last)) {
		out.LeftOut = newer - uint64(len(out.Last))
	}
	return out
}
