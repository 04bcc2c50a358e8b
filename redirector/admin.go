package redirector

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pointsman-tv/pointsman/redirector/status"
)

// AdminOptions are what the admin listener works with.
type AdminOptions struct {
	ReadToken string // bearer token for reading; "" asks for none
	ActToken  string // bearer token for acting (it may read too); "" asks for none
	// Reload loads the configuration again; force allows what a typing error
	// would do, such as removing more than half of the servers.
	Reload func(force bool) error
	// Extra answers everything under /demo; may be nil.
	Extra http.Handler
}

// Admin returns the handler of the admin listener.
func (e *Engine) Admin(opt AdminOptions) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.GetHead) // balancers like to ask with HEAD
	r.Get("/healthz", func(rw http.ResponseWriter, _ *http.Request) { writeText(rw, http.StatusOK, "alive\n") })
	r.Get("/readyz", func(rw http.ResponseWriter, _ *http.Request) { e.serveHealth(rw) })
	r.Group(func(r chi.Router) {
		r.Use(guardReading(opt.ReadToken, opt.ActToken))
		r.Get("/", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/status", http.StatusFound) })
		r.Get("/status", func(rw http.ResponseWriter, r *http.Request) { e.serveStatus(rw, r, opt.ActToken != "") })
		r.Get("/status/events", e.serveStatusEvents)
		r.Get("/status/coverage", e.serveCoverage)
		r.Get("/status/{asset}", func(rw http.ResponseWriter, r *http.Request) { status.ServeAsset(rw, r, chi.URLParam(r, "asset")) })
		r.Get("/explain", e.serveExplain)
		r.Get("/admin/pathways", e.servePathways)
		r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(e.metrics.Registry, promhttp.HandlerOpts{}))
		if opt.Extra != nil {
			r.Handle("/demo", opt.Extra)
			r.Handle("/demo/*", opt.Extra)
		}
	})
	r.Group(func(r chi.Router) {
		r.Use(guard(opt.ActToken), sameSite)
		r.Post("/admin/reload", func(rw http.ResponseWriter, r *http.Request) { e.serveReload(rw, r, opt.Reload) })
		r.Post("/admin/servers/*", e.serveServerAction)
		r.Delete("/admin/servers/*", e.serveOverride)
		r.Post("/admin/contents/purge", e.servePurge)
		r.Post("/admin/pathways/*", e.servePathway)
		r.Delete("/admin/pathways/*", e.servePathway)
		r.HandleFunc("/debug/pprof/*", pprof.Index)
		r.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		r.HandleFunc("/debug/pprof/profile", pprof.Profile)
		r.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		r.HandleFunc("/debug/pprof/trace", pprof.Trace)
	})
	return r
}

// guard lets through who has the needed token or one that may more. When none is
// needed the listener is on loopback, and only a Host that names it by address or
// as localhost is let through, so that no web page reaches it by a name of its
// own (DNS rebinding).
func guard(needed string, more ...string) func(http.Handler) http.Handler {
	return guardBy(bearerOf, needed, more)
}

// guardReading is [guard] for what only reads: there a browser, which can show no
// bearer token of its own when it loads a page, may give the token as a password.
// For what acts it may not, because it would then send it along with whatever
// another web page has it do.
func guardReading(needed string, more ...string) func(http.Handler) http.Handler {
	return guardBy(bearerOrPassword, needed, more)
}

func bearerOf(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func bearerOrPassword(r *http.Request) (string, bool) {
	if _, password, ok := r.BasicAuth(); ok {
		return password, true
	}
	return bearerOf(r)
}

func guardBy(tokenOf func(*http.Request) (string, bool), needed string, more []string) func(http.Handler) http.Handler {
	open, tokens := needed == "", append(more, needed)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if open {
				if !plainHost(r.Host) {
					writeError(rw, http.StatusForbidden, "without tokens the admin listener answers only to localhost or an address as Host")
					return
				}
				next.ServeHTTP(rw, r)
				return
			}
			given, ok := tokenOf(r)
			good := 0
			for _, t := range tokens {
				if t != "" {
					good |= subtle.ConstantTimeCompare([]byte(given), []byte(t))
				}
			}
			if !ok || good != 1 {
				rw.Header().Set("WWW-Authenticate", `Bearer realm="pointsman"`)
				if r.Method == http.MethodGet && wantsPage(r) {
					rw.Header().Add("WWW-Authenticate", `Basic realm="Pointsman: any name, and the read token as the password", charset="UTF-8"`)
				}
				writeError(rw, http.StatusUnauthorized, "a bearer token is needed: Authorization: Bearer TOKEN")
				return
			}
			next.ServeHTTP(rw, r)
		})
	}
}

func plainHost(host string) bool {
	name := hostName(host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// sameSite refuses what another web page has a browser send.
func sameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		foreign := site != "" && site != "same-origin" && site != "none"
		// "null" is a page in a sandbox, which is nobody's.
		if given := r.Header.Get("Origin"); given != "" {
			origin, err := url.Parse(given)
			foreign = foreign || err != nil || origin.Host != r.Host
		}
		if foreign {
			writeError(rw, http.StatusForbidden, "another web page may not act here")
			return
		}
		next.ServeHTTP(rw, r)
	})
}

func (e *Engine) serveStatus(rw http.ResponseWriter, r *http.Request, actToken bool) {
	if e.Table() == nil {
		writeError(rw, http.StatusServiceUnavailable, noTable)
		return
	}
	rw.Header().Set("Vary", "Accept")
	if wantsPage(r) {
		e.live.ServePage(rw, r, actToken)
		return
	}
	status.ServeJSON(rw, r, e.Status(time.Now()))
}

// noTable is the answer before the first configuration.
const noTable = "no configuration is loaded yet"

func (e *Engine) serveStatusEvents(rw http.ResponseWriter, r *http.Request) {
	if e.Table() == nil {
		writeError(rw, http.StatusServiceUnavailable, noTable)
		return
	}
	e.live.ServeEvents(rw, r)
}

// EndStreams ends the live updates of every page, before a shutdown: they are
// requests that end by themselves never.
func (e *Engine) EndStreams() { e.live.End() }

func (e *Engine) serveCoverage(rw http.ResponseWriter, r *http.Request) {
	if e.Table() == nil {
		writeError(rw, http.StatusServiceUnavailable, noTable)
		return
	}
	c := e.Coverage(r.URL.Query().Get("channel"), time.Now())
	rw.Header().Set("Vary", "Accept")
	if wantsPage(r) {
		status.ServeCoverage(rw, r, c)
		return
	}
	status.ServeJSON(rw, r, c)
}

func (e *Engine) serveExplain(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	addr, err := netip.ParseAddr(q.Get("ip"))
	x := ExplainRequest{IP: addr, URL: q.Get("url"), UserAgent: q.Get("ua"), ParseOnly: q.Get("parse") == "true" || q.Get("parse") == "1"}
	var now int64
	var badNow error
	if text := q.Get("now"); text != "" {
		if now, badNow = strconv.ParseInt(text, 10, 64); badNow == nil {
			x.Now = time.Unix(now, 0)
		}
	}
	code, problem := http.StatusBadRequest, ""
	switch {
	case err != nil:
		problem = "ip: expected the viewer's address, like ?ip=192.0.2.7&url=/channel/index.m3u8"
	case x.URL == "":
		problem = "url: expected the viewer's URL or path, like ?ip=192.0.2.7&url=/channel/index.m3u8"
	case badNow != nil || now < 0 || now > maxNow:
		problem = "now: expected unix seconds"
	case e.Table() == nil:
		code, problem = http.StatusServiceUnavailable, noTable
	}
	rw.Header().Set("Vary", "Accept")
	switch page := wantsPage(r); {
	case page && r.URL.RawQuery == "": // the form alone
		status.ServeExplain(rw, r, nil, "")
	case page && problem != "":
		status.ServeExplain(rw, r, nil, problem)
	case problem != "":
		writeError(rw, code, problem)
	case page:
		explained := e.Explain(r.Context(), x)
		status.ServeExplain(rw, r, &explained, "")
	default:
		status.ServeJSON(rw, r, e.Explain(r.Context(), x))
	}
}

// maxNow is the last second of the year 9999.
const maxNow = 253402300799

func (e *Engine) serveReload(rw http.ResponseWriter, r *http.Request, reload func(force bool) error) {
	force := r.URL.Query().Get("force")
	if err := reload(force == "1" || force == "true"); err != nil {
		writeError(rw, http.StatusUnprocessableEntity, err.Error())
		return
	}
	writeValue(rw, http.StatusOK, map[string]uint64{"generation": e.Table().Generation})
}

// maxAdminBody bounds a request body on the admin listener.
const maxAdminBody = 4 << 10

func (e *Engine) serveOverride(rw http.ResponseWriter, r *http.Request) {
	name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/admin/servers/"))
	if err != nil {
		writeError(rw, http.StatusBadRequest, "the server's name has a bad escape")
		return
	}
	if e.Table() == nil {
		writeError(rw, http.StatusServiceUnavailable, noTable)
		return
	}
	if r.Method == http.MethodDelete {
		e.finishOverride(rw, r, name, "as configured", e.SetOverride(name, nil))
		return
	}
	var in savedOverride
	if err := decodeBody(rw, r, &in, `{"state":"draining","until":"2026-01-31T18:00:00Z"}`); err != nil {
		writeError(rw, http.StatusBadRequest, err.Error())
		return
	}
	o, err := in.override()
	if err != nil {
		writeError(rw, http.StatusBadRequest, err.Error())
		return
	}
	e.finishOverride(rw, r, name, o.State.String(), e.SetOverride(name, &o))
}

// decodeBody reads the one JSON object that a body must be, of the form that
// like shows.
func decodeBody(rw http.ResponseWriter, r *http.Request, in any, like string) error {
	dec := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxAdminBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(in); err != nil {
		return fmt.Errorf("expected a body like %s: %w", like, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object in the body")
	}
	return nil
}

func (e *Engine) finishOverride(rw http.ResponseWriter, r *http.Request, name, state string, err error) {
	switch {
	case errors.Is(err, errUnknownServer):
		writeError(rw, http.StatusNotFound, "no farm has a server named "+clip(name, 100))
	case err != nil:
		e.alarms.Raise(AlarmStateDir, err.Error())
		writeError(rw, http.StatusInternalServerError, err.Error())
	default:
		e.log.Info().Str("server", name).Str("state", state).Str("by", r.RemoteAddr).Msg("operator set a server's state")
		writeValue(rw, http.StatusOK, map[string]string{"server": name, "state": state})
	}
}

func writeText(rw http.ResponseWriter, status int, text string) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.Header().Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, text)
}

func writeError(rw http.ResponseWriter, status int, text string) {
	writeValue(rw, status, map[string]string{"error": text})
}

func writeValue(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	_, _ = rw.Write(encodeJSON(v))
}
