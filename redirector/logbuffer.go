package redirector

import (
	"io"
	"sync"
	"time"
)

// The log is flushed every logFlushEvery or when logFlushAt bytes are there;
// logBound is what may wait for a writer that blocks.
const (
	logFlushEvery = 20 * time.Millisecond
	logFlushAt    = 64 << 10
	logBound      = 4 << 20
	logCloseGrace = 2 * time.Second // for a sink that blocks while we end
)

// LogBuffer collects log lines and writes them from a goroutine of its own, so
// that a slow sink never holds a viewer up. What finds it full is lost and
// counted.
type LogBuffer struct {
	sink io.Writer
	lost func(lines int)
	wake chan struct{}
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	pending []byte
	spare   []byte
}

// NewLogBuffer makes a buffer before sink; lost is called with the number of
// lines that were lost, at once, from Write. Close must be called.
func NewLogBuffer(sink io.Writer, lost func(lines int)) *LogBuffer {
	b := &LogBuffer{
		sink: sink, lost: lost,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go b.loop()
	return b
}

// Write takes one whole line. It never blocks on the sink and never fails.
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	if len(b.pending)+len(line) > logBound {
		b.mu.Unlock()
		b.lost(1)
		return len(line), nil
	}
	b.pending = append(b.pending, line...)
	full := len(b.pending) >= logFlushAt
	b.mu.Unlock()
	if full {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}

func (b *LogBuffer) loop() {
	defer close(b.done)
	tick := time.NewTicker(logFlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-b.wake:
		case <-b.quit:
			b.flush()
			return
		}
		b.flush()
	}
}

func (b *LogBuffer) flush() {
	b.mu.Lock()
	out := b.pending
	b.pending, b.spare = b.spare[:0], nil
	b.mu.Unlock()
	if len(out) > 0 {
		_, _ = b.sink.Write(out) // a log that cannot be written has nobody to tell
	}
	if cap(out) <= 4*logFlushAt { // a burst's memory is given back
		b.mu.Lock()
		b.spare = out[:0]
		b.mu.Unlock()
	}
}

// Close writes what is left, as long as the sink takes it. Lines written after it
// are lost.
func (b *LogBuffer) Close() {
	close(b.quit)
	grace := time.NewTimer(logCloseGrace)
	defer grace.Stop()
	select {
	case <-b.done:
	case <-grace.C:
	}
}
