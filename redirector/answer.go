package redirector

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/pointsman-tv/pointsman/farms"
)

// Header values that never change are shared slices: net/http only reads them.
// The keys are in canonical form, so that they can be set without a look-up.
var (
	headNoStore   = []string{"no-store"}
	headExpires   = []string{"0"}
	headZero      = []string{"0"}
	headAnyOrigin = []string{"*"}
	headExpose    = []string{"Date, Retry-After, Location"}
	headAllow     = []string{"GET, HEAD, OPTIONS"}
	headMaxAge    = []string{"86400"}
	headHeaders   = []string{"*, Authorization, Range"}
	headProblem   = []string{"application/problem+json"}
	headJSON      = []string{"application/json"}
	headClose     = []string{"close"}
)

// jsonAnswer is the answer for players that mishandle a 302.
type jsonAnswer struct {
	URL    string `json:"url"`
	Server string `json:"server"`
	Farm   string `json:"farm"`
}

// problem is the body of a refusal (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// answer writes a decision to an HTTP viewer.
func answer(rw http.ResponseWriter, d *Decision) {
	h := rw.Header()
	h["Cache-Control"] = headNoStore
	h["Expires"] = headExpires
	h["Access-Control-Allow-Origin"] = headAnyOrigin
	h["Access-Control-Expose-Headers"] = headExpose
	if d.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.Itoa(d.RetryAfter)}
	}
	switch {
	case d.URL != "":
		if asksJSON(d.Request.Accept) && d.Server != nil {
			writeJSON(rw, d, http.StatusOK, headJSON, jsonAnswer{d.URL, d.Server.Name, d.Farm.Name})
			return
		}
		h["Location"] = []string{d.URL}
		h["Content-Length"] = headZero
		rw.WriteHeader(d.Status)
	case d.Reason == farms.ReasonPreflight:
		h["Allow"] = headAllow
		h["Access-Control-Allow-Methods"] = headAllow
		h["Access-Control-Allow-Headers"] = headHeaders
		h["Access-Control-Max-Age"] = headMaxAge
		rw.WriteHeader(d.Status)
	default:
		if d.Reason == farms.ReasonMethodNotAllowed {
			h["Allow"] = headAllow
		}
		if d.Request.HasBody || d.Request.Expect {
			h["Connection"] = headClose // what follows on the connection is not a request
		}
		writeJSON(rw, d, d.Status, headProblem, problem{
			"about:blank", http.StatusText(d.Status), d.Status, d.Reason.String(), d.Detail,
		})
	}
}

// asksJSON tells whether a viewer takes JSON alone; players that list it among
// others get the 302.
func asksJSON(accept []string) bool { return len(accept) == 1 && accept[0] == "application/json" }

func writeJSON(rw http.ResponseWriter, d *Decision, status int, contentType []string, body any) {
	b := encodeJSON(body)
	h := rw.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	rw.WriteHeader(status)
	if d.Request.Method != http.MethodHead {
		_, _ = rw.Write(b) // a viewer that has gone needs no answer
	}
}

// encodeJSON encodes a value of ours, which always can be, in one line. URLs
// keep their & as it is.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	return b.Bytes()
}
