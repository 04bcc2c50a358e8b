package redirector

import (
	"net/http"
)

// Viewers returns the handler of the viewer listener. It stands directly on the
// server: a router would clean paths by itself, and its redirects are not ours.
func (e *Engine) Viewers() http.Handler { return http.HandlerFunc(e.serveViewer) }

func (e *Engine) serveViewer(rw http.ResponseWriter, r *http.Request) {
	v := e.view.Load()
	raw := rawTarget(r)
	if v == nil || raw == v.set.HealthPath && v.set.HealthPath != "" {
		e.serveHealth(rw)
		return
	}
	w := e.begin()
	defer e.end(w)
	e.decide(r.Context(), w, v, Request{
		Door: DoorHTTP, Method: r.Method, RawTarget: raw, Host: r.Host, UserAgent: r.UserAgent(), Accept: r.Header["Accept"],
		Viewer:  v.set.Clients.Resolve(r.RemoteAddr, r.TLS != nil, r.Header),
		HasBody: r.ContentLength != 0 || len(r.TransferEncoding) > 0, Expect: len(r.Header["Expect"]) > 0,
	})
	e.commit(w, v)
	if e.sense.due(w.decision.Time) {
		e.sense.see(w, v, r.Header)
	}
	switch d := &w.decision; {
	case w.steer.on && d.Status == http.StatusOK:
		writeBody(rw, r, v.set.Steering.ContentType, w.steer.body)
	case d.Decorated:
		writeBody(rw, r, w.steer.contentType, w.steer.body)
	default:
		answer(rw, d)
	}
	if e.logs(&w.decision, v) {
		e.record(&w.decision, v)
	}
}

// rawTarget returns the request target byte for byte. FastCGI hands over no
// request line, only the parsed URL, whose RawPath is what was sent wherever
// that cannot be told from Path. EscapedPath would not do: it gives up %2F when
// there is a byte beside it that should have been escaped.
func rawTarget(r *http.Request) string {
	if r.RequestURI != "" {
		return r.RequestURI
	}
	t := r.URL.RawPath
	if t == "" {
		t = r.URL.EscapedPath()
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		t += "?" + r.URL.RawQuery
	}
	return t
}

// serveHealth answers balancers in front of us, for any Host.
func (e *Engine) serveHealth(rw http.ResponseWriter) {
	h := rw.Header()
	h["Cache-Control"] = headNoStore
	h["Content-Type"] = []string{"text/plain; charset=utf-8"}
	if !e.Ready() {
		h["Retry-After"] = []string{"1"}
		rw.WriteHeader(http.StatusServiceUnavailable)
		_, _ = rw.Write([]byte("not ready\n"))
		return
	}
	_, _ = rw.Write([]byte("ready\n"))
}
