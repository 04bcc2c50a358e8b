package playlist

import (
	"math"
	"math/bits"
	"strings"
	"time"
)

// longest is the greatest duration there is; sums stop here instead of wrapping round.
const longest = time.Duration(math.MaxInt64)

// addDuration is a+b for durations that are not negative together, or longest.
func addDuration(a, b time.Duration) time.Duration {
	if b > 0 && a > longest-b {
		return longest
	}
	return a + b
}

// parseWhole reads an unsigned decimal number; anything else, or a number beyond 64 bits, is not ok.
func parseWhole[T string | []byte](text T) (value uint64, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	for i := range len(text) {
		digit := uint64(text[i] - '0')
		if digit > 9 || value > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		value = value*10 + digit
	}
	return value, true
}

// parseSeconds reads seconds as HLS writes them (RFC 8216 §4.2 decimal-floating-point): digits, perhaps a point and
// more digits. It is exact to the nanosecond, and since there is no way to write a sign, NaN or an infinity in that
// grammar, none gets in.
func parseSeconds[T string | []byte](text T) (seconds time.Duration, ok bool) {
	whole, fraction := len(text), len(text)
	for i := range len(text) {
		if text[i] == '.' {
			whole, fraction = i, i+1
			break
		}
	}
	var value uint64
	if whole > 0 {
		if value, ok = parseWhole(text[:whole]); !ok || value >= uint64(longest/time.Second) {
			return 0, false
		}
	}
	nanoseconds, unit := uint64(0), uint64(time.Second)
	for i := fraction; i < len(text); i++ {
		digit := uint64(text[i] - '0')
		if digit > 9 {
			return 0, false
		}
		unit /= 10
		nanoseconds += digit * unit
	}
	if whole == 0 && fraction >= len(text) { // "" and "."
		return 0, false
	}
	return time.Duration(value)*time.Second + time.Duration(nanoseconds), true
}

// parseISODuration reads an xs:duration that is not negative, such as PT1H2M3.5S or P1DT12H. A year counts as 365 days
// and a month as 30: packagers write them only as 0 (P0Y0M0DT0H0M30S), where it makes no difference.
func parseISODuration(text string) (sum time.Duration, ok bool) {
	text, isDuration := strings.CutPrefix(text, "P")
	date, clock, hasClock := strings.Cut(text, "T")
	if !isDuration || text == "" || (hasClock && clock == "") {
		return 0, false
	}
	const day = 24 * time.Hour
	days, dateOK := sumUnits(date, isoUnit{"Y", 365 * day}, isoUnit{"M", 30 * day}, isoUnit{"D", day})
	hours, clockOK := sumUnits(clock, isoUnit{"H", time.Hour}, isoUnit{"M", time.Minute}, isoUnit{"S", time.Second})
	if !dateOK || !clockOK || days > longest-hours {
		return 0, false
	}
	return days + hours, true
}

type isoUnit struct {
	letter string
	length time.Duration
}

// sumUnits adds up numbers that are each followed by their unit's letter, in the order of units. Only seconds may have a
// fraction.
func sumUnits(text string, units ...isoUnit) (sum time.Duration, ok bool) {
	for _, unit := range units {
		number, rest, present := strings.Cut(text, unit.letter)
		if !present {
			continue
		}
		part, ok := parseSeconds(number)
		if unit.length != time.Second {
			count, whole := parseWhole(number)
			part, ok = time.Duration(count)*unit.length, whole && count <= uint64(longest/unit.length)
		}
		if !ok || part > longest-sum {
			return 0, false
		}
		sum, text = sum+part, rest
	}
	return sum, text == ""
}

// parseDateTime reads the date and time of EXT-X-PROGRAM-DATE-TIME and of MPD attributes. Without a zone it is UTC:
// MistServer leaves the Z out. ffmpeg writes the zone without a colon.
func parseDateTime(text string) (at time.Time, ok bool) {
	for _, layout := range [...]string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// unitsToDuration converts a count of 1/timescale seconds, rounding down; not ok when it does not fit.
func unitsToDuration(units, timescale uint64) (duration time.Duration, ok bool) {
	if timescale == 0 || units/timescale >= uint64(longest/time.Second) {
		return 0, false
	}
	high, low := bits.Mul64(units%timescale, uint64(time.Second))
	nanoseconds, _ := bits.Div64(high, low, timescale) // high < timescale, because the remainder is
	return time.Duration(units/timescale)*time.Second + time.Duration(nanoseconds), true
}

// addRun is start + count·step, and not ok beyond 63 bits.
func addRun(start, count, step uint64) (end uint64, ok bool) {
	high, low := bits.Mul64(count, step)
	end, carry := bits.Add64(start, low, 0)
	return end, high == 0 && carry == 0 && end <= math.MaxInt64
}
