package redirector

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// sameSet returns n keys that compete for the same places.
func sameSet(m *memory, n int) []uint64 {
	var out []uint64
	for key := uint64(1); len(out) < n; key += 2 {
		if &m.set(key)[0] == &m.set(1)[0] {
			out = append(out, key)
		}
	}
	return out
}

func TestMemoryKeepsAndReplaces(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := newMemory(8, start)
	if _, _, _, ok := m.get(6); ok {
		t.Error("a new memory knows something")
	}
	m.put(6, 10, 20, start)
	m.put(6, 11, 21, start.Add(time.Hour))
	a, b, at, ok := m.get(6)
	if a != 11 || b != 21 || !at.Equal(start.Add(time.Hour)) || !ok {
		t.Errorf("got %d %d %v %v", a, b, at.Sub(start), ok)
	}
	if _, _, _, ok := m.get(8); ok {
		t.Error("a key that was never put is known")
	}
	m.put(0, 1, 2, start)
	if a, _, _, ok := m.get(0); !ok || a != 1 {
		t.Error("key 0 is a key like another")
	}
}

func TestMemoryForgetsTheLeastRecentlyUsedOfASet(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := newMemory(8, start)
	keys := sameSet(m, ways+2)
	for i, key := range keys[:ways] {
		m.put(key, key, 0, start.Add(time.Duration(i)*time.Second))
	}
	m.put(keys[0], 7, 0, start.Add(time.Minute)) // used again: now keys[1] is the oldest
	m.put(keys[ways], keys[ways], 0, start.Add(2*time.Minute))
	m.put(keys[ways+1], keys[ways+1], 0, start.Add(3*time.Minute))
	for i, key := range keys {
		a, _, _, ok := m.get(key)
		if want := i != 1 && i != 2; ok != want {
			t.Errorf("key %d is known: %v, want %v", i, ok, want)
		}
		if ok && i > 0 && a != key {
			t.Errorf("key %d has the word %d of another", i, a)
		}
	}
}

// TestMemoryIsBounded: whatever comes in, its size stays, and what came last is
// there.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := newMemory(10, start)
	n := len(m.slots)
	for i := range uint64(100 * 1024) {
		key := rand.Uint64()
		m.put(key, key, i, start.Add(time.Duration(i)))
		if a, b, _, ok := m.get(key); !ok || a != key || b != i {
			t.Fatalf("key %d was forgotten at once", i)
		}
	}
	if len(m.slots) != n || n != 1024 {
		t.Errorf("%d slots, want 1024", len(m.slots))
	}
}

// TestMemoryUsesAllOfItsPlaces: keys that differ in few bits do not crowd in a
// few sets.
func TestMemoryUsesAllOfItsPlaces(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, step := range []uint64{2, 1 << 10, 1 << 20} {
		m := newMemory(10, start)
		for i := range uint64(1024) {
			m.put(i*step, i, 0, start.Add(time.Duration(i)))
		}
		kept := 0
		for i := range uint64(1024) {
			if _, _, _, ok := m.get(i * step); ok {
				kept++
			}
		}
		if kept < 600 {
			t.Errorf("step %d: %d of 1024 keys kept", step, kept)
		}
	}
}

// TestMemoryIsConcurrent: readers and writers of the same few sets; what a
// reader sees belongs to a key, mostly his. Run with -race.
func TestMemoryIsConcurrent(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := newMemory(4, start)
	var all sync.WaitGroup
	for worker := range uint64(8) {
		all.Go(func() {
			for i := range uint64(20_000) {
				key := (i*7 + worker) % 64 * 2
				m.put(key, key|1, key|1, start.Add(time.Duration(i)))
				if a, b, at, ok := m.get(key); ok && (a%2 == 0 || a > 128 || b%2 == 0 || at.Before(start)) {
					t.Errorf("key %d: words %d %d at %v belong to nobody", key, a, b, at)
					return
				}
			}
		})
	}
	all.Wait()
}
