package config

import "strings"

// ServerType is the software a server runs.
type ServerType string

// The types.
const (
	Generic    ServerType = "generic"
	Flussonic  ServerType = "flussonic"
	Nimble     ServerType = "nimble"
	MistServer ServerType = "mistserver"
	MediaMTX   ServerType = "mediamtx"
	Wowza      ServerType = "wowza"
	AntMedia   ServerType = "antmedia"
)

// Containers says whether packagings of a channel have recordings of their own.
type Containers string

// The sorts.
const (
	ContainersShared   Containers = "shared"
	ContainersSeparate Containers = "separate"
)

// apiURL returns where a server of this type has its API when the document does
// not say: at the ports of the vendors' own configuration, else where viewers
// are served.
func (t ServerType) apiURL(u webAddress) string {
	api := webAddress{scheme: "http", host: u.host, literal: u.literal}
	switch t {
	case Nimble:
		api.port = "8082"
	case MediaMTX:
		api.port = "9997"
	case Wowza:
		api.port = "8087"
	default:
		return u.String()
	}
	return api.String()
}

// containers returns what holds for this type when the document does not say.
// Nimble packages MPEG-TS and fMP4 into two recordings.
func (t ServerType) containers() Containers {
	if t == Nimble {
		return ContainersSeparate
	}
	return ContainersShared
}

// withAPI returns the types that have an API.
func withAPI() []string {
	return []string{string(Flussonic), string(Nimble), string(MistServer), string(MediaMTX), string(Wowza), string(AntMedia)}
}

// checkAPI checks the keys about a server's API and fills in their defaults. u
// is the server's url when it is good.
func (l *loader) checkAPI(n serverNode, d *Document, s *Server, u webAddress, good bool) {
	if n.get("type").failed {
		return
	}
	if s.Containers == "" {
		s.Containers = s.Type.containers()
	}
	if s.Type == Generic {
		l.refuseAPIKeys(n.own)
		// Those of the farm's defaults are for its other servers; checkServers
		// sees when there are none.
		s.APIURL, s.APIUser, s.APISecret = "", "", ""
		return
	}
	switch at := n.get("api_url"); {
	case at.present():
		l.checkAPIURL(at, d, &s.APIURL)
	case at.kind == kindAbsent && good:
		s.APIURL = s.Type.apiURL(u)
	}
	secret := n.get("api_secret")
	if secret.present() && hasControl(s.APISecret.Reveal()) {
		l.errorf(secret, "has a control character, expected none")
	}
	if at := n.get("api_user"); at.present() {
		switch {
		case hasControl(s.APIUser) || strings.Contains(s.APIUser, ":"):
			// RFC 7617 §2: the colon is where the password begins.
			l.errorf(at, "has a colon or a control character, expected none")
		case secret.kind == kindAbsent:
			l.errorf(at, "is there without api_secret, expected both")
		}
	}
}

// refuseAPIKeys reports the keys of an object that are for servers with an API.
func (l *loader) refuseAPIKeys(n *node) {
	for _, key := range [...]string{"api_url", "api_user", "api_secret"} {
		if at := n.get(key); at.present() {
			l.errorf(at, "is there although type is %q, which has no API; expected type to be %s", Generic, alternatives(withAPI()))
		}
	}
}

func (l *loader) checkAPIURL(n *node, d *Document, s *string) {
	u, problem := parseWebAddress(*s)
	if problem != "" {
		l.errorf(n, "%s", problem)
		return
	}
	if own := l.ownListener(d, u); own != "" {
		l.errorf(n, "is our own listener (%s), expected the address of the server's API", own)
		return
	}
	*s = u.String()
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// exposesSecret returns the address to which the API's secret goes unencrypted
// although it is no private one, or "". A host name is not judged: what it
// stands for is not known here.
func (s *Server) exposesSecret() string {
	u, problem := parseWebAddress(s.APIURL)
	a := u.literal
	if s.APISecret == "" || problem != "" || u.scheme != "http" || !a.IsValid() ||
		a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return ""
	}
	return u.host
}
