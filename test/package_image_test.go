package test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// These read an image layout by the words of its specification, and not by the
// library that wrote it.
type (
	ociDescriptor struct {
		MediaType   string
		Digest      string
		Size        int64
		Platform    struct{ OS, Architecture string }
		Annotations map[string]string
	}
	ociIndex struct {
		SchemaVersion int
		MediaType     string
		Manifests     []ociDescriptor
	}
	ociManifest struct {
		SchemaVersion int
		MediaType     string
		Config        ociDescriptor
		Layers        []ociDescriptor
	}
	ociConfig struct {
		OS, Architecture string
		Config           struct {
			User            string
			Entrypoint, Cmd []string
			Labels          map[string]string
		}
		RootFS struct {
			Type    string
			DiffIDs []string `json:"diff_ids"`
		}
	}
)

// ociLayout is an image layout on disk. It keeps count of the blobs that were
// read, so that none is left over.
type ociLayout struct {
	t    *testing.T
	dir  string
	read []string // digests
}

// blob returns a blob that is what its descriptor says.
func (l *ociLayout) blob(d ociDescriptor, mediaType string) []byte {
	l.t.Helper()
	if d.MediaType != mediaType {
		l.t.Errorf("%s is a %s, expected a %s", d.Digest, d.MediaType, mediaType)
	}
	name, is := strings.CutPrefix(d.Digest, "sha256:")
	if !is {
		l.t.Fatalf("the digest %q, expected sha256", d.Digest)
	}
	b, err := os.ReadFile(filepath.Join(l.dir, "blobs", "sha256", name))
	if err != nil {
		l.t.Fatal(err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != name || int64(len(b)) != d.Size {
		l.t.Errorf("%d bytes with the sum %x, expected %d and %s", len(b), sum, d.Size, d.Digest)
	}
	l.read = append(l.read, name)
	return b
}

// parse reads a blob that is JSON.
func (l *ociLayout) parse(d ociDescriptor, mediaType string, into any) {
	l.t.Helper()
	if err := json.Unmarshal(l.blob(d, mediaType), into); err != nil {
		l.t.Fatalf("%s: %v", d.Digest, err)
	}
}

// runsAsImage checks an image layout for this machine, and runs what is in it as
// an engine would: under its root, as its user, by its entry point.
func runsAsImage(t *testing.T, dir string) {
	l := &ociLayout{t: t, dir: dir}
	if version := contentOf(t, dir, "oci-layout"); !strings.Contains(version, `"imageLayoutVersion"`) {
		t.Errorf("oci-layout is %s", version)
	}
	const vnd = "application/vnd.oci.image."
	var top, index ociIndex
	if err := json.Unmarshal([]byte(contentOf(t, dir, "index.json")), &top); err != nil {
		t.Fatal(err)
	}
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] == "" {
		t.Fatalf("index.json names %+v, expected one index with a tag", top.Manifests)
	}
	l.parse(top.Manifests[0], vnd+"index.v1+json", &index)
	if len(index.Manifests) != 1 || index.SchemaVersion != 2 {
		t.Fatalf("the index is %+v, expected one image", index)
	}
	var manifest ociManifest
	l.parse(index.Manifests[0], vnd+"manifest.v1+json", &manifest)
	var config ociConfig
	l.parse(manifest.Config, vnd+"config.v1+json", &config)
	if p := index.Manifests[0].Platform; p.OS != "linux" || p.Architecture != runtime.GOARCH || config.OS != p.OS || config.Architecture != p.Architecture {
		t.Errorf("the index says %+v and the image %s on %s, expected linux on %s", p, config.OS, config.Architecture, runtime.GOARCH)
	}
	uid, _, _ := strings.Cut(config.Config.User, ":")
	if uid == "" || uid == "0" || strings.Trim(uid, "0123456789") != "" {
		t.Errorf("runs as %q, expected the number of a user that is not root", config.Config.User)
	}
	for _, label := range []string{"version", "revision"} {
		if config.Config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("no label says the %s: %q", label, config.Config.Labels)
		}
	}
	if len(manifest.Layers) != 1 || len(config.RootFS.DiffIDs) != 1 {
		t.Fatalf("%d layers, %d sums of layers, expected one of each", len(manifest.Layers), len(config.RootFS.DiffIDs))
	}
	layer := l.blob(manifest.Layers[0], vnd+"layer.v1.tar+gzip")
	blobs, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	if err != nil || len(blobs) != len(l.read) {
		t.Errorf("%d blobs, %v, of which %q are named", len(blobs), err, l.read)
	}

	if os.Getuid() != 0 {
		t.Skip("only root gives files to other users and changes the root directory")
	}
	root := t.TempDir()
	files, sum := unpackLayer(t, string(layer), root)
	if sum != config.RootFS.DiffIDs[0] {
		t.Errorf("the layer unpacks to %s, expected %s", sum, config.RootFS.DiffIDs[0])
	}
	want := []string{"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/bin/pointsman"}
	if !slices.Equal(files, want) {
		t.Errorf("the image holds %q, expected %q: no shell, nothing else", files, want)
	}
	isStatic(t, filepath.Join(root, "usr/bin/pointsman"))
	serves(t, root, config.Config.User, slices.Concat(config.Config.Entrypoint, config.Config.Cmd)...)
}

// unpackLayer unpacks a layer and returns its files, without directories, and
// the sum of what was unpacked.
func unpackLayer(t *testing.T, layer, to string) (files []string, sum string) {
	t.Helper()
	unzipped, err := gzip.NewReader(strings.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	all := io.TeeReader(unzipped, hash)
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	in := tar.NewReader(all)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(h.Name, "/")
		mode := h.FileInfo().Mode().Perm()
		if h.Typeflag == tar.TypeDir {
			err = root.Mkdir(name, mode)
		} else {
			files = append(files, name)
			var content []byte
			if content, err = io.ReadAll(in); err == nil {
				err = root.WriteFile(name, content, mode)
			}
		}
		if err == nil {
			err = root.Chown(name, h.Uid, h.Gid)
		}
		if err == nil {
			err = root.Chmod(name, mode) // whatever the umask is
		}
		if err != nil {
			t.Fatalf("unpacking %s: %v", name, err)
		}
	}
	if _, err := io.Copy(io.Discard, all); err != nil { // what pads the archive belongs to its sum
		t.Fatal(err)
	}
	slices.Sort(files)
	return files, fmt.Sprintf("sha256:%x", hash.Sum(nil))
}
