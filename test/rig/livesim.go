package rig

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// LivesimChannel is a channel of [Livesim]: one picture and one sound, in
// segments of [SegmentTime], with the manifest Manifest.mpd.
const LivesimChannel = "testpic_2s"

// Livesim is a real livesim2, the DASH Industry Forum's simulator of live
// sources. It has every channel at every time, and a URL says how much of it:
// /start_UNIX/ begins it, /stop_UNIX/ ends it, and once that has passed the MPD
// is static. What has not come yet it answers with 425.
type Livesim struct {
	url string
}

const livesimModule = "github.com/Dash-Industry-Forum/livesim2"

// errNoLivesim says that the module cannot be had where this runs.
var errNoLivesim = errors.New("livesim2 cannot be downloaded")

// livesim builds the server once and returns how it is run.
var livesim = sync.OnceValues(func() (args []string, err error) {
	command := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join(Root(), "test", "livesim")
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := command("mod", "download"); err != nil {
		return nil, fmt.Errorf("%w: %w\n%s", errNoLivesim, err, out)
	}
	bin := filepath.Join(Root(), "bin", "livesim-test")
	if out, err := command("build", "-o", bin, "."); err != nil {
		return nil, fmt.Errorf("building livesim2: %w\n%s", err, out)
	}
	dir, err := command("list", "-m", "-f", "{{.Dir}}", livesimModule)
	if err != nil {
		return nil, fmt.Errorf("finding the assets of livesim2: %w\n%s", err, dir)
	}
	return []string{bin, "-assets", filepath.Join(dir, "cmd", "livesim2", "app", "testdata", "assets")}, nil
})

// NewLivesim starts a livesim2 on a free port of 127.0.0.1. The test is skipped
// where its module cannot be downloaded.
func NewLivesim(t testing.TB) *Livesim {
	t.Helper()
	args, err := livesim()
	switch {
	case errors.Is(err, errNoLivesim):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	run := Spawn(t, "", args[0], args[1:]...)
	l := new(Livesim)
	Eventually(t, 30*time.Second, func() error {
		if run.Ended() {
			t.Fatalf("livesim2 has ended: %s", run.Output())
		}
		for line := range strings.Lines(run.Output()) {
			if strings.HasPrefix(line, "http://") && strings.HasSuffix(line, "\n") {
				l.url = strings.TrimSpace(line)
				return nil
			}
		}
		return errors.New("livesim2 has not said where it listens")
	})
	return l
}

// URL is the base URL of a streaming server with the given settings, such as
// "tsbd_3600" for an hour of DVR, separated by slashes; "" for none.
func (l *Livesim) URL(settings string) string {
	if settings == "" {
		return l.url + "/livesim2"
	}
	return l.url + "/livesim2/" + settings
}

// OldURL is URL under the name the first livesim had, from where livesim2
// redirects.
func (l *Livesim) OldURL(settings string) string {
	return l.url + "/livesim/" + settings
}

// FetchDASH has ffmpeg take a DASH presentation of about a length as fast as it
// can, without decoding it. ffmpeg is told that it is DASH: it goes by @profiles,
// and livesim2 writes none.
func FetchDASH(t testing.TB, url string, length time.Duration) Played {
	t.Helper()
	p := Player{t, url, length, Spawn(t, t.TempDir(), Tool(t, "ffmpeg"),
		"-hide_banner", "-nostdin", "-loglevel", "warning", "-nostats", "-progress", "progress",
		"-rw_timeout", "15000000", "-f", "dash", "-i", url,
		"-map", "0:v:0", "-map", "0:a:0", "-c", "copy", "-f", "null", "-")}
	return p.Wait()
}
