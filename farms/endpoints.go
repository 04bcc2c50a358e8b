package farms

// Endpoints is an immutable map from endpoints, read for every candidate of
// every decision. An endpoint is a hash already, so its low bits are its place;
// that costs a fifth of what a map does.
type Endpoints[V any] struct {
	slots []endpointSlot[V]
	mask  uint64
}

type endpointSlot[V any] struct {
	key   Endpoint
	taken bool
	value V
}

// NewEndpoints makes a map with the entries of m.
func NewEndpoints[V any](m map[Endpoint]V) *Endpoints[V] {
	size := uint64(4)
	for size < 2*uint64(len(m)) { // at most half full: the next free slot is near
		size *= 2
	}
	e := &Endpoints[V]{slots: make([]endpointSlot[V], size), mask: size - 1}
	for key, value := range m {
		i := uint64(key) & e.mask
		for e.slots[i].taken {
			i = (i + 1) & e.mask
		}
		e.slots[i] = endpointSlot[V]{key, true, value}
	}
	return e
}

// Get returns the value of an endpoint, the zero V when there is none.
func (e *Endpoints[V]) Get(key Endpoint) V {
	for i := uint64(key) & e.mask; ; i = (i + 1) & e.mask {
		s := &e.slots[i]
		if s.key == key && s.taken || !s.taken {
			return s.value
		}
	}
}
