package archive

import "strings"

// Files on demand, packaged (Flussonic, Wowza, Nimble) or as they are. A file as
// it is may also be a segment: see [Request.Bare].
//
//	vod-path  [<folders>/]<file>.{mp4|mkv|mov|m4v|ts|smil}[/{index|playlist|manifest|master}.{m3u8|mpd|f4m}]
func vodPath(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	if in.slash != 0 && isVoDFile(in.name) {
		h.channel, h.hint, h.bare = in.path, hintVoD, true
		h.file(ext)
		return true
	}
	if !oneOf(ext, "m3u8", "mpd", "f4m") || !oneOf(stem, "index", "playlist", "manifest", "master") {
		return false
	}
	i := strings.LastIndexByte(in.dir, '/')
	if i == 0 || !isVoDFile(in.dir[i+1:]) {
		return false
	}
	h.channel, h.protocol, h.hint = in.dir, protocolOf(ext), hintVoD
	return true
}

func isVoDFile(name string) bool {
	stem, ext := cutExt(name)
	return stem != "" && oneOf(ext, "mp4", "mkv", "mov", "m4v", "ts", "smil")
}
