package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// maxDetail bounds what an answer repeats of a server's words.
const maxDetail = 160

// clip makes a server's words fit for a detail.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "") + "…"
	}
	return s
}

// say makes an answer that is one word about the content.
func say(p farms.Presence, format string, args ...any) Answer {
	return Answer{Presence: p, Detail: clip(fmt.Sprintf(format, args...))}
}

// judgeStatus judges a status code; done is false when the body must be read.
// A code that says neither yes nor no is trouble: it never means absent.
func judgeStatus(status int) (a Answer, done bool) {
	switch {
	case status == http.StatusOK:
		return Answer{}, false
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return say(farms.Guarded, "its API answered %d: check api_user and api_secret", status), true
	case status == http.StatusNotFound, status == http.StatusGone:
		return say(farms.Absent, "its API answered %d", status), true
	default:
		return say(farms.Trouble, "its API answered %d", status), true
	}
}

// askViewer is the answer of an interface that cannot tell, though the server
// may well have it: the viewer's own manifest must be asked. It leaves Presence
// at [farms.Unasked].
func askViewer(format string, args ...any) Answer {
	return say(farms.Unasked, format, args...)
}

// decode reads a JSON body; the error is fit for a detail.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), into); err != nil {
		return fmt.Errorf("reading the JSON of its API: %w", err)
	}
	return nil
}

// number is a number as vendors write it: plain, in a string, or null. What is
// absent is 0; what is no finite number is NaN, so that one bad field does not
// cost the document.
type number float64

// UnmarshalJSON reads a number and never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	if s == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		f = math.NaN()
	}
	*n = number(f)
	return nil
}

// clockSkew is the difference between our clock and a server's from which on
// its times are compared with its own clock.
const clockSkew = 2 * time.Second

// freshFor is how far from the clock the newest frame may be and still prove
// that a stream is live.
const freshFor = 15 * time.Second

// movingSince is what [Answer] says of the newest frame's time, in unix
// milliseconds: 0 when it proves that the stream is live, else a value that
// changes with it. An old time alone condemns nothing, encoders' clocks are
// wrong; one that stands still does.
func movingSince(last float64, at time.Time) uint64 {
	if d := math.Abs(float64(at.UnixMilli()) - last); d <= float64(freshFor.Milliseconds()) {
		return 0
	}
	return max(math.Float64bits(last), 1)
}

// serverNow is the time by the server's own clock, from its Date header, when
// that differs from ours: what it calls fresh is fresh by its clock.
func serverNow(res *fetch.Response, now time.Time) time.Time {
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return now
	}
	if d := date.Sub(now); d > -clockSkew && d < clockSkew {
		return now
	}
	return date
}
