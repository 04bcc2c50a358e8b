package redirector

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
)

// serveServerAction does what the operator wants of a server: another state, or
// that it is asked anew.
func (e *Engine) serveServerAction(rw http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/admin/servers/")
	name, recheck := strings.CutSuffix(path, "/recheck")
	// A server's name may have slashes, and be this word's prefix with it.
	if plain, err := url.PathUnescape(path); !recheck || err == nil && e.serverNamed(plain) != nil {
		e.serveOverride(rw, r)
		return
	}
	name, err := url.PathUnescape(name)
	if err != nil {
		writeError(rw, http.StatusBadRequest, "the server's name has a bad escape")
		return
	}
	if e.Table() == nil {
		writeError(rw, http.StatusServiceUnavailable, noTable)
		return
	}
	s := e.serverNamed(name)
	if s == nil {
		writeError(rw, http.StatusNotFound, "no farm has a server named "+clip(name, 100))
		return
	}
	contents, ok := e.prober.Recheck(s)
	if !ok {
		rw.Header().Set("Retry-After", "1")
		writeError(rw, http.StatusTooManyRequests, "this server was rechecked within the last second")
		return
	}
	e.log.Info().Str("server", name).Int("contents", contents).Str("by", r.RemoteAddr).Msg("operator had a server rechecked")
	writeValue(rw, http.StatusOK, map[string]any{"server": name, "contents": contents})
}

func (e *Engine) serverNamed(name string) *farms.Server {
	t := e.Table()
	if t == nil {
		return nil
	}
	if i := slices.IndexFunc(t.Servers, func(s *farms.Server) bool { return s.Name == name }); i >= 0 {
		return t.Servers[i]
	}
	return nil
}

// servePurge forgets what is known of a channel.
func (e *Engine) servePurge(rw http.ResponseWriter, r *http.Request) {
	var in struct {
		Channel string `json:"channel"`
	}
	switch err := decodeBody(rw, r, &in, `{"channel":"sports1"}`); {
	case err != nil:
		writeError(rw, http.StatusBadRequest, err.Error())
		return
	case in.Channel == "":
		writeError(rw, http.StatusBadRequest, `channel: expected its name, like {"channel":"sports1"}`)
		return
	case len(in.Channel) > maxOverrideChannel:
		writeError(rw, http.StatusBadRequest, fmt.Sprintf("channel: is longer than %d bytes", maxOverrideChannel))
		return
	}
	contents := e.prober.Forget(in.Channel)
	e.log.Info().Str("channel", clip(in.Channel, 100)).Int("contents", contents).Str("by", r.RemoteAddr).Msg("operator had a channel forgotten")
	writeValue(rw, http.StatusOK, map[string]any{"channel": in.Channel, "contents": contents})
}
