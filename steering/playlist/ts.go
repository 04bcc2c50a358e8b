package playlist

// MPEG-TS (ISO/IEC 13818-1 §2.4.3): packets of 188 bytes, each beginning with a sync byte.
const (
	tsPacket     = 188
	tsSync       = 0x47
	tsMinPackets = 5
)

// IsTS says whether head is the beginning of an MPEG transport stream: at least five whole packets, every one of them
// with its sync byte. The first ten packets (bytes 0–1879) are enough to ask for. Servers that join a viewer to a running
// multicast begin inside a packet, and players find the next one, so the first packet may start anywhere in the first 188
// bytes.
func IsTS(head []byte) bool {
	for start := range min(tsPacket, len(head)) {
		if len(head)-start < tsMinPackets*tsPacket {
			return false
		}
		at := start
		for at < len(head) && head[at] == tsSync {
			at += tsPacket
		}
		if at >= len(head) {
			return true
		}
	}
	return false
}
