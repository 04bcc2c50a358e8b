package test

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestPackage makes what `make package` makes, for this machine's architecture
// alone, and does with it what an operator does.
func TestPackage(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		t.Skipf("packages are for Linux on amd64 and arm64, this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if out, err := exec.Command("git", "-C", rig.Root(), "rev-parse", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("a package is made from a commit, and git names none here: %v\n%s", err, out)
	}
	if out, err := packager("mod", "download"); err != nil {
		t.Skipf("the modules of deploy/package could not be downloaded: %v\n%s", err, out)
	}
	dist := t.TempDir()
	makePackages(t, dist)

	t.Run("tests_of_its_own", func(t *testing.T) {
		t.Parallel()
		if out, err := packager("test", "./..."); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("same_bytes_again", func(t *testing.T) {
		t.Parallel()
		again := t.TempDir()
		makePackages(t, again)
		if one, two := contentOf(t, dist, "SHA256SUMS"), contentOf(t, again, "SHA256SUMS"); one != two {
			t.Errorf("the same commit gave\n%s\nand then\n%s", one, two)
		}
	})
	t.Run("sums", func(t *testing.T) {
		t.Parallel()
		cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
		cmd.Dir = dist
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), ".deb: OK") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		isStatic(t, only(t, dist, "pointsman_*_linux_"+runtime.GOARCH))
		saysItsCommit(t, only(t, dist, "pointsman_*_linux_"+runtime.GOARCH))
	})
	t.Run("debian", func(t *testing.T) {
		t.Parallel()
		installs(t, only(t, dist, "pointsman_*_"+runtime.GOARCH+".deb"))
	})
	t.Run("image", func(t *testing.T) {
		t.Parallel()
		runsAsImage(t, only(t, dist, "pointsman_*_oci"))
	})
}

// packager runs the go command in the packager's module.
func packager(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(rig.Root(), "deploy", "package")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func makePackages(t *testing.T, dir string) {
	t.Helper()
	begun := time.Now()
	out, err := packager("run", ".", "-source", rig.Root(), "-out", dir, "-arch", runtime.GOARCH)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("after %v: %s", time.Since(begun).Round(100*time.Millisecond), out)
}

// only returns the one file under dir that matches.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v, expected one", pattern, found, err)
	}
	return found[0]
}

func contentOf(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// isStatic fails the test when a program needs a loader or a library.
func isStatic(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s has a segment %v, expected a static program", filepath.Base(program), p.Type)
		}
	}
}

// saysItsCommit fails the test unless `version` names the commit of the checkout.
func saysItsCommit(t *testing.T, program string) {
	t.Helper()
	cmd := exec.Command("git", "rev-parse", "HEAD")
	cmd.Dir = rig.Root()
	commit, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "pointsman v") || !strings.Contains(string(out), "revision "+strings.TrimSpace(string(commit))) {
		t.Errorf("%s, %v, expected the revision %s", out, err, commit)
	}
}

// debRoot is the root of a system with nothing on it but dpkg's own files.
type debRoot struct {
	t   *testing.T
	dir string
}

func newDebRoot(t *testing.T) *debRoot {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root installs packages and changes the root directory")
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("this is no Debian: ", err)
	}
	r := &debRoot{t: t, dir: t.TempDir()}
	for _, dir := range []string{"info", "updates"} {
		r.mkdir("var/lib/dpkg/" + dir)
	}
	r.write("var/lib/dpkg/status", nil)
	return r
}

func (r *debRoot) mkdir(name string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Join(r.dir, name), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r *debRoot) write(name string, content []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// dpkg runs dpkg on that root, with the scripts of packages under this system's
// shell, for there is none in it.
func (r *debRoot) dpkg(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("dpkg", append([]string{
		"--root=" + r.dir, "--log=" + filepath.Join(r.dir, "var/lib/dpkg/log"),
		"--force-script-chrootless", "--path-include=*",
	}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("dpkg %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// files lists what is under the root, without dpkg's own.
func (r *debRoot) files() (list []string) {
	r.t.Helper()
	err := fs.WalkDir(os.DirFS(r.dir), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "var/lib/dpkg":
			return fs.SkipDir
		case !entry.IsDir():
			list = append(list, name)
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// installs installs a package under a root of its own, upgrades it, starts it
// there and removes it.
func installs(t *testing.T, deb string) {
	r := newDebRoot(t)
	const config = "etc/pointsman/pointsman.json"
	says := func(out string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("dpkg printed no %q:\n%s", w, out)
			}
		}
	}

	// The first installation: a configuration that is good and harmless.
	out := r.dpkg("-i", deb)
	says(out, config+" is good", "installed and not started", "systemctl enable --now pointsman")
	installed := r.files()
	for _, name := range []string{
		config, "usr/bin/pointsman", "usr/lib/systemd/system/pointsman.service",
		"usr/share/doc/pointsman/README.md", "usr/share/doc/pointsman/docs/configuration.md", "usr/share/doc/pointsman/config.example.json",
	} {
		if !slices.Contains(installed, name) {
			t.Errorf("%s was not installed; there are %q", name, installed)
		}
	}
	if unit := contentOf(t, rig.Root(), "deploy/systemd/pointsman.service"); unit != contentOf(t, r.dir, "usr/lib/systemd/system/pointsman.service") {
		t.Error("the unit is not the one of the repository")
	}
	onlyLoopback(t, contentOf(t, r.dir, config))
	// dpkg itself compares the files with what the package says of them.
	if out := r.dpkg("--verify", "pointsman"); out != "" {
		t.Errorf("dpkg --verify finds:\n%s", out)
	}

	// The operator breaks the configuration, and then upgrades.
	broken := []byte(`{ "core": { "prot": 9201 } }`)
	r.write(config, broken)
	says(r.dpkg("-i", deb), "error core.prot", "has the errors above")
	if now := contentOf(t, r.dir, config); now != string(broken) {
		t.Errorf("the upgrade changed the operator's configuration to %s", now)
	}

	// It runs with nothing of this system around it.
	r.mkdir("var/lib/pointsman")
	serves(t, r.dir, "0:0", "/usr/bin/pointsman", "serve", "-config", "/"+config)

	// Removing leaves what is the operator's; purging leaves nothing.
	r.write("var/lib/pointsman/facts", []byte("what it has learnt"))
	r.dpkg("-r", "pointsman")
	if left := r.files(); !slices.Contains(left, config) || slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, "usr/") }) {
		t.Errorf("after the removal there are %q, expected the configuration and the state alone", left)
	}
	r.dpkg("-P", "pointsman")
	if left := r.files(); len(left) > 0 {
		t.Errorf("after the purge there are still %q", left)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "etc/pointsman")); err == nil {
		t.Error("after the purge there is still /etc/pointsman")
	}
}

// onlyLoopback fails the test when a configuration listens to, or asks, another
// machine: a service that somebody starts unedited is to disturb nobody.
func onlyLoopback(t *testing.T, document string) {
	t.Helper()
	var c struct {
		Core        struct{ Interface string }
		Admin       struct{ Interface string }
		Redirection struct {
			Farms []struct{ Servers []struct{ URL string } }
		}
	}
	if err := json.Unmarshal([]byte(document), &c); err != nil {
		t.Fatal(err)
	}
	if c.Core.Interface != "127.0.0.1" || c.Admin.Interface != "" {
		t.Errorf("listens on %q and, for operators, on %q; expected loopback", c.Core.Interface, c.Admin.Interface)
	}
	for _, f := range c.Redirection.Farms {
		for _, s := range f.Servers {
			if !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
				t.Errorf("asks %s, expected a server on loopback", s.URL)
			}
		}
	}
}

// serves runs a command under another root directory, as "UID:GID", and has it
// serve a viewer with a server of the test's. The command reads the usual
// configuration, which is written here.
func serves(t *testing.T, root, user string, command ...string) {
	t.Helper()
	origin := liveOrigin(t, "origin")
	port, admin := rig.FreePort(t), rig.FreePort(t)
	document, err := json.Marshal(rig.Config{
		"core":        rig.Config{"interface": "127.0.0.1", "port": port, "drain_delay_sec": 0, "state_dir": "/var/lib/pointsman"},
		"admin":       rig.Config{"port": admin},
		"redirection": redirection([]rig.Config{probed("main", "weight", "origin "+origin.URL())}, []rig.Config{place("all", "main", everywhere...)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/pointsman/pointsman.json"), document, 0o644); err != nil {
		t.Fatal(err)
	}
	// The way to a test's directory may be closed to other users; the new root
	// itself is the one directory they must be able to enter.
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}

	run := rig.Spawn(t, "", rig.Tool(t, "chroot"), append([]string{"--userspec=" + user, root}, command...)...)
	rig.Eventually(t, 20*time.Second, func() error {
		if run.Ended() {
			t.Fatalf("%q has ended: %s", command, run.Output())
		}
		res, err := rig.Do("GET", fmt.Sprintf("http://127.0.0.1:%d/readyz", admin), "")
		if err == nil && res.StatusCode != 200 {
			err = fmt.Errorf("/readyz answers %d", res.StatusCode)
		}
		return err
	})
	res, err := rig.Do("GET", fmt.Sprintf("http://127.0.0.1:%d/sports1/index.m3u8?token=1", port), "")
	if err != nil || res.StatusCode != 302 || res.Location() != origin.URL()+"/sports1/index.m3u8?token=1" {
		t.Errorf("a viewer was answered %+v, %v, expected to be sent to %s", res, err, origin.URL())
	}
	run.Signal(syscall.SIGTERM)
	if status := run.Wait(); status != 0 {
		t.Errorf("exit status %d after SIGTERM: %s", status, run.Output())
	}
	if bytes.Contains([]byte(run.Output()), []byte(`"level":"error"`)) {
		t.Errorf("the log has errors: %s", run.Output())
	}
}
