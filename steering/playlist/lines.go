package playlist

import (
	"bytes"
	"time"
)

const (
	maxLineBytes = 64 << 10  // keys and DATERANGEs are long; nothing a player understands is longer than this
	maxLines     = 1_000_000 // a week of two-second segments with a date each is 900,000
)

// lineScanner walks the lines of a body without copying. A line ends with LF, CR LF or, as old encoders write it, CR.
type lineScanner struct {
	body   []byte
	at     int // start of the next line
	lf     int // the first LF at or after at; kept, so that a body of bare CRs is not searched again for every line
	number int // of the line returned last, from 1
}

func newLineScanner(body []byte) *lineScanner {
	return &lineScanner{body: body, lf: -1}
}

// next returns the next line without its end and without surrounding blanks; ok is false after the last one.
func (s *lineScanner) next() (line []byte, ok bool, err error) {
	if s.at >= len(s.body) {
		return nil, false, nil
	}
	s.number++
	if s.number > maxLines {
		return nil, false, lineError(s.number, "the playlist goes on, expected at most %d lines", maxLines)
	}
	if s.lf < s.at {
		s.lf = len(s.body)
		if i := bytes.IndexByte(s.body[s.at:], '\n'); i >= 0 {
			s.lf = s.at + i
		}
	}
	end, next := s.lf, s.lf+1
	if i := bytes.IndexByte(s.body[s.at:s.lf], '\r'); i >= 0 {
		end = s.at + i
		if end+1 != s.lf {
			next = end + 1
		}
	}
	line = s.body[s.at:end]
	s.at = next
	if len(line) > maxLineBytes {
		return nil, false, lineError(s.number, "is %d bytes long, expected at most %d", len(line), maxLineBytes)
	}
	return trimBlanks(line), true, nil
}

// segmentDuration reads the value of EXTINF, where a title, or the attributes of a channel list, may follow the seconds.
func (s *lineScanner) segmentDuration(name, value []byte) (time.Duration, error) {
	if end := bytes.IndexAny(value, ", \t"); end >= 0 {
		value = value[:end]
	}
	return s.seconds(name, value)
}

// seconds reads the value of the tag on the line returned last.
func (s *lineScanner) seconds(name, value []byte) (time.Duration, error) {
	seconds, ok := parseSeconds(value)
	if !ok {
		return 0, s.badSeconds(string(name[1:]), value)
	}
	return seconds, nil
}

func (s *lineScanner) badSeconds(name string, value []byte) error {
	return lineError(s.number, "%s is %s, expected a number of seconds", name, quote(string(value)))
}

// whole reads the value of the tag on the line returned last.
func (s *lineScanner) whole(name, value []byte) (uint64, error) {
	number, ok := parseWhole(value)
	if !ok {
		return 0, lineError(s.number, "%s is %s, expected a whole number", name[1:], quote(string(value)))
	}
	return number, nil
}

// trimBlanks takes off spaces and tabs; bytes.TrimSpace would decode UTF-8 for nothing.
func trimBlanks(line []byte) []byte {
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	for len(line) > 0 && (line[len(line)-1] == ' ' || line[len(line)-1] == '\t') {
		line = line[:len(line)-1]
	}
	return line
}

// attributes walks an HLS attribute list (RFC 8216 §4.2): NAME=value pairs between commas, where a quoted value may
// hold commas itself.
type attributes []byte

// next returns the next pair, the value without its quotes; ok is false at the end. A quote that is never closed ends
// with the line, and a name without a value has an empty one.
func (a *attributes) next() (name, value []byte, ok bool) {
	rest := trimBlanks(*a)
	if len(rest) == 0 {
		return nil, nil, false
	}
	end := bytes.IndexAny(rest, "=,")
	if end < 0 || rest[end] == ',' {
		name, rest, _ = bytes.Cut(rest, []byte{','})
		*a = rest
		return trimBlanks(name), nil, true
	}
	name, rest = trimBlanks(rest[:end]), trimBlanks(rest[end+1:])
	if len(rest) > 0 && rest[0] == '"' {
		value, rest, _ = bytes.Cut(rest[1:], []byte{'"'})
		_, rest, _ = bytes.Cut(rest, []byte{','})
	} else {
		value, rest, _ = bytes.Cut(rest, []byte{','})
		value = trimBlanks(value)
	}
	*a = rest
	return name, value, true
}

// get returns the first value of that name, nil when there is none.
func (a attributes) get(name string) []byte {
	for {
		found, value, ok := a.next()
		if !ok || string(found) == name {
			return value
		}
	}
}
