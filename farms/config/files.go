package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// resolve returns the path of a file that the document names.
func (l *loader) resolve(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.src.Dir, name)
}

// readFile reads a file that the key at n names, or reports why it cannot.
func (l *loader) readFile(n *node, name string, limit int) ([]byte, bool) {
	if name == "" {
		l.errorf(n, "is empty, expected the path of a file")
		return nil, false
	}
	path := l.resolve(name)
	read := l.src.ReadFile
	if read == nil {
		read = func(path string) ([]byte, error) { return readRegular(path, limit) }
	}
	data, err := read(path)
	if err == nil && len(data) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		// The system's error names the path once more.
		if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		l.errorf(n, "cannot read the file %s: %v", quotePath(path), err)
		return nil, false
	}
	return data, true
}

// readRegular reads a file, at most one byte beyond limit. A pipe or a device
// is refused: it could block or never end.
func readRegular(path string, limit int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)+1))
}

// quotePath is quote with room for a path.
func quotePath(path string) string { return fmt.Sprintf("%q", clip(path, 256)) }
