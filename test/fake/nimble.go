package fake

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NimbleOptions say what kind of Nimble Streamer it is.
type NimbleOptions struct {
	Token string           // management_token; empty: it asks for none
	Now   func() time.Time // its clock; nil is the real one
}

// NimbleLies are what it gets wrong or keeps to itself.
type NimbleLies struct {
	Flat       bool // the list of streams has no groups
	Silent     bool // streams are published, and nothing comes in
	NoTimeline bool // recordings without a timeline
	NotFound   bool // a 200 says {"status":"Not found"} where there is no recording
	Twice      bool // a recording is listed twice
}

// Nimble is a Nimble Streamer. A channel is "application/stream"; what [Server.Set]
// says is recorded is its MPEG-TS recording. Its kinds of requests: "streams",
// "dvr", "viewer".
type Nimble struct {
	*Server
	opt  NimbleOptions
	lies NimbleLies
	fmp4 map[string][]Range
	path *regexp.Regexp
}

// NewNimble makes one without channels.
func NewNimble(opt NimbleOptions) *Nimble {
	return &Nimble{
		Server: newServer(opt.Now),
		opt:    opt,
		fmp4:   map[string][]Range{},
		path:   regexp.MustCompile(`^/([^/]+/[^/]+)/playlist(_fmp4)?(?:_dvr(?:_range-(\d+)-(\d+|now)|_timeshift-(\d+)(?:-\d+)?)?)?\.m3u8$`),
	}
}

// SetFMP4 says what the channel's fMP4 recording holds from now on.
func (n *Nimble) SetFMP4(name string, recorded []Range) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fmp4[name] = slices.Clone(recorded)
}

// Lie says what it gets wrong from now on.
func (n *Nimble) Lie(lies NimbleLies) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lies = lies
}

// ServeHTTP answers API and viewers. A real one does so on two ports.
func (n *Nimble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/manage/live_streams_status" {
		if n.count("streams", w, r) && n.admits(w, r) {
			n.serveStreams(w)
		}
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/manage/dvr_status/"); ok {
		if n.count("dvr", w, r) && n.admits(w, r) {
			n.serveDVR(w, r, name)
		}
		return
	}
	if n.count("viewer", w, r) {
		n.serveViewer(w, r)
	}
}

// admits checks salt and hash, and answers when they are wrong.
func (n *Nimble) admits(w http.ResponseWriter, r *http.Request) bool {
	if n.opt.Token == "" {
		return true
	}
	query := r.URL.Query() // an unescaped plus arrives as a space, as it would there
	sum := md5.Sum([]byte(query.Get("salt") + "/" + n.opt.Token))
	if query.Get("salt") == "" || query.Get("hash") != base64.StdEncoding.EncodeToString(sum[:]) {
		http.Error(w, "Forbidden", http.StatusForbidden)
		return false
	}
	return true
}

func (n *Nimble) serveStreams(w http.ResponseWriter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	groups := map[string][]map[string]any{}
	list := []map[string]any{}
	for name, c := range n.channels {
		app, stream, _ := strings.Cut(name, "/")
		if !c.Live {
			continue
		}
		s := map[string]any{"strm": stream, "bandwidth": 1697348, "publish_time": "1524060893", "protocol": "RTMP"}
		if n.lies.Silent {
			s["bandwidth"] = 0
		}
		if n.lies.Flat {
			s["app"] = app
			list = append(list, s)
		} else {
			groups[app] = append(groups[app], s)
		}
	}
	for app, streams := range groups {
		list = append(list, map[string]any{"app": app, "streams": streams})
	}
	n.write(w, list)
}

func (n *Nimble) serveDVR(w http.ResponseWriter, r *http.Request, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	recorded := n.channels[name].Recorded
	switch {
	case len(recorded) == 0 && n.lies.NotFound:
		writeJSON(w, `{"status":"Not found"}`)
		return
	case len(recorded) == 0:
		writeJSON(w, `[]`)
		return
	}
	var total time.Duration
	timeline := []any{}
	for i, rec := range recorded {
		total += rec.To.Sub(rec.From)
		timeline = append(timeline, map[string]any{
			"start": rec.From.Unix(), "end": rec.To.Unix(), "duration": rec.To.Unix() - rec.From.Unix(), "period": i + 1,
		})
	}
	e := map[string]any{"stream": name, "size": 1234567, "duration": int64(total.Seconds()), "periods": len(timeline), "path": "/var/dvr/" + name}
	if r.URL.Query().Get("timeline") == "true" && !n.lies.NoTimeline {
		e["timeline"] = timeline
	}
	list := []any{e}
	if n.lies.Twice {
		list = append(list, e)
	}
	n.write(w, list)
}

func (n *Nimble) serveViewer(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, ".ts") {
		writeTS(w)
		return
	}
	m := n.path.FindStringSubmatch(r.URL.Path)
	if m == nil {
		http.NotFound(w, r)
		return
	}
	c, _ := n.channel(m[1])
	now := n.now()
	if !strings.Contains(r.URL.Path, "_dvr") {
		if !c.Live {
			http.NotFound(w, r)
			return
		}
		writeLive(w, now)
		return
	}
	if m[2] != "" {
		n.mu.Lock()
		c.Recorded = n.fmp4[m[1]]
		n.mu.Unlock()
	}
	from, to := time.Unix(0, 0), now
	number := func(s string) time.Duration {
		i, _ := strconv.ParseInt(s, 10, 64)
		return time.Duration(i) * time.Second
	}
	switch {
	case m[5] != "":
		from = now.Add(-number(m[5]))
	case m[3] != "":
		from = from.Add(number(m[3]))
		if m[4] != "now" {
			to = from.Add(number(m[4]))
		}
	}
	found := c.recorded(from, to)
	if len(found) == 0 {
		http.NotFound(w, r)
		return
	}
	writeArchive(w, found, to.Before(now))
}

func (*Nimble) write(w http.ResponseWriter, doc any) {
	text, err := json.Marshal(doc)
	if err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
		return
	}
	writeJSON(w, string(text))
}
