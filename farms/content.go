package farms

// Protocol is the streaming protocol a viewer's URL asks for.
type Protocol uint8

// The protocols. Their strings are an interface: append, never rename.
const (
	ProtocolOther  Protocol = iota // a file that none of the others names
	ProtocolHLS                    // HLS, LL-HLS included
	ProtocolDASH                   // MPEG-DASH
	ProtocolSmooth                 // Microsoft SmoothStreaming
	ProtocolMPEGTS                 // one MPEG transport stream over HTTP
	ProtocolMP4                    // one MP4 file, progressive
	ProtocolFile                   // a recording in one file of another sort
	ProtocolHDS                    // Adobe HTTP Dynamic Streaming
)

var protocolNames = [...]string{"other", "hls", "dash", "mss", "mpegts", "mp4", "file", "hds"}

// String returns the protocol's name as `explain` and the decision log print it.
func (p Protocol) String() string { return nameOf(protocolNames[:], uint8(p)) }

// Kind says what sort of content is meant.
type Kind uint8

// The kinds. A generic manifest URL is asked for as KindLive; the playlist that
// comes back may then turn out to be KindVoD (see [Fact.Kind]).
const (
	KindLive      Kind = iota // plays on as time goes
	KindVoD                   // has a fixed beginning and end
	KindChild                 // a segment or media playlist that belongs to a manifest: never asked for
	KindTimeshift             // begins in the past and plays on
	KindArchive               // a closed window, recorded to its end
	KindEvent                 // a window whose end has not come, or is now
	KindWindow                // the last N seconds, up to live
)

var kindNames = [...]string{"live", "vod", "child", "timeshift", "archive", "event", "window"}

// Windowed tells whether the kind asks for recorded time.
func (k Kind) Windowed() bool { return k >= KindTimeshift }

// String returns the kind's name as `explain` and the decision log print it.
func (k Kind) String() string { return nameOf(kindNames[:], uint8(k)) }

// Content is what a viewer asks for. It is comparable and, with an endpoint,
// the key of a fact.
type Content struct {
	Channel  string   // content id, percent-decoded once
	Path     string   // manifest path after uri_path, with its leading slash: as the viewer wrote it, or of the grid's window
	Query    string   // the raw query that says the window, without "?"; no other viewer query
	Protocol Protocol // by the manifest's name
	Kind     Kind     // what the URL alone says

	Stream    string // the server's own name for the channel, as a dialect reads it; "" is Channel
	Container string // packaging the URL insists on, "" any
	Slot      Range  // of a window: the part of the grid that is asked for
}

func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "invalid"
}
