package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeSums writes SHA256SUMS of all files under dir, for `sha256sum -c`, and
// returns how many they are.
func writeSums(dir string) (int, error) {
	var out bytes.Buffer
	n := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(content), name)
		n++
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), out.Bytes(), 0o644)
}
