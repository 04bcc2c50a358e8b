package api

import (
	"context"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// MistServer asks MistServer for a stream's description, on the port that serves
// viewers and without credentials; it counts as no viewer:
//
//	GET API/json_NAME.js
//	  {"type": "live", "unixoffset": ms, "meta": {"tracks": {ID: {"type": "video", "firstms": ms, "lastms": ms}}}}
//	  {"error": "Stream is offline"}                                       with 200
//	  {"redirected": [ASKED, SERVED], "type": …, "meta": …}                another stream instead
//
// All numbers are milliseconds; unixoffset plus a track's time is Unix time.
//
// Traps. "error" is the only sign of a stream that is off: everything is a 200
// (measured). A fallback stream answers in the place of one that is off, and
// only "redirected" says so (vendor's source). There is one buffer, so one range:
// what all of its audio and video tracks have; sparse metadata and subtitle
// tracks would shrink it to nothing. A name may have a plus (live+ch1), and a
// slash is %2F.
func MistServer(ctx context.Context, get Get, s Server, q Question) (Answer, error) {
	if !askable(q.Channel) {
		return unaskable(), nil
	}
	at := s.API + "/json_" + url.PathEscape(q.Channel) + ".js"
	if s.API == s.URL {
		at += s.viewerQuery("?")
	}
	res, err := get.page(ctx, at, s.authorized())
	if err != nil {
		return Answer{}, err
	}
	if a, done := judgeStatus(res.Status); done {
		return a, nil
	}
	var stream mistStream
	if err := decode(res.Body, &stream); err != nil {
		return say(farms.Trouble, "%v", err), nil
	}
	switch {
	case stream.Error != "":
		return mistError(stream.Error), nil
	case stream.elsewhere(q.Channel):
		return say(farms.Absent, "it serves its fallback %q instead", stream.Redirected[1]), nil
	case stream.Type == "vod":
		return askViewer("it is VoD: only its playlist tells"), nil
	case stream.Type != "live":
		return say(farms.Trouble, "it names the type %q, expected live or vod", stream.Type), nil
	}
	if q.Live {
		return stream.live(serverNow(res, q.Now)), nil
	}
	return stream.recorded(q), nil
}

// mistStream is what is read of a description.
type mistStream struct {
	Error      string   `json:"error"`
	Redirected []string `json:"redirected"`
	Type       string   `json:"type"`
	UnixOffset *number  `json:"unixoffset"`
	Meta       struct {
		Tracks map[string]mistTrack `json:"tracks"`
	} `json:"meta"`
}

type mistTrack struct {
	Type    string `json:"type"`
	FirstMS number `json:"firstms"`
	LastMS  number `json:"lastms"`
}

// elsewhere tells whether the description is of another stream than the one
// asked for.
func (m *mistStream) elsewhere(channel string) bool {
	return len(m.Redirected) == 2 && m.Redirected[1] != channel
}

// mistError judges the "error" of a 200. What is coming up may be there soon,
// and says nothing yet.
func mistError(text string) Answer {
	switch lower := strings.ToLower(text); {
	case strings.Contains(lower, "offline"), strings.Contains(lower, "waiting for data"),
		strings.Contains(lower, "shutting down"), strings.Contains(lower, "not found"):
		return say(farms.Absent, "it says %q", text)
	default:
		return say(farms.Trouble, "it says %q", text)
	}
}

// window returns the times, in the stream's own milliseconds, between which all
// audio and video tracks have something, and the end of the longest.
func (m *mistStream) window() (first, last, newest float64, ok bool) {
	media := false
	for _, t := range m.Meta.Tracks {
		media = media || t.media()
	}
	first, last, newest = math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, t := range m.Meta.Tracks {
		if media && !t.media() {
			continue
		}
		// math.Max and math.Min keep a NaN, and span refuses it.
		first = math.Max(first, float64(t.FirstMS))
		last = math.Min(last, float64(t.LastMS))
		newest = math.Max(newest, float64(t.LastMS))
		ok = true
	}
	return first, last, newest, ok
}

func (t mistTrack) media() bool { return t.Type == "video" || t.Type == "audio" }

func (m *mistStream) live(at time.Time) Answer {
	_, _, newest, ok := m.window()
	if !ok {
		return say(farms.Absent, "live, without a track")
	}
	a := say(farms.Present, "live, newest frame at %.0f ms of the stream", newest)
	if m.UnixOffset != nil {
		newest += float64(*m.UnixOffset)
	}
	a.Moving = movingSince(newest, at)
	return a
}

func (m *mistStream) recorded(q Question) Answer {
	first, last, _, ok := m.window()
	switch {
	case !ok || last == first:
		return recorded(q, nil, 0, false)
	case m.UnixOffset == nil:
		return askViewer("its buffer has no clock: only its playlist tells")
	}
	offset := float64(*m.UnixOffset)
	if r, ok := span(offset+first, offset+last); ok {
		return recorded(q, []farms.Range{r}, 0, false)
	}
	if last < first { // its tracks do not overlap
		return recorded(q, nil, 0, false)
	}
	return recorded(q, nil, 1, false)
}
