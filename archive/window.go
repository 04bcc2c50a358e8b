package archive

import "time"

// point is how long a window is that means a point in time: a player that is
// moved back by an hour needs what was on then and a little more, not the hour.
const point = time.Minute

// refuse returns the verdict on a URL that asks for what cannot be.
func refuse(dialect, detail string) Verdict {
	return Verdict{BadWindow, dialect + ": " + detail}
}

// read turns what a dialect found into a request. A start up to slack ahead of
// now is now: viewers' clocks and guides are not exact.
func (h *hit) read(in *input, r *Request, slack time.Duration) Verdict {
	r.Channel, r.Protocol, r.Container = h.channel, h.protocol, h.container
	r.Bare = h.bare
	zone := h.zone
	if zone == nil {
		zone = in.zone
	}

	var b formBuilder
	switch {
	case h.offset.text != "" || h.window.text != "":
		reading := h.offset
		if reading.text == "" {
			reading = h.window
		}
		ago, spelling, ok := readLength(reading)
		if !ok {
			return refuse(r.Dialect, "how far it goes back is not a number of seconds")
		}
		if ago == 0 {
			break // a player at the live edge says it so
		}
		start := in.now.Add(-ago)
		if start.Unix() < 0 {
			return refuse(r.Dialect, "it goes back to before 1970")
		}
		r.Kind, r.Relative = KindTimeshift, true
		r.Window = Window{start, start.Add(point), true}
		if h.offset.text == "" {
			r.Kind, r.Window.End = KindWindow, in.now
		}
		b.add(slot{reading: reading, what: slotAgo, spelling: spelling, ago: ago})
		r.form = b.form(h)
		return Verdict{Outcome: OK}

	case h.start.text == "", h.start.in > 0 && h.start.unit != unitWowza && isZeroText(h.start.text):
		if h.end.text != "" || h.start.text == "" && h.length.text != "" {
			return refuse(r.Dialect, "the window has an end or a length and no start")
		}

	default:
		return h.readWindow(in, r, zone, slack)
	}

	switch h.hint {
	case hintVoD:
		r.Kind = KindVoD
	case hintWindow:
		r.Kind = KindWindow
	case hintNone, hintLive, hintTimeshift:
		r.Kind = KindLive
	}
	h.dropTimes()
	r.form = b.form(h)
	return Verdict{Outcome: OK}
}

// dropTimes forgets the parameters of times that say nothing, so that such a
// URL is asked for like the live one it is.
func (h *hit) dropTimes() {
	for _, r := range [...]reading{h.start, h.end, h.length, h.offset, h.window} {
		if r.in > 0 {
			h.params[r.in-1] = pair{}
		}
	}
}

// readWindow reads a window that has a start.
func (h *hit) readWindow(in *input, r *Request, zone *time.Location, slack time.Duration) Verdict {
	var b formBuilder
	start, ok := readMoment(h.start, zone, in.now)
	if !ok {
		if h.start.unit == unitWowza {
			return refuse(r.Dialect, "the start is neither YYYYMMDDHHMMSS nor YYYY-MM-DD-HH:MM:SS, "+
				"and a number counts from the beginning of a store, which the URL does not tell")
		}
		return refuse(r.Dialect, "the start is not a time")
	}
	r.Relative, r.Local = start.relative, start.local && h.zone == nil
	b.add(slot{reading: h.start, what: slotStart, spelling: start.spelling, ago: in.now.Sub(start.at)})
	w := Window{Start: start.at, End: in.now, Open: true}

	switch {
	case h.end.text != "":
		end, ok := readMoment(h.end, zone, in.now)
		if !ok {
			return refuse(r.Dialect, "the end is not a time")
		}
		r.Local = r.Local || end.local && h.zone == nil
		b.add(slot{reading: h.end, what: slotEnd, spelling: end.spelling, ago: in.now.Sub(end.at)})
		w.End, w.Open = end.at, false
	case h.length.unit == unitNow:
	case h.length.text != "":
		length, spelling, ok := readLength(h.length)
		if !ok {
			return refuse(r.Dialect, "the length is not a number, or is more than 34 years")
		}
		b.add(slot{reading: h.length, what: slotLength, spelling: spelling})
		w.End, w.Open = w.Start.Add(length), false
	}

	switch {
	case !w.Open && !w.Start.Before(w.End):
		return refuse(r.Dialect, "the window ends at or before its start")
	case w.Start.After(in.now.Add(slack)):
		return Verdict{Future, r.Dialect + ": the window begins in the future"}
	case w.Start.After(in.now):
		w.Start = in.now
	}
	switch {
	case h.hint == hintTimeshift:
		r.Kind, w.Open = KindTimeshift, true
	case w.Open, w.End.After(in.now):
		r.Kind, w.Open = KindEvent, true
	default:
		r.Kind = KindArchive
	}
	if !w.Start.Before(w.End) { // plays on from now
		w.End = w.Start.Add(point)
	}
	r.Window = w
	b.fixAgo(in.now, w)
	r.form = b.form(h)
	return Verdict{Outcome: OK}
}
