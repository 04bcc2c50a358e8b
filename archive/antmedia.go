package archive

import "strings"

// Ant Media Server. Times are Unix seconds; both must be there. The channel is
// the stream, whatever rendition of it the URL names.
//
//	antmedia-range  <application>/streams/<stream>[_adaptive|_<n>p[<n>kbps]|_<n>kbps].m3u8?start=<from>&end=<to>
func antMedia(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	app, ok := strings.CutSuffix(in.dir, "/streams")
	if !ok || app == "" || strings.IndexByte(app, '/') >= 0 || ext != "m3u8" || stem == "" {
		return false
	}
	if i := strings.LastIndexByte(stem, '_'); i > 0 && isAntRendition(stem[i+1:]) {
		stem = stem[:i]
	}
	h.channel, h.protocol = stem, ProtocolHLS
	h.start = h.query(in, unitSeconds, paramStart)
	h.end = h.query(in, unitSeconds, paramEnd)
	return true
}

func isAntRendition(s string) bool {
	if s == "adaptive" {
		return true
	}
	c := cursor{s, 0}
	if _, ok := c.digits(1, len(s), unitNone); !ok {
		return false
	}
	if c.word("kbps") {
		return c.done()
	}
	if !c.word("p") {
		return false
	}
	if c.done() {
		return true
	}
	_, ok := c.digits(1, len(s), unitNone)
	return ok && c.word("kbps") && c.done()
}
