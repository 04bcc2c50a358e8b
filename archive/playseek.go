package archive

import "strings"

// The catch-up of Chinese IPTV platforms and their gateways (rtp2httpd). Times
// without a zone are China's, UTC+8.
//
//	playseek  <channel>[.m3u8|.mpd|.ts|/{index|playlist|master|manifest}.{m3u8|mpd}]?{playseek|tvdr}=TIME-[TIME]
//
//	TIME = <9 or 10 digits, Unix seconds> | YYYYMMDDHHMMSS[GMT] | YYYY-MM-DDTHH:MM:SS[Z|±HH:MM]
func playseek(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	switch {
	case in.dir != "" && oneOf(ext, "m3u8", "mpd") && oneOf(stem, "index", "playlist", "master", "manifest"):
		h.channel = in.dir
	case oneOf(ext, "m3u8", "mpd", "ts") && len(in.path) > len(ext)+1:
		h.channel = in.path[:len(in.path)-len(ext)-1]
	default:
		h.channel, ext = in.path, ""
	}
	if h.channel == "" {
		return false
	}
	h.protocol, h.zone = protocolOf(ext), china

	p := in.query.first(paramPlayseek, paramTvdr)
	value := in.query.value(p)
	if value == "" {
		return true
	}
	at := h.keep(paramNames[p], value)
	n := playseekTime(value, "-")
	end := value[min(n+1, len(value)):]
	if n == 0 || end != "" && playseekTime(end, "") != len(end) {
		h.start = reading{text: value, in: at} // without a unit it is no time, and refused
		return true
	}
	h.start = reading{text: value[:n], unit: unitAuto, in: at}
	if end != "" {
		h.end = reading{text: end, unit: unitAuto, in: at, from: n + 1}
	}
	return true
}

// playseekTime returns how long the time is that s begins with and that next, or
// the end of s when next is empty, follows: a range's dash is not one of the
// time's own. 0: there is none.
func playseekTime(s, next string) int {
	follows := func(n int) bool {
		if next == "" {
			return n == len(s)
		}
		return strings.HasPrefix(s[n:], next)
	}
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	digits := n == 9 || n == 10 || n == 14
	if n == 14 && strings.HasPrefix(s[n:], "GMT") {
		n += len("GMT")
	}
	const date, east, west = "0000-00-00T", "+00:00", "-00:00"
	if n == 4 && len(s) > len(date) && hasForm(s[:len(date)], date) {
		n = len(date)
		for n < len(s) && (isDigit(s[n]) || s[n] == ':' || s[n] == '.') {
			n++
		}
		if n == len(date) {
			return 0
		}
		if n < len(s) && s[n] == 'Z' {
			n++
		} else if z := n + len(east); z <= len(s) && (hasForm(s[n:z], east) || hasForm(s[n:z], west)) && follows(z) {
			n = z
		}
	} else if !digits {
		return 0
	}
	if !follows(n) {
		return 0
	}
	return n
}
