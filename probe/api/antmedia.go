package api

// Ant Media Server has a REST interface for each application, on the server's
// own port. Application and stream are the viewer's:
// APP/streams/ID[_RENDITION].m3u8. api_url names the server (http://HOST:5080) or
// the application (http://HOST:5080/APP).
//
//	live     GET API/APP/rest/v2/broadcasts/ID                        [S, D]
//	         {"status": "broadcasting", "updateTime": unix ms, …}
//	ranges   none: recordings are asked for by the viewer's own playlist
//	         (?start=&end=), which a generic question measures         [S]
//	auth     api_secret is the token (JWT) that the interface wants as the whole
//	         Authorization header, without "Bearer"; Basic with api_user, for
//	         something in front. Out of the box the interface answers only
//	         127.0.0.1: 403 means that our address is not allowed      [S, D]
//
// Traps (the marks are explained in mediamtx.go):
//   - a server that crashed leaves "broadcasting" behind in its database for
//     good; newer ones regard a broadcast as over that was not updated for 20
//     seconds (every 10 it is), and call it terminated_unexpectedly      [S]
//   - 404 has an empty body                                             [S]
//   - with ?start=&end= a playlist without PROGRAM-DATE-TIME comes back as 200
//     with no segment: the generic question says absent                 [S]
//   - servers that share a database answer for each other                 [I]

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// antStale is how old an update of a broadcast is that is over: updates come
// every ten seconds.
const antStale = 30 * time.Second

// AntMedia asks an Ant Media Server. Application and stream are those of the
// question's path. It has no ranges to tell: their question goes to the viewer's
// own playlist, and costs no request here.
func AntMedia(ctx context.Context, get Get, s Server, q Question) (Answer, error) {
	if !q.Live {
		return askViewer("its API knows no ranges: only its playlist tells"), nil
	}
	base, stream := antPlace(s, q.Path)
	if stream == "" {
		return askViewer("its path names no application and stream"), nil
	}
	headers := s.authorized()
	if s.User == "" && s.Secret != "" {
		headers = withAuthorization(s.Headers, s.Secret)
	}
	res, err := get.page(ctx, base+"/rest/v2/broadcasts/"+url.PathEscape(stream), headers)
	if err != nil {
		return Answer{}, err
	}
	if a, done := judgeStatus(res.Status); done {
		return a, nil
	}
	var b struct {
		Status     string `json:"status"`
		UpdateTime number `json:"updateTime"`
	}
	if err := decode(res.Body, &b); err != nil {
		return say(farms.Trouble, "%v", err), nil
	}
	age := float64(serverNow(res, q.Now).UnixMilli()) - float64(b.UpdateTime)
	switch {
	case b.Status == "":
		return say(farms.Trouble, `its API answered without "status"`), nil
	case b.Status != "broadcasting":
		return say(farms.Absent, "its API says %q", b.Status), nil
	case b.UpdateTime > 0 && age > float64(antStale.Milliseconds()):
		return say(farms.Absent, "its API says broadcasting, but was not updated for %v", time.Duration(age)*time.Millisecond), nil
	}
	return say(farms.Present, "its API says broadcasting"), nil
}

// antPlace returns the base URL of the application's interface and the stream
// that a viewer's path means; both are empty when it means none. DASH has a
// folder of its own: APP/streams/ID/ID.mpd.
func antPlace(s Server, path string) (base, stream string) {
	list := names(s, path)
	for i := 1; i < len(list)-1; i++ {
		if list[i] != "streams" {
			continue
		}
		file := list[len(list)-1]
		dot := strings.LastIndexByte(file, '.')
		if dot < 0 {
			return "", ""
		}
		base = s.API
		if app := "/" + url.PathEscape(list[i-1]); !strings.HasSuffix(base, app) {
			base += app
		}
		return base, antStream(file[:dot])
	}
	return "", ""
}

// antStream takes a rendition off a file's name: _adaptive, _720p, _720p2000kbps
// or _2000kbps.
func antStream(stem string) string {
	i := strings.LastIndexByte(stem, '_')
	if i <= 0 {
		return stem
	}
	rendition := stem[i+1:]
	if rendition == "adaptive" {
		return stem[:i]
	}
	rest := strings.TrimLeft(rendition, "0123456789")
	if rest == rendition {
		return stem
	}
	if more, ok := strings.CutPrefix(rest, "p"); ok {
		if more == "" {
			return stem[:i]
		}
		if rest = strings.TrimLeft(more, "0123456789"); rest == more {
			return stem
		}
	}
	if rest == "kbps" {
		return stem[:i]
	}
	return stem
}
