package playlist

import (
	"math"
	"strings"
	"time"
)

// ReadSmooth reads which stretches of time a Smooth Streaming manifest holds, from the fragments of its first video stream
// or else of its first stream. It takes the encodings that [ParseSmooth] takes.
//
// Fragment times count from wherever the encoder began. They are taken for the time of day when the first one, divided by
// the time scale, is between 2000 and 2100 as seconds since 1970 (unix time, as Unified Streaming writes it in units of
// 100 ns), or as seconds since the year 1 (.NET ticks, in any scale). No other clock gets there: it would have to have run
// for thirty years. All else is Unplaced.
//
// A fragment without d lasts until the next one begins; of a last one without d nobody knows how long it is, and it adds
// nothing.
func ReadSmooth(body []byte) (*Recorded, error) {
	reader := newXMLReader(body)
	root, err := reader.rootNamed(rootSmooth)
	if err != nil {
		return nil, err
	}
	timescale, err := root.timescale("TimeScale", smoothTimescale)
	if err != nil {
		return nil, err
	}
	var chosen smoothStream
	streams, video := 0, false
	err = reader.children(func(child element) error {
		if child.Name.Local != "StreamIndex" || video {
			return nil
		}
		stream, err := readSmoothStream(reader, child, timescale)
		if err != nil {
			return err
		}
		kind, _ := child.text("Type")
		if video = strings.EqualFold(kind, "video"); video || streams == 0 {
			chosen = stream
		}
		streams++
		return nil
	})
	if err != nil {
		return nil, err
	}
	var r recording
	r.Ended = !isLive(root)
	if streams > 0 {
		chosen.placeIn(&r)
	}
	return r.finish()
}

// smoothStream is the fragments of a StreamIndex in units of its timescale.
type smoothStream struct {
	spanList
	timescale uint64
	longest   uint64
}

func readSmoothStream(reader *xmlReader, index element, timescale uint64) (s smoothStream, err error) {
	if s.timescale, err = index.timescale("TimeScale", timescale); err != nil {
		return s, err
	}
	var run fragments
	err = reader.children(func(child element) error {
		if child.Name.Local != "c" {
			return nil
		}
		before := run
		if err := run.add(child); err != nil {
			return err
		}
		if before.count > 0 && before.length == 0 && run.start > before.start {
			s.addFragments(before.start, run.start, run.start-before.start)
		}
		s.addFragments(run.start, run.end, run.length)
		return nil
	})
	s.merge()
	return s, err
}

func (s *smoothStream) addFragments(from, to, length uint64) {
	if from < to {
		s.longest = max(s.longest, length)
	}
	s.addRun(from, to, length)
}

// placeIn adds the stream to a recording, on the wall clock when that is what it counts.
func (s *smoothStream) placeIn(r *recording) {
	r.Segment, _ = unitsToDuration(s.longest, s.timescale)
	r.placed.full = s.full
	if len(s.spans) == 0 {
		return
	}
	epoch, placed := s.epoch(uint64(s.spans[0].From))
	for _, span := range s.spans {
		if placed {
			r.place(s.unixMilli(uint64(span.From), epoch), s.unixMilli(uint64(span.To), epoch), 0)
			continue
		}
		length, ok := unitsToDuration(uint64(span.To-span.From), s.timescale)
		if !ok {
			length = longest
		}
		r.unplaced(length)
	}
}

// epoch finds the instant that a stream's clock counts from, in seconds before 1970, if it is the time of day.
func (s *smoothStream) epoch(first uint64) (seconds int64, ok bool) {
	const dotNet = 62_135_596_800 // from 0001-01-01 to 1970-01-01
	for _, epoch := range [...]int64{0, dotNet} {
		if onWallClock(s.unixMilli(first, epoch)) {
			return epoch, true
		}
	}
	return 0, false
}

// unixMilli is a time of the stream in unix milliseconds, or the end of time when it is beyond that.
func (s *smoothStream) unixMilli(units uint64, epoch int64) int64 {
	const enough = 1 << 40 // seconds, 35,000 years
	seconds := units / s.timescale
	if seconds > enough {
		return math.MaxInt64
	}
	fraction, _ := unitsToDuration(units%s.timescale, s.timescale)
	return (int64(seconds)-epoch)*int64(time.Second/time.Millisecond) + fraction.Milliseconds()
}
