package archive

// Kind says what sort of content a URL asks for.
type Kind uint8

// The kinds. Their strings are an interface: append, never rename.
const (
	KindLive      Kind = iota // plays on as time goes
	KindVoD                   // has a fixed beginning and end
	KindTimeshift             // begins in the past and plays on
	KindArchive               // a closed window, recorded to its end
	KindEvent                 // a window whose end has not come, or is now
	KindWindow                // the last N seconds, up to live
)

// String returns the kind's name.
func (k Kind) String() string {
	names := [...]string{"live", "vod", "timeshift", "archive", "event", "window"}
	if int(k) < len(names) {
		return names[k]
	}
	return "invalid"
}

// Protocol is the streaming protocol a URL asks for.
type Protocol uint8

// The protocols. Their strings are an interface: append, never rename.
const (
	ProtocolFile   Protocol = iota // a file that none of the others names
	ProtocolHLS                    // HLS, LL-HLS included
	ProtocolDASH                   // MPEG-DASH
	ProtocolSmooth                 // Microsoft SmoothStreaming
	ProtocolMPEGTS                 // one MPEG transport stream over HTTP
	ProtocolMP4                    // one MP4 file, progressive
	ProtocolHDS                    // Adobe HTTP Dynamic Streaming
)

// String returns the protocol's name.
func (p Protocol) String() string {
	names := [...]string{"file", "hls", "dash", "mss", "mpegts", "mp4", "hds"}
	if int(p) < len(names) {
		return names[p]
	}
	return "invalid"
}

// protocolOf returns the protocol that a file name extension means. No extension
// is a transport stream: every vendor whose stream URLs may go without one
// serves that.
func protocolOf(ext string) Protocol {
	switch ext {
	case "m3u8":
		return ProtocolHLS
	case "mpd":
		return ProtocolDASH
	case "ts", "":
		return ProtocolMPEGTS
	case "mp4", "fmp4", "m4v", "mov":
		return ProtocolMP4
	case "f4m":
		return ProtocolHDS
	default:
		return ProtocolFile
	}
}

// Outcome is the sort of a verdict.
type Outcome uint8

// The outcomes.
const (
	NoMatch   Outcome = iota // no dialect reads this URL: the caller looks at its extension
	OK                       // the request is good
	BadWindow                // it asks for a window that cannot be: 400 bad_window
	Future                   // its window begins in the future: 404 archive_future
)

// String returns the outcome's name; for refusals it is the answer's reason.
func (o Outcome) String() string {
	names := [...]string{"no_match", "ok", "bad_window", "archive_future"}
	if int(o) < len(names) {
		return names[o]
	}
	return "invalid"
}
