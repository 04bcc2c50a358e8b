package redirector

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// ReadRequest is a viewer's request of which [Engine.Read] is asked.
type ReadRequest struct {
	Addr      netip.Addr
	HTTPS     bool
	Host      string // as sent; empty is every host
	RawTarget string
	UserAgent string
	Now       time.Time // the clock windows are read by, zero: the real one
}

// Reading is what a request asks of the chooser, before a server is chosen.
type Reading struct {
	Location *farms.Location // nil: it is refused
	Reason   farms.Reason    // why it is refused
	Channel  string
	Session  uint64
	Reach    farms.Reach
}

// Read reads a request as for a viewer who comes for the first time and asks for
// a manifest. Nobody is asked and nothing is remembered.
func (e *Engine) Read(q ReadRequest) Reading {
	w := e.begin()
	defer e.end(w)
	v := e.view.Load()
	path, plain, ok := e.place(w, v, Request{
		Door: DoorExplain, Method: http.MethodGet, RawTarget: q.RawTarget, Host: q.Host, UserAgent: q.UserAgent, Now: q.Now,
		Viewer: clientip.Viewer{Addr: q.Addr, Peer: q.Addr, HTTPS: q.HTTPS},
	})
	d := &w.decision
	if !ok || !e.read(w, v, path, plain) {
		return Reading{Reason: d.Reason}
	}
	e.identify(w, v, path)
	return Reading{Location: d.Location, Reason: farms.ReasonOK, Channel: d.Content.Channel, Session: d.Session, Reach: w.query.Reach}
}
