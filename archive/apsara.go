package archive

import (
	"strconv"
	"strings"
	"time"
)

// ApsaraVideo Live (Alibaba Cloud). A parameter's name says its unit and, for a
// calendar time, its zone in hours east of UTC.
//
//	apsara-lhs  <application>/<stream>.m3u8?lhs_start=1&lhs_start_KEY=<from>[&{lhs_vodend|lhs_end}_KEY=<to>]
//	            <application>/<stream>.m3u8?lhs_start=1&lhs_offset_KEY=<ago>
//
//	KEY = unix_{s|ms|us|ns}_<zone> | human_s_<zone>      human: YYYYMMDDHHMMSS
func apsara(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	if ext != "m3u8" || stem == "" || in.dir == "" || strings.IndexByte(in.dir, '/') >= 0 {
		return false
	}
	h.channel, h.protocol = in.path[:len(in.path)-len(".m3u8")], ProtocolHLS
	h.keep(paramNames[paramLHS], "1")

	for i := 0; i < len(in.query.raw); {
		name, at, next := paramAt(in.query.raw, i)
		i = next
		if len(name) < len("lhs_") || !strings.EqualFold(name[:len("lhs_")], "lhs_") {
			continue
		}
		name = strings.ToLower(name)
		var to *reading
		switch key, _, _ := strings.Cut(name[len("lhs_"):], "_"); key {
		case "start":
			to = &h.start
		case "end", "vodend":
			to = &h.end
		case "offset":
			to = &h.offset
		}
		u, zone, ok := apsaraKey(name)
		text := valueAt(in.query.raw, at)
		if to == nil || to.text != "" || text == "" || !ok {
			continue
		}
		*to = reading{text: text, unit: u, in: h.keep(name, text)}
		if zone != nil {
			h.zone = zone
		}
	}
	if h.start.text != "" {
		h.offset = reading{}
	}
	return true
}

// apsaraKey reads the unit and the zone out of a parameter's name.
func apsaraKey(name string) (u unit, zone *time.Location, ok bool) {
	parts := strings.Split(name, "_") // lhs, start, unix, s, 0
	if len(parts) != 5 {
		return unitNone, nil, false
	}
	if parts[2] == "human" && parts[3] == "s" {
		hours, err := strconv.Atoi(parts[4])
		if err != nil || hours < -14 || hours > 14 {
			return unitNone, nil, false
		}
		return unitDigits, time.FixedZone("", hours*3600), true
	}
	if parts[2] != "unix" {
		return unitNone, nil, false
	}
	switch parts[3] {
	case "s":
		return unitSeconds, nil, true
	case "ms":
		return unitMillis, nil, true
	case "us":
		return unitMicros, nil, true
	case "ns":
		return unitNanos, nil, true
	}
	return unitNone, nil, false
}

// apsaraLooks reports whether the query has a time of this grammar, read or not.
func apsaraLooks(in *input) bool {
	return in.query.has(setOf(paramLHS)) &&
		(strings.Contains(in.query.raw, "lhs_start_") || strings.Contains(in.query.raw, "lhs_offset_"))
}
