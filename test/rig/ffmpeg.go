package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SegmentTime is the length of the segments that [Encoder] and [EncodeVoD]
// write.
const SegmentTime = 2 * time.Second

// Form is what an encoder writes into a channel's directory.
type Form struct {
	HLS   bool // index.m3u8, multivariant, and media.m3u8
	DASH  bool // manifest.mpd
	Dates bool // EXT-X-PROGRAM-DATE-TIME in the media playlist
	FMP4  bool // HLS segments are fragmented MP4 instead of transport streams
}

// Encoder is a real ffmpeg that writes a live channel of small test pictures,
// five a second, with a tone.
type Encoder struct {
	t    testing.TB
	dir  string
	args []string
	run  *Process
}

// NewEncoder starts a live channel in a directory, which it makes; it does not
// wait for the first segments (see [Encoder.Wait]).
func NewEncoder(t testing.TB, dir string, f Form) *Encoder {
	t.Helper()
	e := &Encoder{t: t, dir: dir, args: append(picture("-re"), f.live()...)}
	e.Start()
	return e
}

// EncodeVoD writes a finished recording of the given length into a directory,
// which it makes.
func EncodeVoD(t testing.TB, dir string, f Form, length time.Duration) {
	t.Helper()
	makeDir(t, dir)
	args := append(picture(), f.recorded(length)...)
	p := Spawn(t, dir, Tool(t, "ffmpeg"), args...)
	if status := p.Wait(); status != 0 {
		t.Fatalf("ffmpeg ended with %d: %s", status, p.Output())
	}
}

func makeDir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// picture is the source, as cheap as it can be.
func picture(before ...string) []string {
	args := append([]string{"-hide_banner", "-nostdin", "-loglevel", "warning", "-y"}, before...)
	return append(args, "-f", "lavfi", "-i", "testsrc2=size=128x72:rate=5",
		"-f", "lavfi", "-i", "sine=frequency=440:sample_rate=16000")
}

// codecs come once for every output. A keyframe begins every segment.
func codecs() []string {
	frames := strconv.Itoa(5 * int(SegmentTime/time.Second))
	return []string{
		"-map", "0:v", "-map", "1:a",
		"-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-threads", "1",
		"-b:v", "60k", "-g", frames, "-keyint_min", frames, "-sc_threshold", "0",
		"-c:a", "aac", "-b:a", "24k", "-ac", "1",
	}
}

// longest bounds a live channel, should nobody be left to kill its encoder.
const longest = 10 * time.Minute

func (f Form) live() []string {
	return f.outputs([]string{"-t", seconds(longest)}, []string{"-hls_list_size", "8"}, []string{"delete_segments"},
		[]string{"-window_size", "30", "-extra_window_size", "4"})
}

func (f Form) recorded(length time.Duration) []string {
	return f.outputs([]string{"-t", seconds(length)},
		[]string{"-hls_list_size", "0", "-hls_playlist_type", "vod"}, nil, nil)
}

// outputs are the arguments of the outputs that f names. Files appear whole:
// half a playlist would be read as a short one.
func (f Form) outputs(each, hls, hlsFlags, dash []string) []string {
	var args []string
	if f.HLS {
		flags := append([]string{"temp_file", "independent_segments"}, hlsFlags...)
		if f.Dates {
			flags = append(flags, "program_date_time")
		}
		args = append(append(append(args, each...), codecs()...),
			"-f", "hls", "-hls_time", seconds(SegmentTime), "-hls_flags", strings.Join(flags, "+"), "-master_pl_name", "index.m3u8")
		args = append(args, hls...)
		if f.FMP4 {
			args = append(args, "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4",
				"-hls_segment_filename", "seg%d.m4s")
		} else {
			args = append(args, "-hls_segment_filename", "seg%d.ts")
		}
		args = append(args, "media.m3u8")
	}
	if f.DASH {
		args = append(append(append(args, each...), codecs()...),
			"-f", "dash", "-seg_duration", seconds(SegmentTime), "-use_timeline", "1", "-use_template", "1")
		args = append(append(args, dash...), "manifest.mpd")
	}
	return args
}

// Start runs it (again).
func (e *Encoder) Start() {
	e.t.Helper()
	makeDir(e.t, e.dir)
	e.run = Spawn(e.t, e.dir, Tool(e.t, "ffmpeg"), e.args...)
}

// Wait waits until a file of the channel is there.
func (e *Encoder) Wait(file string) {
	e.t.Helper()
	Eventually(e.t, 30*time.Second, func() error {
		if e.run.Ended() {
			e.t.Fatalf("ffmpeg in %s has ended: %s", e.dir, e.run.Output())
		}
		_, err := os.Stat(filepath.Join(e.dir, file))
		return err
	})
}

// Kill ends it at once: its playlists stay as they are and do not move again.
func (e *Encoder) Kill() { e.run.Kill() }

// Remove kills it and takes the channel's directory away.
func (e *Encoder) Remove() {
	e.t.Helper()
	e.Kill()
	if err := os.RemoveAll(e.dir); err != nil {
		e.t.Fatal(err)
	}
}

// Played is what ffmpeg says of a stream it has played.
type Played struct {
	Status   int           // exit status
	Frames   int           // pictures decoded
	Length   time.Duration // media time
	Warnings string        // what it complained about
}

// Player is an ffmpeg that plays.
type Player struct {
	t      testing.TB
	url    string
	length time.Duration
	run    *Process
}

// Play has ffmpeg play a URL at its own speed (-re) for a length of media time
// and decode it all; it does not wait for the end. Without -re its DASH reader
// runs to the live edge and on over segments that are not there yet.
func Play(t testing.TB, url, agent string, length time.Duration) *Player {
	t.Helper()
	return &Player{t, url, length, Spawn(t, t.TempDir(), Tool(t, "ffmpeg"),
		"-hide_banner", "-nostdin", "-loglevel", "warning", "-nostats", "-progress", "progress",
		"-re", "-user_agent", agent, "-rw_timeout", "15000000", "-i", url,
		"-t", seconds(length), "-map", "0:v:0", "-map", "0:a:0", "-f", "null", "-")}
}

// Wait waits until everything is played, or half as long again and some.
func (p *Player) Wait() Played {
	p.t.Helper()
	const most = 30 * time.Second
	select {
	case <-p.run.exited:
	case <-time.After(p.length*3/2 + most):
		p.t.Errorf("ffmpeg has not played %v of %s in time: %s", p.length, p.url, p.run.Output())
		p.run.Kill()
	}
	out := Played{Status: p.run.Wait(), Warnings: p.run.Output()}
	progress, err := os.ReadFile(filepath.Join(p.run.cmd.Dir, "progress"))
	if err != nil {
		p.t.Fatalf("ffmpeg played nothing of %s: %v: %s", p.url, err, out.Warnings)
	}
	for line := range strings.Lines(string(progress)) { // the last of each counts
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil: // another kind of line, or N/A
		case name == "frame":
			out.Frames = int(n)
		case name == "out_time_us":
			out.Length = time.Duration(n) * time.Microsecond
		}
	}
	return out
}

// seconds writes a duration as ffmpeg reads it.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// String is for messages.
func (p Played) String() string {
	return fmt.Sprintf("%v in %d pictures, exit status %d, %q", p.Length, p.Frames, p.Status, p.Warnings)
}
