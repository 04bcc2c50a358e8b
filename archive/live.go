package archive

import "strings"

// What is left: live channels by the usual names of their manifests.
//
//	live-generic  <channel>[/tracks-<tracks>]/{index|video|mono|playlist|master|mbr|manifest}[.ts|.fmp4|.ll].{m3u8|mpd|f4m}
//	              <channel>[/tracks-<tracks>]/mpegts
//	live-flat     <channel>.{m3u8|mpd}

func liveGeneric(in *input, h *hit) bool {
	if in.dir == "" {
		return false
	}
	if in.name == "mpegts" {
		h.protocol = ProtocolMPEGTS
	} else {
		c := in.cursor()
		if !c.word("index", "video", "mono", "playlist", "master", "mbr", "manifest") {
			return false
		}
		container, ext, ok := c.tail()
		if !ok || !oneOf(container, "", "ts", "fmp4", "ll") || !oneOf(ext, "m3u8", "mpd", "f4m") {
			return false
		}
		h.protocol, h.container = protocolOf(ext), container
	}
	h.channel, h.hint = withoutTracks(in.dir), hintLive
	return true
}

func liveFlat(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	if stem == "" || !oneOf(ext, "m3u8", "mpd") || in.slash == 0 || strings.Contains(in.path, "//") || in.path[0] == '/' {
		return false
	}
	h.channel, h.protocol, h.hint = in.path[:len(in.path)-len(ext)-1], protocolOf(ext), hintLive
	return true
}
