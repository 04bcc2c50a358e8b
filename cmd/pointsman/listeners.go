package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
)

// listeners are the sockets of a service and what answers on them.
type listeners struct {
	viewers, secure, admin net.Listener // secure is nil without core.tls
	viewerHTTP             *http.Server // answers on viewers (unless FastCGI does) and on secure
	viewerFCGI             *fcgiServer  // nil unless core.protocol is fastcgi
	adminHTTP              *http.Server
	certs                  *certificates
}

// listen opens every socket, or none.
func (svc *service) listen() (_ *listeners, err error) {
	core, admin := &svc.doc.Core, &svc.doc.Admin
	l := &listeners{}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	resolver, err := clientResolver(svc.doc)
	if err != nil {
		return nil, err
	}
	if l.viewers, err = listenOn("viewers (core.port)", core.Interface, core.Port); err != nil {
		return nil, err
	}
	l.viewers = proxyListener(l.viewers, svc.doc, resolver)
	if core.TLS != nil {
		if l.certs, err = newCertificates(core.TLS.Certificates); err != nil {
			return nil, err
		}
		plain, err := listenOn("viewers by https (core.tls.port)", core.Interface, core.TLS.Port)
		if err != nil {
			return nil, err
		}
		l.secure = tls.NewListener(proxyListener(plain, svc.doc, resolver), l.certs.tlsConfig())
	}
	if l.admin, err = listenOn("the operator (admin.port)", admin.Interface, admin.Port); err != nil {
		return nil, err
	}
	e := svc.core.engine
	trouble := debugLog(svc.log, e.Masked)
	l.viewerHTTP = newServer(e.Viewers(), svc.doc.Redirection.DecisionTimeout, trouble)
	if core.Protocol == config.FastCGI {
		l.viewerFCGI = &fcgiServer{handler: e.Viewers(), log: svc.log}
	}
	opt := redirector.AdminOptions{
		ReadToken: admin.ReadToken.Reveal(), ActToken: admin.ActToken.Reveal(), Reload: svc.reload,
	}
	if svc.extra != nil {
		opt.Extra = svc.extra(svc.core)
	}
	l.adminHTTP = newServer(e.Admin(opt), 0, trouble)
	l.adminHTTP.ReadTimeout = 0 // a profile takes as long as it is asked to
	l.adminHTTP.RegisterOnShutdown(e.EndStreams)
	return l, nil
}

// serve answers on every socket; the first that fails is told.
func (l *listeners) serve() <-chan error {
	failed := make(chan error, 3)
	start := func(serve func(net.Listener) error, on net.Listener) {
		go func() {
			if err := serve(on); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				failed <- err
			}
		}()
	}
	if l.viewerFCGI != nil {
		start(l.viewerFCGI.serve, l.viewers)
	} else {
		start(l.viewerHTTP.Serve, l.viewers)
	}
	if l.secure != nil {
		start(l.viewerHTTP.Serve, l.secure)
	}
	start(l.adminHTTP.Serve, l.admin)
	return failed
}

// shutdown finishes the requests under way and closes everything.
func (l *listeners) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	err := l.viewerHTTP.Shutdown(ctx)
	if l.viewerFCGI != nil {
		err = errors.Join(err, l.viewerFCGI.shutdown(ctx, l.viewers))
	}
	return errors.Join(err, l.adminHTTP.Shutdown(ctx))
}

// close closes the sockets that are open.
func (l *listeners) close() {
	for _, x := range []net.Listener{l.viewers, l.secure, l.admin} {
		if x != nil {
			_ = x.Close() // nobody was answered on it yet
		}
	}
}

// certificateEvery is how often certificate files are looked at.
const certificateEvery = 10 * time.Second

// certificateLoop reads certificates again when their files change.
func (l *listeners) certificateLoop(log zerolog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		for l.certs != nil && sleep(ctx, certificateEvery) {
			if !l.certs.changed() {
				continue
			}
			if err := l.certs.load(); err != nil {
				log.Error().Err(err).Msg("changed certificates cannot be used, those before stay in force")
				continue
			}
			log.Info().Msg("certificates loaded")
		}
	}
}
