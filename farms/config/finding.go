package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Severity says whether a finding stops the document from being used.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // the document is refused
	Warning                 // the document is used, and is probably not what was meant
)

// String returns the word that begins a finding's line.
func (s Severity) String() string {
	if s == Error {
		return "error"
	}
	return "warning"
}

// Finding is one thing to say about a document.
type Finding struct {
	Severity Severity
	// Path is the key, such as redirection.farms[1].servers[0].url. It is empty
	// when the text is not JSON or when the document as a whole is meant.
	Path string
	// Line and Column count from 1, the column in characters. They are 0 when
	// no place in the text is meant.
	Line, Column int
	Message      string
}

// String returns the finding as `check` prints it: the path where there is one,
// else the line and column.
func (f Finding) String() string {
	switch {
	case f.Path != "":
		return fmt.Sprintf("%s %s: %s", f.Severity, f.Path, f.Message)
	case f.Line > 0:
		return fmt.Sprintf("%s line %d column %d: %s", f.Severity, f.Line, f.Column, f.Message)
	default:
		return fmt.Sprintf("%s: %s", f.Severity, f.Message)
	}
}

const (
	maxFindings     = 200 // of each severity; the rest is counted
	maxMessageBytes = 600
	maxQuotedBytes  = 64 // of one key or value inside a message
)

// report collects findings, bounded in number and length whatever the document
// holds.
type report struct {
	text   string
	listed [2][]listing // by severity
	more   [2]int       // findings beyond maxFindings
	seen   map[string]bool
}

// listing is a finding before its line and column are known.
type listing struct {
	Finding
	offset int
}

// errorf reports an error at n and marks n as failed.
func (r *report) errorf(n *node, format string, args ...any) {
	n.failed = true
	r.add(Error, n, format, args)
}

// warnf reports a warning at n.
func (r *report) warnf(n *node, format string, args ...any) { r.add(Warning, n, format, args) }

func (r *report) add(sev Severity, n *node, format string, args []any) {
	if r.full(sev) {
		r.more[sev]++
		return
	}
	l := listing{Finding{Severity: sev, Path: n.path(), Message: clip(fmt.Sprintf(format, args...), maxMessageBytes)}, int(n.offset)}
	// What is wrong in a farm's defaults is found again at each of its servers.
	key := l.Path + "\x00" + l.Message
	if r.seen[key] {
		return
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[key] = true
	r.listed[sev] = append(r.listed[sev], l)
}

// full tells whether further findings are only counted, so that there is no use
// in making their messages better.
func (r *report) full(sev Severity) bool { return len(r.listed[sev]) >= maxFindings }

// failed tells whether there is an error.
func (r *report) failed() bool { return len(r.listed[Error]) > 0 }

// findings returns everything reported: errors before warnings, each in the
// order of the text.
func (r *report) findings() []Finding {
	var out []Finding
	for sev, list := range r.listed {
		slices.SortStableFunc(list, func(a, b listing) int { return cmp.Compare(a.offset, b.offset) })
		at := position{line: 1, column: 1}
		for _, l := range list {
			if l.offset >= 0 {
				at = at.forward(r.text, l.offset)
				l.Line, l.Column = at.line, at.column
			}
			out = append(out, l.Finding)
		}
		if n := r.more[sev]; n > 0 {
			out = append(out, Finding{Severity: Severity(sev), Message: fmt.Sprintf("and %d more %ss", n, Severity(sev))})
		}
	}
	return out
}

// position is a place in the text, with its line and column.
type position struct{ offset, line, column int }

// forward returns the position at offset, which is not before p.
func (p position) forward(text string, offset int) position {
	offset = min(offset, len(text))
	passed := text[p.offset:offset]
	if i := strings.LastIndexByte(passed, '\n'); i >= 0 {
		p.line += strings.Count(passed, "\n")
		p.column = 1
		passed = passed[i+1:]
	}
	p.column += utf8.RuneCountInString(passed)
	p.offset = offset
	return p
}

// quote returns s for a message: quoted, free of control characters, bounded.
func quote(s string) string { return strconv.Quote(clip(s, maxQuotedBytes)) }

// clip cuts s to about limit bytes, between characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
