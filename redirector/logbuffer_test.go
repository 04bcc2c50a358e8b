package redirector

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sink notes what is written to it and blocks while it is held.
type sink struct {
	hold chan struct{} // nil: never

	mu     sync.Mutex
	text   bytes.Buffer
	writes int
}

func (s *sink) Write(b []byte) (int, error) {
	if s.hold != nil {
		<-s.hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	return s.text.Write(b)
}

func (s *sink) written() (text string, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String(), s.writes
}

// counter counts lost lines.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
}

func (c *counter) get() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func write(t testing.TB, b *LogBuffer, line string) {
	t.Helper()
	if n, err := b.Write([]byte(line)); n != len(line) || err != nil {
		t.Fatalf("wrote %d of %d: %v", n, len(line), err)
	}
}

func TestLogIsFlushedByTime(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		var out sink
		var lost counter
		b := NewLogBuffer(&out, lost.add)
		defer b.Close()
		<-time.After(time.Millisecond)
		write(t, b, "one\n")
		write(t, b, "two\n")
		<-time.After(logFlushEvery - 2*time.Millisecond)
		synctest.Wait()
		if text, _ := out.written(); text != "" {
			t.Errorf("%q was written before %v were over", text, logFlushEvery)
		}
		<-time.After(2 * time.Millisecond)
		synctest.Wait()
		if text, writes := out.written(); text != "one\ntwo\n" || writes != 1 {
			t.Errorf("%q in %d writes, want both lines in one", text, writes)
		}
		<-time.After(time.Second)
		if _, writes := out.written(); writes != 1 {
			t.Errorf("%d writes, nothing was there to write", writes)
		}
	})
}

func TestLogIsFlushedBySize(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		var out sink
		b := NewLogBuffer(&out, func(int) {})
		defer b.Close()
		write(t, b, strings.Repeat("x", logFlushAt-1))
		synctest.Wait()
		if text, _ := out.written(); text != "" {
			t.Errorf("%d bytes were written before %d were there", len(text), logFlushAt)
		}
		write(t, b, "\n")
		synctest.Wait()
		if text, _ := out.written(); len(text) != logFlushAt {
			t.Errorf("%d bytes were written, want %d", len(text), logFlushAt)
		}
	})
}

// TestBlockedSinkHoldsNobodyUp: a pipe that nobody reads costs lines, which are
// counted while it is blocked, and no viewer's time.
func TestBlockedSinkHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		out := sink{hold: make(chan struct{})}
		var lost counter
		b := NewLogBuffer(&out, lost.add)
		write(t, b, "first\n")
		<-time.After(2 * logFlushEvery) // the sink has it and blocks
		line := strings.Repeat("x", 1023) + "\n"
		before := time.Now()
		for range logBound/len(line) + 100 {
			write(t, b, line)
		}
		if took := time.Since(before); took != 0 {
			t.Errorf("writing took %v", took)
		}
		synctest.Wait()
		if n := lost.get(); n != 100 {
			t.Errorf("%d lines counted as lost while the sink blocks, want 100", n)
		}
		close(out.hold)
		b.Close()
		text, _ := out.written()
		if n := strings.Count(text, "\n"); n != 1+logBound/len(line) {
			t.Errorf("%d lines came out, want %d", n, 1+logBound/len(line))
		}
		if n := lost.get(); n != 100 {
			t.Errorf("%d lines counted as lost in the end, want 100", n)
		}
	})
}

// failing is a sink with room for some bytes.
type failing struct {
	sink
	room int
}

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	f.mu.Lock()
	n := min(len(b), f.room)
	f.room -= n
	f.mu.Unlock()
	_, _ = f.sink.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

// TestFailingSinkIsCounted: lines that a full disk does not take are counted, and
// the line it tore is ended, so that the next is whole.
func TestFailingSinkIsCounted(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		out := failing{room: 6}
		var lost counter
		b := NewLogBuffer(&out, lost.add)
		defer b.Close()
		flush := func(lines ...string) {
			for _, line := range lines {
				write(t, b, line)
			}
			<-time.After(2 * logFlushEvery)
			synctest.Wait()
		}
		flush("one\n", "two\n", "three\n")
		if n := lost.get(); n != 2 {
			t.Errorf("%d lines are lost, want 2", n)
		}
		flush("four\n")
		if n := lost.get(); n != 3 {
			t.Errorf("%d lines are lost, want 3", n)
		}
		out.mu.Lock()
		out.room = 100
		out.mu.Unlock()
		flush("five\n")
		if text, _ := out.written(); text != "one\ntw\nfive\n" {
			t.Errorf("%q was written, want the torn line ended and the next one whole", text)
		}
		if n := lost.get(); n != 3 {
			t.Errorf("%d lines are lost in the end, want 3", n)
		}
	})
}

func TestLogCloseWritesTheRest(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		var out sink
		b := NewLogBuffer(&out, func(int) {})
		write(t, b, "last\n")
		b.Close()
		if text, _ := out.written(); text != "last\n" {
			t.Errorf("%q was written, want the line", text)
		}
		write(t, b, "after\n") // harmless
	})
}

// TestLogCloseEnds: a sink that blocks for ever does not keep the process from
// ending.
func TestLogCloseEnds(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		out := sink{hold: make(chan struct{})}
		b := NewLogBuffer(&out, func(int) {})
		write(t, b, "last\n")
		before := time.Now()
		b.Close()
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("closing took %v", took)
		}
		close(out.hold)
	})
}

// TestLogIsConcurrent: lines from many requests stay whole. Run with -race.
func TestLogIsConcurrent(t *testing.T) {
	t.Parallel()
	var out sink
	b := NewLogBuffer(&out, func(n int) { t.Errorf("%d lines lost", n) })
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 500 {
				write(t, b, fmt.Sprintf("%d/%d %s\n", w, i, strings.Repeat("x", 200)))
			}
		})
	}
	all.Wait()
	b.Close()
	text, _ := out.written()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 4000 {
		t.Fatalf("%d lines, want 4000", len(lines))
	}
	next := [8]int{}
	for _, line := range lines {
		var w, i int
		var rest string
		if _, err := fmt.Sscanf(line, "%d/%d %s", &w, &i, &rest); err != nil || len(rest) != 200 || next[w] != i {
			t.Fatalf("line %q is torn or out of order: %v", line, err)
		}
		next[w]++
	}
}
