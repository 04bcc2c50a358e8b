package archive

import "time"

// The steps of the grid on which windows are asked for. A short window on a
// coarse grid would be asked for at twice its length.
const (
	fineStep   = 10 * time.Second
	coarseStep = time.Minute
	shortest   = 10 * time.Minute    // below, a closed window is on the fine grid
	longest    = 60 * 24 * time.Hour // beyond, rounding up could need a digit that a grammar does not have
	earliest   = 24 * 60 * 60        // Unix seconds; below, numbers are positions in a file, or count from now
)

// Asked returns r with its window rounded outward to the grid on which servers
// are asked, so that viewers whose guides differ by seconds share one answer.
// now is the time r was read at. Coverage is computed on r's own window, not on
// this one.
//
// Closed windows shorter than ten minutes are on a grid of ten seconds, all
// others of a minute. Beyond sixty days they are asked for as they are, and so are
// starts of the first of January 1970, which are no times. The end of a closed
// window is never moved beyond now: that would make the server answer with a live
// playlist.
func (r Request) Asked(now time.Time) Request {
	if r.form == nil || r.Window.IsZero() {
		return r
	}
	now = wholeSecond(now)
	if r.Window.Start.Unix() < earliest || r.Window.End.Sub(r.Window.Start) > longest || r.Relative && now.Sub(r.Window.Start) > longest {
		return r
	}
	step := coarseStep
	if !r.Window.Open && r.Window.End.Sub(r.Window.Start) < shortest && !r.form.inMinutes() {
		step = fineStep
	}
	asked := *r.form
	r.form = &asked

	endFixed := r.form.says(slotEnd) || r.form.says(slotLength)
	for i := range asked.n {
		s := &asked.slots[i]
		switch {
		case s.what == slotAgo, s.what == slotStart && s.spelling.style == styleMinusAgo:
			s.ago = roundUp(s.ago, step)
			r.Window.Start = now.Add(-s.ago)
		case s.what == slotStart:
			r.Window.Start = r.Window.Start.Add(-sinceGrid(r.Window.Start, step))
		case s.what == slotEnd && s.spelling.style == styleMinusAgo:
			s.ago -= (s.ago%step + step) % step
			r.Window.End = now.Add(-s.ago)
		}
	}
	if endFixed && !r.form.endsAgo() {
		end := r.Window.End
		if rest := sinceGrid(end, step); rest > 0 {
			end = end.Add(step - rest)
		}
		if (!end.After(now) || r.Window.End.After(now)) && end.Unix() <= maxUnix {
			r.Window.End = end
		}
	}
	return r
}

// inMinutes reports whether minutes are the finest that the form can say.
func (f *form) inMinutes() bool {
	for _, s := range f.all() {
		if s.spelling.style == styleMinutes {
			return true
		}
	}
	return false
}

func (f *form) says(what slotKind) bool {
	for _, s := range f.all() {
		if s.what == what {
			return true
		}
	}
	return false
}

func (f *form) endsAgo() bool {
	for _, s := range f.all() {
		if s.what == slotEnd && s.spelling.style == styleMinusAgo {
			return true
		}
	}
	return false
}

// sinceGrid returns how far t is behind the last line of the grid.
func sinceGrid(t time.Time, step time.Duration) time.Duration {
	return time.Duration(t.Unix()%int64(step/time.Second))*time.Second + time.Duration(t.Nanosecond())
}

func roundUp(d, step time.Duration) time.Duration {
	if rest := d % step; rest > 0 {
		d += step - rest
	}
	return d
}

func wholeSecond(t time.Time) time.Time { return time.Unix(t.Unix(), 0).UTC() }
