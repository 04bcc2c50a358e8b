package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// readText reads a state file, "absent" when it is not there.
func readText(t testing.TB, d stateDir, name string) string {
	t.Helper()
	text := "absent"
	if err := d.load(name, func(r io.Reader) error {
		b, err := io.ReadAll(r)
		text = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return text
}

func entries(t testing.TB, d stateDir) []string {
	t.Helper()
	list, err := os.ReadDir(string(d))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestStateIsSavedAndLoaded(t *testing.T) {
	t.Parallel()
	d := stateDir(filepath.Join(t.TempDir(), "made", "here"))
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, d, factsFile); got != "absent" {
		t.Errorf("a new directory has %q", got)
	}
	for _, text := range []string{"one", "", "a longer one than before"} {
		if err := d.save(factsFile, writeText(text)); err != nil {
			t.Fatal(err)
		}
		if got := readText(t, d, factsFile); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
	if got := entries(t, d); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	info, err := os.Stat(string(d))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v; want it private", info.Mode(), err)
	}
}

// TestStateFilesAreWhole: whatever happens while a file is written, a reader
// finds the one before, and nothing is left behind.
func TestStateFilesAreWhole(t *testing.T) {
	t.Parallel()
	d := stateDir(t.TempDir())
	if err := d.save(factsFile, writeText("before")); err != nil {
		t.Fatal(err)
	}
	torn := errors.New("torn")
	err := d.save(factsFile, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the ne")
		if got := readText(t, d, factsFile); got != "before" {
			t.Errorf("while the next is written there is %q", got)
		}
		return torn
	})
	if !errors.Is(err, torn) || !strings.HasPrefix(err.Error(), "writing facts.jsonl to core.state_dir: ") {
		t.Errorf("error %v", err)
	}
	if got := readText(t, d, factsFile); got != "before" {
		t.Errorf("after a torn write there is %q", got)
	}
	if got := entries(t, d); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// TestStateOfACrash: what a killed process was writing is no file of ours, and
// goes at the next start, so that a crash loop does not fill the disk.
func TestStateOfACrash(t *testing.T) {
	t.Parallel()
	d := stateDir(t.TempDir())
	if err := d.save(factsFile, writeText("before")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".facts.jsonl-1234", ".overrides.json-5", ".try-9", "of-somebody-else", ".hidden"} {
		if err := os.WriteFile(filepath.Join(string(d), name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(entries(t, d), " "); got != ".hidden facts.jsonl of-somebody-else" {
		t.Errorf("after a start there are: %s", got)
	}
	if got := readText(t, d, factsFile); got != "before" {
		t.Errorf("after a crash there is %q", got)
	}
}

func TestStateDirTroubleIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := stateDir(filepath.Join(file, "below"))
	if err := d.prepare(); err == nil || !strings.Contains(err.Error(), "core.state_dir") {
		t.Errorf("preparing below a file: %v", err)
	}
	if err := d.save(factsFile, writeText("x")); err == nil || !strings.Contains(err.Error(), "core.state_dir") {
		t.Errorf("saving below a file: %v", err)
	}
	if err := d.load(factsFile, func(io.Reader) error { return nil }); err == nil || !strings.Contains(err.Error(), "core.state_dir") {
		t.Errorf("loading below a file: %v", err)
	}
	bad := errors.New("line 3")
	good := stateDir(t.TempDir())
	if err := good.save(factsFile, writeText("x")); err != nil {
		t.Fatal(err)
	}
	if err := good.load(factsFile, func(io.Reader) error { return bad }); !errors.Is(err, bad) {
		t.Errorf("a file that cannot be understood: %v", err)
	}
}

func TestNoStateDirKeepsNothing(t *testing.T) {
	t.Parallel()
	var d stateDir
	called := func(io.Writer) error { t.Error("written"); return nil }
	if err := errors.Join(d.prepare(), d.save(factsFile, called), d.load(factsFile, func(io.Reader) error { t.Error("read"); return nil })); err != nil {
		t.Error(err)
	}
}
