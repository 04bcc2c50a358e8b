package clientip

import "strings"

// walkForwarded walks RFC 7239's Forwarded as [Resolver.walkForwardedFor] walks
// its older sister. The proto of the element that is chosen comes with it.
//
// Each line is split for itself, because a quoted string cannot go beyond its
// line: a viewer's unbalanced quote spoils the line it stands in, not the one
// that a proxy added after it.
func (r *Resolver) walkForwarded(lines []string) (hop, bool) {
	var (
		nearest  hop
		hops     int
		elements elementRing
	)
	for i := len(lines) - 1; i >= 0; i-- {
		if !elements.split(lines[i]) {
			return hop{}, false
		}
		for n := elements.count - 1; n >= 0; n-- {
			if hops++; hops > maxHops {
				return hop{}, false
			}
			node, proto, ok := parseElement(elements.last[n%maxHops])
			if !ok {
				return hop{}, false
			}
			// "unknown" and "_obfuscated" are legal nodes (§6.2, §6.3) that say
			// nothing about where the viewer is.
			addr, ok := parseNode(node)
			if !ok {
				return hop{}, false
			}
			nearest = hop{addr: addr, proto: proto}
			if !r.trusted.contain(addr) {
				return nearest, true
			}
		}
	}
	return nearest, true
}

// elementRing holds the last maxHops elements of a line, which are all that may
// be walked. Quotes can only be told apart from the left, so the line is split
// in one pass before it is walked from the right.
type elementRing struct {
	last  [maxHops]string // element n is at n%maxHops
	count int
}

// split splits line at the commas outside quoted strings. It fails when a quote
// is left open.
func (e *elementRing) split(line string) bool {
	e.count = 0
	begin, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '"':
			quoted = !quoted
		case b == '\\' && quoted:
			i++ // a quoted pair (RFC 9110 §5.6.4)
		case b == ',' && !quoted:
			e.add(line[begin:i])
			begin = i + 1
		}
	}
	e.add(line[begin:])
	return !quoted
}

func (e *elementRing) add(element string) {
	e.last[e.count%maxHops] = element
	e.count++
}

// parseElement returns the for and proto parameters of one element (RFC 7239
// §4). White space around parameters is forgiven. An element without for, or
// with a second one, says nothing that can be believed.
func parseElement(element string) (node, proto string, ok bool) {
	var hasNode, hasProto bool
	for rest := trimSpace(element); rest != ""; {
		if rest[0] == ';' {
			rest = trimSpace(rest[1:])
			continue
		}
		name, after, found := strings.Cut(rest, "=")
		if !found || !isToken(name) {
			return "", "", false
		}
		var value string
		if value, rest, ok = cutValue(after); !ok {
			return "", "", false
		}
		rest = trimSpace(rest)
		if rest != "" && rest[0] != ';' {
			return "", "", false
		}

		switch {
		case equalFoldASCII(name, "for"):
			if hasNode {
				return "", "", false
			}
			node, hasNode = value, true
		case equalFoldASCII(name, "proto"):
			if hasProto {
				return "", "", false
			}
			proto, hasProto = value, true
		}
	}
	return node, proto, hasNode
}

// cutValue cuts a token or a quoted string off the front of s.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := 0
		for end < len(s) && isNodeByte(s[end]) {
			end++
		}
		return s[:end], s[end:], end > 0
	}

	escaped := false
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			if value = s[1:i]; escaped {
				value = unescapePairs(value)
			}
			return value, s[i+1:], true
		}
	}
	return "", "", false
}

// unescapePairs resolves the quoted pairs of a quoted string's inside.
func unescapePairs(s string) string {
	plain := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		plain = append(plain, s[i])
	}
	return string(plain)
}

// isNodeByte reports whether b may stand in a value without quotes. Colons and
// brackets should be quoted (RFC 7239 §4), but proxies forget it, and nothing
// else can be meant.
func isNodeByte(b byte) bool {
	return isTokenByte(b) || b == ':' || b == '[' || b == ']'
}

func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// isTokenByte reports whether b is a tchar (RFC 9110 §5.6.2).
func isTokenByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b != 0 && strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}
