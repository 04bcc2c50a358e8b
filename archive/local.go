package archive

import "time"

// utc and china are the zones that dialects fix.
var (
	utc   = time.UTC
	china = time.FixedZone("UTC+8", 8*60*60)
)

// local is a calendar time as it is written.
type local struct {
	year, month, day, hour, minute, second, nano int
}

// valid reports whether there is such a day and time. 24:00 and leap seconds are
// nothing that players write.
func (l local) valid() bool {
	if l.month < 1 || l.month > 12 || l.day < 1 || l.hour > 23 || l.minute > 59 || l.second > 59 {
		return false
	}
	return time.Date(l.year, time.Month(l.month), l.day, 0, 0, 0, 0, time.UTC).Day() == l.day
}

// in returns the instant in a zone. A time that comes twice, when clocks go
// back, is the earlier one; a time that never comes, when they go forward, is
// read with the offset before the change. time.Date promises neither.
func (l local) in(zone *time.Location) time.Time {
	wall := time.Date(l.year, time.Month(l.month), l.day, l.hour, l.minute, l.second, l.nano, time.UTC)
	near := time.Date(l.year, time.Month(l.month), l.day, l.hour, l.minute, l.second, l.nano, zone)
	start, end := near.ZoneBounds()

	_, here := near.Zone()
	before, after := here, here
	if !start.IsZero() {
		_, before = start.Add(-1).Zone()
	}
	if !end.IsZero() {
		_, after = end.Zone()
	}

	var first time.Time
	for _, offset := range [...]int{before, here, after} {
		t := wall.Add(-time.Duration(offset) * time.Second)
		if _, o := t.In(zone).Zone(); o == offset && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if !first.IsZero() {
		return first
	}
	// The change lies behind the reading with the offset before it and ahead of
	// the reading with the offset after it.
	if t := wall.Add(-time.Duration(here) * time.Second); !end.IsZero() && !t.Before(end) {
		return t
	}
	return wall.Add(-time.Duration(before) * time.Second)
}
