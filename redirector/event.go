package redirector

import (
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
)

// Bounds of what a log line repeats of a request, in bytes of the line.
const (
	maxLogTarget = 512
	maxLogAgent  = 256
	maxLogHost   = 128
	maxLogMethod = 16
)

// TimeFormat is the time format of the log: RFC 3339 with milliseconds, in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// logClock formats times for the log. The text of a millisecond is made once:
// under load many decisions share it.
type logClock struct{ last atomic.Pointer[logTime] }

type logTime struct {
	milli int64
	text  string
}

func (c *logClock) text(t time.Time) string {
	milli := t.UnixMilli()
	if l := c.last.Load(); l != nil && l.milli == milli {
		return l.text
	}
	l := &logTime{milli, t.UTC().Format(TimeFormat)}
	c.last.Store(l)
	return l.text
}

// servedLines are loggers for the decisions of one door and one table that end
// at a server, by [farms.Server.Index]: what is the same in every such line is
// encoded once.
func servedLines(base zerolog.Logger, t *farms.Table, door Door, status int) []zerolog.Logger {
	lines := make([]zerolog.Logger, len(t.Servers))
	for i, s := range t.Servers {
		lines[i] = base.With().Str("door", door.String()).
			Str("reason", farms.ReasonOK.String()).Int("status", status).
			Str("server", s.Name).Uint64("generation", t.Generation).Logger()
	}
	return lines
}

// record writes the one log line of a decision.
func (e *Engine) record(d *Decision, v *view) {
	var ev *zerolog.Event
	switch {
	case d.Server != nil && d.Request.Door == DoorHTTP && !d.Decorated:
		ev = v.served[d.Server.Index].Log()
		ev.Str("farm", d.Farm.Name).Str("why", d.Why.String())
	case d.Server != nil && d.Request.Door == DoorSteering:
		ev = v.steered[d.Server.Index].Log()
		ev.Str("farm", d.Farm.Name).Str("why", d.Why.String()).Strs("pathways", d.Pathways).Int("ttl", d.TTL)
	default:
		ev = e.decisions.Log()
		ev.Str("door", d.Request.Door.String()).Str("reason", d.Reason.String()).Int("status", d.Status).
			Uint64("generation", d.Generation)
		if d.Detail != "" {
			ev.Str("detail", clip(d.Detail, maxLogTarget))
		}
		if d.Server != nil {
			ev.Str("server", d.Server.Name).Str("farm", d.Farm.Name).Str("why", d.Why.String())
		}
		if len(d.Pathways) > 0 {
			ev.Strs("pathways", d.Pathways).Int("ttl", d.TTL)
		}
	}
	ev.Str("time", e.clock.text(d.Time)).
		Str("method", clip(d.Request.Method, maxLogMethod)).
		Str("client", d.Request.Viewer.Addr.String())
	if d.Request.Viewer.Peer != d.Request.Viewer.Addr {
		ev.Str("peer", d.Request.Viewer.Peer.String())
	}
	ev.Str("host", clip(d.Host, maxLogHost)).
		Str("target", clip(v.redacted(d), maxLogTarget)).
		Str("ua", clip(d.Request.UserAgent, maxLogAgent))
	if d.Location != nil {
		ev.Str("location", d.Location.Name).
			Str("channel", clip(d.Content.Channel, maxLogTarget)).
			Str("kind", d.Content.Kind.String()).
			Str("protocol", d.Content.Protocol.String())
	}
	if d.Asked > 0 {
		ev.Str("dialect", d.Archive.Dialect).Int64("held_sec", int64(d.Held.Seconds())).Int64("asked_sec", int64(d.Asked.Seconds()))
	}
	if d.Fallback {
		ev.Bool("fallback", true)
	}
	if d.Waited > 0 {
		ev.Int64("waited_ms", d.Waited.Milliseconds())
	}
	ev.Msg("decision")
}

// clip cuts s to n bytes of JSON, between characters: a byte that is no text
// takes six of them there, so that a viewer could make a line six times as long.
func clip(s string, n int) string {
	if len(s) <= n && plain(s) {
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

// plain tells whether s is its own JSON text.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// maxEscaped is the length of a JSON escape like \u001f.
const maxEscaped = 6

// redacted returns the target with the values of secret query parameters
// replaced, and the user information that a target in absolute form may have.
func (v *view) redacted(d *Decision) string {
	t := v.withoutCredentials(withoutUser(d.Request.RawTarget), d) // the encoder escapes what JSON cannot hold
	_, query, ok := strings.Cut(t, "?")
	if !ok || len(v.redact.names) == 0 {
		return t
	}
	var b strings.Builder
	done := 0 // bytes of t that are dealt with
	for at, more := len(t)-len(query), true; more; {
		var pair string
		pair, query, more = strings.Cut(query, "&")
		if i := v.secretAt(pair); i >= 0 {
			b.Grow(len(t))
			b.WriteString(t[done : at+i])
			b.WriteString("***")
			done = at + len(pair)
		}
		at += len(pair) + len("&")
	}
	if done == 0 {
		return t
	}
	b.WriteString(t[done:])
	return b.String()
}

// withoutCredentials replaces the parts of a target's path that its dialect
// knows as credentials.
func (v *view) withoutCredentials(t string, d *Decision) string {
	if d.Archive.Dialect == "" {
		return t
	}
	path, _, _ := strings.Cut(t, "?")
	at := len(v.set.URIPath)
	if i := strings.Index(path, "://"); i >= 0 {
		at += i + len("://") + max(strings.IndexByte(path[i+len("://"):], '/'), 0)
	}
	if at >= len(path) {
		return t
	}
	if safe := d.Archive.Redact(path[at:]); safe != path[at:] {
		return path[:at] + safe + t[len(path):]
	}
	return t
}

// secretAt returns where in a query parameter a secret value begins, -1 when
// there is none. Some servers take a semicolon or a second question mark for a
// separator, so names are looked for behind those too.
func (v *view) secretAt(pair string) int {
	for from := 0; ; {
		end := strings.IndexAny(pair[from:], ";?")
		part := pair[from:]
		if end >= 0 {
			part = part[:end]
		}
		name, _, found := strings.Cut(part, "=")
		if at := from + len(name) + len("="); found && at < len(pair) && v.secretName(name) {
			return at
		}
		if end < 0 {
			return -1
		}
		from += end + 1
	}
}

// secretName tells whether a query parameter of this name is secret; servers
// decode names.
func (v *view) secretName(name string) bool {
	if v.redact.none(name) {
		return false
	}
	if strings.IndexByte(name, '%') >= 0 {
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
	}
	return v.redact.names[strings.ToLower(name)]
}

// secretNames are the lower-case names of secret query parameters.
type secretNames struct {
	names   map[string]bool
	begins  [256]bool // the bytes that one may begin with, in either case
	lengths uint64    // bit n: one has n bytes
}

func newSecretNames(names []string) secretNames {
	s := secretNames{names: make(map[string]bool, len(names))}
	for _, name := range names {
		if name == "" {
			continue
		}
		s.names[name] = true
		s.begins[name[0]] = true
		s.begins[strings.ToUpper(name[:1])[0]] = true
		s.lengths |= 1 << min(len(name), 63)
	}
	return s
}

// none tells, of nearly every name there is, that it is no secret one.
func (s *secretNames) none(name string) bool {
	if name == "" || strings.IndexByte(name, '%') >= 0 {
		return name == ""
	}
	return !s.begins[name[0]] || s.lengths&(1<<min(len(name), 63)) == 0
}

// withoutUser replaces the user information of a target in absolute form, which
// is refused, but may be a password.
func withoutUser(t string) string {
	if t == "" || t[0] == '/' {
		return t
	}
	from := 0
	if i := strings.Index(t, "://"); i >= 0 {
		from = i + len("://")
	}
	authority := t[from:]
	if i := strings.IndexAny(authority, "/?"); i >= 0 {
		authority = authority[:i]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return t[:from] + "***" + t[from+i:]
	}
	return t
}
