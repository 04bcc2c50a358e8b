package probe

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// maxManifest bounds a manifest's body: 24 hours of two-second segments are 2
// to 4 MB.
const maxManifest = 8 << 20

// tsRange asks for ten transport stream packets; a live stream that ignores it
// is cut off after as many bytes.
const (
	tsRange = "bytes=0-1879"
	tsBytes = 1880
)

// askContent asks one server for one content and judges the answer. It also
// returns the response time and whether the server refused the connection.
func (b *Board) askContent(ctx context.Context, s *server, c farms.Content) (v verdict, latency time.Duration, refused bool) {
	spec := s.spec.Load()
	if ask := apis[spec.Type]; ask != nil && (isWide(c) || c.Kind == farms.KindLive) {
		v, latency, ok, err := b.askAPI(ctx, spec, ask, c)
		switch {
		case err != nil:
			// The interface is another socket: what it refuses or sends elsewhere
			// says nothing about the content, nor about the server.
			v = failed(err)
			v.presence = farms.Trouble
			v.detail = "its interface: " + v.detail
			return v, 0, false
		case ok:
			return v, latency, false
		case isWide(c):
			return verdict{generic: true}, latency, false
		}
	}
	if c.Kind.Windowed() || c.Kind == farms.KindVoD && whole(c.Protocol) {
		v, latency, err := b.askWindow(ctx, spec, c)
		if err != nil {
			return failed(err), 0, fetch.KindOf(err) == fetch.Refused
		}
		return v, latency, false
	}
	v, latency, err := b.askManifest(ctx, spec, c.Protocol, withQuery(spec.URL+c.Path, spec.ProbeQuery))
	if err != nil {
		return failed(err), 0, fetch.KindOf(err) == fetch.Refused
	}
	if v.next == "" || b.settings.Load().Depth == DepthPlaylist {
		return v, latency, false
	}
	if !sameHost(v.next, spec.URL) {
		v.detail += ", its media playlists are on another host and were not asked"
		v.fresh = true
		return v, latency, false
	}
	// A multivariant playlist outlives its streams: an encoder that restarts
	// leaves it in place. A media playlist is judged.
	media, _, err := b.askManifest(ctx, spec, c.Protocol, v.next)
	if err != nil {
		return failed(err), 0, fetch.KindOf(err) == fetch.Refused
	}
	if media.multivariant {
		return no("its multivariant playlist leads to another multivariant playlist"), latency, false
	}
	if media.presence != farms.Present {
		media.detail = "multivariant playlist is there, media playlist: " + media.detail
	}
	media.multivariant, media.children = true, v.children
	return media, latency, false
}

func (b *Board) askManifest(ctx context.Context, spec *farms.Server, want farms.Protocol, u string) (verdict, time.Duration, error) {
	req := fetch.Request{URL: u, Headers: spec.ProbeHeaders, MaxBody: maxManifest}
	if want == farms.ProtocolMPEGTS {
		req.Range, req.MaxBody, req.Cut = tsRange, tsBytes, true
	}
	res, err := b.opt.Client.Get(ctx, req)
	if err != nil {
		return verdict{}, 0, err
	}
	if v, done := judgeStatus(res.Status); done {
		return v, res.Latency, nil
	}
	v := judgeBody(want, res.Body, res.URL, serverTime(res.Header, time.Now()))
	if res.Short != nil && v.presence == farms.Absent {
		return verdict{}, 0, res.Short // what did not come may have been what was missed
	}
	return v, res.Latency, nil
}

// failed turns a failed fetch into a verdict. Only an answer can say "absent":
// a redirect to another host is one.
func failed(err error) verdict {
	v := verdict{presence: farms.Trouble, detail: err.Error()}
	switch fetch.KindOf(err) {
	case fetch.Redirected:
		v.presence = farms.Absent
	case fetch.Timeout:
		v.word = "timeout"
	case fetch.Refused:
		v.word = "refused"
	}
	return v
}

// serverTime is the time playlists are compared with: ours, or the server's own
// when its Date header is off by more than clockSkew.
func serverTime(h http.Header, now time.Time) time.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil || t.Sub(now).Abs() <= clockSkew {
		return now
	}
	return t
}

// sameHost tells whether two absolute URLs have the same scheme and host.
func sameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && fetch.SameHost(x, y)
}

// childPath returns the viewer's path of an absolute URL below a server's base
// URL, in whatever spelling the server writes its own host.
func childPath(base, u string) (string, bool) {
	x, errX := url.Parse(base)
	y, errY := url.Parse(u)
	if errX != nil || errY != nil || !fetch.SameHost(x, y) {
		return "", false
	}
	p, ok := strings.CutPrefix(y.EscapedPath(), x.EscapedPath())
	if !ok || !strings.HasPrefix(p, "/") {
		return "", false
	}
	return p, true
}
