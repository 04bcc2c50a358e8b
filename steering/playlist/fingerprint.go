package playlist

// fingerprint is FNV-1a over 64 bits: fixed and seedless, because signatures are compared between machines and across
// restarts. It needs no strength: a server that wants to look alive can simply be alive.
type fingerprint uint64

const (
	fingerprintStart fingerprint = 0xcbf29ce484222325
	fingerprintPrime fingerprint = 0x100000001b3
)

// number adds v in little-endian order.
func (f fingerprint) number(v uint64) fingerprint {
	for range 8 {
		f = (f ^ fingerprint(v&0xff)) * fingerprintPrime
		v >>= 8
	}
	return f
}

// text adds s behind its length, so that neighbouring texts cannot run into each other.
func (f fingerprint) text(s []byte) fingerprint {
	f = f.number(uint64(len(s)))
	for _, b := range s {
		f = (f ^ fingerprint(b)) * fingerprintPrime
	}
	return f
}
