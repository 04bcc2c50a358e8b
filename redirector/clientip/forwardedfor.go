package clientip

import "strings"

// walkForwardedFor walks X-Forwarded-For. Several lines are one list
// (RFC 9110 §5.3), so the last element of the last line is the nearest hop.
//
// An empty element is one that cannot be read, although RFC 9110 §5.6.1.2 lets a
// list have them: a proxy that did not know its peer wrote it, and what stands
// left of it is the viewer's own text.
func (r *Resolver) walkForwardedFor(lines []string) (hop, bool) {
	var (
		nearest hop
		hops    int
	)
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			if hops++; hops > maxHops {
				return hop{}, false
			}
			var element string
			rest, element, more = cutLast(rest)
			addr, ok := parseNode(trimSpace(element))
			if !ok {
				return hop{}, false
			}
			nearest = hop{addr: addr}
			if !r.trusted.contain(addr) {
				return nearest, true
			}
		}
	}
	return nearest, true
}

// rightmostProto returns the last element of X-Forwarded-Proto, which the peer
// itself wrote.
func rightmostProto(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	_, element, _ := cutLast(lines[len(lines)-1])
	return trimSpace(element)
}

// cutLast cuts s around its last comma. Without one, all of s is the element.
func cutLast(s string) (rest, element string, more bool) {
	if i := strings.LastIndexByte(s, ','); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return "", s, false
}
