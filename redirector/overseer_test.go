package redirector

import (
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// The operator's side of a script: a server is rechecked once, and channels are
// those that something is known of.

func (p *script) Recent(farms.Endpoint) []time.Duration {
	return []time.Duration{3 * time.Millisecond, 0, 2 * time.Millisecond}
}

func (p *script) Recorded(limit int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for c, known := range p.known {
		if c.Kind.Windowed() && !slices.Contains(out, c.Channel) && slices.ContainsFunc(known.Facts, func(f farms.Fact) bool { return len(f.Ranges) > 0 }) {
			out = append(out, c.Channel)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), limit)]
}

func (p *script) Recordings(channel string) []farms.Fact {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []farms.Fact
	for c, known := range p.known {
		for _, f := range known.Facts {
			if c.Channel == channel && c.Kind.Windowed() && len(f.Ranges) > 0 {
				out = append(out, f)
			}
		}
	}
	return out
}

func (p *script) Recheck(s *farms.Server) (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.checked, s.Name) {
		return 0, false
	}
	p.checked = append(p.checked, s.Name)
	return 2, true
}

func (p *script) Forget(channel string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.known {
		if c.Channel == channel {
			delete(p.known, c)
			n++
		}
	}
	return n
}

func (p *warmProber) Recent(farms.Endpoint) []time.Duration { return nil }
func (p *warmProber) Recorded(int) []string                 { return nil }
func (p *warmProber) Recordings(string) []farms.Fact        { return nil }
func (p *warmProber) Recheck(*farms.Server) (int, bool)     { return 0, false }
func (p *warmProber) Forget(string) int                     { return 0 }
