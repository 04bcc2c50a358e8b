package rig

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Downloaded is what ffmpeg has copied of a recording, as ffprobe measures it.
type Downloaded struct {
	Length   time.Duration // from the first to the last time stamp
	Pictures time.Duration // how long its pictures last
	Warnings string        // what ffmpeg complained about
}

// Wanted is the part of a recording that a player wants; the zero value is all.
type Wanted struct {
	After   time.Duration // media time that is left out, from the beginning
	Length  time.Duration // of media time; 0: to the end
	Growing bool          // of a playlist that grows, whose end ffmpeg would begin near
}

// Download has ffmpeg copy a part of a recording into a file.
func Download(t testing.TB, url, agent string, part Wanted) Downloaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.ts")
	args := []string{"-hide_banner", "-nostdin", "-loglevel", "warning", "-user_agent", agent, "-rw_timeout", "15000000"}
	if part.Growing {
		args = append(args, "-live_start_index", "0")
	}
	args = append(args, "-i", url)
	if part.After > 0 { // behind -i: before it ffmpeg cannot wind over a discontinuity
		args = append(args, "-ss", seconds(part.After))
	}
	if part.Length > 0 {
		args = append(args, "-t", seconds(part.Length))
	}
	ffmpeg := Spawn(t, "", Tool(t, "ffmpeg"), append(args, "-map", "0:v:0", "-map", "0:a:0", "-c", "copy", file)...)
	if status := ffmpeg.Wait(); status != 0 {
		t.Fatalf("ffmpeg downloading %s ended with %d: %s", url, status, ffmpeg.Output())
	}
	probe := Spawn(t, "", Tool(t, "ffprobe"), "-v", "quiet", "-select_streams", "v:0", "-count_packets",
		"-show_entries", "format=duration:stream=nb_read_packets", "-of", "json", file)
	status := probe.Wait()
	var measured struct {
		Format  struct{ Duration string }
		Streams []struct {
			Packets string `json:"nb_read_packets"`
		}
	}
	err := json.Unmarshal([]byte(probe.Output()), &measured)
	if err != nil || status != 0 || len(measured.Streams) != 1 {
		t.Fatalf("ffprobe of what ffmpeg downloaded of %s ended with %d: %v, %s", url, status, err, probe.Output())
	}
	total, err := strconv.ParseFloat(measured.Format.Duration, 64)
	if err != nil {
		t.Fatal(err)
	}
	pictures, err := strconv.Atoi(measured.Streams[0].Packets)
	if err != nil {
		t.Fatal(err)
	}
	return Downloaded{
		Length:   time.Duration(total * float64(time.Second)),
		Pictures: time.Duration(pictures) * time.Second / 5, // see picture
		Warnings: ffmpeg.Output(),
	}
}

// String is for messages.
func (d Downloaded) String() string {
	return fmt.Sprintf("%v with pictures for %v, %q", d.Length, d.Pictures, d.Warnings)
}
