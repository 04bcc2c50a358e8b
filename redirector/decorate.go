package redirector

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/steering"
	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// This file is the decorating door: instead of a redirect to a multivariant
// playlist or an MPD the viewer gets it from us, with everything that content
// steering needs written into it. Whatever goes wrong, he is redirected.

// Fetched is a manifest as a streaming server sent it.
type Fetched struct {
	Body        []byte
	URL         string // after redirects
	ContentType string
}

// Fetcher fetches manifests for the decorating door.
type Fetcher interface {
	// Fetch gets a URL, of at most max bytes, for a viewer of this address. An
	// answer other than 200 is an error.
	Fetch(ctx context.Context, url, client string, max int64) (Fetched, error)
}

// The bounds of the decorating door.
const (
	maxDecorated  = 2 << 20 // bytes of a manifest as it comes
	maxDecorating = 64      // fetches at one time; beyond it viewers are redirected
)

// The media types of manifests whose server named none (RFC 8216 §4, ISO/IEC
// 23009-1 annex C).
const (
	typeHLS  = "application/vnd.apple.mpegurl"
	typeDASH = "application/dash+xml"
)

// wantsDecoration tells whether a request may be answered with a decorated
// manifest, as far as its URL tells.
func (w *work) wantsDecoration(v *view) bool {
	st, c := v.set.Steering, &w.decision.Content
	return st != nil && st.Decorate && !w.steer.on && w.hasOrigin(st) && c.Kind != farms.KindChild &&
		(c.Protocol == farms.ProtocolHLS || c.Protocol == farms.ProtocolDASH)
}

// decorate turns a decision to redirect into one to answer with the chosen
// server's manifest, decorated, when there is one to be had.
func (e *Engine) decorate(ctx context.Context, w *work, v *view, path string) {
	d := &w.decision
	if e.fetcher == nil || d.Server == nil || d.Request.Door != DoorHTTP || asksJSON(d.Request.Accept) {
		return
	}
	if c := w.chosen.Chosen; d.Content.Protocol == farms.ProtocolHLS && c.Fact != nil && c.Fact.Presence == farms.Present && !c.Fact.Multivariant {
		return // a media playlist is never touched
	}
	dec := playlist.Decoration{Pathways: w.declared(path)}
	if len(dec.Pathways) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, v.set.DecisionTimeout)
	defer cancel()
	t := w.target
	t.Query = steering.WithoutToken(t.Query)
	t.HasQuery = t.Query != ""
	got, err := e.manifest(ctx, string(appendLocation(nil, d.Server.Base(w.query.Secure), t, path)), d.Request.Viewer.Addr.String(), !t.HasQuery)
	if err != nil {
		return
	}
	dec.Source = got.URL
	dec.ServerURI = string(w.appendSteeringURL(nil, v, path))
	edit, contentType := playlist.DecorateHLS, typeHLS
	if d.Content.Protocol == farms.ProtocolDASH {
		edit, contentType = playlist.DecorateMPD, typeDASH
	}
	if got.ContentType != "" {
		contentType = got.ContentType
	}
	out, err := edit(got.Body, &dec)
	if err != nil {
		return
	}
	w.steer.body, w.steer.contentType = out, contentType
	d.Decorated, d.Status, d.URL = true, http.StatusOK, ""
}

// declared lists the pathways that a decorated manifest names: all that can
// serve the viewer's scheme, those not well included, in the order of his first
// steering manifest.
func (w *work) declared(path string) []playlist.Pathway {
	w.steer.standing = farms.RankPathways(w.scratch.Candidates, w.chosen.Chosen, w.decision.Session, w.steer.standing)
	var out []playlist.Pathway
	for i := range w.steer.standing {
		p := w.steer.standing[i].Pathway
		if base := p.Base(w.query.Secure); base != "" {
			out = append(out, playlist.Pathway{ID: p.ID, Base: strings.TrimSuffix(base, "/") + path})
		}
	}
	return out
}

// manifest fetches a manifest. Where no viewer's token is in its URL, those who
// want it at the same time share one fetch.
func (e *Engine) manifest(ctx context.Context, url, client string, shared bool) (Fetched, error) {
	if !shared {
		return e.fetchManifest(ctx, url, client)
	}
	got := e.fetches.DoChan(url, func() (any, error) {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.view.Load().set.DecisionTimeout)
		defer cancel()
		return e.fetchManifest(own, url, client)
	})
	select {
	case r := <-got:
		f, _ := r.Val.(Fetched)
		return f, r.Err
	case <-ctx.Done():
		return Fetched{}, ctx.Err()
	}
}

// errDecorating says that too many manifests are being fetched.
var errDecorating = errors.New("too many manifests are being fetched")

func (e *Engine) fetchManifest(ctx context.Context, url, client string) (Fetched, error) {
	if e.decorating.Add(1) > maxDecorating {
		e.decorating.Add(-1)
		return Fetched{}, errDecorating
	}
	defer e.decorating.Add(-1)
	return e.fetcher.Fetch(ctx, url, client, maxDecorated)
}
