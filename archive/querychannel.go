package archive

// Players and gateways that name the channel in the query. Times go by their
// looks, UTC. A folder's index.m3u8 is that folder's channel even when a viewer's
// id rides along.
//
//	query-channel  [<folders>/]{live|catchup|timeshift|archive|index|play}.{m3u8|mpd|ts}?{channel|ch|stream_id|id}=<channel>
//	               [&{start|begin|utc}=<from>[&{end|stop}=<to>|&duration=<seconds>]]
func queryChannel(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	if !oneOf(ext, "m3u8", "mpd", "ts") || !oneOf(stem, "live", "catchup", "timeshift", "archive", "index", "play") {
		return false
	}
	for i := range in.dir { // no empty folder
		if in.dir[i] == '/' && (i == 0 || in.dir[i-1] == '/') {
			return false
		}
	}
	if in.slash == 0 || in.slash > 0 && in.dir[len(in.dir)-1] == '/' {
		return false
	}
	p := in.query.first(paramChannel, paramCh, paramStreamID, paramID)
	if p == paramID && stem == "index" && in.dir != "" {
		return false
	}
	channel := in.query.value(p)
	if channel == "" {
		return false
	}
	h.channel, h.protocol, h.zone = channel, protocolOf(ext), utc
	h.keep(paramNames[p], channel)
	h.start = h.query(in, unitAuto, paramStart, paramBegin, paramUtc)
	h.end = h.query(in, unitAuto, paramEnd, paramStop)
	if h.start.text != "" {
		h.length = h.query(in, unitSeconds, paramDuration)
	}
	return true
}
