package archive

import "strings"

// timeParams say a time, to whichever server. One of them with a value keeps a
// URL from being live: what looks like an archive and is not read is refused
// (reference archive.md §2.1).
var timeParams = setOf(paramUtc, paramStart, paramBegin, paramVbegin, paramPlayseek, paramTvdr, paramStartunix,
	paramCutv, paramStartTime, paramArchiveStart, paramWowzaStart)

// pathLooksRecorded reports whether a path that no dialect has read as a
// recording's looks like one. A bare file may be a segment, and segments' names
// have numbers of all sorts.
func pathLooksRecorded(in *input, bare bool) bool {
	return flussonicLooks(in) || nimbleLooks(in) || xtreamLooks(in) || !bare && in.dash && hasRange(in.name)
}

// queryLooksRecorded reports whether a query that no dialect has read as a
// recording's looks like one, and which parameter does.
func queryLooksRecorded(in *input) (name string, looks bool) {
	if in.query.has(timeParams) {
		for p := paramNone + 1; p < paramCount; p++ {
			if timeParams&(1<<p) != 0 && !isZeroText(in.query.value(p)) {
				return paramNames[p], true
			}
		}
	}
	return paramNames[paramLHS], apsaraLooks(in)
}

// hasRange finds "-<9 to 13 digits>-<digits or now>." in a name.
func hasRange(name string) bool {
	for i := strings.IndexByte(name, '-'); i >= 0; {
		c := cursor{name, i + 1}
		if _, ok := c.digits(9, 13, unitAuto); ok && c.word("-") {
			if _, ok := c.digits(1, 19, unitSeconds); (ok || c.word("now")) && c.word(".") {
				return true
			}
		}
		next := strings.IndexByte(name[i+1:], '-')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// mayBeLive reports whether a name that no dialect knows could be taken for a
// live stream's: a manifest, a stream, or one without extension. Other files
// are segments and what belongs to them, whose queries are their own.
func mayBeLive(in *input) bool {
	i := strings.LastIndexByte(in.name, '.')
	if i < 0 {
		return true
	}
	ext := in.name[i+1:]
	for _, known := range [...]string{"m3u8", "m3u", "mpd", "f4m"} {
		if strings.EqualFold(ext, known) {
			return true
		}
	}
	return in.slash < 0 && strings.EqualFold(ext, "ts") // in a folder it is a segment
}
