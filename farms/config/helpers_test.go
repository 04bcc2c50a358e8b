package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// minimal is a document without errors and warnings, for tests to change.
const minimal = `{"redirection": {"uri_path": "/", "sticky_sec": 60,
	"farms": [{"name": "a", "servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}]}],
	"locations": [{"farms": ["a"], "ip_mask": ["0.0.0.0/0", "::/0"]}]}}`

// parse reads a document with the given files beside it.
func parse(text string, files map[string]string) (*Document, []Finding) {
	return Parse(Source{Data: []byte(text), Dir: "conf", ReadFile: func(path string) ([]byte, error) {
		name, err := filepath.Rel("conf", path)
		if data, ok := files[name]; ok && err == nil {
			return []byte(data), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("no such file")}
	}})
}

// change replaces a part of minimal.
func change(t *testing.T, from, to string) string {
	t.Helper()
	if strings.Count(minimal, from) != 1 {
		t.Fatalf("%q is %d times in the minimal document, expected once", from, strings.Count(minimal, from))
	}
	return strings.Replace(minimal, from, to, 1)
}

// section adds a section to minimal.
func section(t *testing.T, name, object string) string {
	t.Helper()
	return `{"` + name + `": ` + object + `, ` + strings.TrimPrefix(minimal, "{")
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("reading a test file: %v", err)
	}
	return data
}

// texts returns the findings as `check` prints them.
func texts(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.String())
	}
	return out
}
