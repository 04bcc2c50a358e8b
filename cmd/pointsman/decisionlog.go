package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/pointsman-tv/pointsman/redirector"
)

// decisionLog takes the lines of decisions: for log.decisions_file, else for the
// sink of all other lines. Whatever the file does, taking a line waits for nobody.
type decisionLog struct {
	rest *redirector.LogBuffer // for all other lines
	lost func(lines int)
	file fileSink

	buffer atomic.Pointer[redirector.LogBuffer] // before file; nil until there was one
	mu     sync.Mutex                           // open and close
}

func newDecisionLog(rest *redirector.LogBuffer, lost func(lines int)) *decisionLog {
	return &decisionLog{rest: rest, lost: lost, file: fileSink{rest: rest}}
}

// Write takes whole lines.
func (d *decisionLog) Write(lines []byte) (int, error) {
	if b := d.buffer.Load(); b != nil {
		return b.Write(lines)
	}
	return d.rest.Write(lines)
}

// open opens the file anew and has it take the lines from now on; "" is none. When
// it cannot be opened the one before stays.
func (d *decisionLog) open(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if path == "" {
		d.file.swap(nil)
		return nil
	}
	f, err := openLogFile(path)
	if err != nil {
		return fmt.Errorf("log.decisions_file: opening it to append: %w", err)
	}
	d.file.swap(f)
	if d.buffer.Load() == nil {
		d.buffer.Store(redirector.NewLogBuffer(&d.file, d.lost))
	}
	return nil
}

// close writes what is left, as long as the file takes it, and closes it.
func (d *decisionLog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.buffer.Load(); b != nil {
		b.Close()
	}
	d.file.swap(nil)
}

// logFileMode is that of a file that is made: viewers' addresses are not for
// everybody.
const logFileMode = 0o640

// openLogFile opens a file to append to. A named pipe is opened for reading too:
// to open it for writing alone waits for its reader, and ends with him.
func openLogFile(path string) (*os.File, error) {
	flags := os.O_WRONLY
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeNamedPipe != 0:
		flags = os.O_RDWR
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a directory")}
	}
	return os.OpenFile(path, flags|os.O_APPEND|os.O_CREATE, logFileMode)
}

// fileSink writes to a file that may be exchanged at any time, and to rest while
// there is none.
type fileSink struct {
	rest io.Writer
	file atomic.Pointer[os.File]
}

// swap exchanges the file and closes the one before; a write to a pipe that
// nobody reads ends with it.
func (s *fileSink) swap(f *os.File) {
	if old := s.file.Swap(f); old != nil {
		_ = old.Close() // what it could not write has been told by Write
	}
}

// Write writes to the file of the moment.
func (s *fileSink) Write(b []byte) (int, error) {
	done := 0
	for {
		f := s.file.Load()
		if f == nil {
			n, err := s.rest.Write(b[done:])
			return done + n, err
		}
		n, err := f.Write(b[done:])
		done += n
		if !errors.Is(err, os.ErrClosed) || s.file.Load() == f {
			return done, err
		}
	}
}
