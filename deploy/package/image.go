package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user and group the image runs as: a number, so that a cluster
// can see that it is not root without reading the image's passwd.
const nobody = 65532

// writeImages writes an image layout into dir: one index, tagged with the
// version, of one image for each binary.
func writeImages(dir string, binaries []*binary) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		img, err := image(b)
		if err != nil {
			return fmt.Errorf("making the image for %s: %w", b.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: b.arch}},
		})
	}
	first := binaries[0] // all are of one commit
	index, is := mutate.Annotations(index, labels(first)).(v1.ImageIndex)
	if !is {
		return fmt.Errorf("annotating the index makes a %T of it", index)
	}
	name := filepath.Join(dir, "pointsman_"+first.version+"_oci")
	top, err := layout.Write(name, empty.Index)
	if err != nil {
		return err
	}
	tag := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": first.tag()})
	if err := top.AppendIndex(index, tag); err != nil {
		return err
	}
	return readable(name)
}

// readable gives the files under a directory the mode of data that everybody
// may read: the library makes some of them programs, and some the owner's alone.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chmod(name, 0o644)
	})
}

// labels say what an image is, in the words of the OCI image specification.
func labels(b *binary) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "pointsman",
		"org.opencontainers.image.description": summary,
		"org.opencontainers.image.source":      homepage,
		"org.opencontainers.image.version":     b.version,
		"org.opencontainers.image.revision":    b.revision,
		"org.opencontainers.image.created":     b.time.Format(time.RFC3339),
	}
}

// image makes the image of one binary: one layer over nothing, without a shell
// or anything else that an intruder could use.
func image(b *binary) (v1.Image, error) {
	packed, err := rootfs(b)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: b.time}, CreatedBy: "deploy/package"},
	})
	if err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture = "linux", b.arch
	cfg.Created = v1.Time{Time: b.time}
	cfg.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", nobody, nobody),
		// Apart, so that `check` or `explain` take the place of `serve` alone.
		Entrypoint:   []string{"/usr/bin/pointsman"},
		Cmd:          []string{"serve", "-config", "/etc/pointsman/pointsman.json"},
		WorkingDir:   "/",
		ExposedPorts: map[string]struct{}{"9201/tcp": {}}, // core.port's default
		StopSignal:   "SIGTERM",
		Labels:       labels(b),
	}
	return mutate.ConfigFile(img, cfg)
}

// rootfs packs the files of an image. There is no configuration among them: a
// container is given its own, and says so at the start when it was not.
func rootfs(b *binary) ([]byte, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range []struct {
		name    string
		mode    int64
		owner   int
		content []byte // nil for a directory
	}{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "nobody:x:%d:\n", nobody)},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "nobody:x:%d:%[1]d::/var/lib/pointsman:/nonexistent\n", nobody)},
		{name: "etc/pointsman/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: roots()},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/pointsman", mode: 0o755, content: program},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: "var/lib/pointsman/", mode: 0o700, owner: nobody},
	} {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)),
			Uid: f.owner, Gid: f.owner, ModTime: b.time, Format: tar.FormatUSTAR,
		}
		if f.content == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// roots are the certificates by which servers are believed over https: Mozilla's,
// in the version this module pins, and not what the building machine happens to
// have. Those trusted only under a condition are left out: a file of
// certificates cannot say conditions.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
