package archive

import (
	"math/bits"
	"net/url"
	"strings"
)

// Queries are split here and not by net/url: that drops parameters with a
// semicolon (AWS settings), turns the plus of "+00:00" into a space and lets one
// bad escape of somebody else's token spoil the rest (reference archive.md §6.3).

// param names a query parameter that a dialect knows.
type param uint8

// The parameters. paramNames gives their spelling.
const (
	paramNone param = iota
	paramArchiveEnd
	paramArchiveStart
	paramAWS
	paramBegin
	paramCh
	paramChannel
	paramCutv
	paramDur
	paramDuration
	paramDVR
	paramDVRWindow
	paramEnd
	paramEndTime
	paramFrom
	paramID
	paramLen
	paramLHS
	paramPath
	paramPlayseek
	paramStart
	paramStartTime
	paramStartunix
	paramStop
	paramStopunix
	paramStream
	paramStreamID
	paramTimeShift
	paramTo
	paramTvdr
	paramUtc
	paramVbegin
	paramVend
	paramWowzaLength
	paramWowzaStart
	paramCount
)

// paramNames holds each parameter as its vendor writes it. Viewers may write
// them in any case; probes write them so.
var paramNames = [paramCount]string{
	paramArchiveEnd:   "archive_end",
	paramArchiveStart: "archive_start",
	paramAWS:          "aws.manifestsettings",
	paramBegin:        "begin",
	paramCh:           "ch",
	paramChannel:      "channel",
	paramCutv:         "cutv",
	paramDur:          "dur",
	paramDuration:     "duration",
	paramDVR:          "DVR",
	paramDVRWindow:    "dvr_window_length",
	paramEnd:          "end",
	paramEndTime:      "endTime",
	paramFrom:         "from",
	paramID:           "id",
	paramLen:          "len",
	paramLHS:          "lhs_start",
	paramPath:         "path",
	paramPlayseek:     "playseek",
	paramStart:        "start",
	paramStartTime:    "startTime",
	paramStartunix:    "startunix",
	paramStop:         "stop",
	paramStopunix:     "stopunix",
	paramStream:       "stream",
	paramStreamID:     "stream_id",
	paramTimeShift:    "time_shift",
	paramTo:           "to",
	paramTvdr:         "tvdr",
	paramUtc:          "utc",
	paramVbegin:       "vbegin",
	paramVend:         "vend",
	paramWowzaLength:  "wowzadvrplaylistduration",
	paramWowzaStart:   "wowzadvrplayliststart",
}

// paramsByLength lists the parameters whose names have a length, so that a
// foreign name costs one look.
var paramsByLength = func() (byLength [25][]param) {
	for p := paramNone + 1; p < paramCount; p++ {
		n := len(paramNames[p])
		byLength[n] = append(byLength[n], p)
	}
	return byLength
}()

// paramSet is a set of parameters.
type paramSet uint64

func setOf(params ...param) (s paramSet) {
	for _, p := range params {
		s |= 1 << p
	}
	return s
}

// first returns a parameter of a set that is not empty.
func (s paramSet) first() param { return param(bits.TrailingZeros64(uint64(s))) }

// query is a raw query, indexed once. Of a parameter that comes twice the first
// counts.
type query struct {
	raw  string
	have paramSet // there, empty or not
	from [paramCount]uint32
}

// index finds the parameters that dialects know. Beyond 4 GiB nobody looks.
func (q *query) index(raw string) {
	q.raw = raw
	for i := 0; i < len(raw); {
		name, value, next := paramAt(raw, i)
		if p := paramNamed(name); p != paramNone && q.have&(1<<p) == 0 {
			q.have |= 1 << p
			q.from[p] = uint32(value)
		}
		i = next
	}
}

// paramAt reads the parameter that begins at raw[i]: its name, where its value
// begins, and where the next parameter does. Parameters end at "&", "&amp;" or a
// second "?": OTT-Player appends its window to whatever URL it has with a
// question mark of its own.
func paramAt(raw string, i int) (name string, value, next int) {
	end, equals := i, -1
	for end < len(raw) && raw[end] != '&' && raw[end] != '?' {
		if raw[end] == '=' && equals < 0 {
			equals = end
		}
		end++
	}
	next = end + 1
	if strings.HasPrefix(raw[min(next, len(raw)):], "amp;") && raw[end] == '&' {
		next += len("amp;")
	}
	if equals < 0 {
		return raw[i:end], end, next
	}
	return raw[i:equals], equals + 1, next
}

// paramNamed returns the parameter of a name, which may be escaped.
func paramNamed(name string) param {
	if strings.IndexByte(name, '%') >= 0 {
		name = decode(name)
	}
	if name == "" || len(name) >= len(paramsByLength) {
		return paramNone
	}
	for _, p := range paramsByLength[len(name)] {
		if known := paramNames[p]; (name[0]|0x20) == (known[0]|0x20) && strings.EqualFold(name, known) {
			return p
		}
	}
	return paramNone
}

// has reports whether any of a set is there.
func (q *query) has(s paramSet) bool { return q.have&s != 0 }

// value returns a parameter's value, percent-decoded once, "+" kept.
func (q *query) value(p param) string {
	if q.have&(1<<p) == 0 {
		return ""
	}
	return valueAt(q.raw, int(q.from[p]))
}

// rawValue returns the value of a parameter that is there as it is written.
func (q *query) rawValue(p param) string {
	from := int(q.from[p])
	return q.raw[from:valueEnd(q.raw, from)]
}

// first returns the first of some parameters that is there, in their order.
func (q *query) first(params ...param) param {
	for _, p := range params {
		if q.have&(1<<p) != 0 {
			return p
		}
	}
	return paramNone
}

// valueAt returns the value that begins at raw[i].
func valueAt(raw string, i int) string { return decode(raw[i:valueEnd(raw, i)]) }

// valueEnd returns where the value ends that begins at raw[i].
func valueEnd(raw string, i int) int {
	for i < len(raw) && raw[i] != '&' && raw[i] != '?' {
		i++
	}
	return i
}

// decode decodes percent escapes, and none when one of them is bad: such a text
// is no time, and as a channel it is what the viewer wrote.
func decode(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
}
