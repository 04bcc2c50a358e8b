package redirector

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// loadHalfLife is the time in which half of the sessions a server was given are
// taken to have gone.
const loadHalfLife = time.Minute

// loadTick is the resolution of a load's time stamp.
const loadTick = 16 * time.Millisecond

// load is one server's decaying count of sessions, as one word: the count as a
// float32 and the tick when it was exact.
type load struct{ word atomic.Uint64 }

func (l *load) add(tick uint32) {
	for {
		old := l.word.Load()
		next := uint64(math.Float32bits(float32(decayed(old, tick)+1)))<<32 | uint64(tick)
		if l.word.CompareAndSwap(old, next) {
			return
		}
	}
}

func decayed(word uint64, tick uint32) float64 {
	n := float64(math.Float32frombits(uint32(word >> 32)))
	if n == 0 {
		return 0
	}
	ticks := int32(tick - uint32(word))
	if ticks <= 0 {
		return n
	}
	return n * math.Exp2(-float64(ticks)*float64(loadTick)/float64(loadHalfLife))
}

// loads implements farms.Loads for one table at one time.
type loads struct {
	servers map[farms.ServerID]*load
	tick    uint32
}

// Load implements farms.Loads.
func (l *loads) Load(id farms.ServerID) float64 {
	s := l.servers[id]
	if s == nil {
		return 0
	}
	return decayed(s.word.Load(), l.tick)
}
