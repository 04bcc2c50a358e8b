package demo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// boxes returns the payloads of the ISO BMFF boxes at path below data, e.g. "moof/traf/tfdt".
func boxes(t *testing.T, data []byte, path string) [][]byte {
	t.Helper()
	kind, rest, deeper := strings.Cut(path, "/")
	var found [][]byte
	for len(data) > 0 {
		if len(data) < 8 {
			t.Fatalf("%d bytes left over before box %q: expected a box header", len(data), path)
		}
		size := int(binary.BigEndian.Uint32(data))
		if size < 8 || size > len(data) {
			t.Fatalf("box %q has size %d of %d bytes", data[4:8], size, len(data))
		}
		if string(data[4:8]) == kind {
			if deeper {
				found = append(found, boxes(t, data[8:size], rest)...)
			} else {
				found = append(found, data[8:size])
			}
		}
		data = data[size:]
	}
	return found
}

func TestPicturesAreWhatThePlaylistsSay(t *testing.T) {
	t.Parallel()
	total := 0
	for _, name := range []string{Pattern, Bars} {
		c, err := loadChannel(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range c.variants {
			total += len(v.init)
			for _, s := range v.segments {
				total += len(s)
			}
			t.Run(name+"_"+v.name, func(t *testing.T) {
				t.Parallel()
				checkInit(t, v)
				checkSegments(t, v)
			})
		}
	}
	if total > 1<<20 {
		t.Errorf("the pictures take %d bytes of the binary: expected 1 MiB at most", total)
	}
}

func checkInit(t *testing.T, v variant) {
	if got := string(v.init[4:8]); got != "ftyp" {
		t.Errorf("the initialization segment begins with %q: expected ftyp", got)
	}
	if n := len(boxes(t, v.init, "moov/trak")); n != 2 {
		t.Errorf("%d tracks: expected picture and sound", n)
	}

	// AVCDecoderConfigurationRecord: version, then the three bytes that RFC 6381 writes in hexadecimal.
	_, record, ok := bytes.Cut(v.init, []byte("avcC"))
	if !ok {
		t.Fatal("no avcC box")
	}
	video, audio, _ := strings.Cut(v.codecs, ",")
	if got := fmt.Sprintf("avc1.%02x%02x%02x", record[1], record[2], record[3]); got != video {
		t.Errorf("the picture is %s: the playlist says %s", got, video)
	}
	if audio != "mp4a.40.2" || !bytes.Contains(v.init, []byte("mp4a")) {
		t.Errorf("the sound is not %s", audio)
	}

	// VisualSampleEntry: the size stands 24 bytes after the box type.
	_, entry, _ := bytes.Cut(v.init, []byte("avc1"))
	if got := fmt.Sprintf("%dx%d", binary.BigEndian.Uint16(entry[24:]), binary.BigEndian.Uint16(entry[26:])); got != v.resolution {
		t.Errorf("the picture is %s: the playlist says %s", got, v.resolution)
	}
}

func checkSegments(t *testing.T, v variant) {
	const framesPerSegment, audioFramesPerLoop = 50, 1125 // 25 fps; 24 s of 1024 samples at 48 kHz
	timescale := boxes(t, v.init, "moov/trak/mdia/mdhd")[0][12:16]
	perSegment := uint64(binary.BigEndian.Uint32(timescale)) * uint64(segmentDuration.Seconds())

	audioFrames := uint32(0)
	for n, segment := range v.segments {
		if got := string(segment[4:8]); got != "styp" {
			t.Errorf("segment %d begins with %q: expected styp", n, got)
		}
		decodeTimes := boxes(t, segment, "moof/traf/tfdt")
		runs := boxes(t, segment, "moof/traf/trun")
		if len(decodeTimes) != 2 || len(runs) != 2 {
			t.Fatalf("segment %d has %d track fragments in %d runs: expected two in two", n, len(decodeTimes), len(runs))
		}
		if got, want := binary.BigEndian.Uint64(decodeTimes[0][4:]), uint64(n)*perSegment; got != want {
			t.Errorf("segment %d begins at %d: expected %d", n, got, want)
		}
		if got := binary.BigEndian.Uint32(runs[0][4:]); got != framesPerSegment {
			t.Errorf("segment %d has %d frames: expected %d", n, got, framesPerSegment)
		}
		audioFrames += binary.BigEndian.Uint32(runs[1][4:])
	}
	if audioFrames != audioFramesPerLoop {
		t.Errorf("%d frames of sound: expected %d, or picture and sound drift apart at the wrap", audioFrames, audioFramesPerLoop)
	}
}

func TestUnknownChannelIsAnError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "news", "../assets", "pattern/360p"} {
		if _, err := New("s1", "north", epoch(), Pattern, name); err == nil {
			t.Errorf("channel %q was accepted", name)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("the error does not name channel %q: %v", name, err)
		}
	}
}
