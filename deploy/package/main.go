// Command package makes what a release is handed out as, from a checkout of the
// repository and into one directory:
//
//	pointsman_VERSION_linux_ARCH   static binaries
//	pointsman_VERSION_ARCH.deb     Debian packages, with the systemd unit
//	pointsman_VERSION_oci/         an OCI image layout, all architectures in one index
//	SHA256SUMS                     of all of them
//
// Version, revision and time are those the Go toolchain stamps into the binary;
// nothing else says them, so a package cannot name another version than the
// binary in it. Every time written is the commit's: the same commit, built by
// the same toolchain, gives the same bytes on any machine, on any day.
//
// It is a module of its own: what it depends on is no business of those who
// build Pointsman. `make package` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "package:", err)
		os.Exit(1)
	}
}

// architectures are those that packages are made for, by their names in Go,
// which are the names of Debian and OCI too.
func architectures() []string { return []string{"amd64", "arm64"} }

// run makes everything and says on out what it has made.
func run(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("package", flag.ContinueOnError)
	source := fs.String("source", ".", "the `directory` of the checkout")
	dest := fs.String("out", "dist", "the `directory` to write to; made when missing, and expected to be empty")
	arches := fs.String("arch", strings.Join(architectures(), ","), "the architectures to build for, a comma-separated `list`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	wanted := strings.Split(*arches, ",")
	for _, arch := range wanted {
		if !slices.Contains(architectures(), arch) {
			return fmt.Errorf("-arch names %q, expected some of %s", arch, strings.Join(architectures(), ", "))
		}
	}
	if err := emptyDir(*dest); err != nil {
		return err
	}

	var binaries []*binary
	for _, arch := range wanted {
		b, err := build(*source, *dest, arch)
		if err != nil {
			return err
		}
		binaries = append(binaries, b)
		if err := writeDeb(*source, *dest, b); err != nil {
			return fmt.Errorf("packaging for Debian on %s: %w", arch, err)
		}
	}
	if err := writeImages(*dest, binaries); err != nil {
		return fmt.Errorf("writing the OCI image layout: %w", err)
	}
	sums, err := writeSums(*dest)
	if err != nil {
		return fmt.Errorf("writing SHA256SUMS: %w", err)
	}
	fmt.Fprintf(out, "%s holds pointsman %s (revision %s): %d files and SHA256SUMS\n",
		*dest, binaries[0].version, binaries[0].revision, sums)
	return nil
}

// emptyDir makes a directory where it is missing, and refuses one that holds
// something: SHA256SUMS would vouch for files of another release.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the output directory: %w", err)
	}
	switch found, err := filepath.Glob(filepath.Join(dir, "*")); {
	case err != nil:
		return fmt.Errorf("looking into the output directory: %w", err)
	case len(found) > 0:
		return errors.New(dir + " is not empty, expected a directory without the files of another release: remove it first")
	}
	return nil
}
