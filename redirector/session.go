package redirector

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// identityOf hashes what identifies a viewer: the first of the configured query
// parameters that is present, else the address (of IPv6 the /64, because a
// device changes the rest as it likes) and the User-Agent. The hash is fixed,
// so that every instance and every restart agrees.
func identityOf(keys []string, query string, addr netip.Addr, userAgent string) uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, key := range keys {
		if v, ok := queryValue(query, key); ok {
			_, _ = d.WriteString("key\x00")
			_, _ = d.WriteString(v)
			return d.Sum64()
		}
	}
	b := addr.As16()
	n := 16
	if addr.Is6() {
		n = 8
	}
	_, _ = d.WriteString("addr\x00")
	_, _ = d.Write(b[:n])
	_, _ = d.WriteString(userAgent)
	return d.Sum64()
}

// sessionOf joins a viewer's identity and the channel.
func sessionOf(identity uint64, channel string) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(identity)
	_, _ = d.WriteString(channel)
	return d.Sum64()
}

// hashPair joins two hashes.
func hashPair(a, b uint64) uint64 {
	var buf [16]byte
	binary.LittleEndian.PutUint64(buf[:8], a)
	binary.LittleEndian.PutUint64(buf[8:], b)
	return xxhash.Sum64(buf[:])
}

// queryValue returns the raw value of the first parameter of this exact name.
// The query is split by hand: the standard library drops what has a semicolon.
func queryValue(query, name string) (string, bool) {
	for len(query) > 0 {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if k, v, _ := strings.Cut(pair, "="); k == name && v != "" {
			return v, true
		}
	}
	return "", false
}
