package redirector

import (
	"bytes"
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

// newline ends a line. Nobody writes to it.
var newline = []byte{'\n'}

// LogBuffer collects log lines and writes them from a goroutine of its own, so
// that a slow sink never holds a viewer up. What finds it full, and what the sink
// does not take, is lost and counted.
type LogBuffer struct {
	sink io.Writer
	lost func(lines int)
	wake chan struct{}
	quit chan struct{}
	done chan struct{}

	torn bool // the sink took the beginning of a line and not its end

	mu      sync.Mutex
	pending []byte
	spare   []byte
}

// NewLogBuffer makes a buffer before sink; lost is called with the number of
// lines that were lost, at once, from Write or from the buffer's own goroutine.
// Close must be called.
func NewLogBuffer(sink io.Writer, lost func(lines int)) *LogBuffer {
	b := &LogBuffer{
		sink: sink, lost: lost,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go b.loop()
	return b
}

// Write takes whole lines, one as a rule. It never blocks on the sink and never
// fails.
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	if len(b.pending)+len(line) > logBound {
		b.mu.Unlock()
		b.lost(bytes.Count(line, newline))
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
		b.drain(out)
	}
	if cap(out) <= 4*logFlushAt { // a burst's memory is given back
		b.mu.Lock()
		b.spare = out[:0]
		b.mu.Unlock()
	}
}

// drain writes lines to the sink. Those that it does not take are lost: it may be
// a disk that is full, and they would be old when there is room again.
func (b *LogBuffer) drain(lines []byte) {
	if b.torn {
		if _, err := b.sink.Write(newline); err != nil {
			b.lost(bytes.Count(lines, newline))
			return
		}
		b.torn = false
	}
	n, err := b.sink.Write(lines)
	if err != nil {
		n = min(max(n, 0), len(lines))
		b.torn = n > 0 && lines[n-1] != newline[0]
		b.lost(bytes.Count(lines[n:], newline))
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
