package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// buildVersion returns the version and revision the Go toolchain recorded.
func buildVersion() (version, revision string) {
	version, revision = "devel", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return version, revision
}

func version(args []string, s streams) int {
	fs := flags("version", "", "Prints the version, the revision and the Go version it was built with.", s)
	if status, done := parse(fs, args, 0, s); done {
		return status
	}
	v, rev := buildVersion()
	fmt.Fprintf(s.out, "pointsman %s (revision %s, %s)\n", v, rev, runtime.Version())
	return exitOK
}
