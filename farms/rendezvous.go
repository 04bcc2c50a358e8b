package farms

import "github.com/cespare/xxhash/v2"

// hashChannel hashes a content id for rendezvous ranking: fixed, seedless.
func hashChannel(channel string) uint64 { return xxhash.Sum64String(channel) }

// mix combines a key's hash with a server's id into 64 evenly spread bits
// (two rounds of the MurmurHash3 finalizer).
func mix(key uint64, id ServerID) uint64 {
	x := key ^ (uint64(id) * 0x9e3779b97f4a7c15)
	for range 2 {
		x ^= x >> 33
		x *= 0xff51afd7ed558ccd
		x ^= x >> 33
		x *= 0xc4ceb9fe1a85ec53
	}
	return x ^ x>>33
}

// score is a server's weighted rendezvous score for one key: an exponential
// variable of rate weight, as the fraction cost/weight. The smallest wins, so
// that each server wins in proportion to its weight, and taking one away moves
// only the keys it had.
type score struct {
	cost   uint64 // -log2 of the hash, below 2^39
	weight uint64 // in 1/WeightScale, at least 1, at most 10^7 < 2^24
	id     ServerID
}

func scoreOf(key uint64, m *Member) score {
	return score{cost: negLog2(mix(key, m.Server.ID)), weight: uint64(max(m.Weight, 1)), id: m.Server.ID}
}

// before tells whether a ranks before b: a.cost/a.weight < b.cost/b.weight,
// compared without division (both products are below 2^63). Ties go to the
// smaller id, so that the order of a file decides nothing.
func (a score) before(b score) bool {
	l, r := a.cost*b.weight, b.cost*a.weight
	if l != r {
		return l < r
	}
	return a.id < b.id
}
