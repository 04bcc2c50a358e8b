package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// heapRoom is what the heap may grow to before garbage is collected, while what
// lives in it is small: seldom collections cost less, and a small service has
// the room. A large one gets Go's default, twice what lives.
const heapRoom = 160 << 20

// The bounds of the percentage that follows from it.
const (
	leastGC = 100
	mostGC  = 400
)

// gcEvery is how often the percentage follows the size of the live heap.
const gcEvery = 10 * time.Second

// gcPercent returns GOGC for a live heap of so many bytes.
func gcPercent(live uint64) int {
	if live == 0 {
		return mostGC
	}
	if live >= heapRoom {
		return leastGC
	}
	return int(min(max((heapRoom-live)*100/live, leastGC), mostGC))
}

// gcLoop keeps the garbage collector's percentage at what fits the live heap,
// unless the operator has set GOGC.
func gcLoop(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 {
			debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
		}
		if !sleep(ctx, gcEvery) {
			return
		}
	}
}
