package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// parsed is what video.js's parsers find in a decorated manifest.
type parsed struct {
	File     string
	Steering string
	Pathways map[string]int // variants or representations of each pathway
	Audio    map[string]int // renditions of each group that a variant names
	URIs     []string
}

// TestSteeringParsers has m3u8-parser and mpd-parser of npm read what `decorate`
// makes of ffmpeg's manifests and of the shapes that packagers write: both
// pathways are there with as many variants each, every group that a variant names
// has renditions, and every URI is on a pathway's host.
func TestSteeringParsers(t *testing.T) {
	t.Parallel()
	file := configFile(t, with(steeringConfig(
		[]rig.Config{probed("a", "share", "a http://a.example/cdn"), probed("b", "share", "b http://b.example")}, place("all", "a b", everywhere...),
	), "steering", rig.Config{"public_url": "http://steer.example.net"}))

	inputs := map[string]string{"multivariant.m3u8": rig.StageMultivariant, "stage.mpd": rig.StageMPD, "low_latency.m3u8": shapeLowLatency, "crlf.m3u8": strings.ReplaceAll(shapeLowLatency, "\n", "\r\n")}
	samples, err := filepath.Glob(filepath.Join(rig.Root(), "steering", "playlist", "testdata", "decorate", "*.m*"))
	if err != nil || len(samples) < 5 {
		t.Fatalf("%d samples of ffmpeg, %v", len(samples), err)
	}
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		inputs[filepath.Base(sample)] = string(text)
	}
	dir := t.TempDir()
	var files []string
	for name, text := range inputs {
		out, errs, status := rig.Run(t, text, "decorate", "-config", file, "-url", "http://a.example/cdn/asset/"+name, "-")
		if status != 0 {
			t.Fatalf("%s: %s", name, errs)
		}
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), rig.Tool(t, "node"), append([]string{"parse.mjs"}, files...)...)
	cmd.Dir = filepath.Join(rig.Root(), "test", "steeringlib")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(inputs) {
		t.Fatalf("%d manifests were read, expected %d", len(lines), len(inputs))
	}
	for _, line := range lines {
		var p parsed
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		p.check(t)
	}
}

func (p *parsed) check(t *testing.T) {
	t.Helper()
	name := filepath.Base(p.File)
	if !strings.HasPrefix(p.Steering, "http://steer.example.net/steering/asset/") {
		t.Errorf("%s: the steering server is %q", name, p.Steering)
	}
	if n := p.Pathways["a"]; n == 0 || n != p.Pathways["b"] || len(p.Pathways) != 2 {
		t.Errorf("%s: variants by pathway %v, expected as many of a as of b", name, p.Pathways)
	}
	for group, n := range p.Audio {
		if n == 0 {
			t.Errorf("%s: a variant names the audio group %q, which has no renditions", name, group)
		}
	}
	for _, uri := range p.URIs {
		if !strings.HasPrefix(uri, "http://a.example/cdn/asset/") && !strings.HasPrefix(uri, "http://b.example/asset/") {
			t.Errorf("%s: %q is on no pathway", name, uri)
		}
	}
}

// shapeLowLatency is a multivariant playlist in the shape of low-latency
// packagers: alternate audio, subtitles, I-frames, a session key, a variable.
const shapeLowLatency = `#EXTM3U
#EXT-X-VERSION:11
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-DEFINE:NAME="q",VALUE="720p"
#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://key",KEYFORMAT="com.apple.streamingkeydelivery",KEYFORMATVERSIONS="1"
#EXT-X-SESSION-DATA:DATA-ID="com.example.title",LANGUAGE="en",VALUE="News"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio/en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="Deutsch",LANGUAGE="de",AUTOSELECT=YES,CHANNELS="2",URI="audio/de.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",NAME="English",LANGUAGE="en",URI="subs/en.m3u8"
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC1",INSTREAM-ID="CC1"
#EXT-X-STREAM-INF:BANDWIDTH=3000000,AVERAGE-BANDWIDTH=2500000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=50,AUDIO="aac",SUBTITLES="subs",CLOSED-CAPTIONS="cc"
video/{$q}.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1000000,CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,AUDIO="aac",SUBTITLES="subs",CLOSED-CAPTIONS="cc"
video/360p.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=200000,CODECS="avc1.64001e",RESOLUTION=640x360,URI="video/iframes.m3u8"
`
