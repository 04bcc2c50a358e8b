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
	live, _ := root.text("IsLive")
	s := &Smooth{Live: strings.EqualFold(live, "true") || live == "1"}
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
}

func readFragments(reader *xmlReader) (run fragments, err error) {
	err = reader.children(func(child element) error {
		if child.Name.Local != "c" {
			return nil
		}
		start, err := child.number("t", run.end)
		if err != nil {
			return err
		}
		// Without d a fragment lasts until the next one, whose t says when; the last one's end is then its start.
		length, err := child.number("d", 0)
		if err != nil {
			return err
		}
		// Unlike DASH's, this r counts the fragments, not how often the first is repeated.
		count, err := child.number("r", 1)
		if err != nil {
			return err
		}
		if count > maxRepeat {
			return child.fail("c@r is %d, expected at most %d", count, maxRepeat)
		}
		end, ok := addRun(start, count, length)
		if !ok {
			return child.fail("the stream ends beyond 2^63 units, expected t + r·d to be a time")
		}
		if run.count == 0 {
			run.first = start
		}
		run.end, run.count = end, run.count+int(count)
		return nil
	})
	return run, err
}
