package status

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/pointsman-tv/pointsman/redirector/gzipped"
)

//go:embed assets
var assets embed.FS

// templates are the pages and their pieces.
var templates = template.Must(template.New("").Funcs(functions()).ParseFS(assets, "assets/*.html"))

// contentSecurityPolicy keeps a page to its own files and to this server; a frame
// around it could lure clicks onto its buttons.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServePage answers with the page of /status, whole and of now.
func (l *Live) ServePage(rw http.ResponseWriter, r *http.Request, actToken bool) {
	writePage(rw, r, l.whole(time.Now(), actToken))
}

// ServeExplain answers with the page that asks why. x is an explanation, nil
// before there is a question; problem says what is wrong with the question.
func ServeExplain(rw http.ResponseWriter, r *http.Request, x any, problem string) {
	q := r.URL.Query()
	writePage(rw, r, render("explain", map[string]any{
		"IP": q.Get("ip"), "URL": q.Get("url"), "UA": q.Get("ua"), "Now": q.Get("now"), "Problem": problem, "X": x,
	}))
}

// ServeCoverage answers with the page of a channel's recordings.
func ServeCoverage(rw http.ResponseWriter, r *http.Request, c *Coverage) {
	writePage(rw, r, render("coverage", c))
}

// ServeAsset answers with a file of the pages.
func ServeAsset(rw http.ResponseWriter, r *http.Request, name string) {
	kind := ""
	switch name {
	case "page.css":
		kind = "text/css; charset=utf-8"
	case "page.js":
		kind = "text/javascript; charset=utf-8"
	}
	body, err := assets.ReadFile("assets/" + name)
	if kind == "" || err != nil {
		http.NotFound(rw, r)
		return
	}
	secure(rw)
	rw.Header().Set("Cache-Control", "no-cache") // another version may come to this port
	write(rw, r, kind, body)
}

// ServeJSON answers with a document for programs.
func ServeJSON(rw http.ResponseWriter, r *http.Request, document any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		http.Error(rw, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Cache-Control", "no-store")
	write(rw, r, "application/json", b.Bytes())
}

func writePage(rw http.ResponseWriter, r *http.Request, page string) {
	secure(rw)
	rw.Header().Set("Cache-Control", "no-store")
	write(rw, r, "text/html; charset=utf-8", []byte(page))
}

func secure(rw http.ResponseWriter) {
	h := rw.Header()
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

// write answers with a body, compressed where that is accepted.
func write(rw http.ResponseWriter, r *http.Request, kind string, body []byte) {
	h := rw.Header()
	h.Set("Content-Type", kind)
	h.Add("Vary", "Accept-Encoding")
	body, compressed := gzipped.Body(r.Header.Values("Accept-Encoding"), body)
	if compressed {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	rw.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = rw.Write(body) // a reader that has gone needs no answer
	}
}
