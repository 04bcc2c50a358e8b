package redirector

import (
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
)

// writingLag is how far behind now a recording's end may be: the last segments
// are not written yet.
const writingLag = 20 * time.Second

// slotStep is the grid on which the end of a window that has none is asked for.
const slotStep = time.Minute

// kinds and protocols are those of archive in the words of farms.
var (
	kinds = [...]farms.Kind{
		archive.KindLive: farms.KindLive, archive.KindVoD: farms.KindVoD, archive.KindTimeshift: farms.KindTimeshift,
		archive.KindArchive: farms.KindArchive, archive.KindEvent: farms.KindEvent, archive.KindWindow: farms.KindWindow,
	}
	protocols = [...]farms.Protocol{
		archive.ProtocolFile: farms.ProtocolFile, archive.ProtocolHLS: farms.ProtocolHLS, archive.ProtocolDASH: farms.ProtocolDASH,
		archive.ProtocolSmooth: farms.ProtocolSmooth, archive.ProtocolMPEGTS: farms.ProtocolMPEGTS,
		archive.ProtocolMP4: farms.ProtocolMP4, archive.ProtocolHDS: farms.ProtocolHDS,
	}
)

// need is the archive window of one decision: what a server must hold of it by
// now. It implements farms.Need.
type need struct {
	window farms.Range
	point  bool // it plays on from its start: a playlist shows only the beginning of it
}

// Asked implements farms.Need.
func (n *need) Asked() time.Duration { return n.window.Length() }

// Held implements farms.Need. A recording without dates is taken to begin where
// the window does.
func (n *need) Held(f *farms.Fact, opt farms.ArchiveOptions) time.Duration {
	if f == nil {
		return 0
	}
	var held time.Duration
	point := n.point && f.Source == farms.SourcePlaylist
	if !opt.Contiguous && !opt.MustCoverStart && !point {
		if held = archive.Held(n.window, f.Ranges); f.Unplaced > 0 {
			held = min(held+f.Unplaced, n.window.Length())
		}
		return held
	}
	if opt.Contiguous || point || opt.MustCoverStart && f.Unplaced == 0 {
		held = archive.HeldContiguous(n.window, f.Ranges, f.Segment)
		switch {
		case point && held+f.Unplaced > 0: // it begins there; one that begins later shows another moment
			return n.window.Length()
		case opt.MustCoverStart && held == 0 && f.Unplaced == 0:
			return 0
		}
	}
	if !opt.Contiguous {
		held = archive.Held(n.window, f.Ranges)
	}
	return min(held+f.Unplaced, n.window.Length())
}

// readURL reads what the viewer's URL asks for: a dialect says kind, protocol
// and window; where none reads it, the file's extension does. The operator's
// channel_regex names the channel when it is set. ok is false when the URL
// alone earns a refusal.
func (e *Engine) readURL(w *work, v *view, path, plain string) (ok bool) {
	d := &w.decision
	if v.set.Archive == nil {
		d.Content = contentOf(v.channel, plain, path)
		return true
	}
	now := d.Time
	if !d.Request.Now.IsZero() {
		now = d.Request.Now
	}
	var reading archive.Reading
	verdict := v.set.Archive.Read(&reading, path, plain, w.target.Query, now, v.zoneOf(d.Location))
	asked := &reading.Request
	d.Archive = *asked
	switch verdict.Outcome {
	case archive.BadWindow:
		d.refuse(farms.ReasonBadWindow, verdict.Detail)
		return false
	case archive.Future:
		d.refuse(farms.ReasonArchiveFuture, verdict.Detail)
		return false
	case archive.NoMatch:
		d.Content = contentOf(v.channel, plain, path)
		return true
	}
	if asked.Bare {
		if c := contentOf(v.channel, plain, path); c.Kind == farms.KindChild {
			d.Content = c // an extension alone: a segment of what plays already
			return true
		}
	}
	c := &d.Content
	c.Kind, c.Protocol, c.Container = kinds[asked.Kind], protocols[asked.Protocol], asked.Container
	c.Channel = asked.Channel
	if name, ok := v.channel.named(plain); ok && name != asked.Channel {
		c.Channel, c.Stream = name, asked.Channel
	}
	c.Path, c.Query = reading.Path, reading.Query
	if !c.Kind.Windowed() {
		return true
	}
	grid := reading.Asked
	c.Slot = archive.RangeOf(grid.Start, grid.End)
	if grid.IsZero() {
		// All that a server has: it is as good as live.
		c.Kind, c.Slot = farms.KindLive, archive.Range{}
		return true
	}
	if grid.Open {
		end := grid.End.Add(slotStep - time.Nanosecond).Truncate(slotStep)
		c.Slot.To = end.UnixMilli()
	}
	window, some := archive.Need(asked.Window, now, writingLag)
	if !some { // it begins now: a moment of it is asked for
		start := asked.Window.Start.UnixMilli()
		window = farms.Range{From: start - time.Minute.Milliseconds(), To: start}
	}
	w.need = need{window: window, point: c.Kind == farms.KindTimeshift}
	w.query.Need = &w.need
	return true
}

// zoneOf is the zone of times that a URL gives without one, for the viewers of
// a location: that of its first farm, nil for the configured default.
func (v *view) zoneOf(l *farms.Location) *time.Location {
	if len(v.set.Zones) == 0 {
		return nil
	}
	return v.set.Zones[l.Farms[0].Name]
}
