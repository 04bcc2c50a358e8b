package archive

import (
	"strings"
	"time"
)

// input is one URL, taken apart once for all dialects.
type input struct {
	whole string // the plain path
	path  string // the same without its leading slash
	dir   string // before the last slash
	name  string // behind it
	slash int    // index of the last slash in path, or -1
	stem  string // name before its last dot
	ext   string // name behind it, or nothing
	dash  bool   // name has a dash: without one it says no time, or as a number alone
	query query

	now    time.Time      // UTC, whole seconds
	zone   *time.Location // of servers
	viewer *time.Location // of viewers' devices
}

// setPath takes a path with its leading slash apart.
func (in *input) setPath(plain string) {
	in.whole, in.path = plain, plain[1:]
	in.slash = strings.LastIndexByte(in.path, '/')
	in.dir, in.name = in.path[:max(in.slash, 0)], in.path[in.slash+1:]
	in.stem, in.ext = cutExt(in.name)
	in.dash = strings.IndexByte(in.name, '-') >= 0
}

// cursor returns a reader that stands at the path's last name.
func (in *input) cursor() cursor { return cursor{in.path, in.slash + 1} }

// cutExt splits a name at its last dot. Without a dot, ext is empty.
func cutExt(name string) (stem, ext string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// withoutTracks takes a track selection ("tracks-v1a1") off the end of a folder,
// unless nothing else would be left to name the channel.
func withoutTracks(dir string) string {
	i := strings.LastIndexByte(dir, '/')
	list, ok := strings.CutPrefix(dir[i+1:], "tracks-")
	if !ok || i <= 0 || list == "" {
		return dir
	}
	for _, b := range []byte(list) {
		if !isDigit(b) && (b < 'a' || b > 'z') && b != ',' {
			return dir
		}
	}
	return dir[:i]
}

// segments splits a path into at most len(into) names and returns how many there
// are, or 0 when there are more or one is empty.
func segments(path string, into []string) int {
	for n := range into {
		name, rest, more := strings.Cut(path, "/")
		if name == "" {
			return 0
		}
		into[n] = name
		if !more {
			return n + 1
		}
		path = rest
	}
	return 0
}

// cursor reads a path from left to right.
type cursor struct {
	s string
	i int
}

// done reports whether everything was read.
func (c *cursor) done() bool { return c.i == len(c.s) }

// word reads one of some words, the first that fits.
func (c *cursor) word(words ...string) bool {
	for _, w := range words {
		if strings.HasPrefix(c.s[c.i:], w) {
			c.i += len(w)
			return true
		}
	}
	return false
}

// digits reads a run of least to most digits, all of it.
func (c *cursor) digits(least, most int, u unit) (reading, bool) {
	from := c.i
	for c.i < len(c.s) && isDigit(c.s[c.i]) {
		c.i++
	}
	n := c.i - from
	return reading{text: c.s[from:c.i], unit: u, from: from + 1}, least <= n && n <= most // +1: the leading slash
}

// length reads a duration of up to seven digits, or "now".
func (c *cursor) length() (reading, bool) {
	if from := c.i; c.word("now") {
		return reading{text: c.s[from:c.i], unit: unitNow, from: from + 1}, true
	}
	return c.digits(1, 7, unitSeconds)
}

// tail reads ".ext" or ".container.ext" to the end.
func (c *cursor) tail() (container, ext string, ok bool) {
	if !c.word(".") {
		return "", "", false
	}
	rest := c.s[c.i:]
	if container, ext, ok = strings.Cut(rest, "."); ok {
		return container, ext, container != ""
	}
	return "", rest, true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isHex(b byte) bool { return isDigit(b) || 'a' <= b && b <= 'f' }

func allOf(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

// hasForm reports whether s looks like form, in which a 0 stands for any digit.
func hasForm(s, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		if form[i] == '0' && !isDigit(s[i]) || form[i] != '0' && form[i] != s[i] {
			return false
		}
	}
	return true
}
