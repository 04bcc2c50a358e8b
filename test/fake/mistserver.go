package fake

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MistServerOptions say what kind of MistServer it is.
type MistServerOptions struct {
	Fallback string           // the stream it serves instead of one that is off; empty: none
	Now      func() time.Time // its clock; nil is the real one
}

// MistServerLies are what it gets wrong or keeps to itself.
type MistServerLies struct {
	Error    string        // this "error" for streams that are off, instead of "Stream is offline"
	VoD      bool          // streams that are on are files
	Stuck    time.Duration // the newest frame is this old
	NoClock  bool          // no unixoffset
	Subtitle bool          // a subtitle track whose last frame is long past
}

// MistServer is a MistServer. It answers 200 whatever is asked, as a real one
// does. Of a channel's recordings the last is its buffer; one without any that
// is live has the last minute. Its kinds of requests: "json", "viewer".
type MistServer struct {
	*Server
	opt  MistServerOptions
	lies MistServerLies
}

// NewMistServer makes one without channels.
func NewMistServer(opt MistServerOptions) *MistServer {
	return &MistServer{Server: newServer(opt.Now), opt: opt}
}

// Lie says what it gets wrong from now on.
func (m *MistServer) Lie(lies MistServerLies) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lies = lies
}

func (m *MistServer) lying() MistServerLies {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lies
}

// buffer returns what a stream has, and false when it is off.
func (m *MistServer) buffer(name string) (Range, bool) {
	c, _ := m.channel(name)
	now := m.now().Add(-m.lying().Stuck)
	switch {
	case !c.Live:
		return Range{}, false
	case len(c.Recorded) > 0:
		return c.Recorded[len(c.Recorded)-1], true
	default:
		return Range{now.Add(-time.Minute), now}, true
	}
}

// ServeHTTP answers descriptions and viewers on one port, as it does.
func (m *MistServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/json_"); ok && strings.HasSuffix(rest, ".js") {
		name, err := url.PathUnescape(strings.TrimSuffix(rest, ".js"))
		if m.count("json", w, r) && err == nil {
			m.serveJSON(w, name)
		}
		return
	}
	if m.count("viewer", w, r) {
		m.serveViewer(w, r)
	}
}

func (m *MistServer) serveJSON(w http.ResponseWriter, name string) {
	lies := m.lying()
	doc := map[string]any{}
	b, on := m.buffer(name)
	if !on && m.opt.Fallback != "" && m.opt.Fallback != name {
		doc["redirected"] = []string{name, m.opt.Fallback}
		b, on = m.buffer(m.opt.Fallback)
	}
	switch {
	case !on && lies.Error != "":
		doc["error"] = lies.Error
	case !on:
		doc["error"] = "Stream is offline"
	default:
		// The stream's own clock began 5 s before the buffer does.
		offset := b.From.UnixMilli() - 5000
		first, last := int64(5000), b.To.UnixMilli()-offset
		tracks := map[string]any{
			"video_H264_1280x720_0": map[string]any{"type": "video", "firstms": first, "lastms": last + 40},
			"audio_AAC_2ch_1":       map[string]any{"type": "audio", "firstms": first - 20, "lastms": last},
		}
		if lies.Subtitle {
			tracks["subtitle_2"] = map[string]any{"type": "meta", "codec": "subtitle", "firstms": 0, "lastms": 10}
		}
		doc["type"] = "live"
		if lies.VoD {
			doc["type"] = "vod"
		}
		if !lies.NoClock && !lies.VoD {
			doc["unixoffset"] = offset
		}
		doc["meta"] = map[string]any{"tracks": tracks, "live": 1}
		doc["selver"] = 2
	}
	text, err := json.Marshal(doc)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, string(text))
}

// serveViewer answers /hls/NAME/index.m3u8 and /cmaf/NAME/index.m3u8.
func (m *MistServer) serveViewer(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, ".ts") {
		writeTS(w)
		return
	}
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) != 4 || parts[1] != "hls" && parts[1] != "cmaf" || parts[3] != "index.m3u8" {
		http.NotFound(w, r)
		return
	}
	b, on := m.buffer(parts[2])
	if !on && m.opt.Fallback != "" {
		b, on = m.buffer(m.opt.Fallback)
	}
	if !on {
		writePlaylist(w, "#EXTM3U\n#EXT-X-ERROR: Stream is offline\n#EXT-X-ENDLIST\n")
		return
	}
	now := m.now()
	from, timed := m.unixTime(r.URL.Query().Get("startunix"))
	if !timed {
		writeLive(w, now.Add(-m.lying().Stuck))
		return
	}
	to, closed := m.unixTime(r.URL.Query().Get("stopunix"))
	if !closed {
		to = now
	}
	found := Channel{Recorded: []Range{b}}.recorded(from, to)
	if len(found) == 0 {
		writePlaylist(w, "#EXTM3U\n#EXT-X-ERROR: Entire range is in the past\n#EXT-X-ENDLIST\n")
		return
	}
	writeArchive(w, found, closed)
}

// unixTime reads a time as MistServer does: what is not above 36000 counts from
// now.
func (m *MistServer) unixTime(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n <= 36000:
		return m.now().Add(time.Duration(n) * time.Second), true
	default:
		return time.Unix(n, 0), true
	}
}
