package main

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDebVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, version, deb, tag string }{
		{"release", "1.2.3", "1.2.3", "1.2.3"},
		{"candidate", "1.2.3-rc.1", "1.2.3~rc.1", "1.2.3-rc.1"},
		{"candidate_with_a_dash", "1.2.3-rc-1", "1.2.3~rc.1", "1.2.3-rc-1"},
		{"before_the_first_tag", "0.0.0-20260102030405-0123456789ab", "0.0.0~20260102030405.0123456789ab", "0.0.0-20260102030405-0123456789ab"},
		{"after_a_tag", "1.2.4-0.20260102030405-0123456789ab", "1.2.4~0.20260102030405.0123456789ab", "1.2.4-0.20260102030405-0123456789ab"},
		{"changed_release", "1.2.3+dirty", "1.2.3+dirty", "1.2.3-dirty"},
		{"changed", "0.0.0-20260102030405-0123456789ab+dirty", "0.0.0~20260102030405.0123456789ab+dirty", "0.0.0-20260102030405-0123456789ab-dirty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := &binary{version: c.version}
			if deb, tag := b.debVersion(), b.tag(); deb != c.deb || tag != c.tag {
				t.Errorf("%s is %s for Debian and has the tag %s, expected %s and %s", c.version, deb, tag, c.deb, c.tag)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "pointsman_0.1.0_amd64.deb"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"files_of_another_release", []string{"-out", full}, "is not empty"},
		{"unknown_architecture", []string{"-out", t.TempDir(), "-arch", "amd64,z80"}, `"z80"`},
		{"a_source_that_is_none", []string{"-out", t.TempDir(), "-source", t.TempDir()}, "building for amd64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := run(c.args, &out); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, expected an error that says %s", err, c.says)
			}
		})
	}
}

// TestRoots shows that the image's certificates can be read, and are not few.
func TestRoots(t *testing.T) {
	t.Parallel()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots()) || bytes.Count(roots(), []byte("BEGIN CERTIFICATE")) < 50 {
		t.Errorf("%d bytes that are no bundle of certificates", len(roots()))
	}
}
