package archive

import "strings"

// Flussonic and Mcaster. Times are Unix seconds, lengths seconds; a channel's
// name may have slashes. The vendor's own old page shows starts of 13 digits:
// milliseconds. One recording serves all protocols.
//
//	NAME  = <channel>[/tracks-<tracks>]
//	EXT   = [.ts|.fmp4].m3u8 | .mpd | .ts
//
//	flussonic-archive         NAME/{archive|index|video|mono|audio|dvr}-<from>-{<length>|now}[.ts|.fmp4|.ll].{m3u8|mpd|ts|mp4|f4m|json}
//	flussonic-archive-legacy  <channel>/archive/<from>/{<length>|now}/{index.m3u8|manifest.f4m|manifest.mpd|mpegts}
//	flussonic-timeshift-abs   NAME/[index-|video-|mono-]timeshift_abs[_mono|_video]{-|/}<from>[EXT]
//	flussonic-timeshift-rel   NAME/[index-|video-|mono-]timeshift_rel[_mono|_video]{-|/}<seconds ago>[EXT]
//	flussonic-rewind          NAME/[index-|video-|mono-]rewind-<last seconds>{[.ts|.fmp4].m3u8|.mpd}
//	flussonic-mss             <channel>(archive=<from>-{<length>|now}).isml/manifest
//	                          <channel>(rewind=<last seconds>).isml/manifest
//	                          <channel>(timeshift_abs=<from>).isml/manifest
//	                          <channel>(timeshift_rel=<seconds ago>).isml/manifest

func flussonicArchive(in *input, h *hit) bool {
	c := in.cursor()
	if in.dir == "" || !in.dash || !c.word("archive-", "index-", "video-", "mono-", "audio-", "dvr-") {
		return false
	}
	start, ok := c.digits(9, 13, unitAuto)
	if !ok || !c.word("-") {
		return false
	}
	length, ok := c.length()
	if !ok {
		return false
	}
	container, ext, ok := c.tail()
	if !ok || !oneOf(container, "", "ts", "fmp4", "ll") || !oneOf(ext, "m3u8", "mpd", "ts", "mp4", "f4m", "json") {
		return false
	}
	h.file(ext)
	if container != "" {
		h.container = container
	}
	h.channel, h.start, h.length = withoutTracks(in.dir), start, length
	return true
}

func flussonicArchiveLegacy(in *input, h *hit) bool {
	var ext string
	switch in.name {
	case "index.m3u8", "manifest.f4m", "manifest.mpd":
		ext = in.ext
	case "mpegts":
	default:
		return false
	}
	const folder = "/archive/"
	i := strings.LastIndex(in.dir, folder)
	if i <= 0 {
		return false
	}
	c := cursor{in.dir, i + len(folder)}
	start, ok := c.digits(9, 10, unitSeconds)
	if !ok || !c.word("/") {
		return false
	}
	length, ok := c.length()
	if !ok || !c.done() {
		return false
	}
	h.file(ext)
	h.channel, h.start, h.length = in.dir[:i], start, length
	return true
}

func flussonicTimeshiftAbs(in *input, h *hit) bool {
	start, ok := flussonicTimeshift(in, h, "timeshift_abs", 9, 10)
	if ok {
		h.start, h.hint = start, hintTimeshift
	}
	return ok
}

func flussonicTimeshiftRel(in *input, h *hit) bool {
	offset, ok := flussonicTimeshift(in, h, "timeshift_rel", 1, 7)
	if ok {
		h.offset, h.hint = offset, hintTimeshift
	}
	return ok
}

// flussonicTimeshift reads both spellings of a timeshift: the number behind a
// dash, or as a name of its own.
func flussonicTimeshift(in *input, h *hit, word string, least, most int) (number reading, ok bool) {
	dir, c := in.dir, in.cursor()
	if in.name != "" && isDigit(in.name[0]) {
		i := strings.LastIndexByte(dir, '/')
		if i <= 0 {
			return number, false
		}
		folder := cursor{dir, i + 1}
		if !flussonicWord(&folder, word) || !folder.done() {
			return number, false
		}
		dir = dir[:i]
	} else if !in.dash || !flussonicWord(&c, word) || !c.word("-") {
		return number, false
	}
	number, ok = c.digits(least, most, unitSeconds)
	if !ok || dir == "" {
		return number, false
	}
	var container, ext string
	if !c.done() {
		container, ext, ok = c.tail()
		if !ok || !oneOf(container, "", "ts", "fmp4") || !oneOf(ext, "m3u8", "mpd", "ts") {
			return number, false
		}
	}
	h.channel, h.protocol, h.container = withoutTracks(dir), protocolOf(ext), container
	return number, true
}

// flussonicWord reads a timeshift's word with its prefix and suffix, or nothing.
func flussonicWord(c *cursor, word string) bool {
	from := c.i
	c.word("index-", "video-", "mono-")
	if !c.word(word) {
		c.i = from
		return false
	}
	c.word("_mono", "_video")
	return true
}

func flussonicRewind(in *input, h *hit) bool {
	if in.dir == "" || !in.dash {
		return false
	}
	c := in.cursor()
	c.word("index-", "video-", "mono-")
	if !c.word("rewind-") {
		return false
	}
	window, ok := c.digits(1, 7, unitSeconds)
	if !ok {
		return false
	}
	container, ext, ok := c.tail()
	if !ok || !oneOf(container, "", "ts", "fmp4") || !oneOf(ext, "m3u8", "mpd") {
		return false
	}
	h.channel, h.protocol, h.container, h.window = withoutTracks(in.dir), protocolOf(ext), container, window
	return true
}

func flussonicSmooth(in *input, h *hit) bool {
	inner, ok := strings.CutSuffix(in.dir, ").isml")
	if !ok || !strings.EqualFold(in.name, "manifest") {
		return false
	}
	open := strings.IndexByte(inner, '(')
	if open <= 0 || strings.IndexByte(inner[:open], ')') >= 0 {
		return false
	}
	var (
		c      = cursor{inner, open + 1}
		number reading
		length reading
		got    hit
	)
	switch {
	case c.word("archive="):
		if number, ok = c.digits(9, 10, unitSeconds); ok && c.word("-") {
			length, ok = c.length()
		} else {
			ok = false
		}
		got.start, got.length = number, length
	case c.word("rewind="):
		got.window, ok = c.digits(1, 7, unitSeconds)
	case c.word("timeshift_abs="):
		got.start, ok = c.digits(9, 10, unitSeconds)
		got.hint = hintTimeshift
	case c.word("timeshift_rel="):
		got.offset, ok = c.digits(1, 7, unitSeconds)
		got.hint = hintTimeshift
	default:
		return false
	}
	if !ok || !c.done() {
		return false
	}
	got.channel, got.protocol = inner[:open], ProtocolSmooth
	*h = got
	return true
}

// flussonicLooks reports whether a path has words of this grammar where they
// would say a time, read or not.
func flussonicLooks(in *input) bool {
	if i := strings.LastIndexByte(in.dir, '('); i >= 0 {
		c := cursor{in.dir, i + 1}
		if c.word("archive=", "rewind=", "timeshift_abs=", "timeshift_rel=") {
			return true
		}
	}
	if in.name != "" && isDigit(in.name[0]) {
		folder := cursor{in.dir, strings.LastIndexByte(in.dir, '/') + 1}
		return flussonicWord(&folder, "timeshift_abs") || flussonicWord(&folder, "timeshift_rel")
	}
	c := in.cursor()
	switch {
	case !in.dash:
		return false
	case flussonicWord(&c, "timeshift_abs"), flussonicWord(&c, "timeshift_rel"):
		return c.word("-")
	case c.word("rewind-"): // "rewind-80s" may be a channel
		_, ok := c.digits(1, 19, unitSeconds)
		return ok && (c.done() || c.word("."))
	case c.word("archive-"): // "archive-2024" may be one
		_, ok := c.digits(9, 19, unitAuto)
		return ok
	}
	return false
}

// oneOf reports whether s is one of some words.
func oneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w {
			return true
		}
	}
	return false
}
