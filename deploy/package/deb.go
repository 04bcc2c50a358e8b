package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

const (
	maintainer  = "Pointsman maintainers <pointsman-tv@users.noreply.github.com>"
	homepage    = "https://github.com/pointsman-tv/pointsman"
	summary     = "redirector for streaming video"
	description = summary + `
Pointsman is the service that the viewers of an OTT or IPTV operator ask
first. It decides which of the operator's own streaming servers should serve
this viewer this channel now, and answers with a redirect to it, a content
steering manifest or a playlist. It asks the servers what they really have,
so that nobody is sent where there is nothing to see.
`
)

// debian are the scripts that dpkg runs, and the configuration to begin with.
//
//go:embed deb
var debian embed.FS

// writeDeb writes the Debian package of a binary into dir.
func writeDeb(source, dir string, b *binary) error {
	// The packager takes files by name only.
	work, err := os.MkdirTemp("", "pointsman-deb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, debian); err != nil {
		return err
	}
	changelog := filepath.Join(work, "changelog.gz")
	if err := writeChangelog(changelog, b); err != nil {
		return fmt.Errorf("writing the changelog: %w", err)
	}
	ours := func(name string) string { return filepath.Join(work, "deb", name) }
	repo := func(name string) string { return filepath.Join(source, name) }

	info := &nfpm.Info{
		Name:            "pointsman",
		Arch:            b.arch,
		Platform:        "linux",
		Version:         b.debVersion(),
		VersionSchema:   "none", // it is Debian's already
		Section:         "video",
		Priority:        "optional",
		Maintainer:      maintainer,
		Homepage:        homepage,
		Description:     description,
		DisableGlobbing: true,
		MTime:           b.time,
		Overridables: nfpm.Overridables{
			// A static binary with its own time zones depends on nothing. Without
			// root certificates it cannot ask servers over https.
			Recommends: []string{"ca-certificates"},
			Contents: files.Contents{
				file(b.path, "/usr/bin/pointsman", 0o755),
				file(repo("deploy/systemd/pointsman.service"), "/usr/lib/systemd/system/pointsman.service", 0o644),
				conffile(ours("pointsman.json"), "/etc/pointsman/pointsman.json", 0o644),
				file(changelog, "/usr/share/doc/pointsman/changelog.gz", 0o644),
				file(ours("lintian-overrides"), "/usr/share/lintian/overrides/pointsman", 0o644),
				// As they lie in the repository, so that their links hold.
				file(repo("README.md"), "/usr/share/doc/pointsman/README.md", 0o644),
				file(repo("docs/configuration.md"), "/usr/share/doc/pointsman/docs/configuration.md", 0o644),
				file(repo("docs/deviations.md"), "/usr/share/doc/pointsman/docs/deviations.md", 0o644),
				file(repo("docs/measurements.md"), "/usr/share/doc/pointsman/docs/measurements.md", 0o644),
				file(repo("config.example.json"), "/usr/share/doc/pointsman/config.example.json", 0o644),
			},
			Scripts: nfpm.Scripts{
				PostInstall: ours("postinst"),
				PreRemove:   ours("prerm"),
				PostRemove:  ours("postrm"),
			},
			// Compressed by gzip, the default: xz would save a twelfth, and cost as
			// much time as building the binary.
		},
	}
	var packed bytes.Buffer
	if err := deb.Default.Package(info, &packed); err != nil {
		return err
	}
	name := filepath.Join(dir, deb.Default.ConventionalFileName(info))
	return os.WriteFile(name, packed.Bytes(), 0o644)
}

func file(from, to string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode}}
}

// conffile is a file that dpkg never overwrites once the operator has changed it.
func conffile(from, to string, mode os.FileMode) *files.Content {
	c := file(from, to, mode)
	c.Type = files.TypeConfig
	return c
}

// writeChangelog writes what Debian asks of every package; ours says from which
// commit it was made.
func writeChangelog(name string, b *binary) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "pointsman (%s) stable; urgency=medium\n\n  * Built from revision %s.\n\n -- %s  %s\n",
		b.debVersion(), b.revision, maintainer, b.time.Format(time.RFC1123Z))
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o644)
}
