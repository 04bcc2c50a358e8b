package archive

import "strings"

// Xtream Codes and its panels. Lengths are minutes; a start is in the panel's
// zone, which no URL tells: archive.timezone, or the farm's own. User and
// password stand in the path or the query.
//
//	START = YYYY-MM-DD{:|_|T| }HH{-|:}MM[{-|:}SS] | <10 digits, Unix seconds>
//
//	xtream-timeshift-path   timeshift/<user>/<password>/<minutes>/START/<id>[.ts|.m3u8]
//	xtream-timeshift-query  [streaming/]timeshift.php?stream=<id>&start=START[&duration=<minutes>]

func xtreamPath(in *input, h *hit) bool {
	const folder = "timeshift/"
	if !strings.HasPrefix(in.path, folder) {
		return false
	}
	var s [6]string
	if segments(in.path, s[:]) != len(s) {
		return false
	}
	id, ext, dotted := strings.Cut(s[5], ".")
	if id == "" || dotted && !oneOf(ext, "ts", "m3u8") {
		return false
	}
	at := 1 + len(folder) + len(s[1]) + 1 + len(s[2]) + 1 // 1: the leading slash
	c := cursor{s[3], 0}
	length, ok := c.digits(1, 5, unitMinutes)
	if !ok || !c.done() || !isXtreamTime(s[4]) {
		return false
	}
	length.from = at
	h.channel, h.protocol = id, protocolOf(ext)
	h.length, h.start = length, reading{text: s[4], unit: unitXtream, from: at + len(s[3]) + 1}
	return true
}

// isXtreamTime reports whether s has the form of a start. Its digits are judged
// when it is read.
func isXtreamTime(s string) bool {
	if hasForm(s, "0000000000") {
		return true
	}
	const date, minute, second = "0000-00-00", "00-00", "-00"
	n := len(date) + 1 + len(minute)
	if len(s) != n && len(s) != n+len(second) ||
		!hasForm(s[:len(date)], date) || strings.IndexByte(":_ T+", s[len(date)]) < 0 {
		return false
	}
	return hasForm(strings.ReplaceAll(s[len(date)+1:], ":", "-"), (minute + second)[:len(s)-len(date)-1])
}

func xtreamQuery(in *input, h *hit) bool {
	if in.name != "timeshift.php" || in.slash >= 0 && in.dir != "streaming" {
		return false
	}
	channel := in.query.value(paramStream)
	if channel == "" {
		return false
	}
	h.channel, h.protocol = channel, ProtocolMPEGTS
	h.keep(paramNames[paramStream], channel)
	h.start = h.query(in, unitXtream, paramStart)
	h.length = h.query(in, unitMinutes, paramDuration)
	return true
}

// xtreamLooks reports whether a path has words of this grammar, read or not.
func xtreamLooks(in *input) bool {
	return in.name == "timeshift.php" || xtreamSecret(in) != span{}
}

// xtreamSecret returns where user and password stand in a plain path that begins
// like this grammar, read or not: a log must not show them either way.
func xtreamSecret(in *input) span {
	const folder = "timeshift/"
	if !strings.HasPrefix(in.path, folder) || strings.Count(in.path, "/") < 4 {
		return span{}
	}
	from := 1 + len(folder)
	user := strings.IndexByte(in.path[len(folder):], '/')
	password := strings.IndexByte(in.path[len(folder)+user+1:], '/')
	return span{from, from + user + 1 + password}
}
