package playlist

import (
	"strings"
	"time"
)

const (
	rootSmooth      = "SmoothStreamingMedia"
	smoothTimescale = 10_000_000 // MS-SSTR §2.2.2.1: 100 ns unless the manifest says otherwise; MistServer says 1000
)

// Smooth is what a judge needs to know of a Smooth Streaming manifest (MS-SSTR §2.2.2).
type Smooth struct {
	// Live is IsLive, in whatever case it is written.
	Live bool
	// Duration is the length of a presentation that is complete; 0 while it is live.
	Duration time.Duration
	// DVRWindow is how far back a live viewer can go; 0 means without limit.
	DVRWindow time.Duration
	// Streams counts StreamIndex elements: video, audio, text.
	Streams int
	// Chunks counts the fragments that are listed, in all streams together.
	Chunks int
	// LastEnd is where the last fragment ends, the latest of all streams, on the manifest's own clock.
	LastEnd time.Duration
	// Signature moves when the fragments listed do.
	Signature uint64
}

// ParseSmooth reads a Smooth Streaming manifest in UTF-8, or in UTF-16 of either byte order with or without a BOM.
func ParseSmooth(body []byte) (*Smooth, error) {
	reader := newXMLReader(body)
	root, err := reader.rootNamed(rootSmooth)
	if err != nil {
		return nil, err
	}
	s := &Smooth{Live: isLive(root)}
	timescale, err := root.timescale("TimeScale", smoothTimescale)
	if err != nil {
		return nil, err
	}
	if s.Duration, err = smoothTime(root, "Duration", timescale); err != nil {
		return nil, err
	}
	if s.DVRWindow, err = smoothTime(root, "DVRWindowLength", timescale); err != nil {
		return nil, err
	}
	signature := fingerprintStart
	err = reader.children(func(child element) error {
		if child.Name.Local != "StreamIndex" {
			return nil
		}
		timescale, err := child.timescale("TimeScale", timescale)
		if err != nil {
			return err
		}
		run, err := readFragments(reader)
		if err != nil {
			return err
		}
		end, ok := unitsToDuration(run.end, timescale)
		if !ok {
			return child.fail("StreamIndex ends %d units in, expected a time at %d a second", run.end, timescale)
		}
		s.Streams++
		s.Chunks += run.count
		s.LastEnd = max(s.LastEnd, end)
		signature = signature.number(run.first).number(run.end).number(uint64(run.count))
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Signature = uint64(signature)
	return s, nil
}

func isLive(root element) bool {
	live, _ := root.text("IsLive")
	return strings.EqualFold(live, "true") || live == "1"
}

func smoothTime(root element, name string, timescale uint64) (time.Duration, error) {
	units, err := root.number(name, 0)
	if err != nil {
		return 0, err
	}
	value, ok := unitsToDuration(units, timescale)
	if !ok {
		return 0, root.fail("%s@%s is %d, expected a time at %d a second", root.Name.Local, name, units, timescale)
	}
	return value, nil
}

// fragments adds up the c elements of a stream in units of its timescale (MS-SSTR §2.2.2.6).
type fragments struct {
	first, end uint64
	count      int

	start, length, run uint64 // of the c read last: where it begins, how long its fragments are, and how many they are
}

func readFragments(reader *xmlReader) (sum fragments, err error) {
	err = reader.children(func(child element) error {
		if child.Name.Local != "c" {
			return nil
		}
		return sum.add(child)
	})
	return sum, err
}

func (f *fragments) add(c element) (err error) {
	if f.start, err = c.number("t", f.end); err != nil {
		return err
	}
	// Without d a fragment lasts until the next one, whose t says when; the last one's end is then its start.
	if f.length, err = c.number("d", 0); err != nil {
		return err
	}
	// Unlike DASH's, this r counts the fragments, not how often the first is repeated.
	if f.run, err = c.number("r", 1); err != nil {
		return err
	}
	if f.run > maxRepeat {
		return c.fail("c@r is %d, expected at most %d", f.run, maxRepeat)
	}
	end, ok := addRun(f.start, f.run, f.length)
	if !ok {
		return c.fail("the stream ends beyond 2^63 units, expected t + r·d to be a time")
	}
	if f.count == 0 {
		f.first = f.start
	}
	f.end, f.count = end, f.count+int(f.run)
	return nil
}
