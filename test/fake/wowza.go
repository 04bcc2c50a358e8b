package fake

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// WowzaAuth is how a [Wowza] wants credentials.
type WowzaAuth uint8

// The ways.
const (
	WowzaOpen WowzaAuth = iota
	WowzaBasic
	WowzaDigest
)

// WowzaOptions configure a [Wowza].
type WowzaOptions struct {
	Now          func() time.Time // nil: the clock
	Auth         WowzaAuth
	User, Secret string
	Application  string        // empty: live
	NoStores     bool          // nDVR is not there: no list of stores
	NoTimes      bool          // stores tell no times
	Append       bool          // all recordings of a stream are in one store, with gaps that only its duration betrays
	Stale        time.Duration // the interface tells the end of a growing store so much too early
	SayInBody    bool          // refusals have status 200 and tell their code in the document
}

// Wowza is a Wowza Streaming Engine with one application, whose REST interface
// and viewer's side share one address. Its requests count as "streams",
// "stores", "store", "challenge" (those turned back with 401) and "viewer". Its
// lie: it answers XML unless JSON is asked for by name.
type Wowza struct {
	*Server
	opt   WowzaOptions
	param *regexp.Regexp // of a Digest response
}

// NewWowza makes a server without streams.
func NewWowza(opt WowzaOptions) *Wowza {
	if opt.Application == "" {
		opt.Application = "live"
	}
	return &Wowza{Server: newServer(opt.Now), opt: opt, param: regexp.MustCompile(`(\w+)=(?:"([^"]*)"|([^,\s]+))`)}
}

// ServeHTTP answers REST and viewer requests.
func (f *Wowza) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, api := strings.CutPrefix(r.URL.EscapedPath(), "/v2/servers/_defaultServer_/vhosts/_defaultVHost_/applications/"+
		url.PathEscape(f.opt.Application)+"/instances/_definst_/")
	what, raw, _ := strings.Cut(rest, "/")
	name, _ := url.PathUnescape(raw)
	kind := "viewer"
	switch {
	case strings.HasPrefix(r.URL.Path, "/v2/") && !api:
		kind = "other"
	case api && what == "incomingstreams":
		kind = "streams"
	case api && what == "dvrstores" && name == "":
		kind = "stores"
	case api && what == "dvrstores":
		kind = "store"
	}
	if kind != "viewer" && !f.allowed(r) {
		kind = "challenge"
	}
	if !f.count(kind, w, r) {
		return
	}
	switch kind {
	case "viewer":
		f.serveViewer(w, r)
		return
	case "challenge":
		f.challenge(w)
		return
	}
	if r.Header.Get("Accept") != "application/json" {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><Document/>`)
		return
	}
	switch kind {
	case "streams":
		c, ok := f.channel(name)
		if !ok {
			f.refuse(w)
			return
		}
		writeJSON(w, fmt.Sprintf(`{"name":%q,"applicationInstance":"_definst_","isConnected":%t,"isRecordingSet":false}`, name, c.Live))
	case "stores":
		f.serveStores(w)
	case "store":
		f.serveStore(w, name)
	default:
		f.refuse(w)
	}
}

// refuse says that there is no such thing.
func (f *Wowza) refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if !f.opt.SayInBody {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = fmt.Fprint(w, `{"message":"The requested resource does not exist","code":"404","wowzaServer":"5.0","success":false}`)
}

const wowzaNonce, wowzaRealm = "dcd98b7102dd2f0e8b11d0f600bfb0c0", "Wowza"

func (f *Wowza) challenge(w http.ResponseWriter) {
	switch f.opt.Auth {
	case WowzaBasic:
		w.Header().Set("WWW-Authenticate", `Basic realm="`+wowzaRealm+`"`)
	default:
		w.Header().Set("WWW-Authenticate", `Digest realm="`+wowzaRealm+`", nonce="`+wowzaNonce+`", algorithm=MD5, qop="auth"`)
	}
	w.WriteHeader(http.StatusUnauthorized)
}

func (f *Wowza) allowed(r *http.Request) bool {
	switch f.opt.Auth {
	case WowzaBasic:
		user, secret, ok := r.BasicAuth()
		return ok && user == f.opt.User && secret == f.opt.Secret
	case WowzaDigest:
		return f.digested(r)
	}
	return true
}

// digested checks a Digest response (RFC 7616 §3.4.1).
func (f *Wowza) digested(r *http.Request) bool {
	value, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Digest ")
	if !ok {
		return false
	}
	got := map[string]string{}
	for _, m := range f.param.FindAllStringSubmatch(value, 32) {
		got[m[1]] = m[2] + m[3]
	}
	sum := func(parts ...string) string {
		h := md5.Sum([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h[:])
	}
	want := sum(sum(f.opt.User, wowzaRealm, f.opt.Secret), wowzaNonce, got["nc"], got["cnonce"], "auth", sum(r.Method, r.RequestURI))
	return got["username"] == f.opt.User && got["uri"] == r.RequestURI && got["nonce"] == wowzaNonce && got["response"] == want
}

// stores returns the stores of a stream by name.
func (f *Wowza) stores(stream string, c Channel) map[string][]Range {
	out := map[string][]Range{}
	if f.opt.Append && len(c.Recorded) > 0 {
		out[stream] = c.Recorded
		return out
	}
	for i, r := range c.Recorded {
		out[stream+"."+strconv.Itoa(i)] = []Range{r}
	}
	return out
}

func (f *Wowza) serveStores(w http.ResponseWriter) {
	if f.opt.NoStores {
		f.refuse(w)
		return
	}
	type summary struct {
		Name     string `json:"name"`
		Location string `json:"location"`
	}
	list := []summary{}
	f.mu.Lock()
	for stream, c := range f.channels {
		for name := range f.stores(stream, c) {
			list = append(list, summary{name, "/v2/servers/_defaultServer_/dvrstores/" + name})
		}
	}
	f.mu.Unlock()
	body, err := json.Marshal(map[string]any{"serverName": "_defaultServer_", "dvrconverterstoresummary": list, "groupConversionStatusList": []string{}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, string(body))
}

func (f *Wowza) serveStore(w http.ResponseWriter, name string) {
	now := f.now()
	f.mu.Lock()
	var rs []Range
	live := false
	for stream, c := range f.channels {
		if found, ok := f.stores(stream, c)[name]; ok {
			rs = found
			live = c.Live && now.Sub(found[len(found)-1].To) < segment
		}
	}
	f.mu.Unlock()
	if rs == nil || f.opt.NoStores {
		f.refuse(w)
		return
	}
	if f.opt.NoTimes {
		writeJSON(w, fmt.Sprintf(`{"dvrStoreName":%q,"DvrConverterStore":{"dvrStoreName":%q,"isLive":%t}}`, name, name, live))
		return
	}
	var duration time.Duration
	for _, r := range rs {
		duration += r.To.Sub(r.From)
	}
	from, to := rs[0].From, rs[len(rs)-1].To
	if live {
		to, duration = to.Add(-f.opt.Stale), duration-f.opt.Stale
	}
	writeJSON(w, fmt.Sprintf(`{"dvrStoreName":%q,"serverName":"_defaultServer_","DvrConverterStore":{"dvrStoreName":%q,"audioAvailable":true,`+
		`"videoAvailable":true,"isLive":%t,"dvrStartTime":0,"dvrEndTime":%d,"duration":%d,"utcStart":%d,"utcEnd":%d}}`,
		name, name, live, duration.Milliseconds(), duration.Milliseconds(), from.UnixMilli(), to.UnixMilli()))
}

// serveViewer answers APP/[_definst_/]STREAM/playlist.m3u8[?DVR…] and what it
// leads to.
func (f *Wowza) serveViewer(w http.ResponseWriter, r *http.Request) {
	dir, file, _ := cutLast(r.URL.Path)
	app, stream, _ := strings.Cut(dir, "/")
	stream = strings.TrimPrefix(stream, "_definst_/")
	c, ok := f.channel(stream)
	query := r.URL.Query()
	switch {
	case !ok || app != f.opt.Application:
		http.NotFound(w, r)
	case file != "playlist.m3u8":
		serveSegment(w, file)
	case !query.Has("DVR") && c.Live:
		writeLive(w, f.now())
	case !query.Has("DVR"):
		http.NotFound(w, r)
	default:
		f.serveDVR(w, r, c)
	}
}

func (f *Wowza) serveDVR(w http.ResponseWriter, r *http.Request, c Channel) {
	query := r.URL.Query()
	from, to := time.Unix(0, 0), f.now()
	if text := query.Get("wowzadvrplayliststart"); text != "" {
		var err error
		if from, err = time.Parse("20060102150405", text); err != nil {
			if from, err = time.Parse("2006-01-02-15:04:05", text); err != nil {
				http.Error(w, "bad start", http.StatusBadRequest)
				return
			}
		}
	}
	if ms, err := strconv.ParseInt(query.Get("wowzadvrplaylistduration"), 10, 64); err == nil {
		to = from.Add(time.Duration(ms) * time.Millisecond)
	}
	rs := c.recorded(from, to)
	if len(rs) == 0 {
		http.NotFound(w, r)
		return
	}
	writeArchive(w, rs, !to.After(f.now()))
}
