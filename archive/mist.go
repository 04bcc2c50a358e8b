package archive

// MistServer. Times are Unix seconds; a number up to 36000, and any negative
// one, counts from now. A name may have a plus. Another pair of parameters,
// start and stop, counts in the stream's own time, so their presence keeps a URL
// from being live.
//
//	mist-range  {hls|cmaf|dynamic}/<stream>/MANIFEST?startunix=<from>[&stopunix=<to>|&duration=<seconds>]
//	            <stream>.{ts|mp4|fmp4|mkv|webm|flv}?startunix=…
//	mist-live   {hls|cmaf|dynamic}/<stream>/MANIFEST
//
//	MANIFEST = index.m3u8 | index.mpd | Manifest | manifest.f4m

func mistManifest(in *input, h *hit) bool {
	var s [2]string
	if segments(in.dir, s[:]) != 2 || !oneOf(s[0], "hls", "cmaf", "dynamic") {
		return false
	}
	switch in.name {
	case "index.m3u8":
		h.protocol = ProtocolHLS
	case "index.mpd":
		h.protocol = ProtocolDASH
	case "manifest.f4m":
		h.protocol = ProtocolHDS
	case "Manifest":
		h.protocol = ProtocolSmooth
	default:
		return false
	}
	h.channel = s[1]
	return true
}

func mistRange(in *input, h *hit) bool {
	if !mistManifest(in, h) {
		stem, ext := in.stem, in.ext
		if in.slash >= 0 || stem == "" || !oneOf(ext, "ts", "mp4", "fmp4", "mkv", "webm", "flv") {
			return false
		}
		h.channel = stem
		h.file(ext)
	}
	h.start = h.query(in, unitMist, paramStartunix)
	h.end = h.query(in, unitMist, paramStopunix)
	h.length = h.query(in, unitSeconds, paramDuration)
	return true
}

// mistLive yields to whoever reads a time in the query: an address of this form
// is a common one in front of other servers, too.
func mistLive(in *input, h *hit) bool {
	if in.query.has(timeParams) || !mistManifest(in, h) {
		return false
	}
	h.hint = hintLive
	return true
}
