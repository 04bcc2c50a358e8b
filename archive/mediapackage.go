package archive

import (
	"cmp"
	"strings"
)

// AWS Elemental MediaPackage. Times are Unix seconds or ISO 8601, UTC. A window
// without an end plays on.
//
//	mediapackage-v1  out/v1/<32 hex>/{<name>.m3u8|<name>.mpd|<name>.ism/Manifest}?start=<from>[&end=<to>]
//	mediapackage-v2  out/v1/<group>/<channel>/<endpoint>/<name>.{m3u8|mpd}?aws.manifestsettings=SETTINGS
//
//	SETTINGS = start:<from>[;end:<to>] | time_delay:<seconds ago>    among others, any order, any case

const mediaPackageFolder = "out/v1/"

func mediaPackage1(in *input, h *hit) bool {
	const digits = 32
	if !strings.HasPrefix(in.path, mediaPackageFolder) || len(in.path) < len(mediaPackageFolder)+digits+1 {
		return false
	}
	channel, rest := in.path[:len(mediaPackageFolder)+digits], in.path[len(mediaPackageFolder)+digits:]
	if !allOf(channel[len(mediaPackageFolder):], isHex) || rest[0] != '/' {
		return false
	}
	folder, name, deeper := strings.Cut(rest[1:], "/")
	switch stem, ext := cutExt(folder); {
	case stem == "":
		return false
	case deeper && ext == "ism" && strings.EqualFold(name, "manifest"):
		h.protocol = ProtocolSmooth
	case !deeper && oneOf(ext, "m3u8", "mpd"):
		h.protocol = protocolOf(ext)
	default:
		return false
	}
	h.channel, h.zone = channel, utc
	h.start = h.query(in, unitAuto, paramStart)
	h.end = h.query(in, unitAuto, paramEnd)
	return true
}

func mediaPackage2(in *input, h *hit) bool {
	stem, ext := in.stem, in.ext
	if !strings.HasPrefix(in.path, mediaPackageFolder) || len(in.dir) <= len(mediaPackageFolder) ||
		stem == "" || !oneOf(ext, "m3u8", "mpd") {
		return false
	}
	h.channel, h.protocol, h.zone = in.dir, protocolOf(ext), utc

	// The parameter holds more settings than those of the window. A probe sends
	// these alone, in one order.
	var start, end, delay string
	for settings := in.query.value(paramAWS); settings != ""; {
		var setting string
		setting, settings, _ = strings.Cut(settings, ";")
		name, value, _ := strings.Cut(setting, ":")
		switch {
		case strings.EqualFold(name, "start"):
			start = cmp.Or(start, value)
		case strings.EqualFold(name, "end"):
			end = cmp.Or(end, value)
		case strings.EqualFold(name, "time_delay"):
			delay = cmp.Or(delay, value)
		}
	}
	var asked []byte
	take := func(name, text string, u unit) (r reading) {
		if text == "" {
			return r
		}
		if len(asked) > 0 {
			asked = append(asked, ';')
		}
		asked = append(append(asked, name...), ':')
		r = reading{text: text, unit: u, in: 1, from: len(asked)}
		asked = append(asked, text...)
		return r
	}
	h.start = take("start", start, unitAuto)
	h.end = take("end", end, unitAuto)
	if start == "" && end == "" {
		h.offset = take("time_delay", delay, unitSeconds)
	}
	if len(asked) > 0 {
		h.keep(paramNames[paramAWS], string(asked))
	}
	return true
}
