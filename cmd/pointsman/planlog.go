package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/plan"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
)

// maxLogLine bounds a line of a decision log, in bytes. The lines that serve
// writes are below 8 KiB.
const maxLogLine = 64 << 10

// planLog reads viewers from a decision log. Whatever it cannot use it counts.
type planLog struct {
	in     *bufio.Reader
	secure bool
	err    error // that ended the reading

	lines     int
	malformed int // no JSON, too long, or without an address or a target
	other     int // no decision of the HTTP door
	children  int // segments and media playlists: they follow their session
	noViewers int // not GET
	useless   int // refused for what they ask for: nobody has it
	hidden    int // values that the log does not show
}

func newPlanLog(in io.Reader, secure bool) *planLog {
	return &planLog{in: bufio.NewReaderSize(in, maxLogLine), secure: secure}
}

// logLine is what is read of a decision line, as the redirector writes it.
type logLine struct {
	Msg    string `json:"msg"`
	Door   string `json:"door"`
	Method string `json:"method"`
	Reason string `json:"reason"`
	Kind   string `json:"kind"`
	Client string `json:"client"`
	Host   string `json:"host"`
	Target string `json:"target"`
	UA     string `json:"ua"`
	Server string `json:"server"`
	Time   string `json:"time"`
}

// viewers yields the viewers of the log.
func (l *planLog) viewers(yield func(plan.Viewer) bool) {
	for {
		line, err := l.in.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of it
			_, err = l.in.ReadSlice('\n')
		}
		if len(line) > 0 {
			l.lines++
			if tooLong {
				l.malformed++
			} else if v, ok := l.viewer(line); ok && !yield(v) {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.err = err
			}
			return
		}
	}
}

// viewer reads one line; ok is false when it is counted as something else.
func (l *planLog) viewer(line []byte) (v plan.Viewer, ok bool) {
	var x logLine
	if err := json.Unmarshal(line, &x); err != nil {
		l.malformed++
		return v, false
	}
	if x.Msg != "decision" || x.Door != redirector.DoorHTTP.String() {
		l.other++
		return v, false
	}
	addr, err := netip.ParseAddr(x.Client)
	if err != nil || x.Target == "" {
		l.malformed++
		return v, false
	}
	switch {
	case x.Method != "GET":
		l.noViewers++
		return v, false
	case x.Kind == farms.KindChild.String():
		l.children++
		return v, false
	case x.Server == "" && !servable(x.Reason):
		l.useless++
		return v, false
	}
	v = plan.Viewer{
		Addr: addr.Unmap().WithZone(""), Host: x.Host, Target: x.Target, UserAgent: x.UA, Secure: l.secure, Server: x.Server,
	}
	if path, query, _ := strings.Cut(x.Target, "?"); strings.Contains(query, hiddenValue) {
		// Who hides behind it is not known; one is not all of them.
		l.hidden++
		v.Target = path + "?" + strings.ReplaceAll(query, hiddenValue, "="+strconv.Itoa(l.lines))
	}
	if at, err := time.Parse(redirector.TimeFormat, x.Time); err == nil {
		v.Time = at
	}
	return v, true
}

// hiddenValue is a query parameter's value that the log does not show.
const hiddenValue = "=***"

// servable tells whether a viewer refused for a reason could be served by servers
// that are up and have everything, or by another configuration.
func servable(reason string) bool {
	return slices.Contains([]string{
		farms.ReasonNoLocation.String(), farms.ReasonFarmDown.String(), farms.ReasonBusy.String(),
	}, reason)
}

// leftOut says what the lines are that are no viewers.
func (l *planLog) leftOut() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{l.malformed, "malformed"},
		{l.other, "no decision of the HTTP door"},
		{l.children, "segments and media playlists"},
		{l.noViewers, "not GET"},
		{l.useless, "refused for what they ask for"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d are %s", p.n, p.what))
		}
	}
	if parts == nil {
		return "none is left out"
	}
	return strings.Join(parts, ", ")
}

// warnings says what of the log was not used, and what it does not tell.
func (l *planLog) warnings(doc *config.Document) []string {
	var out []string
	if l.malformed+l.other+l.children+l.noViewers+l.useless > 0 {
		out = append(out, fmt.Sprintf("of %d log lines %s", l.lines, l.leftOut()))
	}
	if l.hidden > 0 {
		for _, key := range doc.Redirection.SessionKey {
			if slices.Contains(doc.Log.RedactedNames(), strings.ToLower(key)) {
				out = append(out, fmt.Sprintf("session_key %q is not in the log, which hides its values: each of %d lines counts as a session of its own", key, l.hidden))
				break
			}
		}
	}
	return out
}
