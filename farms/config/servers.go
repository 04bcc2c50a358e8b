package config

import (
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Server is one host that streams. The same name in two farms is one server:
// its settings are the same everywhere, except its weight.
type Server struct {
	// Base URL that viewers are sent to and probes ask: http or https, a host, and if
	// need be a port and a path. Required.
	URL string `json:"url" limits:"1..2048" smartmedia:"yes"`
	// The same server for https viewers, when `url` is http.
	HTTPSURL string `json:"https_url" limits:"1..2048"`
	// Unique name of the server. Absent: host and port of `url`, and its path unless
	// that is `/`.
	Name string `json:"name"`
	// Its weight in this farm, which the farm's `policy` gives a meaning; 0 is as
	// `last_resort`.
	Weight float64 `json:"weight" default:"1" limits:"0..10000" smartmedia:"yes"`
	// Only for when no other server is left.
	LastResort bool `json:"last_resort" default:"false"`
	// `draining`: sessions stay and none arrives; `disabled`: nobody is sent there.
	State farms.State `json:"state" default:"enabled" enum:"enabled,draining,disabled"`
	// End of `draining`, after which the server is as `disabled`: a time as in
	// `2026-01-02T15:04:05Z`, or Unix seconds. Absent: without end.
	DrainUntil time.Time `json:"drain_until"`
	// Free labels for the operator, such as `{"site": "fra1"}`.
	Tags map[string]string `json:"tags" limits:"0..32"`
	// Path that the status probe asks; any answer below 500 is up.
	StatusPath string `json:"status_path" default:"/" limits:"1..1024"`
	// Headers sent with every probe. A value may be `{"file": "PATH"}`, which keeps
	// the operator's token out of this file.
	ProbeHeaders map[string]Secret `json:"probe_headers" limits:"0..32"`
	// Query parameters sent with every probe; values as in `probe_headers`.
	ProbeQuery map[string]Secret `json:"probe_query" limits:"0..32"`
	// The software the server runs. All but `generic` have an API that is asked what
	// is live and recorded, so that probes do not count as viewers.
	Type ServerType `json:"type" default:"generic" enum:"generic,flussonic,nimble,mistserver,mediamtx,wowza,antmedia"`
	// Base URL of the API. Absent: `url`, for `flussonic`, `mistserver` and `antmedia`;
	// else http at the host of `url` and the vendor's port: `nimble` 8082, `mediamtx`
	// 9997, `wowza` 8087.
	APIURL string `json:"api_url" limits:"1..2048"`
	// User for the API, where it has users. Needs `api_secret`.
	APIUser string `json:"api_user" limits:"1..256"`
	// Password or token for the API; `{"file": "PATH"}` keeps it out of this file.
	APISecret Secret `json:"api_secret"`
	// Whether MPEG-TS and fMP4 of a channel are one recording (`shared`) or two
	// (`separate`). Absent: `separate` for `nimble`, else `shared`.
	Containers Containers `json:"containers" enum:"shared,separate"`
}

// knownServer is a server name that was met already.
type knownServer struct {
	farm, index int
	server      *Server
}

// serverNode finds the keys of a server in its own object, else in the
// defaults of its farm.
type serverNode struct{ own, defaults *node }

func (n serverNode) get(key string) *node {
	if at := n.own.get(key); at.kind != kindAbsent {
		return at
	}
	if at := n.defaults.get(key); at.kind != kindAbsent {
		return at
	}
	return n.own.get(key)
}

func (l *loader) checkServers(farm *node, d *Document, i int, known map[string]knownServer) {
	list, defaults := farm.get("servers"), farm.get("defaults")
	if list.kind == kindAbsent && !farm.failed {
		l.errorf(list, "is missing, expected an array of at least one server")
	}
	for _, key := range [...]string{"url", "name"} {
		if at := defaults.get(key); at.kind != kindAbsent {
			l.errorf(at, "is not for defaults, expected it at each server")
		}
	}
	entries := list.items()
	servers := d.Redirection.Farms[i].Servers
	generic := len(servers) > 0
	for j := range servers {
		n := serverNode{entries[j], defaults}
		l.checkServer(n, d, &servers[j])
		l.checkIdentity(n, i, j, &servers[j], known)
		generic = generic && servers[j].Type == Generic && !n.get("type").failed
	}
	if generic {
		l.refuseAPIKeys(defaults)
	}
}

func (l *loader) checkServer(n serverNode, d *Document, s *Server) {
	at := n.own.get("url")
	if at.kind == kindAbsent && !n.own.failed {
		l.errorf(at, "is missing, expected the server's http or https URL")
	}
	u, ok := l.checkServerURL(at, d, &s.URL)
	if at := n.get("https_url"); at.present() {
		if https, fine := l.checkServerURL(at, d, &s.HTTPSURL); fine && https.scheme != "https" {
			l.errorf(at, "has the scheme %q, expected https", https.scheme)
		} else if ok && u.scheme == "https" {
			l.errorf(at, "is there although url is https already, expected it beside an http url only")
		}
	}
	if at := n.own.get("name"); at.present() {
		if problem := checkName(s.Name); problem != "" {
			l.errorf(at, "%s", problem)
		}
	} else if ok && at.kind == kindAbsent {
		s.Name = u.name()
		if problem := checkName(s.Name); problem != "" {
			l.errorf(at, "is missing, and the URL gives none: it %s", problem)
		}
	}
	if at := n.get("status_path"); at.present() {
		if problem := checkStatusPath(s.StatusPath); problem != "" {
			l.errorf(at, "is %s, which %s", quote(s.StatusPath), problem)
		}
	}
	l.checkAPI(n, d, s, u, ok)
	l.checkTags(n.get("tags"), s.Tags)
	l.checkProbeHeaders(n.get("probe_headers"), s.ProbeHeaders)
	if _, nameless := s.ProbeQuery[""]; nameless {
		l.errorf(n.get("probe_query"), "has a parameter without name, expected one for each")
	}
}

// checkServerURL reads a URL that viewers are sent to, and leaves it without
// trailing slash.
func (l *loader) checkServerURL(n *node, d *Document, s *string) (webAddress, bool) {
	if !n.present() {
		return webAddress{}, false
	}
	u, problem := parseWebAddress(*s)
	if problem != "" {
		l.errorf(n, "%s", problem)
		return u, false
	}
	if own := l.ownListener(d, u); own != "" {
		l.errorf(n, "is our own listener (%s), expected the address of a server; a viewer would be sent round in circles", own)
		return u, false
	}
	*s = u.String()
	return u, true
}

// checkStatusPath takes a path with or without a query.
func checkStatusPath(s string) string {
	path, query, _ := strings.Cut(s, "?")
	if problem := checkPath(path); problem != "" {
		return problem
	}
	for i := range len(query) {
		if query[i] <= ' ' || query[i] > '~' || query[i] == '#' {
			return "has a query with something other than visible ASCII characters"
		}
	}
	return ""
}

const (
	maxTagBytes = 128
	// maxHeaderNameBytes is beyond any header name in use.
	maxHeaderNameBytes = 64
)

func (l *loader) checkTags(n *node, tags map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if n.failed || key == "" || len(key) > maxTagBytes || len(tags[key]) > maxTagBytes {
			l.errorf(n.get(key), "is a tag of %d bytes under a key of %d, expected at most %d each and a key", len(tags[key]), len(key), maxTagBytes)
		}
	}
}

func (l *loader) checkProbeHeaders(n *node, headers map[string]Secret) {
	first := make(map[string]string, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at, canonical := n.get(name), textproto.CanonicalMIMEHeaderKey(name)
		switch value := headers[name].Reveal(); {
		case name == "" || len(name) > maxHeaderNameBytes || strings.Trim(name, tokenBytes) != "":
			l.errorf(at, "is no header name, expected 1 to %d letters, digits and hyphens", maxHeaderNameBytes)
		case slices.Contains(strings.Split(framingHeaders, " "), canonical):
			l.errorf(at, "is a header that the connection needs for itself, expected another")
		case first[canonical] != "":
			l.errorf(at, "is the same header as %s, expected one of them", quote(first[canonical]))
		case hasControl(value):
			l.errorf(at, "has a value with a control character, expected none")
		}
		first[canonical] = name
	}
}

const (
	// framingHeaders belong to one connection or to its framing (RFC 9110 §7.6.1);
	// Go's client writes them itself.
	framingHeaders = "Connection Content-Length Keep-Alive Proxy-Connection Te Trailer Transfer-Encoding Upgrade"
	// tokenBytes are those of a header name (RFC 9110 §5.6.2).
	tokenBytes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// checkIdentity holds that a name is one server: once in a farm, and with the
// same settings in every farm.
func (l *loader) checkIdentity(n serverNode, i, j int, s *Server, known map[string]knownServer) {
	if s.Name == "" || n.own.failed || !n.own.get("url").present() {
		return
	}
	at := n.own.get("name")
	if at.kind == kindAbsent {
		at = n.own
	}
	other, met := known[s.Name]
	if !met {
		known[s.Name] = knownServer{i, j, s}
		return
	}
	if other.farm == i {
		l.errorf(at, "is named %s, as %s is; expected a server once in a farm", quote(s.Name), place(other.farm, other.index))
		return
	}
	if key := differing(s, other.server); key != "" {
		l.errorf(n.get(key), "differs from %s, which is the same server by its name %s; expected the same settings, except weight", place(other.farm, other.index), quote(s.Name))
	}
}

// differing returns the key in which two descriptions of a server differ, or "".
func differing(a, b *Server) string {
	switch {
	case !sameAddress(a.URL, b.URL):
		return "url"
	case !sameAddress(a.HTTPSURL, b.HTTPSURL):
		return "https_url"
	case a.LastResort != b.LastResort:
		return "last_resort"
	case a.State != b.State:
		return "state"
	case !a.DrainUntil.Equal(b.DrainUntil):
		return "drain_until"
	case !maps.Equal(a.Tags, b.Tags):
		return "tags"
	case a.StatusPath != b.StatusPath:
		return "status_path"
	case !maps.Equal(a.ProbeHeaders, b.ProbeHeaders):
		return "probe_headers"
	case !maps.Equal(a.ProbeQuery, b.ProbeQuery):
		return "probe_query"
	case a.Type != b.Type:
		return "type"
	case !sameAddress(a.APIURL, b.APIURL):
		return "api_url"
	case a.APIUser != b.APIUser:
		return "api_user"
	case a.APISecret != b.APISecret:
		return "api_secret"
	case a.Containers != b.Containers:
		return "containers"
	default:
		return ""
	}
}

// sameAddress compares two URLs, one of which may have the default port
// written out.
func sameAddress(a, b string) bool {
	if a == b {
		return true
	}
	x, problemX := parseWebAddress(a)
	y, problemY := parseWebAddress(b)
	return problemX == "" && problemY == "" && x.scheme == y.scheme && x.name() == y.name()
}

// probeQuery renders the parameters, escaped and in a fixed order, so that the
// same configuration always asks the same URL.
func (s *Server) probeQuery() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.ProbeQuery)) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(name) + "=" + url.QueryEscape(s.ProbeQuery[name].Reveal()))
	}
	return b.String()
}

// probeHeaders returns the headers in a fixed order.
func (s *Server) probeHeaders() []farms.Header {
	var out []farms.Header
	for _, name := range slices.Sorted(maps.Keys(s.ProbeHeaders)) {
		out = append(out, farms.Header{Name: textproto.CanonicalMIMEHeaderKey(name), Value: s.ProbeHeaders[name].Reveal()})
	}
	return out
}
