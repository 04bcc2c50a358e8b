package redirector

// heavy counts what comes most often in a stream, in bounded memory: the
// space-saving sketch of Metwally, Agrawal and El Abbadi (2005). Whatever makes
// up more than 1/n of the stream is among its n entries; each knows by how much
// it may be counted too high.
type heavy[K comparable, V any] struct {
	entries []heavyEntry[K, V]
	most    int
	total   int // all that was counted
}

type heavyEntry[K comparable, V any] struct {
	key   K
	count int
	over  int // of count: inherited from the entry that made room
	value V   // of this key; of a new one what the entry that made room left, to be used again
}

func newHeavy[K comparable, V any](most int) heavy[K, V] {
	return heavy[K, V]{entries: make([]heavyEntry[K, V], 0, most), most: most}
}

// add counts a key once and returns its entry, valid until the next call, and
// whether it was not there before.
func (h *heavy[K, V]) add(key K) (entry *heavyEntry[K, V], fresh bool) {
	h.total++
	least := 0
	for i := range h.entries {
		e := &h.entries[i]
		if e.key == key {
			e.count++
			return e, false
		}
		if e.count < h.entries[least].count {
			least = i
		}
	}
	if len(h.entries) < h.most {
		h.entries = append(h.entries, heavyEntry[K, V]{key: key, count: 1})
		return &h.entries[len(h.entries)-1], true
	}
	e := &h.entries[least]
	*e = heavyEntry[K, V]{key: key, count: e.count + 1, over: e.count, value: e.value}
	return e, true
}

// forget begins anew with the same memory.
func (h *heavy[K, V]) forget() { h.entries, h.total = h.entries[:0], 0 }

// sure is how often the key came at least.
func (e *heavyEntry[K, V]) sure() int { return e.count - e.over }

// top returns the entry that surely came most often, nil when there is none.
func (h *heavy[K, V]) top() *heavyEntry[K, V] {
	var best *heavyEntry[K, V]
	for i := range h.entries {
		if e := &h.entries[i]; best == nil || e.sure() > best.sure() {
			best = e
		}
	}
	return best
}
