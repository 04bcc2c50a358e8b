package demo

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
)

//go:embed assets/page
var pageFiles embed.FS

// contentSecurityPolicy keeps the page to its own files. connect-src is open because the player fetches
// from wherever a redirect leads; hls.js works in a worker and plays through a source, both blob URLs. A
// frame around the page could lure clicks onto the buttons, so there may be none.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; " +
	"connect-src 'self' http: https:; media-src blob: http: https:; worker-src blob:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Steering is what the page needs to know of a redirector that steers.
type Steering struct {
	Channel  string // the channel that the page plays
	URL      string // what a viewer of it opens: a playlist with content steering in it
	Manifest string // URL path of its steering manifests

	// Admin answers GET /explain, GET /admin/pathways, and POST and DELETE of /admin/pathways/{id}, as
	// the admin listener of the redirector does.
	Admin http.Handler
}

// Page returns the handler of everything under /demo/: the player page, its files, and what its buttons
// call.
//
//	GET  /demo/                            the page
//	GET  /demo/api/channels                [{"name", "url"}]: url is what a viewer opens
//	GET  /demo/api/servers                 [{"name", "farm", "url", "channels", "running", "served"}]
//	POST /demo/api/servers/{name}/start    start or stop a server, and answer with its new state;
//	POST /demo/api/servers/{name}/stop     409 when it cannot start
//	GET  /demo/api/steering                {"channel", "url", "manifest"}, as in [Steering]
//	     /demo/api/steering/explain and /demo/api/steering/admin/pathways: what steering.Admin answers
//	     to these paths without /demo/api/steering
//
// viewerURL gives the link of a channel through the redirector. Only the page itself and programs that
// are no browser may press the buttons: a request from another web page gets 403, also one that
// reaches a loopback address by a name of its own (DNS rebinding).
func Page(servers []*Server, viewerURL func(channel string) string, steering Steering) http.Handler {
	p := &page{servers: slices.Clone(servers), viewerURL: viewerURL, steering: steering}
	files, err := fs.Sub(pageFiles, "assets/page")
	if err != nil {
		panic(err) // only for a malformed constant path
	}

	pages := http.NewServeMux()
	pages.Handle("GET /demo/", http.StripPrefix("/demo", typed(http.FileServerFS(files))))

	// A mux of its own: beside "GET /demo/", a GET of a button would be a missing file (404) instead of
	// a wrong method (405).
	api := http.NewServeMux()
	api.HandleFunc("GET /demo/api/channels", p.listChannels)
	api.HandleFunc("GET /demo/api/servers", p.listServers)
	api.Handle("POST /demo/api/servers/{name}/start", ownPage(p.press((*Server).Start)))
	api.Handle("POST /demo/api/servers/{name}/stop", ownPage(p.press(func(s *Server) error {
		s.Stop()
		return nil
	})))
	api.HandleFunc("GET /demo/api/steering", p.describeSteering)
	admin := http.StripPrefix("/demo/api/steering", steering.Admin)
	api.Handle("GET /demo/api/steering/explain", admin)
	api.Handle("GET /demo/api/steering/admin/pathways", admin)
	api.Handle("POST /demo/api/steering/admin/pathways/{id}", ownPage(admin))
	api.Handle("DELETE /demo/api/steering/admin/pathways/{id}", ownPage(admin))

	mux := http.NewServeMux()
	mux.Handle("/demo/", pages)
	mux.Handle("/demo/api/", api)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache") // the files carry no date, and another version may come to this port
		mux.ServeHTTP(w, r)
	})
}

// typed says what each file is before the file server asks the machine, where a stray registry entry or
// mime.types line makes a script text/plain, and browsers refuse such a script.
func typed(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := "text/html"
		switch path.Ext(r.URL.Path) {
		case ".css":
			kind = "text/css"
		case ".js":
			kind = "text/javascript"
		case ".txt":
			kind = "text/plain"
		}
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		files.ServeHTTP(w, r)
	})
}

type page struct {
	servers   []*Server
	viewerURL func(channel string) string
	steering  Steering
}

// steeringJSON is a Steering as the page sees it.
type steeringJSON struct {
	Channel  string `json:"channel"`
	URL      string `json:"url"`
	Manifest string `json:"manifest"`
}

// channelJSON is one channel as the page sees it.
type channelJSON struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// serverJSON is one server as the page sees it.
type serverJSON struct {
	Name     string     `json:"name"`
	Farm     string     `json:"farm"`
	URL      string     `json:"url"`
	Channels []string   `json:"channels"`
	Running  bool       `json:"running"`
	Served   servedJSON `json:"served"`
}

type servedJSON struct {
	Playlists uint64 `json:"playlists"`
	Segments  uint64 `json:"segments"`
}

func describe(s *Server) serverJSON {
	playlists, segments := s.Served()
	return serverJSON{
		Name: s.Name(), Farm: s.Farm(), URL: s.URL(), Channels: s.Channels(), Running: s.Running(),
		Served: servedJSON{Playlists: playlists, Segments: segments},
	}
}

func (p *page) listServers(w http.ResponseWriter, _ *http.Request) {
	list := make([]serverJSON, 0, len(p.servers))
	for _, s := range p.servers {
		list = append(list, describe(s))
	}
	writeJSON(w, http.StatusOK, list)
}

// listChannels lists what any server carries, each channel once, in the order of the servers.
func (p *page) listChannels(w http.ResponseWriter, _ *http.Request) {
	list := []channelJSON{}
	for _, s := range p.servers {
		for _, name := range s.Channels() {
			if !slices.ContainsFunc(list, func(c channelJSON) bool { return c.Name == name }) {
				list = append(list, channelJSON{Name: name, URL: p.viewerURL(name)})
			}
		}
	}
	writeJSON(w, http.StatusOK, list)
}

func (p *page) describeSteering(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, steeringJSON{Channel: p.steering.Channel, URL: p.steering.URL, Manifest: p.steering.Manifest})
}

// ownPage lets no other web page press a button.
func ownPage(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection() // Sec-Fetch-Site, or Origin against Host
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := crossOrigin.Check(r); err != nil {
			writeError(w, http.StatusForbidden, "another web page may not press the demo's buttons")
			return
		}
		if !hostIsLiteral(r.Host) {
			writeError(w, http.StatusForbidden, "the Host header is a name: expected an IP address or localhost")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// press returns the handler of a button that does action to the server named in the path.
func (p *page) press(action func(*Server) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(p.servers, func(s *Server) bool { return s.Name() == r.PathValue("name") })
		if i < 0 {
			writeError(w, http.StatusNotFound, "the demo has no server of this name")
			return
		}
		if err := action(p.servers[i]); err != nil {
			writeError(w, http.StatusConflict, err.Error())
			return
		}
		writeJSON(w, http.StatusOK, describe(p.servers[i]))
	}
}

// hostIsLiteral reports whether the Host header host is an IP address or localhost. Other names belong to
// somebody who can point them at this machine, after which his page and ours share an origin.
func hostIsLiteral(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only when the reader has gone
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"error": message})
}
