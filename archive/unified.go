package archive

import "strings"

// Unified Origin. Times are ISO 8601 or Unix seconds, UTC. Of a VoD asset (.ism)
// vbegin and vend may also count from its beginning: a clip, not a window.
//
//	MANIFEST = [<anything>].m3u8 | [<anything>].mpd | [<anything>].f4m | Manifest
//
//	usp-subclip    <channel>.isml/MANIFEST?vbegin=<from>[&vend=<to>]     also .ism
//	usp-timeshift  <channel>.isml/MANIFEST?time_shift=<seconds ago>
//	usp-live       <channel>.isml/MANIFEST[?dvr_window_length={<last seconds>|default}]
//	usp-vod        <asset>.ism/MANIFEST

// unifiedName reads a manifest of a folder with a suffix.
func unifiedName(in *input, h *hit, suffix string) bool {
	channel, ok := strings.CutSuffix(in.dir, suffix)
	if !ok || channel == "" {
		return false
	}
	if strings.EqualFold(in.name, "manifest") {
		h.protocol = ProtocolSmooth
	} else if ext := in.ext; oneOf(ext, "m3u8", "mpd", "f4m") {
		h.protocol = protocolOf(ext)
	} else {
		return false
	}
	h.channel = channel
	return true
}

func unifiedSubclip(in *input, h *hit) bool {
	vod := unifiedName(in, h, ".ism")
	if !vod && !unifiedName(in, h, ".isml") {
		return false
	}
	if vod && isClipTime(in.query.value(paramVbegin)) {
		h.hint = hintVoD
		return true
	}
	h.zone = utc
	h.start = h.query(in, unitAuto, paramVbegin)
	h.end = h.query(in, unitAuto, paramVend)
	return true
}

// isClipTime reports whether s counts from an asset's beginning: fewer than nine
// digits before any fraction, or hours, minutes and seconds.
func isClipTime(s string) bool {
	whole, _, _ := strings.Cut(s, ".")
	return len(whole) < 9 && allOf(whole, func(b byte) bool { return isDigit(b) || b == ':' })
}

func unifiedTimeshift(in *input, h *hit) bool {
	if !unifiedName(in, h, ".isml") {
		return false
	}
	h.hint = hintTimeshift
	h.offset = h.query(in, unitSeconds, paramTimeShift)
	return true
}

func unifiedLive(in *input, h *hit) bool {
	if !unifiedName(in, h, ".isml") {
		return false
	}
	h.hint = hintLive
	if in.query.value(paramDVRWindow) != "default" {
		h.window = h.query(in, unitSeconds, paramDVRWindow)
	}
	return true
}

func unifiedVoD(in *input, h *hit) bool {
	if in.query.has(setOf(paramStart)) && strings.HasPrefix(in.path, mediaPackageFolder) {
		return false // AWS packages live channels under such names, too
	}
	if !unifiedName(in, h, ".ism") {
		return false
	}
	h.hint, h.channel = hintVoD, in.dir
	return true
}
