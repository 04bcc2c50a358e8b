package redirector

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/status"
)

// The bounds of what is said of recordings.
const (
	maxCoverageChannels = 1000
	maxCoverageRanges   = 2000 // of each server
	// coverageBlur is how near ranges may be to each other to be one: servers and
	// playlists round.
	coverageBlur = 2 * time.Second
)

// Coverage gathers when each server recorded a channel, from what servers have
// told already: nobody is asked. Without a channel it lists those with recordings.
func (e *Engine) Coverage(channel string, now time.Time) *status.Coverage {
	out := &status.Coverage{Version: status.Version, Channel: channel, Channels: []string{}, Servers: []status.CoverageServer{}}
	for _, name := range e.prober.Recorded(maxCoverageChannels) {
		if strings.Contains(strings.ToLower(name), strings.ToLower(channel)) {
			out.Channels = append(out.Channels, name)
		}
	}
	if channel == "" {
		return out
	}
	told := map[farms.Endpoint]*recordedBy{}
	for _, f := range e.prober.Recordings(channel) {
		r := told[f.Endpoint]
		if r == nil {
			r = &recordedBy{}
			told[f.Endpoint] = r
		}
		r.ranges = append(r.ranges, f.Ranges...)
		if at := cmp.Or(f.HeldAt, f.At); at.After(r.at) {
			r.at = at
		}
		if r.source == "" || f.Source == farms.SourceAPI {
			r.source = f.Source // an interface tells of all there is
		}
	}
	for _, s := range e.Table().Servers {
		r := told[s.Endpoint]
		if r == nil {
			continue
		}
		x := status.CoverageServer{Name: s.Name, Source: r.source, Told: r.at.UTC(), AgeSec: age(now, r.at).Seconds()}
		x.Ranges = archive.Normalize(r.ranges, coverageBlur)
		if extra := len(x.Ranges) - maxCoverageRanges; extra > 0 {
			x.Ranges, x.Dropped = x.Ranges[extra:], extra
		}
		for _, held := range x.Ranges {
			x.HeldSec += int64(held.Length().Seconds())
		}
		if n := len(x.Ranges); n > 0 {
			if out.From == 0 || x.Ranges[0].From < out.From {
				out.From = x.Ranges[0].From
			}
			out.To = max(out.To, x.Ranges[n-1].To)
		}
		out.Servers = append(out.Servers, x)
	}
	all := farms.Range{From: out.From, To: out.To}
	for i := range out.Servers {
		x := &out.Servers[i]
		gaps := archive.Gaps(all, x.Ranges)
		x.Gaps = slices.DeleteFunc(gaps[:min(len(gaps), maxCoverageRanges+1)], func(g farms.Range) bool { return g.Length() <= coverageBlur })
		if x.Gaps == nil {
			x.Gaps = []farms.Range{}
		}
	}
	return out
}

// recordedBy is what one server told of a channel's recordings.
type recordedBy struct {
	ranges []farms.Range
	at     time.Time
	source string
}
