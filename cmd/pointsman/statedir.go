package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pointsman-tv/pointsman/farms/config"
)

// The files of core.state_dir.
const (
	factsFile     = "facts.jsonl"    // known channels and facts
	overridesFile = "overrides.json" // the operator's word about servers
	pathwaysFile  = "pathways.json"  // and about pathways
)

// stateDir is core.state_dir; the empty one keeps nothing.
type stateDir string

// prepare makes the directory and sees that it can be written.
func (d stateDir) prepare() error {
	if d == "" {
		return nil
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("making core.state_dir: %w", err)
	}
	f, err := os.CreateTemp(string(d), ".try-*")
	if err != nil {
		return fmt.Errorf("writing to core.state_dir: %w", err)
	}
	return errors.Join(f.Close(), d.tidy())
}

// tidy removes what processes that were killed had begun to write.
func (d stateDir) tidy() error {
	list, err := os.ReadDir(string(d))
	for _, e := range list {
		for _, begun := range []string{".try-", "." + factsFile + "-", "." + overridesFile + "-", "." + pathwaysFile + "-", "." + config.DefaultKeysFile + "-"} {
			if strings.HasPrefix(e.Name(), begun) {
				err = errors.Join(err, os.Remove(filepath.Join(string(d), e.Name())))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("tidying core.state_dir: %w", err)
	}
	return nil
}

// save writes a file whole: a reader finds the old one or the new one, also
// after a crash.
func (d stateDir) save(name string, write func(io.Writer) error) (err error) {
	if d == "" {
		return nil
	}
	f, err := os.CreateTemp(string(d), "."+name+"-*")
	if err != nil {
		return fmt.Errorf("writing %s to core.state_dir: %w", name, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("writing %s to core.state_dir: %w", name, err)
		}
	}()
	if err = errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), filepath.Join(string(d), name)); err != nil {
		return err
	}
	dir, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// load reads a file that save wrote; one that is not there is no error.
func (d stateDir) load(name string, read func(io.Reader) error) error {
	if d == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(string(d), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s from core.state_dir: %w", name, err)
	}
	defer f.Close()
	if err := read(f); err != nil {
		return fmt.Errorf("reading %s from core.state_dir: %w", name, err)
	}
	return nil
}
