package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pointsman-tv/pointsman/redirector"
)

// lockedBuffer is a sink that several goroutines may use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newTestDecisionLog(t *testing.T) (d *decisionLog, rest *lockedBuffer, lost *atomic.Int64, end func()) {
	t.Helper()
	rest, lost = new(lockedBuffer), new(atomic.Int64)
	count := func(n int) { lost.Add(int64(n)) }
	main := redirector.NewLogBuffer(rest, count)
	d = newDecisionLog(main, count)
	return d, rest, lost, func() {
		d.close()
		main.Close()
	}
}

// TestDecisionsFileIsExchanged: while lines come, the file is moved away and opened
// anew, taken away from the configuration and given back; no line is lost, torn or
// there twice.
func TestDecisionsFileIsExchanged(t *testing.T) {
	t.Parallel()
	const writers, lines, turns = 4, 2000, 20
	d, rest, lost, end := newTestDecisionLog(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "decisions.log")
	if err := d.open(path); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range lines {
				if n, err := fmt.Fprintf(d, "%d/%d\n", w, i); n == 0 || err != nil {
					t.Errorf("writing: %d, %v", n, err)
				}
			}
		})
	}
	for turn := range turns {
		_ = os.Rename(path, fmt.Sprintf("%s.%d", path, turn)) // there is none after a turn without file
		next := path
		if turn%5 == 4 {
			next = ""
		}
		if err := d.open(next); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	end()
	text := rest.String()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("the files are %q, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	seen := map[string]int{}
	for _, line := range strings.Fields(text) {
		seen[line]++
	}
	for w := range writers {
		for i := range lines {
			if line := fmt.Sprintf("%d/%d", w, i); seen[line] != 1 {
				t.Fatalf("line %s is there %d times", line, seen[line])
			}
		}
	}
	if len(seen) != writers*lines || lost.Load() != 0 {
		t.Errorf("%d lines, %d lost; want %d and none", len(seen), lost.Load(), writers*lines)
	}
}

// TestDecisionsFileThatCannotBeOpened: the one before stays.
func TestDecisionsFileThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	d, rest, _, end := newTestDecisionLog(t)
	dir := t.TempDir()
	for _, bad := range []string{dir, filepath.Join(dir, "none", "x")} {
		if err := d.open(bad); err == nil || !strings.HasPrefix(err.Error(), "log.decisions_file: ") {
			t.Errorf("opening %s: %v", bad, err)
		}
	}
	fmt.Fprintln(d, "first")
	path := filepath.Join(dir, "x")
	if err := d.open(path); err != nil {
		t.Fatal(err)
	}
	if err := d.open(dir); err == nil {
		t.Error("a directory was opened")
	}
	fmt.Fprintln(d, "second")
	end()
	if b, err := os.ReadFile(path); err != nil || string(b) != "second\n" || rest.String() != "first\n" {
		t.Errorf("the file has %q, the other log %q, %v", b, rest.String(), err)
	}
}
