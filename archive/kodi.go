package archive

// Kodi's catch-up templates that write the device's local time
// (archive.viewer_timezone).
//
//	kodi-cutv  <channel>[/{index|playlist|mono|video}].{m3u8|ts|mpd}?cutv=<from>
func kodiCutv(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	if !oneOf(ext, "m3u8", "ts", "mpd") {
		return false
	}
	channel := in.path[:len(in.path)-len(ext)-1]
	if in.dir != "" && oneOf(stem, "index", "playlist", "mono", "video") {
		channel = in.dir
	}
	if channel == "" {
		return false
	}
	h.channel, h.protocol, h.zone, h.hint = channel, protocolOf(ext), in.viewer, hintTimeshift
	h.start = h.query(in, unitAuto, paramCutv)
	return true
}
