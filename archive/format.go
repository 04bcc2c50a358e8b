package archive

import (
	"strings"
	"time"
)

// form is how a request is written: which query parameters belong to it, and
// where in them and in the path its times stand. It is never changed.
type form struct {
	params []pair
	slots  []slot // in the order of their places
}

// slot is one text that a window decides.
type slot struct {
	reading  reading
	what     slotKind
	spelling spelling
	ago      time.Duration // how long before now, for what is written so
}

type slotKind uint8

const (
	slotStart slotKind = iota
	slotEnd
	slotLength
	slotAgo // start, as a length before now
)

// formBuilder collects the slots of a form.
type formBuilder struct {
	slots [3]slot
	n     int
}

func (b *formBuilder) add(s slot) {
	at := b.n
	for at > 0 && s.reading.before(b.slots[at-1].reading) {
		b.slots[at] = b.slots[at-1]
		at--
	}
	b.slots[at] = s
	b.n++
}

func (r reading) before(other reading) bool {
	return r.in < other.in || r.in == other.in && r.from < other.from
}

// fixAgo sets the times that count from now to a window that was adjusted.
func (b *formBuilder) fixAgo(now time.Time, w Window) {
	for i := range b.slots[:b.n] {
		if b.slots[i].what == slotStart {
			b.slots[i].ago = now.Sub(w.Start)
		}
	}
}

// form returns the form of a hit, nil when nothing in it is to be written.
func (b *formBuilder) form(h *hit) *form {
	if b.n == 0 && h.nparams == 0 {
		return nil
	}
	f := &form{slots: append([]slot(nil), b.slots[:b.n]...)}
	f.params = append(f.params, h.params[:h.nparams]...)
	return f
}

// Target returns the path and the query with which a server is asked for r: the
// viewer's path with the times of r's window in their places, and of the query
// the parameters that belong to r. raw is the path that was parsed, as the
// viewer wrote it or decoded. Parsed again at the same time, it gives the same
// window.
func (r Request) Target(raw string) (path, query string) {
	if r.form == nil {
		return raw, ""
	}
	f := r.form
	var (
		before []byte // what is written of the path
		out    []byte // and of the query
		at     = 0    // index in raw behind before
	)
	for _, s := range f.slots {
		if s.reading.in != 0 {
			continue
		}
		from := rawIndex(raw, s.reading.from)
		to := rawIndex(raw, s.reading.from+len(s.reading.text))
		if from < at || to < from {
			continue // not the path that was parsed
		}
		text := string(r.appendSlot(nil, s))
		before = append(before, raw[at:from]...)
		if missing := len(s.reading.text) - len(text); missing > 0 && s.what == slotStart && allOf(text, isDigit) {
			text = strings.Repeat("0", missing) + text // grammars ask for nine digits
		}
		before = appendEscaped(before, text, ":")
		at = to
	}
	path = raw
	if at > 0 {
		path = string(append(before, raw[at:]...))
	}
	for i, p := range f.params {
		if p == (pair{}) {
			continue
		}
		if len(out) > 0 {
			out = append(out, '&')
		}
		out = appendEscaped(out, p.name, "")
		if p.value == "" {
			continue
		}
		out = append(out, '=')
		out = appendEscaped(out, r.value(i+1, p.value), "")
	}
	return path, string(out)
}

// value returns the value of parameter in with the times of r's window.
func (r Request) value(in int, text string) string {
	var value []byte
	at := 0
	for _, s := range r.form.slots {
		if s.reading.in == in {
			value = append(value, text[at:s.reading.from]...)
			value = r.appendSlot(value, s)
			at = s.reading.from + len(s.reading.text)
		}
	}
	return string(append(value, text[at:]...))
}

func (r Request) appendSlot(dst []byte, s slot) []byte {
	if s.spelling.style == styleMinusAgo || s.what == slotAgo {
		return appendLength(dst, s.ago, s.spelling.style)
	}
	switch s.what {
	case slotStart:
		return appendMoment(dst, r.Window.Start, s.spelling)
	case slotEnd:
		return appendMoment(dst, r.Window.End, s.spelling)
	default:
		return appendLength(dst, r.Window.End.Sub(r.Window.Start), s.spelling.style)
	}
}

// Redact returns raw, a path as [Request.Target] takes it, with the credentials
// that its dialect knows in it as one asterisk. It works for refused requests,
// too.
func (r Request) Redact(raw string) string {
	if r.secret == (span{}) {
		return raw
	}
	from, to := rawIndex(raw, r.secret.from), rawIndex(raw, r.secret.to)
	// An escaped slash in a name shifts what was decoded: up to the second slash
	// of the viewer's own it is all user and password.
	end := from
	for slashes := 0; end < len(raw); end++ {
		if raw[end] == '/' {
			if slashes++; slashes == 2 {
				break
			}
		}
	}
	return raw[:from] + "*" + raw[max(to, end):]
}

// rawIndex returns where in an escaped path the byte stands that is at index n
// of the same path decoded.
func rawIndex(raw string, n int) int {
	i := 0
	for ; n > 0 && i < len(raw); n-- {
		if raw[i] == '%' && i+2 < len(raw) {
			i += 2
		}
		i++
	}
	return i
}

// appendEscaped appends s with every byte escaped that is neither unreserved
// (RFC 3986 §2.3) nor one of safe.
func appendEscaped(dst []byte, s, safe string) []byte {
	const upperHex = "0123456789ABCDEF"
	for i := range len(s) {
		switch b := s[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', isDigit(b), strings.IndexByte("-._~", b) >= 0, strings.IndexByte(safe, b) >= 0:
			dst = append(dst, b)
		default:
			dst = append(dst, '%', upperHex[b>>4], upperHex[b&0xf])
		}
	}
	return dst
}
