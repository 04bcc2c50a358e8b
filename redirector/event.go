package redirector

import (
	"strings"
	"unicode/utf8"

	"github.com/pointsman-tv/pointsman/farms"
)

// Bounds of what a log line repeats of a request, in bytes of the line.
const (
	maxLogTarget = 512
	maxLogAgent  = 256
	maxLogHost   = 128
)

// record writes the one log line of a decision.
func (e *Engine) record(d *Decision, v *view) {
	ev := e.decisions.Log()
	ev.Time("time", d.Time.UTC()).
		Str("door", d.Request.Door.String()).
		Str("method", clip(d.Request.Method, 16)).
		Str("client", d.Request.Viewer.Addr.String())
	if d.Request.Viewer.Peer != d.Request.Viewer.Addr {
		ev.Str("peer", d.Request.Viewer.Peer.String())
	}
	ev.Str("host", clip(d.Host, maxLogHost)).
		Str("target", clip(v.redacted(d), maxLogTarget)).
		Str("ua", clip(d.Request.UserAgent, maxLogAgent)).
		Str("reason", d.Reason.String()).
		Int("status", d.Status)
	if d.Location != nil {
		ev.Str("location", d.Location.Name).
			Str("channel", clip(d.Content.Channel, maxLogTarget)).
			Str("kind", d.Content.Kind.String()).
			Str("protocol", d.Content.Protocol.String())
	}
	if d.Server != nil {
		ev.Str("farm", d.Farm.Name).Str("server", d.Server.Name).Str("why", d.Why.String())
	}
	if d.Fallback {
		ev.Bool("fallback", true)
	}
	if d.Waited > 0 {
		ev.Int64("waited_ms", d.Waited.Milliseconds())
	}
	if d.Reason != farms.ReasonOK && d.Detail != "" {
		ev.Str("detail", clip(d.Detail, maxLogTarget))
	}
	ev.Uint64("generation", d.Generation).Msg("decision")
}

// clip cuts s to n bytes of JSON, between characters: a byte that is no text
// takes six of them there, so that a viewer could make a line six times as long.
func clip(s string, n int) string {
	if len(s) <= n/maxEscaped {
		return s
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		cost := size
		switch {
		case r == utf8.RuneError && size == 1, r < ' ', r == 0x7f:
			cost = maxEscaped
		case r == '"', r == '\\':
			cost = len(`\"`)
		}
		if n -= cost; n < 0 {
			return s[:i] + "…"
		}
		i += size
	}
	return s
}

// maxEscaped is the length of a JSON escape like \u001f.
const maxEscaped = 6

// redacted returns the target with the values of secret query parameters
// replaced.
func (v *view) redacted(d *Decision) string {
	t := d.Request.RawTarget // the encoder escapes what JSON cannot hold
	path, query, ok := strings.Cut(t, "?")
	if !ok || len(v.redact) == 0 {
		return t
	}
	var b strings.Builder
	changed := false
	for rest, more := query, true; more; {
		var pair string
		pair, rest, more = strings.Cut(rest, "&")
		if name, value, has := strings.Cut(pair, "="); has && value != "" && v.redact[strings.ToLower(name)] {
			if !changed { // the first secret: copy what is before it
				changed = true
				b.Grow(len(t))
				b.WriteString(path)
				b.WriteByte('?')
				b.WriteString(query[:len(query)-len(pair)-restLen(rest, more)])
			}
			b.WriteString(name)
			b.WriteString("=***")
		} else if changed {
			b.WriteString(pair)
		}
		if changed && more {
			b.WriteByte('&')
		}
	}
	if !changed {
		return t
	}
	return b.String()
}

// restLen is the length of what follows a pair: the separator and the rest.
func restLen(rest string, more bool) int {
	if !more {
		return 0
	}
	return len(rest) + 1
}
