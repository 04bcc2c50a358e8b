package steering

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadOrCreate reads the key file at path. When there is none, it makes one with
// a key from random, readable by its owner only; of two instances that start at
// once one makes it and both read the same.
func LoadOrCreate(path string, random io.Reader) (*Ring, error) {
	ring, err := loadKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createKeys(path, random); err != nil {
			return nil, fmt.Errorf("making steering key file: %w", err)
		}
		ring, err = loadKeys(path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading steering key file: %w", err)
	}
	return ring, nil
}

func loadKeys(path string) (*Ring, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	keys, err := ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return NewRing(keys)
}

// createKeys makes the file whole beside its place and links it there: unlike a
// rename, a link does not replace what another instance has put there meanwhile.
func createKeys(path string, random io.Reader) (err error) {
	key := make([]byte, MinKey)
	if _, err := io.ReadFull(random, key); err != nil {
		return fmt.Errorf("drawing a key: %w", err)
	}
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(filepath.Clean(dir), "."+name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(FormatKeys([][]byte{key}))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	switch err := os.Link(f.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w (on a file system without hard links make the file by hand: openssl rand -base64 %d)", err, MinKey)
	}
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
