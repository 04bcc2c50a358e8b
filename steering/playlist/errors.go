package playlist

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxQuoted bounds what an error message repeats of the input, in bytes before escaping.
const maxQuoted = 48

// lineError says where in the document something is wrong, as an editor counts lines.
func lineError(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{line}, args...)...)
}

// quote repeats input in an error message: escaped, so that no control byte reaches a terminal or a log, and bounded.
func quote(input string) string {
	if len(input) > maxQuoted {
		return strconv.Quote(input[:maxQuoted]) + "…"
	}
	return strconv.Quote(input)
}

// clip makes a short, printable, valid UTF-8 text of what a server wrote.
func clip(text []byte, limit int) string {
	cut := ""
	if len(text) > limit {
		text, cut = text[:limit], "…"
		for range utf8.UTFMax - 1 { // the cut may have gone through a rune
			if r, size := utf8.DecodeLastRune(text); r == utf8.RuneError && size == 1 {
				text = text[:len(text)-1]
			}
		}
	}
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), "?"))
	return strings.TrimSpace(printable) + cut
}
