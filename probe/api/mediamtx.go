package api

// MediaMTX has two interfaces, each on a port of its own: the control API on
// 9997 and the playback server on 9996. api_url names the control API. While its
// port is 9997, the playback server is the same host's port 9996; with any other
// port something stands in front of both, and is asked for /list too. Viewers get
// HLS on 8888 and recordings by /get of the playback server: a url that serves
// both has something in front as well.
//
//	live     GET API/v3/paths/get/PATH                                [V 1.20.1]
//	         "online" (a source is there), older "available", "ready", oldest
//	         "sourceReady"                                            [S]
//	         GET API/v3/config/paths/get/CONFNAME, when it is not there:
//	         "sourceOnDemand", "runOnDemand"                          [S, D]
//	ranges   GET PLAYBACK/list?path=PATH[&start=TIME&end=TIME]        [V]
//	         [{"start": RFC 3339, "duration": seconds as a float, "url"}]
//	auth     Basic, or a JWT as bearer when only a secret is set; without
//	         credentials the API answers only its own machine unless configured
//	         otherwise                                                [V]
//
// The marks: V, seen in a running server; S, read in the vendor's source; D, the
// vendor's documentation; C, seen in clients; I, inferred.
//
// Traps:
//   - "available" without "online" is a path that plays its offline clip   [I]
//   - a path that starts on demand is not there until somebody watches: only
//     the manifest can tell, and asking it starts the source. One that a regular
//     expression names is unknown (404) until then: such a server wants the
//     type generic                                                         [I]
//   - /list of a path that has never recorded, or that no configuration names,
//     is 400; with nothing in the asked range 404; HEAD is always 404      [V]
//   - a raw "+" is 400: times are sent in UTC with "Z"                     [V]
//   - older versions know no start and end at /list, and list all          [S]
//   - entries end where the codec parameters change too, not only at gaps  [S]
//   - recordings in MPEG-TS cannot be listed: 500                          [S]
//   - /get over a gap is 200 and ends at the gap: what is held in total is
//     not what plays through                                               [V]
//   - every HLS GET makes an hlsSession reader: the interfaces make none   [V]

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// MediaMTX asks a MediaMTX server. The channel is MediaMTX's path.
func MediaMTX(ctx context.Context, get Get, s Server, q Question) (Answer, error) {
	if !askable(q.Channel) {
		return unaskable(), nil
	}
	if q.Live {
		return mediaMTXLive(ctx, get, s, escapePath(q.Channel))
	}
	return mediaMTXRanges(ctx, get, s, q)
}

// mediaMTXPath is what paths/get tells of a path.
type mediaMTXPath struct {
	ConfName    string `json:"confName"`
	Online      *bool  `json:"online"`
	Available   *bool  `json:"available"`
	Ready       *bool  `json:"ready"`
	SourceReady *bool  `json:"sourceReady"`
}

func mediaMTXLive(ctx context.Context, get Get, s Server, name string) (Answer, error) {
	res, err := get.page(ctx, s.API+"/v3/paths/get/"+name, s.authorized())
	if err != nil {
		return Answer{}, err
	}
	if a, done := judgeStatus(res.Status); done {
		return a, nil
	}
	var p mediaMTXPath
	if err := decode(res.Body, &p); err != nil {
		return say(farms.Trouble, "%v", err), nil
	}
	for _, there := range []*bool{p.Online, p.Available, p.Ready, p.SourceReady} {
		switch {
		case there == nil:
			continue
		case *there:
			return say(farms.Present, "its API says online"), nil
		case p.Available != nil && *p.Available:
			return say(farms.Absent, "its source is gone, it plays its offline clip"), nil
		default:
			return mediaMTXOnDemand(ctx, get, s, p.ConfName)
		}
	}
	return say(farms.Trouble, "its API tells neither online nor available nor ready: is api_url MediaMTX's API?"), nil
}

// mediaMTXOnDemand answers for a path whose source is not there: it may be one
// that starts when somebody watches.
func mediaMTXOnDemand(ctx context.Context, get Get, s Server, conf string) (Answer, error) {
	absent := say(farms.Absent, "its API says not online")
	if !askable(conf) {
		return absent, nil
	}
	res, err := get.page(ctx, s.API+"/v3/config/paths/get/"+escapePath(conf), s.authorized())
	if err != nil {
		return Answer{}, err
	}
	if a, done := judgeStatus(res.Status); done {
		if a.Presence == farms.Trouble {
			return a, nil
		}
		return absent, nil // that the path is not online was said already
	}
	var c struct {
		SourceOnDemand bool   `json:"sourceOnDemand"`
		RunOnDemand    string `json:"runOnDemand"`
	}
	switch err := decode(res.Body, &c); {
	case err != nil:
		return say(farms.Trouble, "%v", err), nil
	case c.SourceOnDemand || c.RunOnDemand != "":
		return askViewer("it starts on demand: only its manifest can tell"), nil
	}
	return absent, nil
}

func mediaMTXRanges(ctx context.Context, get Get, s Server, q Question) (Answer, error) {
	u := mediaMTXPlayback(s.API) + "/list?path=" + strings.ReplaceAll(url.QueryEscape(q.Channel), "+", "%20")
	res, err := get.page(ctx, u, s.authorized())
	all := fetch.KindOf(err) != fetch.TooLarge
	if err != nil && !all && q.Need.From < q.Need.To {
		u += "&start=" + mediaMTXTime(q.Need.From) + "&end=" + mediaMTXTime(q.Need.To)
		res, err = get.page(ctx, u, s.authorized())
	}
	if err != nil {
		return Answer{}, err
	}
	a := readMediaMTXList(q, res)
	a.All = a.All && all
	return a, nil
}

func readMediaMTXList(q Question, res *fetch.Response) Answer {
	switch {
	case res.Status == http.StatusBadRequest:
		a := say(farms.Absent, "its playback server answered 400: the path has no recordings at all")
		a.All = true
		return a
	case res.Status == http.StatusNotFound:
		a := say(farms.Absent, "its playback server answered 404: no recordings in the range")
		a.All = true
		return a
	case res.Status == http.StatusInternalServerError && bytes.Contains(res.Body, []byte("MPEG-TS")):
		return say(farms.Trouble, "its recordings are MPEG-TS, which its playback server cannot serve: set recordFormat to fmp4")
	}
	if a, done := judgeStatus(res.Status); done {
		return a
	}
	var list []struct {
		Start    string `json:"start"`
		Duration number `json:"duration"`
	}
	if err := decode(res.Body, &list); err != nil {
		return say(farms.Trouble, "%v", err)
	}
	rs, bad := make([]farms.Range, 0, len(list)), 0
	for _, e := range list {
		start, err := time.Parse(time.RFC3339, e.Start)
		from := float64(start.UnixMilli())
		r, ok := span(from, from+1000*float64(e.Duration))
		switch {
		case err == nil && ok:
			rs = append(rs, r)
		case err == nil && e.Duration == 0: // has only begun
		default:
			bad++
		}
	}
	return recorded(q, rs, bad, false)
}

// mediaMTXPlayback is the base URL of the playback server that belongs to an
// API.
func mediaMTXPlayback(api string) string {
	u, err := url.Parse(api)
	if err != nil || u.Port() != "9997" {
		return api
	}
	u.Host = strings.TrimSuffix(u.Host, "9997") + "9996"
	return u.String()
}

// mediaMTXTime writes unix milliseconds as a parameter that has no "+" in it.
func mediaMTXTime(ms int64) string {
	return url.QueryEscape(time.UnixMilli(ms).UTC().Format(time.RFC3339Nano))
}
