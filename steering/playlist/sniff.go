package playlist

import "bytes"

// Format is what a body turned out to be.
type Format uint8

// The formats a judge can tell apart. FormatUnknown is everything else: HTML, JSON, "FULL", nothing at all.
const (
	FormatUnknown Format = iota
	HLSMultivariant
	HLSMedia
	DASH
	SmoothStreaming
	MPEGTS
)

// String names the format as a message to an operator does.
func (f Format) String() string {
	switch f {
	case HLSMultivariant:
		return "HLS multivariant playlist"
	case HLSMedia:
		return "HLS media playlist"
	case DASH:
		return "DASH MPD"
	case SmoothStreaming:
		return "Smooth Streaming manifest"
	case MPEGTS:
		return "MPEG transport stream"
	default:
		return "unknown format"
	}
}

// maxSniffXML bounds how far into an XML document its root element is looked for; licence comments stand before it.
const maxSniffXML = 64 << 10

// Sniff says by content what a body is, never by its Content-Type, which servers get wrong more often than not. A BOM
// and leading blank lines are passed over. The parser for the format may still refuse the body.
func Sniff(body []byte) Format {
	start, _ := stripBOM(body)
	start = bytes.TrimLeft(start, " \t\r\n")
	switch {
	case isHeader(start):
		return sniffHLS(start)
	case len(start) > 0 && start[0] == '<', utf16Order(body) != nil:
		return sniffXML(body[:min(len(body), maxSniffXML)])
	case IsTS(body):
		return MPEGTS
	default:
		return FormatUnknown
	}
}

// sniffHLS reads on until a tag that only a multivariant playlist has; an encoder may put any number of others first.
func sniffHLS(body []byte) Format {
	lines := newLineScanner(body)
	for {
		line, ok, err := lines.next()
		if !ok || err != nil {
			return HLSMedia
		}
		if name, _ := splitTag(line); isMultivariantTag(name) {
			return HLSMultivariant
		}
	}
}

func sniffXML(body []byte) Format {
	root, err := newXMLReader(body).root()
	if err != nil {
		return FormatUnknown
	}
	switch root.Name.Local {
	case rootMPD:
		return DASH
	case rootSmooth:
		return SmoothStreaming
	default:
		return FormatUnknown
	}
}

// stripBOM takes off a UTF-8 byte order mark.
func stripBOM(body []byte) (rest []byte, had bool) {
	return bytes.CutPrefix(body, []byte("\xef\xbb\xbf"))
}
