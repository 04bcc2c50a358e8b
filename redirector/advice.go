package redirector

import (
	"fmt"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// When traffic speaks for an advice. A window is as long as it takes to see
// enough at a small operator's; an advice is found as soon as there is enough,
// and its absence only with the window's end.
const (
	peerWindow   = 10 * time.Minute
	peerRequests = 100 // at least, of all peers
	peerPercent  = 30  // of them, from one peer that is not trusted, with a forwarding header

	openWindow   = time.Minute
	openTotal    = 200 // opens of one channel at least
	openSession  = 40  // of one session: more than a player that loads its playlist again and again
	openPercent  = 5
	verdictHolds = 10 * time.Minute // an advice stays after it was last found

	guardedWindow  = 10 * time.Minute
	guardedAnswers = 3 // at least, without any other answer
)

// verdict is the newest finding of one kind.
type verdict struct {
	found Finding
	at    time.Time // zero: never
}

func (v *verdict) holding(now time.Time) []Finding {
	if v.at.IsZero() || now.Sub(v.at) > verdictHolds {
		return nil
	}
	return []Finding{v.found}
}

// verdicts are what the sense has found, and since when it looks.
type verdicts struct {
	proxies, session     verdict
	peersFrom, opensFrom time.Time
	heardFrom            time.Time
	before, last         map[farms.Endpoint]heard
}

// heard are the answers of a server to content probes by some time.
type heard struct{ all, guarded int }

// advise raises and clears the advices.
func (e *Engine) advise(v *view, now time.Time) {
	s := e.sense
	s.mu.Lock()
	s.judgePeers(now)
	s.judgeOpens(now)
	proxies, session := s.verdicts.proxies.holding(now), s.verdicts.session.holding(now)
	guarded := e.guarded(v.table, now)
	s.mu.Unlock()
	e.alarms.Assess(AdviceTrustedProxies, proxies, now)
	e.alarms.Assess(AdviceSessionKey, session, now)
	e.alarms.Assess(AdviceProbeCredentials, guarded, now)
}

// judgePeers looks for a proxy that nobody told us of: all its viewers are then
// in one place. s.mu is held.
func (s *sense) judgePeers(now time.Time) {
	if top := s.peers.top(); top != nil && s.requests >= peerRequests && top.sure()*100 > s.requests*peerPercent {
		header, other := "X-Forwarded-For", ""
		if !top.value.forwardedFor {
			header, other = "Forwarded", `, "client_ip_header": "Forwarded"`
		}
		var list strings.Builder
		for _, p := range s.proxies[:min(len(s.proxies), maxFarmWords)] {
			fmt.Fprintf(&list, "%q, ", p)
		}
		if len(s.proxies) > maxFarmWords {
			list.WriteString("…, ")
		}
		s.verdicts.proxies = verdict{at: now, found: Finding{
			Detail: fmt.Sprintf("%d %% of the requests come from %s with the header %s, which is not believed, so that all of its viewers are located there. "+
				"If it is a proxy of yours, trust it; it can then say where viewers are", top.sure()*100/s.requests, top.key, header),
			Config: fmt.Sprintf(`"core": { "trusted_proxies": [%s%q]%s }`, list.String(), top.key, other),
		}}
	}
	if now.Sub(s.verdicts.peersFrom) >= peerWindow {
		s.verdicts.peersFrom = now
		s.forgetPeers()
	}
}

// judgeOpens looks for a session that stands for many viewers: all of them get
// the same server. s.mu is held.
func (s *sense) judgeOpens(now time.Time) {
	var channel *channelSeen
	var worst *heavyEntry[uint64, sessionSeen]
	for i := range s.channels.entries {
		c := &s.channels.entries[i].value
		top := c.sessions.top()
		if c.sessions.total < openTotal || top.sure() < openSession || top.sure()*100 <= c.sessions.total*openPercent {
			continue
		}
		if worst == nil || top.sure() > worst.sure() {
			channel, worst = c, top
		}
	}
	if worst != nil {
		s.verdicts.session = verdict{at: now, found: sessionAdvice(channel, worst)}
	}
	if now.Sub(s.verdicts.opensFrom) >= openWindow {
		s.verdicts.opensFrom = now
		s.forgetOpens()
	}
}

func sessionAdvice(c *channelSeen, top *heavyEntry[uint64, sessionSeen]) Finding {
	by := "one address and User-Agent"
	if key := top.value.key; key != "" {
		by = "one value of the session_key " + key
	}
	name, hint := top.value.telling(top.sure()), ""
	if name == "" {
		name, hint = "NAME", "; NAME is to be a query parameter that differs from viewer to viewer, of which none was seen"
	}
	return Finding{
		Detail: fmt.Sprintf("%s stands behind %d %% of the opens of channel %s, so that all of these viewers count as one session and get one server%s",
			by, top.sure()*100/c.sessions.total, c.name, hint),
		Config: fmt.Sprintf(`"redirection": { "session_key": [%q] }`, name),
	}
}

// guarded looks for servers that have answered nothing but 401 and 403 to probes
// of content, for ten to twenty minutes or from the beginning. s.mu is held.
func (e *Engine) guarded(t *farms.Table, now time.Time) []Finding {
	v := &e.sense.verdicts
	turn := now.Sub(v.heardFrom) >= guardedWindow
	if turn {
		v.heardFrom, v.before, v.last = now, v.last, make(map[farms.Endpoint]heard, len(t.Servers))
	}
	var names []string
	more, farm := 0, ""
	for _, f := range t.Farms {
		for i := range f.Members {
			s := f.Members[i].Server
			h := e.prober.Health(s.Endpoint)
			if h == nil {
				continue
			}
			if turn {
				v.last[s.Endpoint] = heard{h.Answers, h.Guarded}
			}
			since := v.before[s.Endpoint]
			n := h.Guarded - since.guarded
			if n < guardedAnswers || h.Answers-since.all != n {
				continue
			}
			if len(names) == 0 {
				farm = f.Name
			}
			if len(names) < maxFarmWords {
				names = append(names, s.Name)
			} else {
				more++
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Finding{{
		Detail: "all answers to probes of content are 401 or 403, so that nobody knows what is there: " + listed(names, more) +
			". Give the probes a token, in probe_headers or probe_query",
		Config: fmt.Sprintf(`"redirection": { "farms": [ { "name": %q, "defaults": { "probe_headers": { "Authorization": { "file": "probe-token" } } } } ] }`, farm),
	}}
}
