package redirector

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// How much of the traffic is looked at: every request of a quiet service, and of
// a busy one so many at the beginning of each slot. A request beyond them costs
// two loads.
const (
	senseSlot  = 100 * time.Millisecond
	senseShare = 256
)

// The bounds of what is remembered of traffic.
const (
	sensePeers    = 16
	senseChannels = 64
	senseSessions = 40 // of each channel: twice as many as can have 5 %
	senseParams   = 4  // of each session
	maxParamName  = 40 // bytes
)

// sense watches traffic for signs that a key of the configuration is missing. It
// has no part in decisions and never holds one up: whoever finds it in use leaves
// it alone.
type sense struct {
	slot atomic.Int64 // number of the slot
	left atomic.Int32 // requests that are still looked at in it

	mu       sync.Mutex // viewers only try it
	keys     []string   // session_key
	proxies  []netip.Prefix
	requests int // of this window
	peers    heavy[netip.Addr, peerSeen]
	channels heavy[uint64, channelSeen]
	verdicts verdicts
}

// peerSeen is what a peer that is not trusted sends.
type peerSeen struct{ forwardedFor, forwarded bool }

// channelSeen are the opens of a channel by session.
type channelSeen struct {
	name     string
	sessions heavy[uint64, sessionSeen]
}

// begin has it stand for a channel; its memory is that of another one before.
func (c *channelSeen) begin(name string) {
	c.name = strings.Clone(bounded(name, maxWords))
	if c.sessions.forget(); c.sessions.most == 0 {
		c.sessions = newHeavy[uint64, sessionSeen](senseSessions)
	}
}

// sessionSeen is how the viewers behind one session are told apart, if they are.
type sessionSeen struct {
	key    string // the session_key that named it, "" address and User-Agent
	params [senseParams]paramSeen
}

// paramSeen is a query parameter and how often its value was another one.
type paramSeen struct {
	name    string
	value   uint64
	changes int
}

func newSense() *sense {
	s := &sense{}
	s.forgetPeers()
	s.forgetOpens()
	return s
}

func (s *sense) forgetPeers() {
	s.requests, s.peers = 0, newHeavy[netip.Addr, peerSeen](sensePeers)
}

func (s *sense) forgetOpens() { s.channels = newHeavy[uint64, channelSeen](senseChannels) }

// follow begins anew where a reload changed what an advice is about.
func (s *sense) follow(set *Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.proxies, set.TrustedProxies) {
		s.proxies = set.TrustedProxies
		s.forgetPeers()
		s.verdicts.proxies = verdict{}
	}
	if !slices.Equal(s.keys, set.SessionKeys) {
		s.keys = set.SessionKeys
		s.forgetOpens()
		s.verdicts.session = verdict{}
	}
}

// due tells whether a request is to be looked at.
func (s *sense) due(now time.Time) bool {
	slot := now.UnixNano() / int64(senseSlot)
	if was := s.slot.Load(); was != slot && s.slot.CompareAndSwap(was, slot) {
		s.left.Store(senseShare)
	}
	return s.left.Load() > 0 && s.left.Add(-1) >= 0
}

// see looks at a request that was decided.
func (s *sense) see(w *work, v *view, h http.Header) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	d := &w.decision
	s.requests++
	seen := peerSeen{len(h["X-Forwarded-For"]) > 0, len(h["Forwarded"]) > 0}
	if peer := d.Request.Viewer.Peer; seen != (peerSeen{}) && peer.IsValid() && !v.set.Clients.Trusted(peer) {
		e, _ := s.peers.add(peer)
		e.value = seen
	}
	if d.Server == nil || d.Request.Method != http.MethodGet || w.steer.on || d.Content.Kind == farms.KindChild {
		return
	}
	c, fresh := s.channels.add(hashString(d.Content.Channel))
	if fresh {
		c.value.begin(d.Content.Channel)
	}
	x, fresh := c.value.sessions.add(w.identity)
	if fresh {
		x.value = sessionSeen{}
	}
	s.session(&x.value, w.target.Query)
}

// session notes how this viewer differs from the last one of the same session.
func (s *sense) session(seen *sessionSeen, query string) {
	seen.key = ""
	for _, key := range s.keys {
		if _, ok := queryValue(query, key); ok {
			seen.key = key
			break
		}
	}
	const most = 16
	for i := 0; query != "" && i < most; i++ {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && plainParam(name) && name != seen.key {
			seen.param(name, hashString(value))
		}
	}
}

func (seen *sessionSeen) param(name string, value uint64) {
	for i := range seen.params {
		p := &seen.params[i]
		switch p.name {
		case name:
			if p.value != value {
				p.value = value
				p.changes++
			}
			return
		case "":
			*p = paramSeen{name: strings.Clone(name), value: value}
			return
		}
	}
}

// plainParam tells whether a parameter's name can stand in an advice.
func plainParam(name string) bool {
	if name == "" || len(name) > maxParamName || strings.HasPrefix(name, "_HLS_") {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// telling returns the parameter that tells most of n viewers apart, "" for none.
func (seen *sessionSeen) telling(n int) string {
	best := paramSeen{changes: n / 2}
	for _, p := range seen.params {
		if p.changes > best.changes {
			best = p
		}
	}
	return best.name
}
