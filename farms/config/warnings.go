package config

import (
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
)

// warn looks at a document without errors for what was probably not meant.
func (l *loader) warn(d *Document, table *farms.Table) {
	l.warnSmartMedia(d)
	l.warnCore(d)
	for i := range d.Redirection.Farms {
		l.warnFarm(d, i)
	}
	l.warnUnusedFarms(d)
	l.warnLocations(d, table)
	l.warnSteering(d)
	l.warnAlarms(&d.Alarms)
}

// fastCGIPort is where web servers conventionally find a FastCGI service.
const fastCGIPort = 9000

// warnSmartMedia names what a file that comes from SmartMEDIA does otherwise
// here.
func (l *loader) warnSmartMedia(d *Document) {
	core := l.root.get("core")
	if at := l.root.get("redirection").get("uri_path"); at.kind == kindAbsent {
		l.warnf(at, "is missing and is \"/\" here; in SmartMEDIA it was \"/hls\"")
	}
	threads, user, group := core.get("http_threads"), core.get("user"), core.get("group")
	if threads.kind != kindAbsent {
		l.warnf(threads, "has no effect; all processor cores are used and nothing is to be set")
	}
	if user.kind != kindAbsent {
		l.warnf(user, "has no effect; User= of the systemd unit says who runs the service")
	}
	if group.kind != kindAbsent {
		l.warnf(group, "has no effect; Group= of the systemd unit says who runs the service")
	}
	looksLike := !l.ours || d.Core.Port == fastCGIPort || threads.kind != kindAbsent || user.kind != kindAbsent || group.kind != kindAbsent
	if at := core.get("protocol"); at.kind == kindAbsent && looksLike {
		l.warnf(at, "is missing and is \"http\" here; SmartMEDIA listens for FastCGI, for which it is \"fastcgi\"")
	}
}

func (l *loader) warnCore(d *Document) {
	core := l.root.get("core")
	for i, p := range d.Core.TrustedProxies {
		if p.Bits() == 0 {
			l.warnf(core.get("trusted_proxies").item(i), "is %s, so that every viewer may claim any address", p)
		}
	}
	if d.Core.ProxyProtocol && len(d.Core.TrustedProxies) == 0 {
		l.warnf(core.get("proxy_protocol"), "is true and trusted_proxies is empty, so that no PROXY line is ever believed")
	}
	if d.Core.TLS == nil {
		return
	}
	for i, f := range d.Redirection.Farms {
		if !f.servesHTTPS() {
			l.warnf(l.farm(i), "has no server for https viewers (an https url or https_url), and core.tls lets them in")
		}
	}
}

func (f *Farm) servesHTTPS() bool {
	for _, s := range f.Servers {
		if s.HTTPSURL != "" || strings.HasPrefix(s.URL, "https:") {
			return true
		}
	}
	return false
}

func (l *loader) farm(i int) *node { return l.root.get("redirection").get("farms").item(i) }

func (l *loader) warnFarm(d *Document, i int) {
	f := &d.Redirection.Farms[i]
	entries := l.farm(i).get("servers").items()
	for j, s := range f.Servers {
		if !s.DrainUntil.IsZero() && s.State != farms.StateDraining {
			at := serverNode{entries[j], l.farm(i).get("defaults")}.get("drain_until")
			l.warnf(at, "has no effect while state is %q; expected \"draining\"", s.State)
		}
	}
	l.warnAPI(f, l.farm(i))
	if len(f.Servers) == 1 {
		l.warnf(l.farm(i), "has one server; when that fails, nobody in the farm takes its place")
		return
	}
	l.warnSurvivors(f, i)
}

// warnAPI looks for a secret that goes in the clear beyond private networks, and
// for one API that stands in for several servers.
func (l *loader) warnAPI(f *Farm, n *node) {
	defaults, entries := n.get("defaults"), n.get("servers").items()
	inherited := 0
	for j := range f.Servers {
		s := &f.Servers[j]
		if address := s.exposesSecret(); address != "" {
			l.warnf(serverNode{entries[j], defaults}.get("api_secret"), "is for an API over plain http at %s, which is no private address, so that others on the way can read it; expected https in api_url", address)
		}
		if s.Type != Generic && entries[j].get("api_url").kind == kindAbsent {
			inherited++
		}
	}
	if at := defaults.get("api_url"); at.kind != kindAbsent && inherited > 1 {
		l.warnf(at, "is one API for %d servers, so that each is believed to have what that one has; expected it at each server", inherited)
	}
}

// maxSurvivorLoad is how many times their normal load the other servers of a
// farm may have to carry when one fails.
const maxSurvivorLoad = 2

// warnSurvivors looks for a server that carries so much of its farm's load
// that the others could hardly take it over. Without limits in the document,
// weights are all there is to judge by; under first_response load follows
// response times instead.
func (l *loader) warnSurvivors(f *Farm, i int) {
	if f.Policy == farms.FirstResponse {
		return
	}
	var total float64
	largest, regular := -1, 0
	for j, s := range f.Servers {
		if s.LastResort || s.Weight == 0 || s.State != farms.StateEnabled {
			continue
		}
		total += s.Weight
		regular++
		if largest < 0 || s.Weight > f.Servers[largest].Weight {
			largest = j
		}
	}
	if regular < 2 {
		return
	}
	s := f.Servers[largest]
	others := total - s.Weight
	if total <= maxSurvivorLoad*others {
		return
	}
	at := serverNode{l.farm(i).get("servers").item(largest), l.farm(i).get("defaults")}.get("weight")
	l.warnf(at, "is %s of %s in the farm; when %s fails, the others have to carry %.1f times their normal load",
		formatNumber(s.Weight), formatNumber(total), quote(s.Name), total/others)
}

func (l *loader) warnUnusedFarms(d *Document) {
	used := make(map[string]bool, len(d.Redirection.Farms))
	for _, loc := range d.Redirection.Locations {
		for _, name := range loc.Farms {
			used[name] = true
		}
	}
	for i, f := range d.Redirection.Farms {
		if !used[f.Name] {
			l.warnf(l.farm(i), "is in no location's farms, so that no viewer is sent there")
		}
	}
}
