package steering

import (
	"strconv"
	"strings"
)

const (
	// MaxSamples is how many entries of a player's list are kept, the last ones.
	MaxSamples = 8
	// MaxThroughput is what a larger report counts as, in bits per second: players
	// that measure their own cache report what no line has.
	MaxThroughput = 1e12
	// maxToken bounds a session's token; a later version's may be longer than ours.
	maxToken = 128
	// maxNumber bounds the spelling of a throughput that is not digits alone.
	maxNumber = 32
)

// Sample is one pathway that a player used since its last poll and what it gave.
type Sample struct {
	Pathway    string // a legal id, not necessarily one that is configured
	Throughput int64  // bits per second, 0 unknown
}

// Params is what a player's query says. Its strings are parts of the query.
type Params struct {
	Pathway    string // the pathway in use, a legal id; "" when none was reported or it could not be read
	Throughput int64  // of that pathway, in bits per second, 0 unknown
	Token      string // the session's token as sent, "" when there is none that could be one
	Reported   bool   // a pathway or a throughput was reported
	Malformed  bool   // something of the report could not be read

	samples [MaxSamples]Sample
	count   int
}

// Samples returns the pathways used since the last poll, oldest first, the one in
// use last. HLS players report one, DASH players a list, of which the last
// [MaxSamples] readable ones are kept.
func (p *Params) Samples() []Sample { return p.samples[:p.count] }

// ReadParams reads a query leniently, because no player waits for us to complain:
// values quoted or not, escaped or not, of several with one name the last, and
// whatever cannot be read is unknown. When a query has the parameters of both
// families (Unreal does so), HLS's count if they name the pathway in use, as they
// say it plainly; else DASH's.
func ReadParams(rawQuery string) Params {
	var token string
	var said [ownUnread + 1]string
	for rest, more := rawQuery, true; more; {
		var name, value string
		name, value, rest, more = nextPair(rest)
		switch o := ownNamed(name); o {
		case ownToken:
			token = value
		case ownNothing, ownUnread:
		default:
			said[o] = value
		}
	}
	var p Params
	p.read(said[ownHLSPathway], said[ownHLSThroughput])
	if p.Pathway == "" && (said[ownDASHPathway] != "" || said[ownDASHThroughput] != "") {
		hls := p
		p = Params{}
		p.read(said[ownDASHPathway], said[ownDASHThroughput])
		p.Reported = p.Reported || hls.Reported
		p.Malformed = p.Malformed || hls.Malformed
	}
	p.Token = readToken(token)
	return p
}

// read takes in one family's lists, which are paired by position.
func (p *Params) read(pathways, throughputs string) {
	paired := pathways != "" && throughputs != ""
	for here, there := pathways != "", throughputs != ""; here || there; {
		if paired && here != there {
			p.Malformed = true // one list is longer: what pairs is paired
		}
		var id, bps string
		if here {
			id, pathways, here = nextEntry(pathways)
		}
		if there {
			bps, throughputs, there = nextEntry(throughputs)
		}
		id, bps = trim(id), trim(bps)
		p.Reported = p.Reported || id != "" || bps != ""
		throughput, ok := readThroughput(bps)
		if !ok {
			p.Malformed = true
		}
		if id == "" {
			continue
		}
		// The last entry is the one in use, also when it cannot be read: an
		// earlier one must not be taken for it.
		p.Pathway, p.Throughput = readID(id), throughput
		if p.Pathway == "" {
			p.Throughput, p.Malformed = 0, true
			continue
		}
		p.add(Sample{p.Pathway, throughput})
	}
}

func (p *Params) add(s Sample) {
	if p.count == MaxSamples {
		copy(p.samples[:], p.samples[1:])
		p.count--
	}
	p.samples[p.count] = s
	p.count++
}

// nextEntry cuts the first entry off a list whose commas may be escaped.
func nextEntry(list string) (entry, rest string, more bool) {
	for i := range len(list) {
		switch {
		case list[i] == ',':
			return list[:i], list[i+1:], true
		case list[i] == '%' && i+2 < len(list) && list[i+1] == '2' && list[i+2]|0x20 == 'c':
			return list[:i], list[i+3:], true
		}
	}
	return list, "", false
}

// trim takes quotes and blanks off both ends of an entry, escaped or not. A list
// is quoted as a whole, so that an entry may have a quote at one end only.
func trim(s string) string {
	for {
		switch {
		case s == "":
			return s
		case isTrimmed(s[0]):
			s = s[1:]
		case strings.HasPrefix(s, "%22"), strings.HasPrefix(s, "%20"):
			s = s[3:]
		case isTrimmed(s[len(s)-1]):
			s = s[:len(s)-1]
		case strings.HasSuffix(s, "%22"), strings.HasSuffix(s, "%20"):
			s = s[:len(s)-3]
		default:
			return s
		}
	}
}

func isTrimmed(c byte) bool { return c == '"' || c == ' ' || c == '+' }

// readID returns the pathway id that a trimmed entry spells, "" when that is
// none.
func readID(s string) string {
	if strings.IndexByte(s, '%') >= 0 {
		var buf [MaxPathwayID]byte
		n, ok := unescapeTo(buf[:], s)
		if !ok {
			return ""
		}
		s = string(buf[:n])
	}
	if !isReadableID(s) {
		return ""
	}
	return s
}

// readThroughput returns what a trimmed entry says, in bits per second, 0 for
// unknown. It is not ok when the entry is no number or a negative one: hls.js
// forces its estimate to signed 32 bits, so that 2.5 Gbit/s arrive as
// -1794967296. (5 Gbit/s arrive as 705032704, which nobody can tell.)
func readThroughput(s string) (bps int64, ok bool) {
	if strings.IndexByte(s, '%') >= 0 {
		var buf [maxNumber]byte
		n, fits := unescapeTo(buf[:], s)
		if !fits {
			return 0, false
		}
		s = string(buf[:n])
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return readFloat(s)
		}
		bps = min(bps*10+int64(s[i]-'0'), MaxThroughput)
	}
	return bps, true
}

// readFloat reads a number that is not digits alone, as JavaScript prints
// fractions and large numbers.
func readFloat(s string) (bps int64, ok bool) {
	// Go also reads "inf", "nan", hexadecimal and underscores.
	if len(s) > maxNumber || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64) // beyond the range: infinite, and clamped
	if f < 0 || err != nil && f == 0 {
		return 0, false
	}
	return int64(min(f, MaxThroughput)), true
}

// readToken returns a token's text, "" when it is too long to be one.
func readToken(s string) string {
	if strings.IndexByte(s, '%') >= 0 {
		var buf [maxToken]byte
		n, ok := unescapeTo(buf[:], s)
		if !ok {
			return ""
		}
		return string(buf[:n])
	}
	if len(s) > maxToken {
		return ""
	}
	return s
}
