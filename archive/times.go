package archive

import (
	"strconv"
	"strings"
	"time"
)

// The bounds of what is a time. Nothing was recorded before 1970, and beyond the
// year 9999 calendar forms have more digits.
const (
	maxUnix   = 253402300799 // 9999-12-31T23:59:59Z
	maxLength = 1 << 30      // seconds, 34 years
	mistNow   = 36000        // MistServer: numbers up to this count from now
	fraction  = int(time.Second)
)

// spelling says how a time or a length is written, so that another can be
// written the same way.
type spelling struct {
	style  style
	layout string         // styleCalendar: for package time
	zone   *time.Location // styleCalendar
}

type style uint8

const (
	styleSeconds style = iota
	styleMillis
	styleMicros
	styleNanos
	styleMinutes
	styleCalendar
	styleMinusAgo // seconds before now behind a minus, after now without
	styleNow      // the word
)

// moment is a time that was read.
type moment struct {
	at       time.Time // UTC
	relative bool      // counts from now
	local    bool      // in a zone that the text does not name
	spelling spelling
}

// readMoment reads a time. zone is that of times without one.
func readMoment(r reading, zone *time.Location, now time.Time) (m moment, ok bool) {
	switch r.unit {
	case unitSeconds:
		return readUnix(r.text, styleSeconds)
	case unitMillis:
		return readUnix(r.text, styleMillis)
	case unitMicros:
		return readUnix(r.text, styleMicros)
	case unitNanos:
		return readUnix(r.text, styleNanos)
	case unitMist:
		return readMist(r.text, now)
	case unitXtream:
		if hasForm(r.text, "0000000000") {
			return readUnix(r.text, styleSeconds)
		}
		if !isXtreamTime(r.text) {
			return m, false
		}
		return readCalendar(r.text, zone)
	case unitDigits:
		if !hasForm(r.text, "00000000000000") {
			return m, false
		}
		return readCalendar(r.text, zone)
	case unitWowza:
		if !hasForm(r.text, "00000000000000") && !hasForm(r.text, "0000-00-00-00:00:00") {
			return m, false // most likely a number that counts from the store's beginning
		}
		return readCalendar(r.text, zone)
	case unitISO:
		return readCalendar(r.text, zone)
	case unitAuto:
		whole, _, _ := strings.Cut(r.text, ".")
		if whole == "" || !allOf(whole, isDigit) {
			return readCalendar(r.text, zone)
		}
		if len(r.text) == 14 && (r.text[:2] == "19" || r.text[:2] == "20") {
			return readCalendar(r.text, zone)
		}
		n, err := strconv.ParseInt(whole, 10, 64)
		switch {
		case err != nil:
			return m, false
		case n < 1e11:
			return readUnix(r.text, styleSeconds)
		case n < 1e14:
			return readUnix(r.text, styleMillis)
		case n < 1e17:
			return readUnix(r.text, styleMicros)
		default:
			return readUnix(r.text, styleNanos)
		}
	case unitNone, unitMinutes, unitGoDuration, unitNow:
	}
	return m, false
}

// readUnix reads Unix time in seconds, milliseconds, … Seconds may have a
// fraction: players divide milliseconds by 1000.
func readUnix(text string, s style) (m moment, ok bool) {
	whole, rest, fractional := strings.Cut(text, ".")
	n, ok := readInt(whole)
	if !ok || fractional && s != styleSeconds {
		return m, false
	}
	nanos := 0
	if fractional {
		if nanos, ok = readFraction(rest); !ok {
			return m, false
		}
	}
	switch s {
	case styleSeconds:
		m.at = time.Unix(n, int64(nanos))
	case styleMillis:
		m.at = time.UnixMilli(n)
	case styleMicros:
		m.at = time.UnixMicro(n)
	default:
		m.at = time.Unix(n/1e9, n%1e9)
	}
	m.at = m.at.UTC()
	m.spelling.style = s
	return m, n >= 0 && m.at.Unix() <= maxUnix
}

func readMist(text string, now time.Time) (m moment, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	n, ok := readInt(digits)
	if !ok {
		return m, false
	}
	if len(digits) == len(text) && n > mistNow {
		return readUnix(text, styleSeconds)
	}
	if n > maxLength {
		return m, false
	}
	if len(digits) != len(text) {
		n = -n
	}
	m.at, m.relative = now.Add(time.Duration(n)*time.Second), true
	m.spelling.style = styleMinusAgo
	return m, true
}

// readCalendar reads date and time in any of the forms that dialects have. What
// separates them is the grammar's business; here it is only written down.
//
//	YYYY-MM-DD or YYYYMMDD, one byte or none, HH:MM[:SS] or HH-MM[-SS] or HHMM[SS], [.fraction], [Z|GMT|±HH[[:]MM]]
func readCalendar(text string, zone *time.Location) (m moment, ok bool) {
	var (
		l      local
		s      = text
		layout [32]byte
		out    = layout[:0]
	)
	number := func(width int, into *int, spelled string) bool {
		if len(s) < width || !allOf(s[:width], isDigit) {
			return false
		}
		*into, _ = strconv.Atoi(s[:width])
		s = s[width:]
		out = append(out, spelled...)
		return true
	}
	separator := func(allowed string) byte {
		if s == "" || strings.IndexByte(allowed, s[0]) < 0 {
			return 0
		}
		b := s[0]
		s = s[1:]
		out = append(out, b)
		return b
	}

	if !number(4, &l.year, "2006") {
		return m, false
	}
	dash := separator("-")
	if !number(2, &l.month, "01") || separator("-") != dash || !number(2, &l.day, "02") {
		return m, false
	}
	between := separator("Tt _:+-")
	if between == 0 && dash != 0 || !number(2, &l.hour, "15") {
		return m, false
	}
	inside := separator(":-")
	if !number(2, &l.minute, "04") {
		return m, false
	}
	if s != "" && (isDigit(s[0]) || s[0] == ':' || s[0] == '-' && inside == '-') {
		if b := separator(":-"); (b == 0) != (inside == 0) || !number(2, &l.second, "05") {
			return m, false
		}
		if strings.HasPrefix(s, ".") {
			n := 1
			for n < len(s) && isDigit(s[n]) {
				n++
			}
			if l.nano, ok = readFraction(s[1:n]); !ok {
				return m, false
			}
			s = s[n:]
			out = append(out, ".999999999"...)
		}
	}
	if !l.valid() {
		return m, false
	}
	if s == "" {
		m.at, m.local = l.in(zone).UTC(), true
	} else {
		east, ok := readZone(s)
		if !ok {
			return m, false
		}
		wall := l.in(utc)
		m.at, zone = wall.Add(-east), utc
		if s == "GMT" {
			out = append(out, s...)
		} else {
			out = append(out, 'Z') // a literal in layouts
		}
	}
	m.spelling = spelling{styleCalendar, string(out), zone}
	return m, m.at.Unix() >= 0 && m.at.Unix() <= maxUnix
}

// readZone reads a zone and returns how far east of UTC it is. A space stands
// for the plus of a query that was decoded as a form.
func readZone(s string) (east time.Duration, ok bool) {
	if s == "Z" || s == "z" || s == "GMT" {
		return 0, true
	}
	sign := time.Duration(1)
	switch s[0] {
	case '-':
		sign = -1
	case '+', ' ':
	default:
		return 0, false
	}
	hours, minutes := s[1:], ""
	if len(hours) > 2 {
		hours, minutes = hours[:2], strings.TrimPrefix(hours[2:], ":")
		if len(minutes) != 2 {
			return 0, false
		}
	}
	h, ok1 := readInt(hours)
	m := int64(0)
	if minutes != "" {
		m, ok = readInt(minutes)
	} else {
		ok = len(hours) == 2
	}
	return sign * (time.Duration(h)*time.Hour + time.Duration(m)*time.Minute), ok && ok1 && h <= 15 && m <= 59
}

// readLength reads a length of time.
func readLength(r reading) (d time.Duration, s spelling, ok bool) {
	per := time.Second
	switch r.unit {
	case unitMinutes:
		per, s.style = time.Minute, styleMinutes
	case unitMillis:
		per, s.style = time.Millisecond, styleMillis
	case unitMicros:
		per, s.style = time.Microsecond, styleMicros
	case unitNanos:
		per, s.style = time.Nanosecond, styleNanos
	case unitSeconds:
	case unitGoDuration:
		if d, err := time.ParseDuration(r.text); err == nil {
			return d, s, 0 <= d && d <= maxLength*time.Second
		}
	default:
		return 0, s, false
	}
	whole, rest, fractional := strings.Cut(r.text, ".")
	n, ok := readInt(whole)
	if !ok || n > int64(maxLength*time.Second/per) {
		return 0, s, false
	}
	d = time.Duration(n) * per
	if fractional {
		nanos, ok := readFraction(rest)
		if !ok || per != time.Second {
			return 0, s, false
		}
		d += time.Duration(nanos)
	}
	return d, s, d <= maxLength*time.Second
}

// readInt reads a number of digits alone.
func readInt(s string) (int64, bool) {
	if s == "" || !allOf(s, isDigit) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// readFraction reads the digits behind a decimal point as nanoseconds.
func readFraction(s string) (nanos int, ok bool) {
	if s == "" || !allOf(s, isDigit) {
		return 0, false
	}
	for unit, i := fraction/10, 0; unit > 0 && i < len(s); unit, i = unit/10, i+1 {
		nanos += unit * int(s[i]-'0')
	}
	return nanos, true
}

// isZeroText reports whether a query says no time: nothing or zeros.
func isZeroText(s string) bool {
	return allOf(s, func(b byte) bool { return b == '0' })
}

// appendLength appends a length in a style's unit. Minutes are rounded up: a
// window may be asked for a little wider.
func appendLength(dst []byte, d time.Duration, s style) []byte {
	switch s {
	case styleNow:
		return append(dst, "now"...)
	case styleMinusAgo:
		if d >= 0 {
			dst = append(dst, '-')
		}
		return strconv.AppendInt(dst, int64(d.Abs()/time.Second), 10)
	case styleMinutes:
		return strconv.AppendInt(dst, int64((d+time.Minute-1)/time.Minute), 10)
	case styleMillis:
		return strconv.AppendInt(dst, d.Milliseconds(), 10)
	case styleMicros:
		return strconv.AppendInt(dst, d.Microseconds(), 10)
	case styleNanos:
		return strconv.AppendInt(dst, d.Nanoseconds(), 10)
	default:
		return appendSeconds(dst, int64(d/time.Second), int(d%time.Second))
	}
}

// appendMoment appends a time in a spelling.
func appendMoment(dst []byte, t time.Time, s spelling) []byte {
	switch s.style {
	case styleCalendar:
		return t.In(s.zone).AppendFormat(dst, s.layout)
	case styleMillis:
		return strconv.AppendInt(dst, t.UnixMilli(), 10)
	case styleMicros:
		return strconv.AppendInt(dst, t.UnixMicro(), 10)
	case styleNanos:
		return strconv.AppendInt(dst, t.UnixNano(), 10)
	default:
		return appendSeconds(dst, t.Unix(), t.Nanosecond())
	}
}

func appendSeconds(dst []byte, seconds int64, nanos int) []byte {
	dst = strconv.AppendInt(dst, seconds, 10)
	if nanos == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := fraction / 10; unit > 0 && nanos > 0; unit /= 10 {
		dst = append(dst, byte('0'+nanos/unit))
		nanos %= unit
	}
	return dst
}
