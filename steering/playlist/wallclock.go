package playlist

import "time"

// What a playlist says of the time of day counts as such only from 2000-01-01 to 2100-01-01, in unix milliseconds.
// An encoder whose clock was never set says 1970, and a packager without one counts from 0 and writes 1970 as the start
// of time; to believe them would put a recording where nobody looks for it.
const (
	wallClockFirst = 946684800000
	wallClockLast  = 4102444800000
)

func onWallClock(ms int64) bool { return ms >= wallClockFirst && ms < wallClockLast }

// wallClock is an instant and the durations since, kept apart so that thousands of durations that are no whole
// milliseconds do not drift.
type wallClock struct {
	base  int64 // unix milliseconds
	since time.Duration
	known bool
}

// readWallClock reads a date and time, and knows nothing when that is no time of day.
func readWallClock(date []byte) wallClock {
	at, ok := parseDateTimeBytes(date)
	if !ok || !onWallClock(at.UnixMilli()) {
		return wallClock{}
	}
	return wallClock{base: at.UnixMilli(), since: time.Duration(at.Nanosecond()) % time.Millisecond, known: true}
}

// after is the time d later in unix milliseconds, rounded down.
func (c wallClock) after(d time.Duration) int64 {
	return c.base + addDuration(c.since, d).Milliseconds()
}

// parseDateTimeBytes is parseDateTime for playlists that date every segment of a day: it makes no garbage of the common
// spellings, and the zones are its own business, since a time.Location for each costs more than all the rest.
func parseDateTimeBytes(text []byte) (at time.Time, ok bool) {
	local, offset := cutZone(text)
	var zulu [len("2006-01-02T15:04:05.000000000Z")]byte
	if len(local) < len(zulu) {
		zulu[copy(zulu[:], local)] = 'Z'
		if err := at.UnmarshalText(zulu[:len(local)+1]); err == nil {
			return at.Add(-offset), true
		}
	}
	return parseDateTime(string(text))
}

// cutZone takes the zone off a date and time: Z, ±hh:mm, ±hhmm, ±hh or none. What is none of them stays where it is.
func cutZone(text []byte) (local []byte, offset time.Duration) {
	const shortest = len("2006-01-02T15:04:05") // the dashes before are not signs
	sign := len(text) - 1
	for sign >= shortest && text[sign] != '+' && text[sign] != '-' && text[sign] != 'Z' {
		sign--
	}
	if sign < shortest {
		return text, 0
	}
	zone := text[sign+1:]
	if text[sign] == 'Z' {
		if len(zone) == 0 {
			return text[:sign], 0
		}
		return text, 0
	}
	minutes := []byte("00")
	switch {
	case len(zone) == len("hh:mm") && zone[2] == ':':
		minutes = zone[3:]
	case len(zone) == len("hhmm"):
		minutes = zone[2:]
	case len(zone) != len("hh"):
		return text, 0
	}
	h, hoursOK := parseWhole(zone[:2])
	m, minutesOK := parseWhole(minutes)
	if !hoursOK || !minutesOK || h > 23 || m > 59 {
		return text, 0
	}
	offset = time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if text[sign] == '-' {
		offset = -offset
	}
	return text[:sign], offset
}
