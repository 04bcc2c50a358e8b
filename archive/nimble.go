package archive

import "strings"

// Nimble Streamer (WMSPanel). Times are Unix seconds, lengths seconds; a channel
// is an application and a stream. MPEG-TS and fMP4 are two recordings.
//
//	NAME = <application>/<stream>/{playlist|chunks|manifest}[_fmp4]
//
//	nimble-range      NAME_dvr_range-<from>-{<length>|now}.{m3u8|mpd}
//	nimble-timeshift  NAME_dvr_timeshift-<seconds ago>[-<window>].{m3u8|mpd}
//	nimble-dvr        NAME_dvr.{m3u8|mpd}                     all that is recorded (no chunks)

// nimbleName reads what the three have in common and leaves the cursor behind
// "_dvr".
func nimbleName(in *input, h *hit) (c cursor, chunks, ok bool) {
	c = in.cursor()
	chunks = c.word("chunks")
	if !chunks && !c.word("playlist", "manifest") {
		return c, false, false
	}
	container := ""
	if c.word("_fmp4") {
		container = "fmp4"
	}
	app, stream, ok := strings.Cut(in.dir, "/")
	if !ok || app == "" || stream == "" || strings.IndexByte(stream, '/') >= 0 || !c.word("_dvr") {
		return c, false, false
	}
	ext := in.ext
	if !oneOf(ext, "m3u8", "mpd") {
		return c, false, false
	}
	h.channel, h.protocol, h.container = in.dir, protocolOf(ext), container
	return c, chunks, true
}

func nimbleRange(in *input, h *hit) bool {
	if !in.dash {
		return false
	}
	var got hit
	c, _, ok := nimbleName(in, &got)
	if !ok || !c.word("_range-") {
		return false
	}
	if got.start, ok = c.digits(9, 10, unitSeconds); !ok || !c.word("-") {
		return false
	}
	if got.length, ok = c.length(); !ok || !c.word(".m3u8", ".mpd") || !c.done() {
		return false
	}
	*h = got
	return true
}

func nimbleTimeshift(in *input, h *hit) bool {
	if !in.dash {
		return false
	}
	var got hit
	c, _, ok := nimbleName(in, &got)
	if !ok || !c.word("_timeshift-") {
		return false
	}
	if got.offset, ok = c.digits(1, 7, unitSeconds); !ok {
		return false
	}
	if c.word("-") { // how much the playlist shows: no matter for who holds the point
		if _, ok = c.digits(1, 7, unitSeconds); !ok {
			return false
		}
	}
	if !c.word(".m3u8", ".mpd") || !c.done() {
		return false
	}
	got.hint = hintTimeshift
	*h = got
	return true
}

func nimbleDVR(in *input, h *hit) bool {
	if !strings.HasSuffix(in.stem, "_dvr") {
		return false
	}
	var got hit
	c, chunks, ok := nimbleName(in, &got)
	if !ok || chunks || !c.word(".m3u8", ".mpd") || !c.done() {
		return false
	}
	got.hint = hintWindow
	*h = got
	return true
}

// nimbleLooks reports whether a path has words of this grammar, read or not.
func nimbleLooks(in *input) bool {
	return in.dash && (strings.Contains(in.name, "_dvr_range-") || strings.Contains(in.name, "_dvr_timeshift-"))
}
