package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// The channels there are pictures for.
const (
	Pattern = "pattern" // a moving test pattern, in two variants
	Bars    = "bars"    // colour bars, in one variant
)

// What make.sh made, and what a test holds the files to.
const (
	segmentDuration = 2 * time.Second
	segmentsPerLoop = 12
)

//go:embed assets/pattern assets/bars
var pictures embed.FS

// channel is one looped picture.
type channel struct {
	name     string
	variants []variant
}

// variant is one encoding of a channel, in memory.
type variant struct {
	name       string // its folder, e.g. "360p"
	resolution string // WIDTHxHEIGHT
	codecs     string // RFC 6381, as the initialization segment says
	init       []byte // ftyp and moov
	segments   [][]byte
}

// loadChannel reads the named channel out of the binary.
func loadChannel(name string) (channel, error) {
	var variants []variant
	switch name {
	case Pattern:
		variants = []variant{
			{name: "360p", resolution: "640x360", codecs: "avc1.64001f,mp4a.40.2"},
			{name: "240p", resolution: "426x240", codecs: "avc1.640016,mp4a.40.2"},
		}
	case Bars:
		variants = []variant{
			{name: "240p", resolution: "426x240", codecs: "avc1.640016,mp4a.40.2"},
		}
	default:
		return channel{}, fmt.Errorf("the demo has no channel %q: expected %q or %q", name, Pattern, Bars)
	}

	for i := range variants {
		v := &variants[i]
		folder := path.Join("assets", name, v.name)
		var err error
		if v.init, err = fs.ReadFile(pictures, path.Join(folder, "init.mp4")); err != nil {
			return channel{}, fmt.Errorf("loading demo channel %q: %w", name, err)
		}
		for n := range segmentsPerLoop {
			data, err := fs.ReadFile(pictures, path.Join(folder, fmt.Sprintf("%02d.m4s", n)))
			if err != nil {
				return channel{}, fmt.Errorf("loading demo channel %q: %w", name, err)
			}
			v.segments = append(v.segments, data)
		}
	}
	return channel{name: name, variants: variants}, nil
}

// bandwidth returns the bit rates of the variant in bits per second: the peak (BANDWIDTH) and the mean
// (AVERAGE-BANDWIDTH). RFC 8216 section 4.3.4.2 counts whole segments, container and all.
func (v *variant) bandwidth() (peak, mean int) {
	total, largest := 0, 0
	for _, s := range v.segments {
		total += len(s)
		largest = max(largest, len(s))
	}
	seconds := int(segmentDuration / time.Second)
	return largest * 8 / seconds, total * 8 / (seconds * len(v.segments))
}
