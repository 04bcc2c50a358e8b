package steering

import "strings"

// Queries are split here and not by net/url: that drops a whole pair for a bad
// escape or a semicolon, and a session or an operator's token with it
// (reference steering.md, check 26). A pair ends at "&" and nothing else.

// own names a query parameter that is ours to read or to take out.
type own uint8

const (
	ownNothing own = iota // somebody else's
	ownHLSPathway
	ownHLSThroughput
	ownDASHPathway
	ownDASHThroughput
	ownToken
	ownUnread // reserved for players' reports, and none that anybody reads here
)

// TokenParam is the query parameter that carries a session's token.
const TokenParam = "pm_sid"

// longestOwn is the length of the longest name that is compared whole.
const longestOwn = len("_DASH_throughput")

// nextPair cuts the first pair off a query.
func nextPair(query string) (name, value, rest string, more bool) {
	pair, rest, more := strings.Cut(query, "&")
	name, value, _ = strings.Cut(pair, "=")
	return name, value, rest, more
}

// ownNamed returns the parameter of a name, of which any byte may be escaped.
func ownNamed(name string) own {
	if name == "" {
		return ownNothing
	}
	switch name[0] {
	case '_', 'C', 'p', '%':
	default:
		return ownNothing
	}
	if strings.IndexByte(name, '%') < 0 {
		return ownPlain(name)
	}
	var buf [longestOwn + 1]byte // one more, so that a longer name is not taken for its beginning
	n := 0
	for i := 0; i < len(name) && n < len(buf); n++ {
		var size int
		buf[n], size = unescape(name, i)
		i += size
	}
	return ownPlain(string(buf[:n]))
}

func ownPlain(name string) own {
	switch name {
	case "_HLS_pathway":
		return ownHLSPathway
	case "_HLS_throughput":
		return ownHLSThroughput
	case "_DASH_pathway":
		return ownDASHPathway
	case "_DASH_throughput":
		return ownDASHThroughput
	case TokenParam:
		return ownToken
	case "CMCD": // players can add their media data to steering requests too
		return ownUnread
	}
	if strings.HasPrefix(name, "_HLS_") || strings.HasPrefix(name, "_DASH_") {
		return ownUnread
	}
	return ownNothing
}

// unescape returns the byte that s[i:] begins with and how long its spelling is.
// A bad escape is its percent sign.
func unescape(s string, i int) (c byte, size int) {
	if s[i] == '%' && i+2 < len(s) {
		if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi|lo < 16 {
			return hi<<4 | lo, 3
		}
	}
	return s[i], 1
}

// unhex returns the value of a hexadecimal digit, 255 when it is none.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	default:
		return 255
	}
}

// unescapeTo writes what s spells to buf; ok is false when it does not fit.
func unescapeTo(buf []byte, s string) (n int, ok bool) {
	for i := 0; i < len(s); n++ {
		if n == len(buf) {
			return 0, false
		}
		var size int
		buf[n], size = unescape(s, i)
		i += size
	}
	return n, true
}

// Foreign returns rawQuery without what is ours or the player's report
// (_HLS_*, _DASH_*, CMCD, pm_sid, however their names are escaped). Every other
// pair stays byte for byte, in its place: an operator's tokens are signed over
// their spelling. What comes back belongs into RELOAD-URI, where a report must
// not stand: dash.js would repeat it beside its next one, one pair more with
// every poll. Bytes that no URI may hold are the caller's to escape, as in a
// redirect's target. Foreign(Foreign(q)) is Foreign(q).
func Foreign(rawQuery string) string {
	return without(rawQuery, func(o own) bool { return o != ownNothing })
}

// WithoutToken returns rawQuery without pm_sid, every other pair byte for byte.
func WithoutToken(rawQuery string) string {
	return without(rawQuery, func(o own) bool { return o == ownToken })
}

// without returns query without some of the pairs. Mostly those that stay are
// neighbours, and the result is a part of the query.
func without(query string, drop func(own) bool) string {
	start, end := -1, -1 // the pairs kept so far are query[start:end]
	for i := 0; i <= len(query); {
		name, next := pairAt(query, i)
		if !drop(ownNamed(name)) {
			switch {
			case start < 0:
				start = i
			case end+1 != i:
				return copyWithout(query, drop)
			}
			end = next - 1
		}
		i = next
	}
	if start < 0 {
		return ""
	}
	return query[start:end]
}

// copyWithout is without for pairs that do not stand together.
func copyWithout(query string, drop func(own) bool) string {
	out, kept := make([]byte, 0, len(query)), false
	for i := 0; i <= len(query); {
		name, next := pairAt(query, i)
		if !drop(ownNamed(name)) {
			if kept {
				out = append(out, '&')
			}
			out, kept = append(out, query[i:next-1]...), true
		}
		i = next
	}
	return string(out)
}

// pairAt returns the name of the pair that begins at query[i] and where the next
// pair begins; behind the last pair that is beyond the end.
func pairAt(query string, i int) (name string, next int) {
	pair, _, _ := strings.Cut(query[i:], "&")
	name, _, _ = strings.Cut(pair, "=")
	return name, i + len(pair) + 1
}
