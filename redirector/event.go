package redirector

import (
	"net/url"
	"strings"
	"sync/atomic"
	"time"

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

// lineRoom is room on the stack for what record adds to a line of ordinary length.
const lineRoom = 1024

// record writes the one log line of a decision. The line begins with what its
// logger has encoded already, or with members that are rare; all that is in every
// line is appended by hand and handed over as if it were the one value of "time":
// an encoder that looks at every key anew costs twice the time.
func (e *Engine) record(d *Decision, v *view) {
	ev := e.lineOf(d, v)
	var room [lineRoom]byte
	b := append(append(append(room[:0], '"'), e.clock.text(d.Time)...), '"')
	b = appendText(append(b, `,"method":`...), d.Request.Method, maxLogMethod)
	b = appendAddr(append(b, `,"client":`...), v.set.logged(d.Request.Viewer.Addr))
	b = appendAddr(append(b, `,"peer":`...), v.set.logged(d.Request.Viewer.Peer))
	b = appendText(append(b, `,"host":`...), d.Host, maxLogHost)
	b = appendText(append(b, `,"target":`...), v.redacted(d), maxLogTarget)
	b = appendText(append(b, `,"ua":`...), d.Request.UserAgent, maxLogAgent)
	if d.Location != nil {
		b = appendText(append(b, `,"location":`...), d.Location.Name, maxLogTarget)
		b = appendText(append(b, `,"channel":`...), d.Content.Channel, maxLogTarget)
		b = appendText(append(b, `,"kind":`...), d.Content.Kind.String(), maxLogTarget)
		b = appendText(append(b, `,"protocol":`...), d.Content.Protocol.String(), maxLogTarget)
	}
	if d.Server != nil {
		b = appendText(append(b, `,"farm":`...), d.Farm.Name, maxLogTarget)
		b = appendText(append(b, `,"why":`...), d.Why.String(), maxLogTarget)
	}
	if v.sampled != "" && !d.refused() {
		b = append(append(b, `,"sample":`...), v.sampled...)
	}
	ev.RawJSON("time", b).Msg("decision")
}

// lineOf begins the line of a decision with what is not in every one.
func (e *Engine) lineOf(d *Decision, v *view) *zerolog.Event {
	var ev *zerolog.Event
	switch {
	case d.Server != nil && d.Request.Door == DoorHTTP && !d.Decorated:
		ev = v.served[d.Server.Index].Log()
	case d.Server != nil && d.Request.Door == DoorSteering:
		ev = v.steered[d.Server.Index].Log()
	default:
		ev = e.decisions.Log()
		ev.Str("door", d.Request.Door.String()).Str("reason", d.Reason.String()).Int("status", d.Status).
			Uint64("generation", d.Generation)
		if d.Detail != "" {
			ev.Str("detail", clip(d.Detail, maxLogTarget))
		}
		if d.Server != nil {
			ev.Str("server", d.Server.Name)
		}
	}
	if len(d.Pathways) > 0 || d.Request.Door == DoorSteering && d.Server != nil {
		ev.Strs("pathways", d.Pathways).Int("ttl", d.TTL)
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
	return ev
}

// redacted returns the target with the values of secret query parameters
// replaced, and the user information that a target in absolute form may have.
func (v *view) redacted(d *Decision) string {
	t := v.withoutCredentials(withoutUser(d.Request.RawTarget), d) // the encoder escapes what JSON cannot hold
	_, query, ok := cutByte(t, '?')
	if !ok || len(v.redact.names) == 0 {
		return t
	}
	var b strings.Builder
	done := 0 // bytes of t that are dealt with
	for at, more := len(t)-len(query), true; more; {
		var pair string
		pair, query, more = cutByte(query, '&')
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

// cutByte is strings.Cut for a separator of one byte, without the search for a
// string, which was a tenth of a line.
func cutByte(s string, sep byte) (before, after string, found bool) {
	if i := strings.IndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// withoutCredentials replaces the parts of a target's path that its dialect
// knows as credentials.
func (v *view) withoutCredentials(t string, d *Decision) string {
	if d.Archive.Dialect == "" {
		return t
	}
	path, _, _ := cutByte(t, '?')
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
	from, named := 0, false // where a name begins, and whether it is over
	for i := range len(pair) {
		switch pair[i] {
		case '=':
			if !named && i+1 < len(pair) && v.secretName(pair[from:i]) {
				return i + 1
			}
			named = true
		case ';', '?':
			from, named = i+1, false
		}
	}
	return -1
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
