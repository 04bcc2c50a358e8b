package archive

import (
	"strings"
	"time"
)

// form is how a request is written: which query parameters belong to it, and
// where in them and in the path its times stand. It is never changed.
type form struct {
	params [4]pair
	slots  [3]slot // in the order of their places
	n      int     // of slots
}

// all returns the slots that are there.
func (f *form) all() []slot { return f.slots[:f.n] }

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
	slots [len(form{}.slots)]slot
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
	return &form{params: h.params, slots: b.slots, n: b.n}
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
	var room [192]byte
	out, at := room[:0], 0 // at: index in raw behind what is written
	for _, s := range f.all() {
		if s.reading.in != 0 {
			continue
		}
		from := rawIndex(raw, s.reading.from)
		to := rawIndex(raw, s.reading.from+len(s.reading.text))
		if from < at || to < from {
			continue // not the path that was parsed
		}
		var text [40]byte
		written := r.appendSlot(text[:0], s)
		out = appendPadding(append(out, raw[at:from]...), s, written)
		out = appendEscaped(out, written, ":")
		at = to
	}
	path = raw
	if at > 0 {
		path = string(append(out, raw[at:]...))
	}
	out = out[:0]
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
		out = r.appendValue(out, i+1, p.value)
	}
	return path, string(out)
}

// appendValue appends the value of parameter in with the times of r's window.
func (r Request) appendValue(dst []byte, in int, text string) []byte {
	at := 0
	for _, s := range r.form.all() {
		if s.reading.in == in {
			dst = appendEscaped(dst, text[at:s.reading.from], "")
			var room [40]byte
			written := r.appendSlot(room[:0], s)
			dst = appendEscaped(appendPadding(dst, s, written), written, "")
			at = s.reading.from + len(s.reading.text)
		}
	}
	return appendEscaped(dst, text[at:], "")
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

// appendPadding appends the zeros that make a number as long as the one it stands
// for: grammars ask for nine digits, or ten, or fourteen.
func appendPadding(dst []byte, s slot, written []byte) []byte {
	if s.what == slotLength || s.what == slotAgo || !allDigits(written) || !allOf(s.reading.text, isDigit) {
		return dst
	}
	for range len(s.reading.text) - len(written) {
		dst = append(dst, '0')
	}
	return dst
}

func allDigits(s []byte) bool {
	for _, b := range s {
		if !isDigit(b) {
			return false
		}
	}
	return true
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
func appendEscaped[T string | []byte](dst []byte, s T, safe string) []byte {
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
