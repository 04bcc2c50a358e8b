package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// binary is a built pointsman, with what the toolchain stamped into it.
type binary struct {
	path     string
	arch     string
	version  string    // without "v": 1.2.3, or 0.0.0-20260102030405-0123456789ab before the first tag
	revision string    // the commit
	time     time.Time // the commit's, in UTC
}

// build builds a static binary into dir. The name it has there holds its
// version, which is only known once it is built.
func build(source, dir, arch string) (*binary, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("naming the output directory: %w", err)
	}
	made := filepath.Join(dir, "pointsman_"+arch)
	cmd := exec.Command("go", "build",
		"-trimpath",         // no path of this machine
		"-buildvcs=true",    // fails where there is no commit to name
		"-ldflags", "-s -w", // no debugger's tables; stack traces and profiles do without
		"-o", made, "./cmd/pointsman")
	cmd.Dir = source
	// What a caller has set for his own builds is not to leak into a release.
	cmd.Env = append(os.Environ(),
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", arch, err, out)
	}
	b, err := stamped(made, arch)
	if err != nil {
		return nil, err
	}
	b.path = filepath.Join(dir, "pointsman_"+b.version+"_linux_"+arch)
	if err := os.Rename(made, b.path); err != nil {
		return nil, fmt.Errorf("naming the binary: %w", err)
	}
	// The builder's umask is not the release's business.
	if err := os.Chmod(b.path, 0o755); err != nil {
		return nil, fmt.Errorf("making the binary executable: %w", err)
	}
	return b, nil
}

// stamped reads what the toolchain says a binary was built from.
func stamped(path, arch string) (*binary, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the build information of the binary for %s: %w", arch, err)
	}
	b := &binary{path: path, arch: arch}
	var found bool
	if b.version, found = strings.CutPrefix(info.Main.Version, "v"); !found {
		return nil, fmt.Errorf("the binary for %s has the version %q, expected one that begins with v: it was not built from a commit", arch, info.Main.Version)
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.time":
			if b.time, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return nil, fmt.Errorf("reading the commit's time in the binary for %s: %w", arch, err)
			}
			b.time = b.time.UTC()
		}
	}
	if b.revision == "" || b.time.IsZero() {
		return nil, errors.New("the binary for " + arch + " does not say its commit and the commit's time")
	}
	return b, nil
}

// debVersion writes the version as dpkg orders versions. A "-" would begin the
// packager's own revision there, and what follows "~" comes before the release
// itself: 1.2.3-rc.1 is 1.2.3~rc.1, which is older than 1.2.3.
func (b *binary) debVersion() string {
	release, pre, is := strings.Cut(b.version, "-")
	if !is {
		return release
	}
	return release + "~" + strings.ReplaceAll(pre, "-", ".")
}

// tag writes the version as an image's tag, where "+" may not be.
func (b *binary) tag() string { return strings.ReplaceAll(b.version, "+", "-") }
