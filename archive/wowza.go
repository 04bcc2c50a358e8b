package archive

import "strings"

// Wowza nDVR. A start is UTC, a length milliseconds. A start that is a small
// number counts from the store's beginning, which no URL tells: it names no
// window. "?DVR" alone shows the whole store from its live end.
//
//	wowza-ndvr  <application>[/<instance>]/<stream>/MANIFEST?DVR[&wowzadvrplayliststart=START[&wowzadvrplaylistduration=<ms>]]
//
//	MANIFEST = playlist.m3u8 | chunklist….m3u8 | manifest.mpd | manifest.f4m | Manifest
//	START    = YYYYMMDDHHMMSS | YYYY-MM-DD-HH:MM:SS
func wowzaDVR(in *input, h *hit) bool {
	var protocol Protocol
	switch {
	case in.name == "playlist.m3u8", strings.HasPrefix(in.name, "chunklist") && strings.HasSuffix(in.name, ".m3u8"):
		protocol = ProtocolHLS
	case in.name == "manifest.mpd":
		protocol = ProtocolDASH
	case in.name == "manifest.f4m":
		protocol = ProtocolHDS
	case in.name == "Manifest":
		protocol = ProtocolSmooth
	default:
		return false
	}
	var s [3]string
	n := segments(in.dir, s[:])
	if n < 2 {
		return false
	}
	h.channel, h.protocol, h.zone = s[n-1], protocol, utc
	h.keep(paramNames[paramDVR], "")
	h.start = h.query(in, unitWowza, paramWowzaStart)
	h.length = h.query(in, unitMillis, paramWowzaLength)
	return true
}
