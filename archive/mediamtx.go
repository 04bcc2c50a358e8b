package archive

// MediaMTX's playback server. It answers one MP4.
//
//	mediamtx-get  get?path=<channel>&start=<RFC 3339>&duration={<seconds>|<as 1m30s>}
func mediaMTXGet(in *input, h *hit) bool {
	if in.path != "get" {
		return false
	}
	channel := in.query.value(paramPath)
	if channel == "" {
		return false
	}
	h.channel, h.protocol = channel, ProtocolMP4
	h.keep(paramNames[paramPath], channel)
	h.start = h.query(in, unitISO, paramStart)
	h.length = h.query(in, unitGoDuration, paramDuration)
	return true
}
