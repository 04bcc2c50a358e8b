package api

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
)

// Nimble asks Nimble Streamer by its native API, which listens on a port of its
// own (8082) once management_listen_interfaces is set:
//
//	GET API/manage/live_streams_status
//	  [{"app": APP, "streams": [{"strm": STREAM, "bandwidth": bit/s, "publish_time": "s"}]}]
//	GET API/manage/dvr_status/APP/STREAM?timeline=true
//	  [{"stream": "APP/STREAM", "duration": s, "timeline": [{"start": s, "end": s, "duration": s, "period": n}]}]
//
// With a management_token (api_secret): &salt=N&hash=base64(md5(N "/" token)).
//
// Traps. The base64 has plus, slash and equals signs and must be escaped in the
// query (vendor's sample does not; integrators do). A stream that is not live is
// not in the list; some lists are flat, with "app" and "strm" in one object
// (vendor's API, integrators' tests). publish_time is a string. A 200 may say
// {"status": "Not found"}. MPEG-TS and fMP4 are two recordings, the latter under
// playlist_fmp4_dvr…, and the timeline does not say which it is of: it is
// believed of the default one alone.
func Nimble(ctx context.Context, get Get, s Server, q Question) (Answer, error) {
	app, stream, ok := nimbleName(q)
	switch {
	case !ok:
		return askViewer("its channels are an application and a stream, and neither the channel nor the path names both"), nil
	case q.Live:
		return nimbleLive(ctx, get, s, app, stream)
	case q.Container == "fmp4":
		return askViewer("its API does not tell of fMP4 recordings: only its playlist does"), nil
	default:
		return nimbleTimeline(ctx, get, s, q, app, stream)
	}
}

// nimbleName finds application and stream: a channel_regex may have cut the
// channel down to the stream.
func nimbleName(q Question) (app, stream string, ok bool) {
	name := q.Channel
	if !strings.Contains(name, "/") {
		path, err := url.PathUnescape(strings.TrimPrefix(q.Path, "/"))
		if err != nil {
			return "", "", false
		}
		name = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	app, stream, ok = strings.Cut(name, "/")
	return app, stream, ok && askable(name)
}

// nimbleAuth returns the parameters that prove we know the token. The salt need
// not be a secret: it keeps answers of the same hash apart, no more.
func nimbleAuth(token string) string {
	if token == "" {
		return ""
	}
	salt := strconv.Itoa(rand.IntN(1_000_000))
	sum := md5.Sum([]byte(salt + "/" + token))
	return "salt=" + salt + "&hash=" + url.QueryEscape(base64.StdEncoding.EncodeToString(sum[:]))
}

// nimbleStream is an entry of live_streams_status: a stream, or an application
// with its streams.
type nimbleStream struct {
	App       string         `json:"app"`
	Stream    string         `json:"strm"`
	Bandwidth *number        `json:"bandwidth"`
	Streams   []nimbleStream `json:"streams"`
}

func nimbleLive(ctx context.Context, get Get, s Server, app, stream string) (Answer, error) {
	at := s.API + "/manage/live_streams_status"
	if auth := nimbleAuth(s.Secret); auth != "" {
		at += "?" + auth
	}
	res, err := get.page(ctx, at, s.Headers)
	if err != nil {
		return Answer{}, err
	}
	if a, done := judgeStatus(res.Status); done {
		if a.Presence == farms.Absent { // of the list itself: it says nothing about a stream
			a.Presence = farms.Trouble
		}
		return a, nil
	}
	var list *[]nimbleStream
	if err := decode(res.Body, &list); err != nil {
		return say(farms.Trouble, "%v", err), nil
	}
	if list == nil {
		return say(farms.Trouble, "its API answered null, expected a list of streams"), nil
	}
	for _, e := range *list {
		if e.App != app {
			continue
		}
		for _, st := range append(e.Streams, e) {
			if st.Stream != stream {
				continue
			}
			if st.Bandwidth != nil && *st.Bandwidth == 0 {
				// Published, and nothing comes in. It has just begun, or hangs: not
				// moving for a while tells which.
				return Answer{Presence: farms.Present, Moving: 1, Detail: "published, without bandwidth"}, nil
			}
			return Answer{Presence: farms.Present, Detail: "published"}, nil
		}
	}
	return say(farms.Absent, "not among its live streams"), nil
}

// nimbleRecording is an entry of dvr_status.
type nimbleRecording struct {
	Stream   string `json:"stream"`
	Duration number `json:"duration"`
	Timeline *[]struct {
		Start    number `json:"start"`
		End      number `json:"end"`
		Duration number `json:"duration"`
	} `json:"timeline"`
}

func nimbleTimeline(ctx context.Context, get Get, s Server, q Question, app, stream string) (Answer, error) {
	at := s.API + "/manage/dvr_status/" + url.PathEscape(app) + "/" + escapePath(stream) + "?timeline=true"
	if auth := nimbleAuth(s.Secret); auth != "" {
		at += "&" + auth
	}
	res, err := get.page(ctx, at, s.Headers)
	if err != nil {
		return Answer{}, err
	}
	if a, done := judgeStatus(res.Status); done {
		return a, nil
	}
	var list *[]nimbleRecording
	if err := decode(res.Body, &list); err != nil {
		var said struct {
			Status string `json:"status"`
		}
		if decode(res.Body, &said) == nil && strings.EqualFold(said.Status, "Not found") {
			return say(farms.Absent, "its API says %q", said.Status), nil
		}
		return say(farms.Trouble, "%v", err), nil
	}
	if list == nil {
		return say(farms.Trouble, "its API answered null, expected a list of recordings"), nil
	}
	var found *nimbleRecording
	for i, e := range *list {
		if e.Stream != app+"/"+stream && e.Stream != stream {
			continue
		}
		if found != nil {
			return askViewer("its API has two recordings of the stream and does not tell them apart"), nil
		}
		found = &(*list)[i]
	}
	switch {
	case found == nil:
		return recorded(q, nil, 0, false), nil
	case found.Timeline == nil && found.Duration > 0:
		return askViewer("its API has a recording without a timeline: only its playlist tells"), nil
	case found.Timeline == nil:
		return recorded(q, nil, 0, false), nil
	}
	var (
		rs     []farms.Range
		unread int
	)
	for _, p := range *found.Timeline {
		start, end := float64(p.Start)*1000, float64(p.End)*1000
		if end == 0 { // still being recorded
			end = start + float64(p.Duration)*1000
		}
		if r, ok := span(start, end); ok {
			rs = append(rs, r)
		} else if !(start > 0 && start == end) {
			unread++
		}
	}
	return recorded(q, rs, unread, false), nil
}
