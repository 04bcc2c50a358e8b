package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxDocumentBytes = 64 << 20
	maxDepth         = 64        // of arrays and objects in each other
	maxValues        = 2_000_000 // in one document
)

// scanner reads one JSON text into nodes. It is strict RFC 8259 and stops at
// the first thing that is not JSON, because whatever follows would be guessed.
// encoding/json would do the reading but not the telling: it has no columns, no
// idea of pasted quotes, and takes duplicate keys and broken characters in
// silence.
type scanner struct {
	text   string
	pos    int
	depth  int
	values int
	block  []node // nodes are allocated in blocks

	// pasted is the offset of the first typographic quote in the latest string,
	// or -1. When the text after that string makes no sense, the string was
	// probably meant to end there.
	pasted int

	problem string // why scanning stopped
	at      int    // and where
}

// scan returns the document's root. When the text is not JSON, it reports so
// and returns nil.
func scan(text string, r *report) *node {
	s := &scanner{text: text, pasted: -1}
	refuse := func(offset int, message string) *node {
		r.errorf(&node{offset: int32(offset)}, "%s", message)
		return nil
	}
	switch {
	case len(text) > maxDocumentBytes:
		r.errorf(&node{offset: noPlace}, "the document has %d bytes, expected at most %d", len(text), maxDocumentBytes)
		return nil
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"):
		return refuse(0, "the text is UTF-16, expected UTF-8")
	case !utf8.ValidString(text):
		return refuse(firstInvalid(text), "a byte that is not UTF-8")
	}
	if strings.HasPrefix(text, "\ufeff") {
		refuse(0, "a byte order mark (U+FEFF) before the document, expected none")
		s.pos = len("\ufeff")
	}
	root := s.newNode()
	if s.space(); !s.value(root) {
		return refuse(s.at, s.problem)
	}
	if s.space(); s.pos < len(s.text) {
		s.unexpected("the end of the document")
		return refuse(s.at, s.problem)
	}
	return root
}

func firstInvalid(text string) int {
	for i, c := range text {
		if c == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return i
		}
	}
	return len(text)
}

func (s *scanner) newNode() *node {
	if len(s.block) == cap(s.block) {
		s.block = make([]node, 0, min(max(16, s.values), 4096))
	}
	s.block = append(s.block, node{})
	return &s.block[len(s.block)-1]
}

// stop notes why scanning ends and returns false.
func (s *scanner) stop(at int, format string, args ...any) bool {
	s.at, s.problem = at, fmt.Sprintf(format, args...)
	return false
}

// space skips white space.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// value reads the value at the current place into n.
func (s *scanner) value(n *node) bool {
	if s.values++; s.values > maxValues {
		return s.stop(s.pos, "the document has more than %d values", maxValues)
	}
	if n.key == "" {
		n.offset = int32(s.pos)
	}
	if s.pos == len(s.text) {
		return s.unexpected("a value")
	}
	switch c := s.text[s.pos]; {
	case c == '{':
		return s.container(n, kindObject)
	case c == '[':
		return s.container(n, kindArray)
	case c == '"':
		n.kind = kindString
		return s.quoted(&n.text)
	case c == '-' || isDigit(c):
		n.kind = kindNumber
		return s.number(&n.text)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s.text[s.pos:], word) {
			n.kind, n.text = kindBoolean, word
			if word == "null" {
				n.kind = kindNull
			}
			s.pos += len(word)
			return true
		}
	}
	return s.unexpected("a value")
}

// container reads an array or object.
func (s *scanner) container(n *node, k kind) bool {
	if s.depth++; s.depth > maxDepth {
		return s.stop(s.pos, "arrays and objects are nested more than %d deep", maxDepth)
	}
	n.kind = k
	end := byte(']')
	if k == kindObject {
		end = '}'
	}
	s.pos++
	if s.space(); s.pos < len(s.text) && s.text[s.pos] == end {
		s.pos++
		s.depth--
		return true
	}
	for {
		child := s.newNode()
		if k == kindObject && !s.member(child) {
			return false
		}
		if s.space(); !s.value(child) {
			return false
		}
		n.add(child)
		s.space()
		switch {
		case s.pos < len(s.text) && s.text[s.pos] == end:
			s.pos++
			s.depth--
			return true
		case s.pos == len(s.text) || s.text[s.pos] != ',':
			return s.unexpected(fmt.Sprintf("a comma or %c", end))
		}
		comma := s.pos
		s.pos++
		s.pasted = -1
		if s.space(); s.pos < len(s.text) && s.text[s.pos] == end {
			return s.stop(comma, "a comma before %c, expected none after the last entry", end)
		}
	}
}

// member reads a key and its colon.
func (s *scanner) member(n *node) bool {
	n.offset = int32(s.pos)
	if s.pos == len(s.text) || s.text[s.pos] != '"' {
		return s.unexpected(`a key in double quotes`)
	}
	if !s.quoted(&n.key) {
		return false
	}
	if s.space(); s.pos == len(s.text) || s.text[s.pos] != ':' {
		return s.unexpected("a colon after the key")
	}
	s.pos++
	s.pasted = -1
	return true
}

// quoted reads a string.
func (s *scanner) quoted(to *string) bool {
	s.pos++
	start := s.pos
	s.pasted = -1
	escaped := false
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			*to = s.text[start:s.pos]
			s.pos++
			return !escaped || s.unescape(to, start)
		case c == '\\':
			escaped = true
			s.pos++
		case c < ' ':
			if s.blamePasted() {
				return false
			}
			if c == '\n' || c == '\r' {
				return s.stop(start-1, "a string that does not end in its line")
			}
			return s.stop(s.pos, "a control character (U+%04X) in a string", c)
		case c >= utf8.RuneSelf && s.pasted < 0:
			if typographicQuote(s.text[s.pos:]) != "" {
				s.pasted = s.pos
			}
		}
	}
	s.pos = len(s.text)
	return s.blamePasted() || s.stop(start-1, "a string that does not end")
}

// blamePasted stops at the typographic quote of the latest string, if it has
// one, and tells whether it did; the scan is over in either case.
func (s *scanner) blamePasted() bool {
	if s.pasted < 0 {
		return false
	}
	s.stopAtQuote(s.pasted, typographicQuote(s.text[s.pasted:]))
	return true
}

// stopAtQuote stops at a typographic quote. The file is likely full of them.
func (s *scanner) stopAtQuote(at int, found string) bool {
	more := 0
	for i := at + len(found); i < len(s.text); i++ {
		if s.text[i] >= utf8.RuneSelf && typographicQuote(s.text[i:]) != "" {
			more++
		}
	}
	rest := ""
	if more > 0 {
		rest = fmt.Sprintf(" (and %d more after it, as in text copied from a web page)", more)
	}
	return s.stop(at, `typographic quote %s%s; expected a plain double quote "`, found, rest)
}

// typographicQuote returns the quotation mark that s begins with, other than
// the plain one, or "". Word processors and web pages put them in.
func typographicQuote(s string) string {
	for _, q := range [...]string{"“", "”", "„", "‟", "″", "«", "»", "‘", "’", "＂"} {
		if strings.HasPrefix(s, q) {
			return q
		}
	}
	return ""
}

// unescape replaces the escapes of a string; start is its offset.
func (s *scanner) unescape(to *string, start int) bool {
	raw := *to
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			b.WriteByte(raw[i])
			continue
		}
		i++
		if at := strings.IndexByte(`"\/bfnrt`, raw[i]); at >= 0 {
			b.WriteByte("\"\\/\b\f\n\r\t"[at])
			continue
		}
		if raw[i] != 'u' {
			c, _ := utf8.DecodeRuneInString(raw[i:])
			return s.stop(start+i-1, `an unknown escape \%s in a string`, strings.Trim(strconv.QuoteRune(c), "'"))
		}
		c, ok := hex4(raw[i+1:])
		if !ok {
			return s.stop(start+i-1, `an escape \u without four hexadecimal digits in a string`)
		}
		at := i - 1
		i += 4
		if utf16.IsSurrogate(c) {
			low, _ := hex4(strings.TrimPrefix(raw[i+1:], `\u`))
			if c = utf16.DecodeRune(c, low); c == utf8.RuneError || !strings.HasPrefix(raw[i+1:], `\u`) {
				return s.stop(start+at, `an escape \u that is half of a surrogate pair in a string`)
			}
			i += 6
		}
		b.WriteRune(c)
	}
	*to = b.String()
	return true
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(v), err == nil
}

// number reads a number's literal by the grammar of RFC 8259 §6.
func (s *scanner) number(to *string) bool {
	start := s.pos
	digits := func() bool {
		from := s.pos
		for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
			s.pos++
		}
		return s.pos > from
	}
	next := func(set string) bool {
		if s.pos < len(s.text) && strings.IndexByte(set, s.text[s.pos]) >= 0 {
			s.pos++
			return true
		}
		return false
	}
	next("-")
	ok := next("0") || digits()
	if ok && next(".") {
		ok = digits()
	}
	if ok && next("eE") {
		next("+-")
		ok = digits()
	}
	if !ok || s.pos < len(s.text) && (isLetterOrDigit(s.text[s.pos]) || s.text[s.pos] == '.') {
		return s.stop(start, "something that begins like a number and is none (no leading zeros, no hexadecimal)")
	}
	*to = s.text[start:s.pos]
	return true
}

// unexpected stops at the current place and says what is there instead.
func (s *scanner) unexpected(expected string) bool {
	rest := s.text[s.pos:]
	if s.blamePasted() {
		return false
	}
	if rest == "" {
		return s.stop(s.pos, "the text ends, expected %s", expected)
	}
	if q := typographicQuote(rest); q != "" {
		return s.stopAtQuote(s.pos, q)
	}
	switch c, _ := utf8.DecodeRuneInString(rest); {
	case c == '\'' || c == '`':
		return s.stop(s.pos, `quote %c; expected a plain double quote "`, c)
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"), c == '#':
		return s.stop(s.pos, "a comment; JSON has none, use a key that begins with _")
	case c > ' ' && c < utf8.RuneSelf:
		return s.stop(s.pos, "found %q, expected %s", c, expected)
	default:
		return s.stop(s.pos, "found the character U+%04X, expected %s", c, expected)
	}
}
