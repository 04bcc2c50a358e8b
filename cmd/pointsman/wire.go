package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/probe"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/redirector"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
	"github.com/pointsman-tv/pointsman/steering"
)

// This file is the only place where all packages meet: it turns a document into
// what each of them needs, and joins them.

// core is a redirector without listeners: what serve, explain and demo share.
type core struct {
	board   *probe.Board
	engine  *redirector.Engine
	metrics *redirector.Metrics
	alarms  *redirector.Alarms
	client  *fetch.Client
	hooks   *webhooks

	keep    bool           // keys that do not exist are made and kept
	ownKeys *steering.Ring // where no file keeps them
}

// coreOptions are what a core needs beside a document.
type coreOptions struct {
	log, decisions zerolog.Logger
	metrics        *redirector.Metrics                // nil: they are made
	saveOverrides  func(farms.Overrides) error        // may be nil
	savePathways   func(farms.PathwayOverrides) error // may be nil
	keep           bool                               // see core.keep
}

// newCore joins probes and edge for a document. Its table is in force from the
// start; the probes begin with board.Start.
func newCore(doc *config.Document, opt coreOptions) (*core, error) {
	version, revision := buildVersion()
	c := &core{metrics: opt.metrics, keep: opt.keep}
	if c.metrics == nil {
		c.metrics = redirector.NewMetrics(version, revision)
	}
	log := opt.log
	c.alarms = redirector.NewAlarms(log, c.metrics.Alarm)
	c.hooks = newWebhooks(c.alarms, c.metrics, log)
	agent := doc.Probe.UserAgent
	if agent == "" {
		agent = "pointsman-probe/" + version
	}
	var err error
	if c.client, err = fetch.New(fetch.Options{UserAgent: agent, AllowNetworks: doc.Probe.AllowNetworks}); err != nil {
		return nil, err
	}
	c.board = probe.NewBoard(probe.Options{
		Client: c.client,
		Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		Isolated: func(on bool, detail string) {
			if on {
				c.alarms.Raise(redirector.AlarmObserverIsolated, detail)
			} else {
				c.alarms.Clear(redirector.AlarmObserverIsolated)
			}
		},
		Changed: func(s *farms.Server, h *farms.Health) {
			c.engine.ServerChanged()
			if h.Condition == farms.ConditionUp {
				log.Info().Str("server", s.Name).Str("url", s.URL).Msg("server is up")
			} else {
				log.Warn().Str("server", s.Name).Str("url", s.URL).Str("why", h.Reason).Msg("server is down")
			}
		},
		Result: c.metrics.Probe,
	}, probeSettings(doc))
	c.engine = redirector.New(redirector.Options{
		Prober: c.board, Log: log, Decisions: opt.decisions, Metrics: c.metrics, Alarms: c.alarms,
		Fetcher: manifests{c.client}, SaveOverrides: opt.saveOverrides, SavePathways: opt.savePathways,
	})
	for kind, results := range probe.Results() {
		c.metrics.Expect(kind, results)
	}
	c.metrics.Observe(c.engine)
	if err := c.swap(doc, 1); err != nil {
		return nil, err
	}
	return c, nil
}

// swap compiles doc aside and makes it the configuration in force.
func (c *core) swap(doc *config.Document, generation uint64) error {
	table, err := farms.Build(tableSpec(doc), generation)
	if err != nil {
		return err
	}
	set, err := edgeSettings(doc)
	if err != nil {
		return err
	}
	ring, err := c.keyRing(doc)
	if err != nil {
		return err
	}
	set.Steering = steeringSettings(doc, ring)
	c.board.Update(table.Servers, probeSettings(doc))
	c.engine.Swap(table, set)
	c.alarms.SetTiming(redirector.AlarmTiming{RaiseAfter: doc.Alarms.RaiseAfter, ClearAfter: doc.Alarms.ClearAfter})
	c.hooks.update(doc)
	return nil
}

// tableSpec is the document's table; probing no deeper than the status is the
// same as assuming every farm's content.
func tableSpec(doc *config.Document) *farms.Spec {
	spec := doc.Spec()
	if doc.Probe.Depth == config.DepthStatus {
		for i := range spec.Farms {
			spec.Farms[i].Assume = true
		}
	}
	return spec
}

func probeSettings(doc *config.Document) probe.Settings {
	r, p := &doc.Redirection, &doc.Probe
	depth := probe.DepthMedia
	if p.Depth == config.DepthPlaylist {
		depth = probe.DepthPlaylist
	}
	return probe.Settings{
		StatusInterval: r.ServerStatusCacheTime, RequestTimeout: r.RequestTimeout, DecisionTimeout: r.DecisionTimeout,
		LiveAge: r.LiveCacheTime, VoDAge: r.VoDRangeCacheTime, RangeAgeFraction: r.RangeCacheTimeFraction, StaleIfError: p.StaleIfError, OffAir: r.OffAir,
		SweepInterval: r.ClearCacheInterval, Rise: p.Rise, Fall: p.Fall, Depth: depth,
		MaxInFlight: p.MaxInFlightPerServer, MaxPerSec: p.MaxPerSecPerServer,
		StrangersPerSec: p.UnknownChannelsPerSec, StrangersBurst: p.UnknownChannelsBurst, SelfCheck: p.SelfCheck,
	}
}

func edgeSettings(doc *config.Document) (*redirector.Settings, error) {
	r := &doc.Redirection
	clients, err := clientResolver(doc)
	if err != nil {
		return nil, err
	}
	set := &redirector.Settings{
		URIPath: strings.TrimSuffix(r.URIPath, "/"), ChannelGroup: r.ChannelRegexIndex, SessionKeys: r.SessionKey,
		Clients: clients, TrustedProxies: doc.Core.TrustedProxies, HealthPath: doc.Core.HealthPath, DecisionTimeout: r.DecisionTimeout,
		Zones: zones(doc), LogDecisions: doc.Log.Decisions, LogSample: doc.Log.Sample,
		MaskAddresses: doc.Log.MaskAddresses, Redact: doc.Log.RedactedNames(),
	}
	if set.Archive, err = archiveParser(&doc.Archive); err != nil {
		return nil, err
	}
	if r.ChannelRegex != "" {
		if set.ChannelRegex, err = regexp.Compile(r.ChannelRegex); err != nil {
			return nil, err
		}
	}
	if len(doc.Core.Hosts) > 0 {
		set.Hosts = make(map[string]bool, len(doc.Core.Hosts))
		for _, h := range doc.Core.Hosts {
			set.Hosts[strings.ToLower(h)] = true
		}
	}
	switch r.ReturnEvidence {
	case config.EvidenceMove:
		set.ReturnEvidence = redirector.EvidenceMove
	case config.EvidenceOff:
		set.ReturnEvidence = redirector.EvidenceOff
	default:
		set.ReturnEvidence = redirector.EvidenceCheck
	}
	return set, nil
}

// archiveParser compiles the dialects of the configuration.
func archiveParser(a *config.Archive) (*archive.Parser, error) {
	opt := archive.Options{Dialects: a.Dialects, Zone: a.Timezone, ViewerZone: a.ViewerTimezone, ClockSlack: a.ClockSlack}
	for _, c := range a.Custom {
		custom := archive.Custom{
			Name: c.Name, Path: c.Path, Need: c.Need, Units: c.Units, Zone: c.Location, ViewerZone: c.ViewerZone,
			Kind: c.Kind, Protocol: c.Protocol,
		}
		for _, q := range c.Query {
			custom.Query = append(custom.Query, archive.Binding{Params: q.Params, Group: q.Group, Regexp: q.Regex})
		}
		opt.Custom = append(opt.Custom, custom)
	}
	return archive.New(opt)
}

// zones are the time zones of the farms.
func zones(doc *config.Document) map[string]*time.Location {
	out := make(map[string]*time.Location, len(doc.Redirection.Farms))
	for _, f := range doc.Redirection.Farms {
		out[f.Name] = f.Timezone
	}
	return out
}

func clientResolver(doc *config.Document) (*clientip.Resolver, error) {
	header := clientip.XForwardedFor
	if doc.Core.ClientIPHeader == "Forwarded" {
		header = clientip.Forwarded
	}
	return clientip.New(doc.Core.TrustedProxies, header)
}

// setLogFormat gives zerolog, whose format is set for the whole process, the
// field names and the time format that the README documents.
func setLogFormat() {
	zerolog.MessageFieldName = "msg"
	zerolog.TimeFieldFormat = redirector.TimeFormat
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
}

// newLog makes the operation's logger over sink, and that of the decisions over
// theirs.
func newLog(sink, decisionSink io.Writer, level config.Level) (log, decisions zerolog.Logger) {
	l, err := zerolog.ParseLevel(string(level))
	if err != nil {
		l = zerolog.InfoLevel // the configuration's validation knows no other words
	}
	// A decision is an event of its own, whatever the level of the rest, and
	// carries its own time.
	return zerolog.New(sink).With().Timestamp().Logger().Level(l), zerolog.New(decisionSink)
}
