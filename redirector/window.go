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

// The signs of a recording that goes on.
const (
	// endLag is how far behind now the end of a recording may be that goes on:
	// segments are written whole, and interfaces count them late.
	endLag = 45 * time.Second
	// sliding is how much a playlist of a point in time shows, which moves along as
	// the viewer plays. One that shows more shows all there is.
	sliding = 3 * time.Minute
)

// need is the archive window of one decision: what a server must hold of it by
// now. It implements farms.Need.
type need struct {
	window farms.Range
	point  bool      // it plays on from its start: a playlist shows only the beginning of it
	grows  bool      // it plays on: what comes must be there, too
	begins bool      // it begins now: nothing of it can be recorded yet, and the live channel must be there
	now    int64     // the clock that the window was read by, in unix milliseconds,
	at     time.Time // at this time
}

// Asked implements farms.Need.
func (n *need) Asked() time.Duration { return n.window.Length() }

// GoesOn implements farms.Need.
func (n *need) GoesOn(f *farms.Fact) bool {
	switch {
	case !n.grows, f == nil:
		return true
	case f.Ended:
		return false
	case f.Until == 0, n.current(f):
		return true
	}
	return n.point && f.Source == farms.SourcePlaylist && f.Until-n.window.From < sliding.Milliseconds()
}

// current tells whether a recording went on when its server told of it.
func (n *need) current(f *farms.Fact) bool {
	then := n.now - n.at.Sub(f.At).Milliseconds()
	return f.Until >= then-endLag.Milliseconds()
}

// Held implements farms.Need. A recording without dates is taken to begin where
// the window does. One that went on when its server told of it is taken to have
// gone on since: else the server that told last would hold the most.
func (n *need) Held(f *farms.Fact, opt farms.ArchiveOptions) time.Duration {
	switch {
	case f == nil, n.begins && (f.Ended || f.Until != 0 && !n.current(f)):
		return 0
	case n.begins:
		return n.window.Length()
	}
	window, since := n.window, time.Duration(0)
	if last := len(f.Ranges) - 1; last >= 0 && f.Ranges[last].To < window.To && f.Ranges[last].To == f.Until && !f.Ended && n.current(f) {
		told := max(f.Until, window.From)
		since = time.Duration(window.To-told) * time.Millisecond
		window.To = told
	}
	point := n.point && f.Source == farms.SourcePlaylist
	switch {
	case window.Empty():
		return since // it began after its server told
	case !opt.Contiguous && !opt.MustCoverStart && !point:
		return min(archive.Held(window, f.Ranges)+since+f.Unplaced, n.window.Length())
	}
	held := archive.HeldContiguous(window, f.Ranges, f.Segment)
	switch {
	case point && held+f.Unplaced > 0: // it begins there; one that begins later shows another moment
		return n.window.Length()
	case opt.MustCoverStart && held == 0 && f.Unplaced == 0:
		return 0
	case !opt.Contiguous:
		held = archive.Held(window, f.Ranges)
	case !archive.AsGood(held, window.Length(), f.Segment):
		since = 0 // it breaks off before
	}
	return min(held+since+f.Unplaced, n.window.Length())
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
	zone, groups := v.zone, v.zones[d.Location]
	if len(groups) > 0 {
		zone = groups[0].zone
	}
	var reading archive.Reading
	verdict := v.set.Archive.Read(&reading, path, plain, w.target.Query, now, zone)
	d.Archive = reading.Request
	read := false
	if len(groups) > 1 && reading.Request.Local {
		verdict, read = w.readInZones(v, groups, path, plain, now)
	}
	switch {
	case read:
		return true
	case verdict.Outcome == archive.BadWindow:
		d.refuse(farms.ReasonBadWindow, verdict.Detail)
		return false
	case verdict.Outcome == archive.Future:
		d.refuse(farms.ReasonArchiveFuture, verdict.Detail)
		return false
	case verdict.Outcome == archive.NoMatch:
		d.Content = contentOf(v.channel, plain, path)
		return true
	}
	if d.Content, w.need = w.questionOf(v, &reading, path, plain, now); d.Content.Kind.Windowed() {
		w.query.Need = &w.need
	}
	return true
}

// questionOf is what servers are asked about a URL that a dialect has read, and
// of a window what they must hold.
func (w *work) questionOf(v *view, reading *archive.Reading, path, plain string, now time.Time) (c farms.Content, n need) {
	asked := &reading.Request
	if asked.Bare {
		if c = contentOf(v.channel, plain, path); c.Kind == farms.KindChild {
			return c, n // an extension alone: a segment of what plays already
		}
	}
	c = farms.Content{
		Kind: kinds[asked.Kind], Protocol: protocols[asked.Protocol], Container: asked.Container,
		Channel: asked.Channel, Path: reading.Path, Query: reading.Query,
	}
	if name, ok := v.channel.named(plain); ok && name != asked.Channel {
		c.Channel, c.Stream = name, asked.Channel
	}
	if !c.Kind.Windowed() {
		return c, n
	}
	grid := reading.Asked
	if grid.IsZero() {
		// All that a server has: it is as good as live.
		c.Kind = farms.KindLive
		return c, n
	}
	c.Slot = archive.RangeOf(grid.Start, grid.End)
	if grid.Open {
		end := grid.End.Add(slotStep - time.Nanosecond).Truncate(slotStep)
		c.Slot.To = end.UnixMilli()
	}
	window, some := archive.Need(asked.Window, now, writingLag)
	if !some { // the length is a token: who goes on holds all of it
		start := asked.Window.Start.UnixMilli()
		window = farms.Range{From: start, To: start + writingLag.Milliseconds()}
	}
	return c, need{
		window: window, point: c.Kind == farms.KindTimeshift, grows: c.Kind != farms.KindArchive, begins: !some,
		now: now.UnixMilli(), at: w.decision.Time,
	}
}
