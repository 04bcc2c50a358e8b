package redirector

import (
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/gzipped"
	"github.com/pointsman-tv/pointsman/steering"
)

// This file is the steering door: the same decision as a redirect's, written as
// a steering manifest (draft-pantos-content-steering, ETSI TS 103 998).

// SteeringSettings are the settings of content steering.
type SteeringSettings struct {
	Path        string // of the manifests on the viewer listener, without trailing slash
	PublicURL   string // scheme and host of RELOAD-URI and SERVER-URI; "" is the request's own
	ContentType string
	TTL         steering.TTLRules
	Feedback    steering.FeedbackRules // LowBPS 0: what players report teaches nothing
	Clones      []SteeringClone
	Retired     map[string]bool // channels answered 410
	Deadline    time.Duration   // after which the order is sent as far as it is known
	Decorate    bool
	Ring        *steering.Ring
}

// SteeringClone is a pathway that exists in the manifest alone, for viewers of
// some locations.
type SteeringClone struct {
	steering.Clone
	Locations map[string]bool
}

// The bounds of the steering door.
const (
	maxReloadURI = 2000 // bytes; a longer one is left out, and players ask the URI they have
	ownLength    = 2048 // bytes of body from which net/http does not count them itself
)

// steer is what the steering door adds to a decision's work.
type steer struct {
	on          bool // the request is for a steering manifest
	foreign     bool // the query was too long to be carried along
	params      steering.Params
	token       []byte // the session's, to be handed out
	standing    []farms.Standing
	ids         []string
	clones      []steering.Clone
	ttl         int
	body        []byte // of the answer: the manifest, or a decorated one
	contentType string // of a decorated one
}

// reset keeps what can be used again.
func (s *steer) reset() {
	*s = steer{token: s.token[:0], standing: s.standing[:0], ids: s.ids[:0], clones: s.clones[:0], body: s.body[:0]}
}

// names tells whether a request target is for a steering manifest.
func (s *SteeringSettings) names(raw string) bool {
	if s == nil {
		return false
	}
	if raw != "" && raw[0] != '/' { // absolute form
		i := strings.Index(raw, "://")
		if i < 0 {
			return false
		}
		j := strings.IndexByte(raw[i+len("://"):], '/')
		if j < 0 {
			return false
		}
		raw = raw[i+len("://")+j:]
	}
	rest, ok := strings.CutPrefix(raw, s.Path)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '?')
}

// takeQuery reads the query of a request for a manifest and returns the target
// without it. Nothing in it is an error: players put in what they like.
func (w *work) takeQuery(raw string) (path string) {
	path, query, has := strings.Cut(raw, "?")
	w.steer.on = true
	if len(query) > maxQueryBytes {
		w.steer.foreign, query = true, ""
	}
	w.steer.params = steering.ReadParams(query)
	if has {
		query = safeQuery(steering.Foreign(query))
		w.target.Query, w.target.HasQuery = query, query != ""
	}
	return path
}

// safeQuery percent-encodes what a URL in a manifest cannot hold.
func safeQuery(q string) string {
	n := 0
	for i := range len(q) {
		if unsafeInQuery(q[i]) {
			n++
		}
	}
	if n == 0 {
		return q
	}
	return escapeForeign(q, n)
}

func unsafeInQuery(b byte) bool {
	switch targetClasses[b] {
	case classForeign, classBackslash, classControl, classHash:
		return true
	}
	return false
}

// manifestPath takes the manifests' own path, and uri_path where it follows, off
// both spellings of a path.
func (v *view) manifestPath(path, plain string) (string, string) {
	own := v.set.Steering.Path
	path, plain = strings.TrimPrefix(path, own), strings.TrimPrefix(plain, own)
	if p, q, ok := stripPrefix(path, plain, v.set.URIPath); ok {
		path, plain = p, q
	}
	if path == "" {
		return "/", "/"
	}
	return path, plain
}

// readSteered reads which channel a manifest is wanted for: what follows the
// path is a channel, or a manifest path of it. ok is false when the channel is
// retired.
func (e *Engine) readSteered(w *work, v *view, path, plain string) (ok bool) {
	d := &w.decision
	if !e.readURL(w, v, path, plain) || d.Content.Kind == farms.KindChild {
		// A bad window included: its player gets no playlist, but steering goes on.
		*d = Decision{Request: d.Request, Time: d.Time, Generation: d.Generation, Host: d.Host, Location: d.Location}
		w.query.Need = nil
		channel := strings.Trim(plain, "/")
		d.Content = farms.Content{Channel: channel, Path: path, Kind: farms.KindChild}
		if c, known := e.prober.Manifest(channel); known && !c.Kind.Windowed() {
			d.Content = c
		}
	}
	if v.set.Steering.Retired[d.Content.Channel] {
		d.refuse(farms.ReasonRetired, "")
		return false
	}
	return true
}

// sessionToken finds the viewer's identity in a session token, when the request
// has a good one, and keeps the token unless it should be renewed.
func (e *Engine) sessionToken(w *work, v *view) {
	st := v.set.Steering
	if st == nil {
		return
	}
	d := &w.decision
	token := w.steer.params.Token
	if !w.steer.on && w.target.Query != "" {
		p := steering.ReadParams(w.target.Query)
		token = p.Token
	}
	if token == "" {
		return
	}
	s, ok := st.Ring.Open(token, d.Time)
	if !ok || w.steer.on && s.Content != hashString(d.Content.Channel) {
		return // a fresh session
	}
	w.identity = s.Identity
	if !s.Due(d.Time) && s.Content == hashString(d.Content.Channel) {
		w.steer.token = append(w.steer.token[:0], token...)
	}
}

// sealed returns the token to hand out.
func (w *work) sealed(st *SteeringSettings) []byte {
	if len(w.steer.token) == 0 {
		w.steer.token = st.Ring.AppendSeal(w.steer.token[:0], steering.Session{
			Identity: w.identity, Content: hashString(w.decision.Content.Channel), Issued: w.decision.Time,
		})
	}
	return w.steer.token
}

// withToken returns the viewer's query with the session in it.
func (w *work) withToken(st *SteeringSettings) string {
	q := steering.WithoutToken(w.target.Query)
	if q != "" {
		q += "&"
	}
	return q + steering.TokenParam + "=" + string(w.sealed(st))
}

// heed applies what the operator says of pathways, and what players' reports
// taught about this session.
func (e *Engine) heed(w *work, v *view) {
	d := &w.decision
	var slow uint64
	if v.feedback != nil {
		if p := &w.steer.params; d.Request.Door == DoorSteering && p.Pathway != "" && v.pathways[p.Pathway] {
			v.feedback.Observe(d.Session, farms.PathwayHash(p.Pathway), p.Throughput, d.Time, v.set.Steering.Feedback)
		}
		slow, _ = v.feedback.Demoted(d.Session, d.Time)
	}
	w.query.Moves = w.steer.on
	w.query.Steered = e.pathways.Load().Steered(d.Location, d.Content.Channel, slow, d.Time)
}

// concludeManifest turns the choice into a manifest. Whatever the servers'
// state, it is answered 200: players give steering up, or never start, on
// anything else (reference: 429 ends hls.js's, 404 dash.js's).
func (e *Engine) concludeManifest(w *work, v *view, path string) {
	d, st := &w.decision, v.set.Steering
	e.rankPathways(w)
	if c := w.chosen; c.Chosen != nil {
		d.Reason, d.Farm, d.Server, d.Why, d.Held = farms.ReasonOK, c.Chosen.Farm, c.Chosen.Member.Server, c.Chosen.Why, c.Chosen.Held
	} else {
		d.refuse(c.Reason, "")
		d.RetryAfter = 0
	}
	d.Status = http.StatusOK
	w.orderIDs(v)
	overloaded := e.waiting.Load() > maxWaiting/2
	w.steer.ttl = st.TTL.Seconds(farms.Degraded(w.scratch.Candidates, w.steer.standing), overloaded, rand.Uint64())
	var reload []byte
	if w.hasOrigin(st) && !w.steer.foreign {
		w.url = w.appendSteeringURL(w.url[:0], v, path)
		if len(w.url) <= maxReloadURI {
			reload = w.url
		}
	}
	d.Pathways, d.TTL = w.steer.ids, w.steer.ttl
	w.steer.body = steering.AppendManifest(w.steer.body[:0], w.steer.ttl, string(reload), w.steer.ids, w.steer.clones)
}

// rankPathways orders the pathways and has the servers asked, without waiting,
// whose answer would tell more about a pathway.
func (e *Engine) rankPathways(w *work) {
	w.steer.standing = farms.RankPathways(w.scratch.Candidates, w.chosen.Chosen, w.decision.Session, w.steer.standing)
	if w.query.Content.Kind == farms.KindChild {
		return
	}
	var open [farms.MaxPathways]*farms.Server
	n := 0
	for i := range w.steer.standing {
		if s := w.steer.standing[i].Open; s != nil {
			open[n] = s
			n++
		}
	}
	if n > 0 {
		e.ask(w, open[:n])
	}
}

// orderIDs lists the pathways' ids in order, each followed by its clones, and
// moves the clones that the operator speaks of.
func (w *work) orderIDs(v *view) {
	s := &w.steer
	for i := range s.standing {
		s.ids = append(s.ids, s.standing[i].Pathway.ID)
	}
	if len(v.set.Steering.Clones) == 0 {
		return
	}
	steered := w.query.Steered
	for i := range v.set.Steering.Clones {
		c := &v.set.Steering.Clones[i]
		if !c.Locations[w.decision.Location.Name] || steered.Excludes(c.ID) {
			continue
		}
		at := -1
		for j, id := range s.ids {
			if id == c.Base {
				at = j
			}
		}
		if at < 0 {
			continue // its base is not offered
		}
		switch {
		case steered.Pins(c.ID):
			at = 0
		case steered.Drains(c.ID), steered.Slow(c.ID):
			at = len(s.ids)
		default: // behind its base and the clones before it
			for at++; at < len(s.ids) && s.descends(s.ids[at], c.Base); at++ {
			}
		}
		s.ids = append(s.ids, "")
		copy(s.ids[at+1:], s.ids[at:])
		s.ids[at] = c.ID
		s.clones = append(s.clones, c.Clone)
	}
}

// descends tells whether a clone of the manifest is made of base, or of a clone
// of it.
func (s *steer) descends(id, base string) bool {
	for range s.clones {
		i := slices.IndexFunc(s.clones, func(c steering.Clone) bool { return c.ID == id })
		if i < 0 {
			return false
		}
		if id = s.clones[i].Base; id == base {
			return true
		}
	}
	return false
}

// appendSteeringURL appends the absolute URL of the manifest for what the
// request is about: SERVER-URI of a playlist, RELOAD-URI of a manifest. It
// carries the session and every query parameter that is not ours.
func (w *work) appendSteeringURL(dst []byte, v *view, path string) []byte {
	st := v.set.Steering
	dst = w.appendOrigin(dst, st)
	dst = append(dst, st.Path...)
	if path != "/" {
		dst = append(dst, path...)
	}
	dst = append(dst, '?')
	if q := w.target.Query; q != "" {
		if !w.steer.on {
			q = steering.Foreign(q)
		}
		if q != "" {
			dst = append(dst, q...)
			dst = append(dst, '&')
		}
	}
	dst = append(dst, steering.TokenParam...)
	dst = append(dst, '=')
	return append(dst, w.sealed(st)...)
}

// appendOrigin appends scheme and host under which viewers find us.
func (w *work) appendOrigin(dst []byte, st *SteeringSettings) []byte {
	if st.PublicURL != "" {
		return append(dst, st.PublicURL...)
	}
	r := &w.decision.Request
	scheme := "http://"
	if r.Viewer.HTTPS {
		scheme = "https://"
	}
	host := r.Host
	if w.target.Authority != "" {
		host = w.target.Authority
	}
	dst = append(dst, scheme...)
	return append(dst, host...)
}

// hasOrigin tells whether a URL of ours can be written: the Host that the
// viewer sent is one, or the operator gave another.
func (w *work) hasOrigin(st *SteeringSettings) bool {
	switch {
	case st.PublicURL != "":
		return true
	case w.target.Authority != "":
		return isAuthority(w.target.Authority)
	default:
		return isAuthority(w.decision.Request.Host)
	}
}

// isAuthority tells whether players can read a URL with this host and port
// (RFC 3986 §3.2): a name or an address, IPv6 in brackets, and if need be a port.
// A Host header may be anything.
func isAuthority(s string) bool {
	if s == "" || len(s) > maxAuthorityBytes {
		return false
	}
	host, port := s, "0"
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port = s[:i], s[i+1:]
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil || host == "" {
		return false
	}
	if host[0] == '[' {
		literal, closed := strings.CutSuffix(host[1:], "]")
		addr, err := netip.ParseAddr(literal)
		return closed && err == nil && addr.Is6() && addr.Zone() == ""
	}
	for i := range len(host) {
		if c := host[i]; !isAuthorityByte(c) || c == ':' || c == '[' || c == ']' {
			return false
		}
	}
	return true
}

// headSteering is what nearly every steering manifest has.
var headSteering = []string{"application/vnd.apple.steering-list"}

func contentTypes(t string) []string {
	if t == headSteering[0] {
		return headSteering
	}
	return []string{t}
}

var headGzip = []string{"gzip"}

var headVary = []string{"Accept-Encoding"}

// writeBody answers 200 with a body that players fetch: a manifest, a playlist.
func writeBody(rw http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	h := rw.Header()
	h["Content-Type"] = contentTypes(contentType)
	h["Cache-Control"] = headNoStore
	h["Access-Control-Allow-Origin"] = headAnyOrigin
	h["Access-Control-Expose-Headers"] = headExpose
	h["Vary"] = headVary
	body, compressed := gzipped.Body(r.Header["Accept-Encoding"], body)
	if compressed {
		h["Content-Encoding"] = headGzip
	}
	if r.Method == http.MethodHead || len(body) >= ownLength {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	rw.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = rw.Write(body) // a viewer that has gone needs no answer
	}
}
