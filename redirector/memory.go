package redirector

import (
	"sync/atomic"
	"time"
)

// ways is the number of places a key may have; the least recently used of them
// makes room for a new one.
const ways = 4

// memory is a bounded map from a 64-bit hash to two words and the time of the
// last write, without locks. It forgets the least recently used when a set is
// full. Writers may race; then one of them is forgotten or, at worst, a reader
// sees the words of another key, which the caller must be able to bear.
type memory struct {
	slots []slot
	mask  uint64
	start time.Time // times are kept as seconds since
}

type slot struct {
	key atomic.Uint64 // 0: empty
	a   atomic.Uint64
	b   atomic.Uint64
	at  atomic.Int64 // nanoseconds since start, plus 1
}

// newMemory makes a memory for 2^bits keys.
func newMemory(bits int, start time.Time) *memory {
	return &memory{slots: make([]slot, 1<<bits), mask: 1<<bits/ways - 1, start: start}
}

func (m *memory) set(key uint64) []slot {
	i := (key * 0x9e3779b97f4a7c15 >> 32 & m.mask) * ways
	return m.slots[i : i+ways]
}

// get returns what is remembered of key and when it was written.
func (m *memory) get(key uint64) (a, b uint64, at time.Time, ok bool) {
	key |= 1
	set := m.set(key)
	for i := range set {
		s := &set[i]
		if s.key.Load() != key {
			continue
		}
		a, b, n := s.a.Load(), s.b.Load(), s.at.Load()
		if n == 0 || s.key.Load() != key {
			return 0, 0, time.Time{}, false
		}
		return a, b, m.start.Add(time.Duration(n - 1)), true
	}
	return 0, 0, time.Time{}, false
}

// put remembers a and b under key.
func (m *memory) put(key, a, b uint64, now time.Time) {
	key |= 1
	set := m.set(key)
	var s *slot
	for i := range set {
		if set[i].key.Load() == key {
			s = &set[i]
			break
		}
		if s == nil || set[i].at.Load() < s.at.Load() {
			s = &set[i]
		}
	}
	if s.key.Load() != key {
		s.at.Store(0) // readers take it for empty until all words are there
		s.key.Store(key)
	}
	s.a.Store(a)
	s.b.Store(b)
	s.at.Store(int64(now.Sub(m.start)) + 1)
}

// count returns how many keys were written since a time. It reads every slot.
func (m *memory) count(since time.Time) (n int) {
	from := int64(since.Sub(m.start))
	for i := range m.slots {
		if at := m.slots[i].at.Load(); at > 0 && at-1 >= from {
			n++
		}
	}
	return n
}
