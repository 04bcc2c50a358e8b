package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// Flussonic asks Flussonic Media Server.
//
// From version 21 it has an API for administrators, asked when there are
// credentials or an api_url of its own:
//
//	GET API/streamer/api/v3/streams/NAME              stats.alive, stats.status, stats.last_dts_at (unix ms)
//	GET API/streamer/api/v3/streams/NAME/dvr/ranges   ?limit=&sort=&cursor=
//	  {"next": cursor or null, "ranges": [{"from": s, "duration": s, "opened_at": ms, "closed_at": ms}]}
//
// Basic authorization with api_user, Bearer without. A slash in NAME is %2F.
//
// Every version has, on the viewer's side and with the viewer's token:
//
//	GET URL/NAME/recording_status.json?from=s&to=now&request=ranges
//	  [{"stream": NAME, "ranges": [{"from": s, "duration": s}]}]   or "from" and "to" instead of "ranges"
//	  [{"stream": NAME, "error": "no_dvr"}]                        with 200
//
// Whether a channel is live nothing tells there but its playlist.
//
// Traps. Units are mixed within one object: from and duration are seconds, the
// *_at milliseconds (in the vendor's examples they are decades apart), so only
// the former are read. Ranges are paged: the rest hides behind "next" (vendor's
// API). An on-demand stream is not alive until a viewer comes. A server with
// dvr.remotes answers for what it would pull from another (vendor's API).
// Inferred, and harmless where wrong: a 404 without the API's own "errors" is an
// older version that has no such API, not a missing stream; a version that does
// not sort by "-from" refuses with 400; alive outlives the last frame.
func Flussonic(ctx context.Context, get Get, s Server, q Question) (Answer, error) {
	if !askable(q.Channel) {
		return unaskable(), nil
	}
	refusal := say(farms.Unasked, "it has no api_url or api_secret of its own")
	if s.Secret != "" || s.API != s.URL {
		ask := flussonicRanges
		if q.Live {
			ask = flussonicLive
		}
		a, there, err := ask(ctx, get, s, q)
		if err != nil || there {
			return a, err
		}
		refusal = a
	}
	if q.Live {
		return askViewer("%s: only its playlist tells", refusal.Detail), nil
	}
	return recordingStatus(ctx, get, s, q, refusal)
}

func flussonicURL(s Server, q Question) string {
	return s.API + "/streamer/api/v3/streams/" + url.PathEscape(q.Channel)
}

// flussonicStatus judges the status of the API. there is false when there is no
// such API, or none for us, so that the viewer's side must be asked instead;
// done when the body needs no reading.
func flussonicStatus(res *fetch.Response) (a Answer, done, there bool) {
	a, done = judgeStatus(res.Status)
	switch res.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return a, true, false
	case http.StatusNotFound:
		var said struct {
			Errors json.RawMessage `json:"errors"`
		}
		there = decode(res.Body, &said) == nil && said.Errors != nil
		return a, true, there
	}
	return a, done, true
}

// flussonicStream is what is read of a stream's document.
type flussonicStream struct {
	Static *bool `json:"static"`
	DVR    *struct {
		Remotes []json.RawMessage `json:"remotes"`
	} `json:"dvr"`
	Stats *struct {
		Alive     bool   `json:"alive"`
		Status    string `json:"status"`
		LastDTSAt number `json:"last_dts_at"`
		DVRInfo   *struct {
			Duration number `json:"duration"`
		} `json:"dvr_info"`
	} `json:"stats"`
}

func flussonicLive(ctx context.Context, get Get, s Server, q Question) (a Answer, there bool, err error) {
	res, err := get.page(ctx, flussonicURL(s, q), s.authorized())
	if err != nil {
		return Answer{}, true, err
	}
	if a, done, there := flussonicStatus(res); done {
		return a, there, nil
	}
	var stream flussonicStream
	if err := decode(res.Body, &stream); err != nil {
		return say(farms.Trouble, "%v", err), true, nil
	}
	switch stats := stream.Stats; {
	case stats != nil && stats.Alive:
		a := say(farms.Present, "alive, status %q", stats.Status)
		if stats.LastDTSAt != 0 {
			a.Moving = movingSince(float64(stats.LastDTSAt), serverNow(res, q.Now))
		}
		return a, true, nil
	case stream.Static != nil && !*stream.Static:
		return askViewer("it starts the stream on demand: only its playlist tells"), true, nil
	case stats != nil:
		return say(farms.Absent, "not alive, status %q", stats.Status), true, nil
	default:
		return say(farms.Trouble, "its API says nothing of the stream's state"), true, nil
	}
}

// flussonicPage is one page of ranges.
type flussonicPage struct {
	Next   *string     `json:"next"`
	Ranges *[]fromSpan `json:"ranges"`
}

// fromSpan is a range as both interfaces write it, in seconds.
type fromSpan struct {
	From     number `json:"from"`
	Duration number `json:"duration"`
}

// appendSpans adds the ranges that make sense and counts those that do not. One
// without a duration has just begun.
func appendSpans(rs []farms.Range, spans []fromSpan) (out []farms.Range, unread int) {
	for _, sp := range spans {
		from, length := float64(sp.From)*1000, float64(sp.Duration)*1000
		if r, ok := span(from, from+length); ok {
			rs = append(rs, r)
		} else if !(from > 0 && length == 0) {
			unread++
		}
	}
	return rs, unread
}

// flussonicLimit is how many ranges are asked for at once: small enough for a
// page, large enough that maxPages hold maxRanges.
const flussonicLimit = "2000"

func flussonicRanges(ctx context.Context, get Get, s Server, q Question) (a Answer, there bool, err error) {
	var (
		rs     []farms.Range
		unread int
		sort   = "&sort=-from" // the newest first, so that a bound cuts off the old end
		cursor string
		whole  bool // the last page was read
	)
	for n := range maxPages {
		at := flussonicURL(s, q) + "/dvr/ranges?limit=" + flussonicLimit + sort
		if cursor != "" {
			at += "&cursor=" + url.QueryEscape(cursor)
		}
		res, err := get.page(ctx, at, s.authorized())
		if err != nil {
			return Answer{}, true, err
		}
		if n == 0 && res.Status == http.StatusBadRequest {
			sort = "" // this version does not
			continue
		}
		if a, done, there := flussonicStatus(res); done {
			if cursor != "" {
				return say(farms.Trouble, "its API answered %d in the middle of its ranges", res.Status), true, nil
			}
			return a, there, nil
		}
		var page flussonicPage
		if err := decode(res.Body, &page); err != nil {
			return say(farms.Trouble, "%v", err), true, nil
		}
		if page.Ranges == nil {
			return say(farms.Trouble, `its API answered without "ranges"`), true, nil
		}
		var bad int
		rs, bad = appendSpans(rs, *page.Ranges)
		unread += bad
		whole = page.Next == nil || *page.Next == ""
		if whole || *page.Next == cursor || len(rs) > maxRanges && sort != "" { // the end, in circles, or enough
			break
		}
		if len(rs) > maxRanges {
			rs, _ = normalise(rs)
		}
		cursor = *page.Next
	}
	a = recorded(q, rs, unread, !whole)
	if a.Presence == farms.Present {
		a.Remote, a.Ended = flussonicState(ctx, get, s, q)
	}
	return a, true, nil
}

// flussonicState tells whether the server has others to pull an archive from and
// nothing on its own disks; and whether the stream is off. Not knowing counts as
// no to both, and so does a stream that starts on demand to the latter.
func flussonicState(ctx context.Context, get Get, s Server, q Question) (remote, off bool) {
	res, err := get.page(ctx, flussonicURL(s, q), s.authorized())
	var stream flussonicStream
	if err != nil || res.Status != http.StatusOK || decode(res.Body, &stream) != nil {
		return false, false
	}
	stats := stream.Stats
	own := stats != nil && stats.DVRInfo != nil && stats.DVRInfo.Duration > 0
	off = stats != nil && !stats.Alive && (stream.Static == nil || *stream.Static)
	return stream.DVR != nil && len(stream.DVR.Remotes) > 0 && !own, off
}

// recordedSince is the start of the stretch that recording_status.json is asked
// for, 2010-01-01: before every archive, so that one answer serves all windows.
const recordedSince = "1262304000"

// recordingEntry is one stream of recording_status.json.
type recordingEntry struct {
	Stream string      `json:"stream"`
	Error  string      `json:"error"`
	Ranges *[]fromSpan `json:"ranges"`
	From   number      `json:"from"` // older versions: the whole archive, gaps and all
	To     number      `json:"to"`
}

// recordingStatus asks on the viewer's side. refusal is why the API was not
// asked or did not answer.
func recordingStatus(ctx context.Context, get Get, s Server, q Question, refusal Answer) (Answer, error) {
	at := s.URL + "/" + escapePath(q.Channel) + "/recording_status.json?from=" + recordedSince + "&to=now&request=ranges"
	res, err := get.page(ctx, at+s.viewerQuery("&"), s.Headers)
	if err != nil {
		return Answer{}, err
	}
	if a, done := judgeStatus(res.Status); done {
		switch {
		case a.Presence == farms.Guarded:
			return say(farms.Guarded, "recording_status.json answered %d: check probe_query; %s", res.Status, refusal.Detail), nil
		case a.Presence == farms.Absent && refusal.Presence == farms.Guarded:
			return refusal, nil // newer versions may not have it; the API has, and keeps us out
		}
		return say(a.Presence, "recording_status.json answered %d", res.Status), nil
	}
	entries, err := recordingEntries(res.Body)
	if err != nil {
		return say(farms.Trouble, "recording_status.json: %v", err), nil
	}
	var (
		rs     []farms.Range
		unread int
		others int
	)
	for _, e := range entries {
		switch {
		case e.Stream != "" && e.Stream != q.Channel:
			others++
		case e.Error != "":
			return recordingError(e.Error), nil
		case e.Ranges != nil:
			var bad int
			rs, bad = appendSpans(rs, *e.Ranges)
			unread += bad
		default:
			var bad int
			rs, bad = appendSpans(rs, []fromSpan{{e.From, e.To - e.From}})
			unread += bad
		}
	}
	if others > 0 && others == len(entries) {
		return say(farms.Trouble, "recording_status.json speaks of another stream, %q", entries[0].Stream), nil
	}
	return recorded(q, rs, unread, false), nil
}

// recordingEntries reads the list, or an entry without one around it.
func recordingEntries(body []byte) ([]recordingEntry, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		var one recordingEntry
		err := decode(body, &one)
		return []recordingEntry{one}, err
	}
	var entries []recordingEntry
	if err := decode(body, &entries); err != nil {
		return nil, err
	}
	if entries == nil {
		return nil, errors.New("expected a list, got null")
	}
	return entries, nil
}

// recordingError judges the "error" of a 200. What is not known to mean "no"
// says nothing about the recordings.
func recordingError(text string) Answer {
	switch strings.ToLower(text) {
	case "no_dvr", "not_found", "enoent", "no_stream", "stream_not_found":
		return say(farms.Absent, "recording_status.json says %q", text)
	default:
		return say(farms.Trouble, "recording_status.json says %q", text)
	}
}
