package archive

import "strings"

// The shift parameters of SIPTV, OTT-Player, Kodi and many more, appended to any
// live URL. Times are Unix seconds; lutc is the viewer's clock and means
// nothing.
//
//	siptv-shift  <channel>[/{index|video|mono|playlist|mpegts|live}[.m3u8|.mpd|.ts]|.m3u8|.mpd|.ts][/]?utc=<from>[&lutc=<now>]
func siptvShift(in *input, h *hit) bool {
	path := in.path
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if path == "" {
		return false
	}
	channel := path
	i := strings.LastIndexByte(path, '/')
	stem, ext := cutExt(path[i+1:])
	switch {
	case i > 0 && oneOf(ext, "", "m3u8", "mpd", "ts") && oneOf(stem, "index", "video", "mono", "playlist", "mpegts", "live") &&
		!strings.HasSuffix(path, "."):
		channel = path[:i]
	case oneOf(ext, "m3u8", "mpd", "ts") && len(path) > len(ext)+1:
		channel = path[:len(path)-len(ext)-1]
	default:
		ext = ""
	}
	h.channel, h.protocol, h.hint = channel, protocolOf(ext), hintTimeshift
	h.start = h.query(in, unitSeconds, paramUtc)
	return true
}
