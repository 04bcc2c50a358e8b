package archive

import "strings"

// Everybody who puts a start and an end into the query: Akamai (startTime,
// endTime), SwiftFederation (milliseconds), Mediastream (ISO), Huawei (begin,
// end) and more. Times go by their looks, UTC. "from" is also what referrals are
// called: it counts only where it begins like a time.
//
//	generic-start-end  <channel>[/NAME].{m3u8|mpd}?{start|begin|startTime|from|archive_start}=<from>
//	                   [&{end|endTime|to|stop|archive_end}=<to>|&{duration|dur|len}=<seconds>]
//
//	NAME = index | playlist | master | master-archive | manifest | mono | video | chunklist…
func genericStartEnd(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	if !oneOf(ext, "m3u8", "mpd") {
		return false
	}
	channel := in.path[:len(in.path)-len(ext)-1]
	if in.dir != "" && (oneOf(stem, "index", "playlist", "master", "master-archive", "manifest", "mono", "video") ||
		strings.HasPrefix(stem, "chunklist")) {
		channel = in.dir
	}
	p := in.query.first(paramStart, paramBegin, paramStartTime, paramFrom, paramArchiveStart)
	if p == paramFrom {
		if v := in.query.value(p); v != "" && !isDigit(v[0]) {
			p = in.query.first(paramArchiveStart)
		}
	}
	if channel == "" || p == paramNone {
		return false
	}
	h.channel, h.protocol, h.zone = channel, protocolOf(ext), utc
	h.start = h.query(in, unitAuto, p)
	h.end = h.query(in, unitAuto, paramEnd, paramEndTime, paramTo, paramStop, paramArchiveEnd)
	if h.start.text != "" {
		h.length = h.query(in, unitSeconds, paramDuration, paramDur, paramLen)
	}
	return true
}
