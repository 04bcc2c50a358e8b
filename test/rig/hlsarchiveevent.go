package rig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// NewEvent starts a recording that a playlist of type EVENT lists from its
// beginning on, so long ago, and that goes on. Its recorder was started anew just
// now: there is a discontinuity, and the dates are those of both runs.
func NewEvent(t testing.TB, dir string, past time.Duration) *Encoder {
	t.Helper()
	makeDir(t, dir)
	event := func(length time.Duration, flag string, before ...string) []string {
		args := append(append(picture(before...), "-t", seconds(length)), codecs()...)
		return append(args, "-f", "hls", "-hls_time", seconds(SegmentTime), "-hls_list_size", "0", "-hls_playlist_type", "event",
			"-hls_flags", "temp_file+independent_segments+program_date_time+"+flag,
			"-hls_segment_filename", "seg%d.ts", "-master_pl_name", "index.m3u8", "media.m3u8")
	}
	p := Spawn(t, dir, Tool(t, "ffmpeg"), event(past, "omit_endlist")...)
	if status := p.Wait(); status != 0 {
		t.Fatalf("ffmpeg ended with %d: %s", status, p.Output())
	}
	endNow(t, filepath.Join(dir, "media.m3u8"))
	e := &Encoder{t: t, dir: dir, args: event(longest, "append_list", "-re")}
	e.Start()
	return e
}

// endNow moves the dates of a playlist so that its last segment ends now.
func endNow(t testing.TB, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	segments := ReadTape(t, file).Segments
	last := segments[len(segments)-1]
	shift := time.Since(last.Date.Add(last.Length))
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if text, ok := strings.CutPrefix(line, dateTag); ok {
			date, err := time.Parse(dateFormat, text)
			if err != nil {
				t.Fatal(err)
			}
			lines[i] = dateTag + date.Add(shift).Format(dateFormat)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}
