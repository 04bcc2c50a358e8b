package redirector

// This file holds the one validator of request targets and the one writer of
// Location URLs. Every door passes through both, so that a spelling refused at
// one door is refused at all, and no door can send a viewer to a host that the
// operator did not configure.
//
// A target is judged and copied, never cleaned: servers sign paths, give `;p=1`
// and `//` a meaning of their own and compare tokens byte for byte. What cannot
// be copied safely is refused, with a word about where.

import (
	"net/http"
	"strconv"
	"strings"
)

const (
	maxPathBytes      = 4096 // of the escaped path
	maxQueryBytes     = 8192 // of the escaped query
	maxQueryParams    = 1000
	maxAuthorityBytes = 261 // a DNS name, a colon and a port

	// maxTargetBytes is beyond what any acceptable target needs, so that a huge
	// one is refused before it is read.
	maxTargetBytes = len("https://") + maxAuthorityBytes + maxPathBytes + len("?") + maxQueryBytes
)

// target is a viewer's request target after validation. Its bytes are the
// viewer's own, except that bytes RFC 3986 forbids in a path or query are
// percent-encoded.
type target struct {
	// Path is the escaped path. It begins with exactly one "/" and is safe to
	// append to a server's base URL.
	Path string
	// Query is the raw query without its "?", escaped where forbidden. A "%"
	// that begins no escape stays: queries are the server's business.
	Query string
	// HasQuery says that a "?" was there, even before an empty query: byte for
	// byte means that "/x?" keeps its "?".
	HasQuery bool
	// Plain is Path percent-decoded once ("+" stays a plus): what regular
	// expressions and channel names see. It is Path itself when there is
	// nothing to decode.
	Plain string
	// Authority is the host, with its port if any, of a target in absolute form
	// (RFC 9112 §3.2.2), which then replaces the Host header; else it is empty.
	Authority string
}

// targetError says why a request target was refused. It is not an error value:
// a door answers it, nothing wraps it.
type targetError struct {
	// Status is 400 or 414.
	Status int
	// Detail says what and where, counting bytes of the target from 0. It never
	// repeats bytes of the target, which may be anything.
	Detail string
}

func badTarget(detail string) *targetError {
	return &targetError{Status: http.StatusBadRequest, Detail: detail}
}

func badTargetAt(detail string, at int) *targetError {
	return badTarget(detail + " at byte " + strconv.Itoa(at))
}

func longTarget(what string, limit int) *targetError {
	return &targetError{
		Status: http.StatusRequestURITooLong,
		Detail: "the " + what + " is longer than " + strconv.Itoa(limit) + " bytes",
	}
}

// targetClass says what a byte means to the validator.
type targetClass uint8

const (
	classForeign   targetClass = iota // forbidden by RFC 3986 in path and query: percent-encoded
	classPlain                        // stays, and means nothing here
	classSlash                        // "/" separates segments
	classBackslash                    // separates segments for browsers and Windows, and is foreign
	classDot
	classSemicolon // begins a segment's parameters
	classAmpersand
	classPercent
	classQuestion
	classHash
	classControl
)

// targetClasses holds the class of every byte. Anything not named is foreign,
// square brackets included: RFC 3986 §3.2.2 allows them in a host only.
var targetClasses = func() (classes [256]targetClass) {
	const unreservedAndDelims = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~!$'()*+,=:@"
	for _, b := range []byte(unreservedAndDelims) {
		classes[b] = classPlain
	}
	for b := range 0x20 {
		classes[b] = classControl
	}
	classes[0x7f] = classControl
	classes['/'] = classSlash
	classes['\\'] = classBackslash
	classes['.'] = classDot
	classes[';'] = classSemicolon
	classes['&'] = classAmpersand
	classes['%'] = classPercent
	classes['?'] = classQuestion
	classes['#'] = classHash
	return classes
}()

// parseTarget validates raw, the request target as the viewer sent it: in origin
// form ("/path?query") or absolute form ("http://host/path?query"). A target
// without forbidden bytes or escapes costs one pass and no allocation.
func parseTarget(raw string) (target, *targetError) {
	if len(raw) > maxTargetBytes {
		return target{}, longTarget("target", maxTargetBytes)
	}

	var t target
	start := 0
	if raw == "" || raw[0] != '/' {
		var refusal *targetError
		if t.Authority, start, refusal = parseAuthority(raw); refusal != nil {
			return target{}, refusal
		}
	}

	path, refusal := scanPath(raw, start)
	if refusal != nil {
		return target{}, refusal
	}
	t.Plain = raw[start:path.end]
	t.Path = t.Plain
	if path.foreign > 0 {
		t.Path = escapeForeign(t.Plain, path.foreign)
	}
	if path.escapes > 0 {
		t.Plain = decodeEscapes(t.Plain, path.escapes)
	}
	if t.Path == "" {
		// An absolute form without a path asks for the root (RFC 9112 §3.2.1).
		t.Path, t.Plain = "/", "/"
	}
	if len(t.Path) > maxPathBytes {
		return target{}, longTarget("path", maxPathBytes)
	}

	if path.end == len(raw) {
		return t, nil
	}
	t.HasQuery = true
	t.Query = raw[path.end+1:]
	foreign, refusal := scanQuery(raw, path.end+1)
	if refusal != nil {
		return target{}, refusal
	}
	if foreign > 0 {
		t.Query = escapeForeign(t.Query, foreign)
	}
	if len(t.Query) > maxQueryBytes {
		return target{}, longTarget("query", maxQueryBytes)
	}
	return t, nil
}

// parseAuthority takes the scheme and the authority off a target in absolute
// form and returns the authority and where the path begins. Every other form
// without a leading slash ("*", "host:443", "x:@host/") is refused: pasted
// behind a configured base URL it would name another host.
func parseAuthority(raw string) (authority string, end int, refusal *targetError) {
	for _, scheme := range []string{"http://", "https://"} {
		if len(raw) >= len(scheme) && strings.EqualFold(raw[:len(scheme)], scheme) {
			end = len(scheme)
		}
	}
	if end == 0 {
		return "", 0, badTarget("the target must begin with a slash, or be an absolute http or https URL")
	}

	begin := end
	for end < len(raw) && raw[end] != '/' && raw[end] != '?' {
		if b := raw[end]; b == '@' {
			return "", 0, badTargetAt("the target has user information", end)
		} else if !isAuthorityByte(b) {
			return "", 0, badTargetAt("the target's host has a forbidden byte", end)
		}
		end++
	}
	authority = raw[begin:end]
	if authority == "" || authority[0] == ':' {
		return "", 0, badTarget("the target is an absolute URL without a host")
	}
	if len(authority) > maxAuthorityBytes {
		return "", 0, badTarget("the target's host is longer than " + strconv.Itoa(maxAuthorityBytes) + " bytes")
	}
	return authority, end, nil
}

// isAuthorityByte reports whether b may stand in a host name, an address literal
// or a port. Escapes and the rest of RFC 3986's reg-name name no host of DNS.
func isAuthorityByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b == '.' || b == '-' || b == '_' || b == ':' || b == '[' || b == ']'
}

// scannedPath is what one pass over a path found.
type scannedPath struct {
	end     int // index of the "?" or of the end
	foreign int // raw bytes that must be escaped
	escapes int // "%XX"
}

// scanPath judges the path that begins at start. Escapes are judged by the byte
// they stand for, once: "%2e" is a dot, "%252e" is the text "%2e" and stays.
func scanPath(raw string, start int) (scannedPath, *targetError) {
	const something = -1 // the segment is not made of dots alone, or its parameters have begun

	var (
		s       scannedPath
		segment = start // index where the current segment begins
		dots    = something
		i       = start
	)
scan:
	for i < len(raw) {
		b, width := raw[i], 1
		if b == '%' {
			var ok bool
			if b, ok = unescape(raw, i); !ok {
				return s, badTargetAt("the path has a bad escape", i)
			}
			width = len("%XX")
			s.escapes++
		}

		switch class := targetClasses[b]; class {
		case classPlain, classAmpersand, classPercent:
			dots = something
		case classSlash, classBackslash:
			if i == start+1 {
				// Browsers read "//host" and "/\host" as another host.
				return s, badTarget("the path begins with two slashes or a slash and a backslash")
			}
			if isDotSegment(dots) {
				return s, badTargetAt("the path has a dot segment", segment)
			}
			if class == classBackslash && width == 1 {
				s.foreign++
			}
			segment, dots = i+width, 0
		case classDot:
			if dots != something {
				dots++
			}
		case classSemicolon:
			// "..;x=1" counts: some servers drop parameters before they resolve
			// dots (CVE-2026-73551).
			if isDotSegment(dots) {
				return s, badTargetAt("the path has a dot segment", segment)
			}
			dots = something
		case classControl:
			return s, badTargetAt("the path has a control byte", i)
		case classQuestion:
			if width == 1 {
				break scan
			}
			dots = something
		case classHash:
			if width == 1 {
				return s, badTargetAt("the target has a fragment", i)
			}
			dots = something
		case classForeign:
			if width == 1 {
				s.foreign++
			}
			dots = something
		}
		i += width
	}
	if isDotSegment(dots) {
		return s, badTargetAt("the path has a dot segment", segment)
	}
	s.end = i
	return s, nil
}

// isDotSegment reports whether a segment of so many dots and nothing else is one
// that RFC 3986 §5.2.4 resolves away.
func isDotSegment(dots int) bool {
	return dots == 1 || dots == 2
}

// scanQuery judges the query that begins at start and counts the bytes in it
// that must be escaped. Bad escapes and dots are left to the server.
func scanQuery(raw string, start int) (foreign int, refusal *targetError) {
	params := 1
	for i := start; i < len(raw); i++ {
		switch targetClasses[raw[i]] {
		case classForeign, classBackslash:
			foreign++
		case classAmpersand:
			params++
		case classControl:
			return 0, badTargetAt("the query has a control byte", i)
		case classHash:
			return 0, badTargetAt("the target has a fragment", i)
		case classPercent:
			if b, ok := unescape(raw, i); ok && targetClasses[b] == classControl {
				return 0, badTargetAt("the query has a control byte", i)
			}
		case classPlain, classSlash, classDot, classSemicolon, classQuestion:
		}
	}
	if params > maxQueryParams {
		return 0, badTarget("the query has more than " + strconv.Itoa(maxQueryParams) + " parameters")
	}
	return foreign, nil
}

// unescape returns the byte that the escape at raw[i] stands for.
func unescape(raw string, i int) (byte, bool) {
	if i+2 >= len(raw) {
		return 0, false
	}
	high, ok1 := unhex(raw[i+1])
	low, ok2 := unhex(raw[i+2])
	return high<<4 | low, ok1 && ok2
}

func unhex(b byte) (byte, bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

// escapeForeign percent-encodes the n bytes of s that RFC 3986 forbids. Control
// bytes and "#" are refused in a viewer's target and are only met in the query of
// a steering manifest, of which nothing is refused.
func escapeForeign(s string, n int) string {
	const upperHex = "0123456789ABCDEF"

	escaped := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		switch b := s[i]; targetClasses[b] {
		case classForeign, classBackslash, classControl, classHash:
			escaped = append(escaped, '%', upperHex[b>>4], upperHex[b&0xf])
		default:
			escaped = append(escaped, b)
		}
	}
	return string(escaped)
}

// decodeEscapes decodes the n escapes of s, all of which scanPath has seen.
func decodeEscapes(s string, n int) string {
	decoded := make([]byte, 0, len(s)-2*n)
	for i := 0; i < len(s); i++ {
		b := s[i]
		if b == '%' {
			b, _ = unescape(s, i)
			i += 2
		}
		decoded = append(decoded, b)
	}
	return string(decoded)
}

// appendLocation appends to dst the URL a viewer is sent to. The base is a
// configured absolute URL without query, with or without a trailing slash; path
// is t.Path after the operator's uri_path was taken off. Exactly one slash joins
// them; further slashes of the path are the viewer's and stay.
func appendLocation(dst []byte, base string, t target, path string) []byte {
	dst = append(dst, strings.TrimSuffix(base, "/")...)
	if !strings.HasPrefix(path, "/") {
		dst = append(dst, '/')
	}
	dst = append(dst, path...)
	if t.HasQuery {
		dst = append(dst, '?')
		dst = append(dst, t.Query...)
	}
	return dst
}
