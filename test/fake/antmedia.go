package fake

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// AntMediaOptions configure an [AntMedia].
type AntMediaOptions struct {
	Now         func() time.Time // nil: the clock
	Application string           // empty: LiveApp
	Token       string           // the interface's whole Authorization header; empty: open
	NoDates     bool             // playlists have no PROGRAM-DATE-TIME
	Old         bool             // a version without updateTime
}

// AntMedia is an Ant Media Server with one application. Its requests count as
// "broadcasts" and "viewer". Its lies: a crash leaves "broadcasting" behind, and
// a range of a playlist without dates is 200 with no segment.
type AntMedia struct {
	*Server
	opt     AntMediaOptions
	crashed map[string]time.Time
}

// NewAntMedia makes a server without broadcasts.
func NewAntMedia(opt AntMediaOptions) *AntMedia {
	if opt.Application == "" {
		opt.Application = "LiveApp"
	}
	return &AntMedia{Server: newServer(opt.Now), opt: opt, crashed: map[string]time.Time{}}
}

// Crash ends a live broadcast without a word: it stays "broadcasting" and is
// not updated any more.
func (f *AntMedia) Crash(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed[name] = f.now()
}

func (f *AntMedia) crash(name string) (at time.Time, crashed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, crashed = f.crashed[name]
	return at, crashed
}

// ServeHTTP answers REST and viewer requests.
func (f *AntMedia) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, api := strings.CutPrefix(r.URL.Path, "/"+f.opt.Application+"/rest/v2/broadcasts/")
	kind := "viewer"
	if api {
		kind = "broadcasts"
	}
	if !f.count(kind, w, r) {
		return
	}
	if !api {
		f.serveViewer(w, r)
		return
	}
	if f.opt.Token != "" && r.Header.Get("Authorization") != f.opt.Token {
		http.Error(w, "Invalid App JWT Token", http.StatusForbidden)
		return
	}
	c, ok := f.channel(name)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	status := "finished"
	if c.Live {
		status = "broadcasting"
	}
	update := ""
	if !f.opt.Old {
		at := f.now()
		if crash, crashed := f.crash(name); crashed {
			at = crash
		}
		update = fmt.Sprintf(`"updateTime":%d,`, at.UnixMilli())
	}
	writeJSON(w, fmt.Sprintf(`{"streamId":%q,"status":%q,"type":"liveStream",%s"hlsViewerCount":0,"dashViewerCount":0}`, name, status, update))
}

// serveViewer answers APP/streams/ID[_adaptive].m3u8[?start=&end=].
func (f *AntMedia) serveViewer(w http.ResponseWriter, r *http.Request) {
	file, ok := strings.CutPrefix(r.URL.Path, "/"+f.opt.Application+"/streams/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	name, ok := strings.CutSuffix(file, ".m3u8")
	if !ok {
		serveSegment(w, file)
		return
	}
	name = strings.TrimSuffix(name, "_adaptive")
	c, ok := f.channel(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	from, okFrom := parseUnix(r.URL.Query().Get("start"))
	to, okTo := parseUnix(r.URL.Query().Get("end"))
	_, crashed := f.crash(name)
	switch {
	case okFrom && okTo && f.opt.NoDates:
		writePlaylist(w, "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-ENDLIST\n")
	case okFrom && okTo:
		writeArchive(w, c.recorded(from, to), !to.After(f.now()))
	case c.Live && !crashed:
		writeLive(w, f.now())
	default:
		http.NotFound(w, r)
	}
}
