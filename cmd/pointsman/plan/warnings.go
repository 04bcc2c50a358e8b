package plan

import (
	"fmt"
	"math"

	"github.com/pointsman-tv/pointsman/farms"
)

// warnings says where the report is less exact than its numbers look.
func (s *side) warnings(r *Report, opt Options) []string {
	out := []string{}
	if r.Viewers < r.Population {
		out = append(out, fmt.Sprintf("of %d viewers an even sample of %d was replayed", r.Population, r.Viewers))
	}
	if n := len(s.slots); n > 0 && r.Viewers > 0 {
		share := 1 / float64(n)
		if off := 300 * math.Sqrt(share*(1-share)/float64(r.Viewers)); off > 1 {
			out = append(out, fmt.Sprintf("%d viewers are few for %d servers: a share may be off by %.1f percentage points by chance", r.Viewers, n, off))
		}
	}
	for _, f := range s.table.Farms {
		switch {
		case f.Policy == farms.FirstResponse && len(f.Members) > 1 && s.logged != nil:
			out = append(out, fmt.Sprintf("farm %q has policy first_response, which follows response times: its shares are those of the log, and survivors are taken to share in the same proportion", f.Name))
		case f.Policy == farms.FirstResponse && len(f.Members) > 1:
			out = append(out, fmt.Sprintf("farm %q has policy first_response, which follows response times: here all are taken to answer equally fast, so that real shares may differ; -log takes them from the log", f.Name))
		case f.Policy == farms.ContentID && s.logged == nil:
			out = append(out, fmt.Sprintf("farm %q has policy content_id: what a server carries depends on which channels are popular, and these are made up; -log takes them from the log", f.Name))
		}
		if f.BoundedLoad > 0 {
			out = append(out, fmt.Sprintf("farm %q has a bounded_load: it is counted in viewers of the replay as they come, not in sessions of the last minutes", f.Name))
		}
	}
	for _, server := range s.table.Servers {
		if state := farms.Overrides(nil).State(server, opt.Now); state != farms.StateEnabled {
			out = append(out, fmt.Sprintf("server %q is %s and is planned to carry nobody", server.Name, state))
		}
	}
	return append(out, s.logWarnings(r)...)
}

// maxOff is by how much the share of a server in the log may differ from the
// chooser's before it is named: one percentage point.
const maxOff = 0.01

// logWarnings says where the log tells otherwise than the chooser.
func (s *side) logWarnings(r *Report) []string {
	var out []string
	if s.logged == nil {
		return nil
	}
	if s.unlisted > 0 {
		out = append(out, fmt.Sprintf("the log sends %.1f %% of the viewers to servers that this configuration does not have", 100*part(s.unlisted, s.loggedTotal())))
	}
	for i := range r.Servers {
		if x := &r.Servers[i]; math.Abs(*x.Logged-x.Share) > maxOff {
			out = append(out, fmt.Sprintf("server %q was given %.1f %% in the log and %.1f %% here: in the log servers were down, lacked channels or had other weights for a part of the time", x.Name, 100**x.Logged, 100*x.Share))
		}
	}
	return out
}
