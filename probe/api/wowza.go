package api

// Wowza Streaming Engine has one REST interface, on port 8087, for all its
// applications. api_url names it (http://HOST:8087); then the default server,
// host and instance are meant:
//
//	BASE = API/v2/servers/_defaultServer_/vhosts/_defaultVHost_/applications/APP/instances/INSTANCE
//
// An api_url that has /v2/ in it goes on from there: to another virtual host
// (…/v2/servers/_defaultServer_/vhosts/OTHER) or, where a path in front hides the
// application from the viewer's URL, to the application
// (…/applications/APP[/instances/INSTANCE]). Else APP, INSTANCE (absent:
// _definst_) and STREAM are the viewer's: APP/[INSTANCE/]STREAM/playlist.m3u8.
//
//	live     GET BASE/incomingstreams/STREAM                          [D, C]
//	         {"name", "isConnected": bool, "isRecordingSet", …}
//	ranges   GET BASE/dvrstores                                       [C]
//	         {"dvrconverterstoresummary": [{"name": "STREAM.N", "location"}]}
//	         GET BASE/dvrstores/STREAM.N, one request a store         [C]
//	         {"DvrConverterStore": {"utcStart": unix ms, "utcEnd": unix ms,
//	          "duration": ms, "isLive": bool, …}}
//	auth     Digest as a rule (RFC 7616), Basic where so configured: the first
//	         request goes without credentials and learns which         [D]
//
// The public schema of the stores is incomplete; their fields are as clients
// read them. Whatever does not look like them is left to the viewer's own
// playlist, which a generic question measures:
//   - no list of stores (nDVR is not there, or not for this application)
//   - stores without utcStart and utcEnd
//   - a store that lasts shorter than from utcStart to utcEnd: recordings were
//     appended to it, with gaps of which the interface does not tell the place
//   - names with a colon (ngrp:…_all, smil:….smil, mp4:…): a group of streams,
//     whose stores have the names of its renditions
//
// Traps (the marks are explained in mediamtx.go):
//   - without Accept: application/json it answers XML                  [C]
//   - errors are {"success": false, "code": "404", "message"}, which code the
//     status may contradict                                            [C, I]
//   - utcEnd of a store that still grows is as old as the interface's own
//     cache: while the stream is connected it ends now                 [C, I]
//   - an edge application (liverepeater-edge) has a stream only while somebody
//     watches it: such a server wants the type generic, or assume       [I]

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// Wowza asks a Wowza Streaming Engine. Application and stream are those of the
// question's path.
func Wowza(ctx context.Context, get Get, s Server, q Question) (Answer, error) {
	base, stream := wowzaPlace(s, q.Path)
	switch {
	case stream == "":
		return askViewer("its path names no application and stream"), nil
	case strings.Contains(stream, ":"):
		return askViewer("it is a group of streams: only its playlist tells"), nil
	}
	c := &wowzaClient{get: get, server: s, credentials: credentials{user: s.User, secret: s.Secret}}
	if q.Live {
		return c.live(ctx, base, stream)
	}
	return c.ranges(ctx, base, stream, q)
}

// wowzaPlace returns BASE and the stream that a viewer's path means; both are
// empty when it means none.
func wowzaPlace(s Server, path string) (base, stream string) {
	list := names(s, path)
	if len(list) < 2 {
		return "", ""
	}
	list = list[:len(list)-1]
	stream = list[len(list)-1]
	base = s.API
	if !strings.Contains(base, "/v2/") {
		base += "/v2/servers/_defaultServer_/vhosts/_defaultVHost_"
	}
	instance := "_definst_"
	if !strings.Contains(base, "/applications/") {
		switch len(list) {
		case 2:
		case 3:
			instance = list[1]
		default:
			return "", ""
		}
		base += "/applications/" + url.PathEscape(list[0])
	}
	if !strings.Contains(base, "/instances/") {
		base += "/instances/" + url.PathEscape(instance)
	}
	return base, stream
}

// wowzaClient asks the pages of one question, so that they share a nonce.
type wowzaClient struct {
	get         Get
	server      Server
	credentials credentials
}

func (c *wowzaClient) page(ctx context.Context, u string) (*fetch.Response, error) {
	res, err := c.once(ctx, u)
	if err != nil || res.Status != http.StatusUnauthorized || c.credentials.user == "" ||
		!c.credentials.take(res.Header.Values("WWW-Authenticate")) {
		return res, err
	}
	return c.once(ctx, u)
}

func (c *wowzaClient) once(ctx context.Context, u string) (*fetch.Response, error) {
	headers := append(slices.Clip(slices.Clone(c.server.Headers)), farms.Header{Name: "Accept", Value: "application/json"})
	if value := c.credentials.header(u); value != "" {
		headers = withAuthorization(headers, value)
	}
	return c.get.page(ctx, u, headers)
}

// wowzaRefusal is what the interface says in place of a document.
type wowzaRefusal struct {
	Success *bool  `json:"success"`
	Code    number `json:"code"`
}

// judge tells whether a refusal, not a document, came.
func (r wowzaRefusal) judge() (a Answer, done bool) {
	if r.Success == nil || *r.Success {
		return Answer{}, false
	}
	if r.Code == http.StatusOK {
		return say(farms.Trouble, "its API refuses, with code 200"), true
	}
	a, _ = judgeStatus(int(r.Code))
	return a, true
}

// read judges a response and reads its document.
func (c *wowzaClient) read(res *fetch.Response, into any) (a Answer, done bool) {
	if a, done := judgeStatus(res.Status); done {
		return a, true
	}
	var refusal wowzaRefusal
	if err := decode(res.Body, &refusal); err != nil {
		return say(farms.Trouble, "%v", err), true
	}
	if a, done := refusal.judge(); done {
		return a, true
	}
	if err := decode(res.Body, into); err != nil {
		return say(farms.Trouble, "%v", err), true
	}
	return Answer{}, false
}

func (c *wowzaClient) live(ctx context.Context, base, stream string) (Answer, error) {
	connected, a, err := c.connected(ctx, base, stream)
	switch {
	case err != nil:
		return Answer{}, err
	case a.Presence != farms.Unasked:
		return a, nil
	case !connected:
		return say(farms.Absent, "its API says not connected"), nil
	}
	return say(farms.Present, "its API says connected"), nil
}

// connected tells whether a stream comes in, or answers why that is not known.
func (c *wowzaClient) connected(ctx context.Context, base, stream string) (bool, Answer, error) {
	res, err := c.page(ctx, base+"/incomingstreams/"+url.PathEscape(stream))
	if err != nil {
		return false, Answer{}, err
	}
	var in struct {
		IsConnected *bool `json:"isConnected"`
	}
	if a, done := c.read(res, &in); done {
		return false, a, nil
	}
	if in.IsConnected == nil {
		return false, say(farms.Trouble, `its API answered without "isConnected"`), nil
	}
	return *in.IsConnected, Answer{}, nil
}

// wowzaStore is one recording of a stream.
type wowzaStore struct {
	Start    number `json:"utcStart"`
	End      number `json:"utcEnd"`
	Duration number `json:"duration"`
	IsLive   bool   `json:"isLive"`
}

// Slack of a store's times: between its length and its duration, and between
// its end and now while it grows.
const (
	wowzaGapSlack  = 15 * time.Second
	wowzaLiveSlack = 30 * time.Second
)

// maxStores is how many stores of one stream are read, the newest: with the list
// of stores and a question for liveness they are maxPages.
const maxStores = maxPages - 2

func (c *wowzaClient) ranges(ctx context.Context, base, stream string, q Question) (Answer, error) {
	res, err := c.page(ctx, base+"/dvrstores")
	if err != nil {
		return Answer{}, err
	}
	var list struct {
		Stores []struct {
			Name string `json:"name"`
		} `json:"dvrconverterstoresummary"`
	}
	switch a, done := c.read(res, &list); {
	case done && a.Presence == farms.Absent:
		return askViewer("its API has no list of stores for this application: only its playlist tells"), nil
	case done:
		return a, nil
	case list.Stores == nil:
		return askViewer("its API lists no stores in the form that is known: only its playlist tells"), nil
	}
	var stores []wowzaName
	for _, l := range list.Stores {
		if n, ok := storeOf(stream, l.Name); ok {
			stores = append(stores, n)
		}
	}
	slices.SortFunc(stores, func(a, b wowzaName) int { return cmp.Compare(b.number, a.number) })
	cut := len(stores) > maxStores
	stores = stores[:min(len(stores), maxStores)]
	return c.readStores(ctx, base, stream, stores, cut, q)
}

// readStores reads stores one by one, the newest first. cut says that there are
// older ones.
func (c *wowzaClient) readStores(ctx context.Context, base, stream string, stores []wowzaName, cut bool, q Question) (Answer, error) {
	var (
		rs     []farms.Range
		unread int
	)
	for _, name := range stores {
		res, err := c.page(ctx, base+"/dvrstores/"+url.PathEscape(name.text))
		if err != nil {
			return Answer{}, err
		}
		var doc struct {
			Store *wowzaStore `json:"DvrConverterStore"`
		}
		a, done := c.read(res, &doc)
		switch {
		case done && a.Presence == farms.Absent:
			continue // removed since it was listed
		case done:
			return a, nil
		case doc.Store == nil || doc.Store.Start == 0 || doc.Store.End == 0:
			unread++
			continue
		}
		end, a, err := c.end(ctx, base, stream, *doc.Store, serverNow(res, q.Now))
		if err != nil || a.Presence != farms.Unasked {
			return a, err
		}
		r, ok := span(float64(doc.Store.Start), end)
		if !ok {
			unread++
			continue
		}
		if d := doc.Store.Duration; d > 0 && float64(doc.Store.End-doc.Store.Start-d) > float64(wowzaGapSlack.Milliseconds()) {
			return askViewer("a store of it has gaps that its API does not place: only its playlist tells"), nil
		}
		rs = append(rs, r)
	}
	if len(rs) == 0 && unread > 0 {
		return askViewer("its stores tell no times: only its playlist tells"), nil
	}
	return recorded(q, rs, unread, cut), nil
}

// end is where a store ends, in unix milliseconds: where it says, or now while
// it grows. The answer is Unasked unless that cannot be found out.
func (c *wowzaClient) end(ctx context.Context, base, stream string, st wowzaStore, now time.Time) (float64, Answer, error) {
	end := float64(st.End)
	edge := float64(now.UnixMilli())
	if !st.IsLive || edge-end <= float64(wowzaLiveSlack.Milliseconds()) {
		return end, Answer{}, nil
	}
	connected, a, err := c.connected(ctx, base, stream)
	switch {
	case err != nil:
		return 0, Answer{}, err
	case a.Presence == farms.Absent:
		return end, Answer{}, nil
	case a.Presence != farms.Unasked:
		return 0, a, nil
	case connected:
		return edge, Answer{}, nil
	}
	return end, Answer{}, nil
}

// wowzaName is a store's name and its number, which grows with each recording.
type wowzaName struct {
	text   string
	number int64
}

// storeOf tells whether a store is the stream's: it has the stream's name, and
// where recordings are not appended, a number behind a dot.
func storeOf(stream, store string) (wowzaName, bool) {
	rest, ok := strings.CutPrefix(store, stream)
	if !ok || !askable(store) {
		return wowzaName{}, false
	}
	if rest == "" {
		return wowzaName{store, -1}, true
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(rest, "."), 10, 63)
	if err != nil || rest[0] != '.' {
		return wowzaName{}, false
	}
	return wowzaName{store, int64(n)}, true
}
