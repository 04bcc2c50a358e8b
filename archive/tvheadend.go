package archive

import "strings"

// TVHeadend. A recording is one file.
//
//	tvh-live       [play/]stream/{channel|channelid|channelnumber|channelname|service|mux}/<channel>
//	tvh-recording  [play/]dvrfile/<8 to 32 hex>

func tvhLive(in *input, h *hit) bool {
	var s [3]string
	if segments(strings.TrimPrefix(in.path, "play/"), s[:]) != 3 || s[0] != "stream" ||
		!oneOf(s[1], "channel", "channelid", "channelnumber", "channelname", "service", "mux") {
		return false
	}
	h.channel, h.protocol, h.hint = s[2], ProtocolMPEGTS, hintLive
	return true
}

func tvhRecording(in *input, h *hit) bool {
	file, ok := strings.CutPrefix(strings.TrimPrefix(in.path, "play/"), "dvrfile/")
	if !ok || len(file) < 8 || len(file) > 32 || !allOf(file, isHex) {
		return false
	}
	h.channel, h.protocol, h.hint = file, ProtocolFile, hintVoD
	return true
}
