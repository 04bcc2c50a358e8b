package plan

import (
	"regexp/syntax"
	"strings"
)

// maxSample bounds the text that is made up for a regular expression.
const maxSample = 1024

// sampleOf makes up a short text that a regular expression matches: of choices the
// first, of repetitions the fewest. What it returns for one with word boundaries
// or lookalikes may not match; the caller tries it. It is "" for none.
func sampleOf(expr string) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	sample(&b, re)
	return b.String()
}

func sample(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > maxSample {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(runeOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus:
		sample(b, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			sample(b, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			sample(b, sub)
		}
	case syntax.OpAlternate:
		sample(b, re.Sub[0])
	}
}

// runeOf picks a member of a class that is welcome in a path.
func runeOf(ranges []rune) rune {
	const welcome = "x1-_"
	for _, r := range welcome {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	return ranges[0]
}
