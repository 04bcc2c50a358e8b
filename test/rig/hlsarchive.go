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

// Tape is a recording as a real ffmpeg has written it, once for many archives.
type Tape struct {
	dir      string
	head     []string // ffmpeg's lines before its first segment
	Segments []TapeSegment
}

// TapeSegment is a segment as ffmpeg's playlist lists it.
type TapeSegment struct {
	URI    string
	Date   time.Time // EXT-X-PROGRAM-DATE-TIME, in the zone that it was written in
	Length time.Duration
}

// NewTape records test pictures for a length of media time, as fast as it goes.
func NewTape(t testing.TB, length time.Duration) *Tape {
	t.Helper()
	dir := t.TempDir()
	EncodeVoD(t, dir, Form{HLS: true, Dates: true}, length)
	return ReadTape(t, filepath.Join(dir, "media.m3u8"))
}

// dateFormat is how ffmpeg writes dates.
const dateFormat = "2006-01-02T15:04:05.000-0700"

// dateTag and lengthTag are what an archive changes, or is measured by.
const (
	dateTag   = "#EXT-X-PROGRAM-DATE-TIME:"
	lengthTag = "#EXTINF:"
)

// ReadTape reads a media playlist of ffmpeg's; every segment in it has a date.
func ReadTape(t testing.TB, file string) *Tape {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tape := &Tape{dir: filepath.Dir(file)}
	var next TapeSegment
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch length, isLength := strings.CutPrefix(line, lengthTag); {
		case isLength:
			next.Length, err = time.ParseDuration(strings.TrimSuffix(length, ",") + "s")
		case strings.HasPrefix(line, dateTag):
			next.Date, err = time.Parse(dateFormat, strings.TrimPrefix(line, dateTag))
		case !strings.HasPrefix(line, "#"):
			if next.Length == 0 || next.Date.IsZero() {
				t.Fatalf("%s: segment %s has length %v and date %v, expected both", file, line, next.Length, next.Date)
			}
			next.URI = line
			tape.Segments = append(tape.Segments, next)
			next = TapeSegment{}
		case len(tape.Segments) == 0 && next == TapeSegment{} && line != "#EXT-X-DISCONTINUITY":
			tape.head = append(tape.head, line)
		}
		if err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
	}
	if len(tape.Segments) == 0 {
		t.Fatalf("%s has no segments: %s", file, text)
	}
	return tape
}

// Archive is what one server has recorded of a channel: stretches of a tape,
// each at a time of its own. Its playlists are ffmpeg's, with other dates; what
// was not recorded is not on the disk either.
type Archive struct {
	t        testing.TB
	tape     *Tape
	dir      string
	zone     *time.Location // that its recorder writes dates in
	segments []archived
	runs     int
}

type archived struct {
	TapeSegment
	cut  bool // it does not go on from the segment before
	lost bool // listed, and not there
}

// NewArchive makes an archive in a directory, which it makes; it has nothing
// yet.
func NewArchive(t testing.TB, tape *Tape, dir string, zone *time.Location) *Archive {
	t.Helper()
	makeDir(t, dir)
	return &Archive{t: t, tape: tape, dir: dir, zone: zone}
}

// Record records a stretch of the tape as if the tape had begun at a time.
func (a *Archive) Record(begun time.Time, from, to time.Duration) *Archive {
	a.t.Helper()
	a.runs++
	folder := strconv.Itoa(a.runs)
	makeDir(a.t, filepath.Join(a.dir, folder))
	first := true
	start := a.tape.Segments[0].Date
	for _, s := range a.tape.Segments {
		if at := s.Date.Sub(start); at < from || at >= to {
			continue
		}
		file := s.URI
		s.URI = folder + "/" + file
		s.Date = begun.Add(s.Date.Sub(start)).In(a.zone)
		if err := os.Link(filepath.Join(a.tape.dir, file), filepath.Join(a.dir, s.URI)); err != nil {
			a.t.Fatal(err)
		}
		a.segments = append(a.segments, archived{TapeSegment: s, cut: first && len(a.segments) > 0})
		first = false
	}
	return a
}

// Lose loses the segments between two times. Its playlists go on to list them,
// with EXT-X-GAP.
func (a *Archive) Lose(from, to time.Time) *Archive {
	a.t.Helper()
	for i := range a.segments {
		s := &a.segments[i]
		if !s.within(from, to) {
			continue
		}
		s.lost = true
		if err := os.Remove(filepath.Join(a.dir, s.URI)); err != nil {
			a.t.Fatal(err)
		}
	}
	return a
}

// within tells whether more of a segment is within a window than outside.
func (s *archived) within(from, to time.Time) bool {
	middle := s.Date.Add(s.Length / 2)
	return !middle.Before(from) && middle.Before(to)
}

// Write writes the playlist of a window under a name. A window of which nothing
// is listed has none.
func (a *Archive) Write(name string, from, to time.Time) {
	a.t.Helper()
	var out []string
	for _, s := range a.segments {
		if !s.within(from, to) {
			continue
		}
		if s.cut && len(out) > 0 {
			out = append(out, "#EXT-X-DISCONTINUITY")
		}
		if s.lost {
			out = append(out, "#EXT-X-GAP")
		}
		out = append(out, fmt.Sprintf("%s%.6f,", lengthTag, s.Length.Seconds()), dateTag+s.Date.Format(dateFormat), s.URI)
	}
	if len(out) == 0 {
		return
	}
	out = append(append(append([]string(nil), a.tape.head...), out...), "#EXT-X-ENDLIST", "")
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(strings.Join(out, "\n")), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// WriteAll writes all that is recorded into one media playlist, with ffmpeg's
// own multivariant playlist before it.
func (a *Archive) WriteAll() {
	a.t.Helper()
	last := a.segments[len(a.segments)-1]
	a.Write("media.m3u8", a.segments[0].Date, last.Date.Add(last.Length))
	if err := os.Link(filepath.Join(a.tape.dir, "index.m3u8"), filepath.Join(a.dir, "index.m3u8")); err != nil {
		a.t.Fatal(err)
	}
}

// Offset returns where in that playlist a time is, in media time from its
// beginning.
func (a *Archive) Offset(when time.Time) time.Duration {
	a.t.Helper()
	var before time.Duration
	for _, s := range a.segments {
		if !when.Before(s.Date) && when.Before(s.Date.Add(s.Length)) {
			return before + when.Sub(s.Date)
		}
		before += s.Length
	}
	a.t.Fatalf("nothing is recorded of %v", when)
	return 0
}
