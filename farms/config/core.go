package config

import (
	"crypto/tls"
	"net/netip"
	"slices"
	"time"
)

// Protocol is what the viewer listener speaks.
type Protocol string

// The protocols.
const (
	HTTP    Protocol = "http"
	FastCGI Protocol = "fastcgi"
)

// Core is the viewer listener and the process.
type Core struct {
	// Port of the viewer listener.
	Port int `json:"port" default:"9201" limits:"1..65535" smartmedia:"yes"`
	// Address the viewer listener binds; `::` for both families.
	Interface netip.Addr `json:"interface" default:"0.0.0.0" smartmedia:"yes"`
	// Accepted without effect: all processor cores are used.
	HTTPThreads Ignored `json:"http_threads" smartmedia:"yes"`
	// Accepted without effect: `User=` of the systemd unit says who runs the service.
	User Ignored `json:"user" smartmedia:"yes"`
	// Accepted without effect: `Group=` of the systemd unit says who runs the service.
	Group Ignored `json:"group" smartmedia:"yes"`
	// What the viewer listener speaks. `fastcgi` is for a web server in front that
	// passes requests on, as SmartMEDIA has them behind nginx.
	Protocol Protocol `json:"protocol" default:"http" enum:"http,fastcgi"`
	// Names under which viewers reach this service, without port; a request for any
	// other host is answered `421 unknown_host`. Absent: every host is ours.
	Hosts []string `json:"hosts" limits:"0..1000"`
	// Networks of the proxies in front. Only from them is the forwarding header or
	// the PROXY line believed. Absent: nobody is trusted.
	TrustedProxies []netip.Prefix `json:"trusted_proxies" limits:"0..10000"`
	// The one forwarding header that trusted proxies write. Its companion for the
	// scheme goes with it: `X-Forwarded-Proto`, or `proto=` in `Forwarded`.
	ClientIPHeader string `json:"client_ip_header" default:"X-Forwarded-For" enum:"X-Forwarded-For,Forwarded"`
	// The PROXY protocol, versions 1 and 2: required from trusted proxies and
	// refused from everybody else.
	ProxyProtocol bool `json:"proxy_protocol" default:"false"`
	// A second viewer listener that speaks TLS. Absent: none.
	TLS *TLS `json:"tls"`
	// Path on the viewer listener, under any host, that answers 200 when the service
	// is ready and 503 when it is not, for a balancer in front.
	HealthPath string `json:"health_path" default:"/.pointsman/health" limits:"2..256"`
	// Directory in which known channels, facts, drains, keys and the last good
	// snapshot persist; relative to this file. Absent: nothing persists.
	StateDir string `json:"state_dir"`
	// Time between taking readiness back and closing the listeners at shutdown, so
	// that balancers in front notice.
	DrainDelay time.Duration `json:"drain_delay_sec" default:"5" limits:"0..3600"`
	// Reload within two seconds when this file changes.
	WatchConfig bool `json:"watch_config" default:"false"`
}

// TLS is the viewer listener for https.
type TLS struct {
	// Port of the TLS listener, on the same address as the other. Required.
	Port int `json:"port" limits:"1..65535"`
	// Certificates, chosen by the name a viewer asks for (SNI); the first is for
	// those who ask for none that is here. Read again when they change. Required.
	Certificates []Certificate `json:"certificates" limits:"1..1000"`
}

// Certificate is a certificate chain and its key.
type Certificate struct {
	// PEM file with the certificate and its chain; relative to this file. Required.
	CertFile string `json:"cert_file" limits:"1..4096"`
	// PEM file with the private key; relative to this file. Required.
	KeyFile string `json:"key_file" limits:"1..4096"`
}

const maxPEMBytes = 1 << 20

func (l *loader) checkCore(n *node, c *Core) {
	l.checkHosts(n.get("hosts"), c.Hosts)
	c.TrustedProxies = l.distinctNetworks(n.get("trusted_proxies"), c.TrustedProxies)
	if p := n.get("health_path"); p.present() {
		if problem := checkPath(c.HealthPath); problem != "" {
			l.errorf(p, "is %s, which %s", quote(c.HealthPath), problem)
		}
	}
	c.StateDir = l.resolve(c.StateDir)
	if c.TLS != nil {
		l.checkTLS(n.get("tls"), c)
	}
}

// checkHosts brings host names into the form in which requests are compared.
func (l *loader) checkHosts(n *node, hosts []string) {
	entries := n.items()
	for i, h := range hosts {
		host, _, problem := parseHost(h)
		switch {
		case entries[i].failed:
		case problem != "":
			l.errorf(entries[i], "is %s, which %s; expected a host without port", quote(h), problem)
		case slices.Contains(hosts[:i], host):
			l.errorf(entries[i], "is %s, which is in the list already", quote(h))
		default:
			hosts[i] = host
		}
	}
}

// distinctNetworks leaves out what is in the list already; to trust a network
// twice changes nothing.
func (l *loader) distinctNetworks(n *node, networks []netip.Prefix) []netip.Prefix {
	seen := make(map[netip.Prefix]int, len(networks))
	var out []netip.Prefix
	for i, p := range networks {
		if !p.IsValid() {
			continue // reported
		}
		if first, twice := seen[p]; twice {
			l.warnf(n.item(i), "%s is in the list already, as entry %d", p, first)
			continue
		}
		seen[p] = i
		out = append(out, p)
	}
	return out
}

func (l *loader) checkTLS(n *node, c *Core) {
	switch port := n.get("port"); {
	case port.kind == kindAbsent && !n.failed:
		l.errorf(port, "is missing, expected the port of the TLS listener")
	case port.present() && c.TLS.Port == c.Port:
		l.errorf(port, "is %d, which is core.port too; expected another", c.TLS.Port)
	}
	list := n.get("certificates")
	if list.kind == kindAbsent && !n.failed {
		l.errorf(list, "is missing, expected at least one certificate with its key")
	}
	entries := list.items()
	for i := range c.TLS.Certificates {
		l.checkCertificate(entries[i], &c.TLS.Certificates[i])
	}
}

func (l *loader) checkCertificate(n *node, c *Certificate) {
	read := func(key string, name *string) []byte {
		at := n.get(key)
		if at.kind == kindAbsent && !n.failed {
			l.errorf(at, "is missing, expected the path of a PEM file")
		}
		if !at.present() {
			return nil
		}
		data, _ := l.readFile(at, *name, maxPEMBytes)
		*name = l.resolve(*name)
		return data
	}
	cert, key := read("cert_file", &c.CertFile), read("key_file", &c.KeyFile)
	if cert == nil || key == nil {
		return
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		l.errorf(n.get("cert_file"), "is no pair with its key_file: %v", err)
	}
}
