package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MediaMTXOptions configure a [MediaMTX].
type MediaMTXOptions struct {
	Now          func() time.Time // nil: the clock
	User, Secret string           // Basic credentials of both interfaces, or with Secret alone a bearer token; none: open
	Old          bool             // a version that says "ready", and lists all whatever start and end say
	Zone         *time.Location   // of the times it lists; nil: UTC
}

// MediaMTX is a MediaMTX server whose API, playback server and HLS server share
// one address. Its requests count as "paths", "config", "list", "get" and
// "viewer". Its lies: HEAD is 404, HLS answers every first GET with a redirect
// whether the path exists or not, /list is 400 for a path that never recorded,
// and /get over a gap is 200 and ends at the gap.
type MediaMTX struct {
	*Server
	opt      MediaMTXOptions
	onDemand map[string]bool
	clip     map[string]bool
	mpegts   map[string]bool
}

// NewMediaMTX makes a server without paths.
func NewMediaMTX(opt MediaMTXOptions) *MediaMTX {
	if opt.Zone == nil {
		opt.Zone = time.UTC
	}
	return &MediaMTX{
		Server: newServer(opt.Now), opt: opt,
		onDemand: map[string]bool{}, clip: map[string]bool{}, mpegts: map[string]bool{},
	}
}

// OnDemand makes a path start when somebody watches.
func (m *MediaMTX) OnDemand(name string, on bool) { m.mark(m.onDemand, name, on) }

// OfflineClip makes a path play a clip while its source is gone.
func (m *MediaMTX) OfflineClip(name string, on bool) { m.mark(m.clip, name, on) }

// MPEGTS makes a path's recordings MPEG-TS, which cannot be listed.
func (m *MediaMTX) MPEGTS(name string, on bool) { m.mark(m.mpegts, name, on) }

func (m *MediaMTX) mark(set map[string]bool, name string, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	set[name] = on
}

func (m *MediaMTX) marked(set map[string]bool, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return set[name]
}

// ServeHTTP answers API, playback and HLS requests.
func (m *MediaMTX) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, name := "viewer", ""
	switch path := r.URL.Path; {
	case path == "/list" || path == "/get":
		kind, name = path[1:], r.URL.Query().Get("path")
	case strings.HasPrefix(path, "/v3/paths/get/"):
		kind, name = "paths", strings.TrimPrefix(path, "/v3/paths/get/")
	case strings.HasPrefix(path, "/v3/config/paths/get/"):
		kind, name = "config", strings.TrimPrefix(path, "/v3/config/paths/get/")
	}
	if !m.count(kind, w, r) {
		return
	}
	if r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	if kind == "viewer" {
		m.serveHLS(w, r)
		return
	}
	if !m.allowed(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="mediamtx"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	c, ok := m.channel(name)
	switch {
	case kind == "paths" && !ok:
		mediaMTXError(w, http.StatusNotFound, "path not found")
	case kind == "paths":
		m.servePath(w, name, c)
	case kind == "config" && !ok:
		mediaMTXError(w, http.StatusNotFound, "path configuration not found")
	case kind == "config":
		writeJSON(w, fmt.Sprintf(`{"name":%q,"source":"publisher","sourceOnDemand":%t,"runOnDemand":""}`, name, m.marked(m.onDemand, name)))
	case !ok || len(c.Recorded) == 0:
		mediaMTXError(w, http.StatusBadRequest, "lstat recordings: no such file or directory")
	case m.marked(m.mpegts, name):
		mediaMTXError(w, http.StatusInternalServerError, "MPEG-TS format is not supported yet")
	case kind == "list":
		m.serveList(w, r, name, c)
	default:
		m.serveGet(w, r, c)
	}
}

func (m *MediaMTX) allowed(r *http.Request) bool {
	if m.opt.User == "" {
		return m.opt.Secret == "" || r.Header.Get("Authorization") == "Bearer "+m.opt.Secret
	}
	user, secret, ok := r.BasicAuth()
	return ok && user == m.opt.User && secret == m.opt.Secret
}

func (m *MediaMTX) servePath(w http.ResponseWriter, name string, c Channel) {
	if m.opt.Old {
		writeJSON(w, fmt.Sprintf(`{"name":%q,"confName":%q,"ready":%t,"readers":[]}`, name, name, c.Live))
		return
	}
	available := c.Live || m.marked(m.clip, name)
	writeJSON(w, fmt.Sprintf(`{"name":%q,"confName":%q,"ready":%t,"available":%t,"online":%t,"source":null,"readers":[]}`,
		name, name, available, available, c.Live))
}

// mediaMTXEntry is one entry of /list.
type mediaMTXEntry struct {
	Start    string  `json:"start"`
	Duration float64 `json:"duration"`
	URL      string  `json:"url"`
}

func (m *MediaMTX) serveList(w http.ResponseWriter, r *http.Request, name string, c Channel) {
	rs := c.Recorded
	if from, to := r.URL.Query().Get("start"), r.URL.Query().Get("end"); !m.opt.Old && from != "" && to != "" {
		start, errStart := time.Parse(time.RFC3339, from)
		end, errEnd := time.Parse(time.RFC3339, to)
		if errStart != nil || errEnd != nil { // a raw "+" came as a space
			mediaMTXError(w, http.StatusBadRequest, "invalid date")
			return
		}
		rs = c.recorded(start, end)
	}
	if len(rs) == 0 {
		mediaMTXError(w, http.StatusNotFound, "no recording segments found")
		return
	}
	list := make([]mediaMTXEntry, len(rs))
	for i, e := range rs {
		list[i] = mediaMTXEntry{
			Start:    e.From.In(m.opt.Zone).Format(time.RFC3339Nano),
			Duration: e.To.Sub(e.From).Seconds(),
			URL:      "http://" + r.Host + "/get?path=" + name,
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, string(body))
}

// serveGet answers with what stands for an MP4: its duration is that up to the
// first gap, and a header tells it.
func (m *MediaMTX) serveGet(w http.ResponseWriter, r *http.Request, c Channel) {
	start, err := time.Parse(time.RFC3339, r.URL.Query().Get("start"))
	if err != nil {
		mediaMTXError(w, http.StatusBadRequest, "invalid start")
		return
	}
	text := r.URL.Query().Get("duration")
	seconds, errSeconds := strconv.ParseFloat(text, 64)
	length := time.Duration(seconds * float64(time.Second))
	if errSeconds != nil {
		if length, err = time.ParseDuration(text); err != nil {
			mediaMTXError(w, http.StatusBadRequest, "invalid duration")
			return
		}
	}
	rs := c.recorded(start, start.Add(length))
	if len(rs) == 0 {
		mediaMTXError(w, http.StatusNotFound, "no recording segments found")
		return
	}
	w.Header().Set("Content-Type", "video/mp4")
	w.Header().Set("Accept-Ranges", "none")
	w.Header().Set("X-Fake-Duration", rs[0].To.Sub(rs[0].From).String())
	_, _ = w.Write([]byte("\x00\x00\x00\x14ftypmp42\x00\x00\x00\x00mp42"))
}

func (m *MediaMTX) serveHLS(w http.ResponseWriter, r *http.Request) {
	name, file, ok := cutLast(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if _, err := r.Cookie("cookieCheck"); err != nil && r.URL.RawQuery == "" && file == "index.m3u8" {
		http.SetCookie(w, &http.Cookie{Name: "cookieCheck", Value: "1", Path: "/"})
		w.Header().Set("Location", "?cookieCheck=1")
		w.WriteHeader(http.StatusFound)
		return
	}
	c, ok := m.channel(name)
	live := ok && (c.Live || m.marked(m.clip, name) || m.marked(m.onDemand, name))
	switch {
	case !live:
		mediaMTXError(w, http.StatusNotFound, "no stream is available on path '"+name+"'")
	case file == "index.m3u8":
		writePlaylist(w, "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-STREAM-INF:BANDWIDTH=1200000,CODECS=\"avc1.42c01e\"\nmain_stream.m3u8\n")
	case file == "main_stream.m3u8":
		writeLive(w, m.now())
	default:
		serveSegment(w, file)
	}
}

func mediaMTXError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]string{"status": "error", "error": text})
	_, _ = w.Write(body)
}
