package probe

import (
	"math/rand/v2"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// server is what is known about one endpoint. Its health is published as an
// immutable view.
type server struct {
	endpoint farms.Endpoint
	spec     atomic.Pointer[farms.Server] // a server of the table with this endpoint
	health   atomic.Pointer[farms.Health]
	pace     atomic.Pointer[pace]
	swept    atomic.Bool   // it has answered a status probe, or failed to
	kick     chan struct{} // asks for a status probe now
	checked  atomic.Int64  // unix nanoseconds of the last check asked for by a viewer's return
	silent   atomic.Bool   // the last status probe got no answer
	stop     func()        // ends the status loop; set by startServer

	rechecked atomic.Int64 // unix nanoseconds of the operator's last recheck

	mu          sync.Mutex
	damper      damper
	rtt         time.Duration
	probed      time.Time // end of the last status probe
	reach       farms.Reach
	silentSince time.Time
	prior       damper // as it was before the silence began, for isolation
	held        bool   // isolation: publish prior
	recent      recent // response times of the last status probes
	answers     int    // see farms.Health
	guarded     int
}

func newServer(fs *farms.Server, set *Settings) *server {
	s := &server{endpoint: fs.Endpoint, kick: make(chan struct{}, 1)}
	s.damper.since = time.Now()
	s.follow(fs, set)
	s.publish(time.Now())
	return s
}

// follow takes over what a reload may change without another endpoint.
func (s *server) follow(fs *farms.Server, set *Settings) {
	s.spec.Store(fs)
	if p := s.pace.Load(); p == nil || cap(p.slots) != set.MaxInFlight || p.rate != set.MaxPerSec {
		s.pace.Store(newPace(set.MaxPerSec, set.MaxInFlight))
	}
	s.mu.Lock()
	s.damper.rise, s.damper.fall = set.Rise, set.Fall
	s.prior.rise, s.prior.fall = set.Rise, set.Fall
	s.mu.Unlock()
}

// publish makes the health view anew and tells whether its condition is another
// one. s.mu is held, or s is not shared yet.
func (s *server) publish(now time.Time) (h *farms.Health, changed bool) {
	d, reason := &s.damper, s.damper.words(now)
	if s.held {
		d, reason = &s.prior, "observer isolated: held as it was; "+reason
	}
	h = &farms.Health{
		Condition: d.condition, Since: d.since, Reason: reason,
		RTT: s.rtt, WarmFrom: d.warmFrom, Reach: s.reach, Probed: s.probed,
		Answers: s.answers, Guarded: s.guarded,
	}
	old := s.health.Swap(h)
	return h, old != nil && old.Condition != h.Condition
}

// rttWeight is the weight of a new response time in the smoothed one.
const rttWeight = 0.25

// observeRTT smooths the response time. s.mu is held.
func (s *server) observeRTT(d time.Duration) {
	if s.rtt == 0 {
		s.rtt = d
		return
	}
	s.rtt += time.Duration(rttWeight * float64(d-s.rtt))
}

// heard counts an answer to a probe of content. s.mu is held.
func (s *server) heard(p farms.Presence) {
	switch p {
	case farms.Guarded:
		s.guarded++
		s.answers++
	case farms.Present, farms.Absent:
		s.answers++
	}
}

// host returns the host name of the server's URL, or its address.
func (s *server) host() (name string, literal netip.Addr) {
	u, err := url.Parse(s.spec.Load().URL)
	if err != nil {
		return "", netip.Addr{}
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return "", a
	}
	return u.Hostname(), netip.Addr{}
}

// recheck asks for a status probe now; many calls make one probe.
func (s *server) recheck() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// jitter spreads d by ± 20 %, so that probes of many servers do not fall into
// step.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// longestJitter is the most that jitter makes of d.
func longestJitter(d time.Duration) time.Duration { return d + d/5 }
