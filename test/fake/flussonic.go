package fake

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FlussonicOptions say what kind of Flussonic it is.
type FlussonicOptions struct {
	User, Password string           // of the API; empty: it asks for none. Without User a Bearer token
	Token          string           // of viewers, in the query; empty: it asks for none
	PageSize       int              // ranges on a page at most; 0: as asked
	Now            func() time.Time // its clock; nil is the real one
}

// FlussonicLies are what it gets wrong or keeps to itself. The zero value is an
// honest server of the latest version.
type FlussonicLies struct {
	Old      bool          // a version without the v3 API: a plain 404
	From     bool          // an older one still: recording_status.json without ranges, only "from" and "to"
	Unsorted bool          // a version that refuses to sort
	Circle   bool          // "next" leads to the same page for ever
	BreakAt  int           // the page of this number, from 1, is a 500
	Stuck    time.Duration // "alive", and the last frame this long ago
	OnDemand bool          // streams that are off would start for a viewer
	Remote   bool          // nothing is on its own disks: it pulls from another server
}

// Flussonic is a Flussonic Media Server. Its kinds of requests: "stream",
// "ranges", "recording_status", "viewer".
type Flussonic struct {
	*Server
	opt     FlussonicOptions
	lies    FlussonicLies
	archive *regexp.Regexp
}

// NewFlussonic makes one without channels.
func NewFlussonic(opt FlussonicOptions) *Flussonic {
	return &Flussonic{
		Server:  newServer(opt.Now),
		opt:     opt,
		archive: regexp.MustCompile(`^/(.+)/(?:(?:archive|index|video|mono)-(\d+)-(\d+|now)|timeshift_abs-(\d+)|timeshift_rel-(\d+))\.m3u8$`),
	}
}

// Lie says what it gets wrong from now on.
func (f *Flussonic) Lie(lies FlussonicLies) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lies = lies
}

func (f *Flussonic) lying() FlussonicLies {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lies
}

// ServeHTTP answers API and viewers on one port, as it does.
func (f *Flussonic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/streamer/api/v3/streams/"); ok {
		f.serveAPI(w, r, rest)
		return
	}
	if name, ok := strings.CutSuffix(r.URL.Path, "/recording_status.json"); ok {
		if f.count("recording_status", w, r) && f.admits(w, r) {
			f.serveRecordingStatus(w, r, strings.TrimPrefix(name, "/"))
		}
		return
	}
	if f.count("viewer", w, r) && f.admits(w, r) {
		f.serveViewer(w, r)
	}
}

// serveAPI answers the v3 API; rest is the path behind ".../streams/", escaped.
func (f *Flussonic) serveAPI(w http.ResponseWriter, r *http.Request, rest string) {
	rest, ranges := strings.CutSuffix(rest, "/dvr/ranges")
	kind := "stream"
	if ranges {
		kind = "ranges"
	}
	name, err := url.PathUnescape(rest)
	switch {
	case !f.count(kind, w, r):
	case f.lying().Old:
		http.Error(w, "Not Found", http.StatusNotFound)
	case !f.knows(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="streamer"`)
		f.fail(w, http.StatusUnauthorized)
	case err != nil || strings.Contains(rest, "/"):
		f.fail(w, http.StatusNotFound) // a slash of a name is %2F here
	case ranges:
		f.serveRanges(w, r, name)
	default:
		f.serveStream(w, name)
	}
}

// knows tells whether a request to the API has the credentials.
func (f *Flussonic) knows(r *http.Request) bool {
	switch user, password, basic := r.BasicAuth(); {
	case f.opt.Password == "":
		return true
	case f.opt.User != "":
		return basic && user == f.opt.User && password == f.opt.Password
	default:
		return r.Header.Get("Authorization") == "Bearer "+f.opt.Password
	}
}

// admits checks a viewer's token, and answers when it is wrong.
func (f *Flussonic) admits(w http.ResponseWriter, r *http.Request) bool {
	if f.opt.Token != "" && r.URL.Query().Get("token") != f.opt.Token {
		http.Error(w, "Forbidden", http.StatusForbidden)
		return false
	}
	return true
}

// fail answers as the v3 API does.
func (*Flussonic) fail(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"errors":[{"status":"` + strconv.Itoa(status) + `","title":"` + http.StatusText(status) + `"}]}`))
}

func (f *Flussonic) serveStream(w http.ResponseWriter, name string) {
	c, ok := f.channel(name)
	lies := f.lying()
	if !ok {
		f.fail(w, http.StatusNotFound)
		return
	}
	stats := map[string]any{"alive": false, "status": "waiting"}
	if c.Live {
		stats = map[string]any{
			"alive": true, "status": "running", "bitrate": 2500,
			"last_dts_at": f.now().Add(-lies.Stuck).UnixMilli(),
		}
	}
	doc := map[string]any{"name": name, "static": !lies.OnDemand, "stats": stats}
	switch {
	case lies.Remote:
		doc["dvr"] = map[string]any{"remotes": []any{map[string]any{"url": "m4f://origin.example/" + name}}}
	case len(c.Recorded) > 0:
		doc["dvr"] = map[string]any{"root": "/storage"}
		stats["dvr_info"] = map[string]any{"from": c.Recorded[0].From.Unix(), "duration": 1, "depth": 86400}
	}
	f.write(w, doc)
}

// flussonicRange is a range as the v3 API writes it. The units are mixed, and
// the two pairs need not agree.
type flussonicRange struct {
	From     int64   `json:"from"`
	Duration float64 `json:"duration"`
	OpenedAt int64   `json:"opened_at"` // ms
	ClosedAt int64   `json:"closed_at"` // ms
}

func (f *Flussonic) serveRanges(w http.ResponseWriter, r *http.Request, name string) {
	c, ok := f.channel(name)
	lies := f.lying()
	query := r.URL.Query()
	switch {
	case !ok:
		f.fail(w, http.StatusNotFound)
		return
	case lies.Unsorted && query.Has("sort"):
		f.fail(w, http.StatusBadRequest)
		return
	}
	recorded := slices.Clone(c.Recorded)
	if query.Get("sort") == "-from" {
		slices.Reverse(recorded)
	}
	size, err := strconv.Atoi(query.Get("limit"))
	if err != nil || size < 1 {
		size = 100
	}
	if f.opt.PageSize > 0 {
		size = min(size, f.opt.PageSize)
	}
	at, _ := strconv.Atoi(strings.TrimPrefix(query.Get("cursor"), "JTI0+/=")) // cursors need escaping
	at = min(max(at, 0), len(recorded))
	if lies.BreakAt > 0 && at/size+1 == lies.BreakAt {
		f.fail(w, http.StatusInternalServerError)
		return
	}
	page := recorded[at:min(at+size, len(recorded))]
	ranges := make([]flussonicRange, 0, len(page))
	for _, rec := range page {
		ranges = append(ranges, flussonicRange{rec.From.Unix(), rec.To.Sub(rec.From).Seconds(), 1000000000000, 1000000000000})
	}
	doc := map[string]any{"estimated_count": len(recorded), "next": nil, "prev": nil, "ranges": ranges}
	switch {
	case lies.Circle:
		doc["next"] = "JTI0+/=" + strconv.Itoa(at)
	case at+size < len(recorded):
		doc["next"] = "JTI0+/=" + strconv.Itoa(at+size)
	}
	f.write(w, doc)
}

func (f *Flussonic) serveRecordingStatus(w http.ResponseWriter, r *http.Request, name string) {
	c, ok := f.channel(name)
	if !ok {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	if len(c.Recorded) == 0 {
		f.write(w, []any{map[string]any{"stream": name, "error": "no_dvr"}})
		return
	}
	first, last := c.Recorded[0].From, c.Recorded[len(c.Recorded)-1].To
	if f.lying().From || !strings.Contains(r.URL.Query().Get("request"), "ranges") {
		f.write(w, []any{map[string]any{"stream": name, "from": first.Unix(), "to": last.Unix()}})
		return
	}
	from, err := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	if err != nil {
		http.Error(w, "from is no number", http.StatusBadRequest)
		return
	}
	to := f.now()
	if n, err := strconv.ParseInt(r.URL.Query().Get("to"), 10, 64); err == nil {
		to = time.Unix(n, 0)
	}
	ranges := []any{}
	for _, rec := range c.recorded(time.Unix(from, 0), to) {
		ranges = append(ranges, map[string]any{"from": rec.From.Unix(), "duration": rec.To.Sub(rec.From).Seconds()})
	}
	f.write(w, []any{map[string]any{"stream": name, "ranges": ranges}})
}

// serveViewer answers the playlists of live and of the archive.
func (f *Flussonic) serveViewer(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, ".ts") {
		writeTS(w)
		return
	}
	if m := f.archive.FindStringSubmatch(r.URL.Path); m != nil {
		c, _ := f.channel(m[1])
		now := f.now()
		from, to := now, now
		number := func(s string) time.Duration {
			n, _ := strconv.ParseInt(s, 10, 64)
			return time.Duration(n) * time.Second
		}
		switch {
		case m[4] != "":
			from = time.Unix(0, 0).Add(number(m[4]))
		case m[5] != "":
			from = now.Add(-number(m[5]))
		default:
			from = time.Unix(0, 0).Add(number(m[2]))
			if m[3] != "now" {
				to = from.Add(number(m[3]))
			}
		}
		found := c.recorded(from, to)
		if len(found) == 0 {
			http.Error(w, "Not Found", http.StatusNotFound)
			return
		}
		writeArchive(w, found, to.Before(now))
		return
	}
	i := strings.LastIndexByte(r.URL.Path, '/')
	c, ok := f.channel(strings.TrimPrefix(r.URL.Path[:i], "/"))
	switch file := r.URL.Path[i+1:]; {
	case !ok || !c.Live && !f.lying().OnDemand, file != "index.m3u8" && file != "video.m3u8" && file != "mono.m3u8":
		http.Error(w, "Not Found", http.StatusNotFound)
	default:
		writeLive(w, f.now())
	}
}

func (*Flussonic) write(w http.ResponseWriter, doc any) {
	text, err := json.Marshal(doc)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, string(text))
}
