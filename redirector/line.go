package redirector

import (
	"net/netip"
	"strings"
	"unicode/utf8"
)

// This file appends what a viewer sent, and may have made up, to a line of JSON.

// appendText appends s as a JSON string, cut to n bytes of JSON as clip does.
func appendText(b []byte, s string, n int) []byte {
	b = append(b, '"')
	if len(s) <= n && plain(s) {
		b = append(b, s...)
	} else {
		b = appendEscaped(b, clip(s, n))
	}
	return append(b, '"')
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

// appendEscaped appends s with all escaped that JSON (RFC 8259 §7) cannot hold.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(b, `\ufffd`...)
		case r < ' ', r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
		case r == '"', r == '\\':
			b = append(b, '\\', byte(r))
		default:
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return b
}

// maxEscaped is the length of a JSON escape like \u001f.
const maxEscaped = 6

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

// appendAddr appends an address as a JSON string.
func appendAddr(b []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		return append(append(append(b, '"'), a.String()...), '"')
	}
	return append(a.AppendTo(append(b, '"')), '"')
}

// The bits of an address that are logged with log.mask_addresses.
const (
	maskBits4 = 24
	maskBits6 = 48
)

// logged returns an address of a viewer as the log may have it.
func (s *Settings) logged(a netip.Addr) netip.Addr {
	if !s.MaskAddresses || !a.IsValid() {
		return a
	}
	bits := maskBits6
	if a.Is4() {
		bits = maskBits4
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Addr{} // never: the bits are within both families
	}
	return p.Addr()
}

// Masked returns a text in which words that are addresses, with a port or without,
// are masked as the log's lines are: with log.mask_addresses, else not at all.
func (e *Engine) Masked(text string) string {
	v := e.view.Load()
	if v == nil || !v.set.MaskAddresses {
		return text
	}
	words := strings.Split(text, " ")
	for i, word := range words {
		bare := strings.TrimRight(word, ":,.")
		if a, err := netip.ParseAddrPort(bare); err == nil {
			words[i] = netip.AddrPortFrom(v.set.logged(a.Addr().Unmap()), a.Port()).String() + word[len(bare):]
		} else if a, err := netip.ParseAddr(bare); err == nil {
			words[i] = v.set.logged(a.Unmap()).String() + word[len(bare):]
		}
	}
	return strings.Join(words, " ")
}
