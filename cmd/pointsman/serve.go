package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
)

const serveText = `Answers viewers on core.port (9201) and the operator on admin.port (9202).

SIGHUP loads the configuration again and opens log.decisions_file anew; a bad one
changes nothing but a log line, a gauge and the alarm config_refused. SIGTERM and SIGINT switch readiness off, wait
core.drain_delay_sec, finish the requests under way and exit 0.
The log goes to standard error, one JSON object a line; decisions go to
log.decisions_file where there is one.`

func serve(args []string, s streams) int {
	fs := flags("serve", "-config FILE", serveText, s)
	path := fs.String("config", "", "the configuration `FILE`, or - for standard input (then it cannot be loaded again)")
	if status, done := parse(fs, args, 0, s); done {
		return status
	}
	if *path == "" {
		fmt.Fprintln(s.err, "pointsman serve: -config FILE is needed")
		return exitUsage
	}
	src, err := readConfig(*path, s.in)
	if err != nil {
		fmt.Fprintln(s.err, "error:", err)
		return exitError
	}
	doc, findings := config.Parse(src)
	if doc == nil {
		printFindings(s.err, findings)
		return exitError
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	svc := &service{path: *path, doc: doc}
	if err := svc.run(ctx, s.err, findings); err != nil {
		fmt.Fprintln(s.err, "error:", err)
		return exitError
	}
	return exitOK
}

// service is one running redirector with its listeners.
type service struct {
	path  string // of the configuration; "-" or "" cannot be read again
	extra func(c *core) http.Handler
	ready func(viewers, admin net.Addr) // called once requests are accepted; may be nil

	started *config.Document // what the listeners and the probes' client were made of

	mu         sync.Mutex       // reloads
	doc        *config.Document // in force
	generation uint64
	stamp      string
	loaded     time.Time // when doc was

	core      *core
	log       zerolog.Logger
	decisions *decisionLog
	state     stateDir
}

// run serves until ctx ends.
func (svc *service) run(ctx context.Context, sink io.Writer, findings []config.Finding) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // first of all: it would end the process otherwise
	defer signal.Stop(hangups)
	metrics := redirector.NewMetrics(buildVersion())
	buffer := redirector.NewLogBuffer(sink, metrics.LinesLost)
	defer buffer.Close()
	svc.decisions = newDecisionLog(buffer, metrics.LinesLost)
	defer svc.decisions.close()
	if err := svc.decisions.open(svc.doc.Log.DecisionsFile); err != nil {
		return err
	}
	log, decisions := newLog(buffer, svc.decisions, svc.doc.Log.Level)
	svc.log, svc.state = log, stateDir(svc.doc.Core.StateDir)
	for _, f := range findings {
		log.Warn().Str("path", f.Path).Str("finding", f.Message).Msg("configuration warning")
	}
	prepared := svc.state.prepare() // before the first file in it is made
	c, err := newCore(svc.doc, coreOptions{
		log: log, decisions: decisions, metrics: metrics, saveOverrides: svc.saveOverrides, savePathways: svc.savePathways, keep: true,
	})
	if err != nil {
		return err
	}
	svc.doc = withoutTable(svc.doc)
	svc.started = svc.doc
	svc.core, svc.generation, svc.stamp = c, 1, svc.fileStamp()
	svc.loaded = time.Now()
	c.metrics.Reloaded(true, svc.generation, time.Now())
	c.engine.ConfigLoaded(svc.source(), time.Now())
	svc.restore(prepared)

	listeners, err := svc.listen()
	if err != nil {
		return err
	}
	loops, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c.board.Start(loops)
	var background sync.WaitGroup
	for _, loop := range []func(context.Context){svc.saveLoop, svc.hangupLoop(hangups), svc.watchLoop, svc.alarmLoop, c.engine.CountSeconds, svc.leftOutLoop, c.hooks.notifier.Run, listeners.certificateLoop(log)} {
		background.Go(func() { loop(loops) })
	}
	failed := listeners.serve()
	svc.announce(ctx, listeners)

	select {
	case err = <-failed:
		log.Error().Err(err).Msg("a listener failed")
	case <-ctx.Done():
		log.Info().Msg("stopping")
		c.engine.Drain()
		svc.drainDelay(failed)
	}
	err = errors.Join(err, listeners.shutdown())
	cancel()
	background.Wait()
	c.board.Wait()
	c.client.Close()
	svc.saveFacts()
	log.Info().Msg("stopped")
	return err
}

// drainDelay gives the balancer in front of us time to see that we are not
// ready any more.
func (svc *service) drainDelay(failed <-chan error) {
	svc.mu.Lock()
	delay := svc.doc.Core.DrainDelay
	svc.mu.Unlock()
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-failed:
	}
}

// announce logs that requests are accepted, once the first status sweep is
// over (five seconds at the latest).
func (svc *service) announce(ctx context.Context, l *listeners) {
	select {
	case <-svc.core.board.Ready():
	case <-ctx.Done():
		return
	}
	e := svc.log.Info().Str("viewers", l.viewers.Addr().String()).Str("protocol", string(svc.started.Core.Protocol)).
		Str("admin", l.admin.Addr().String())
	if l.secure != nil {
		e = e.Str("viewers_tls", l.secure.Addr().String())
	}
	e.Uint64("generation", 1).Msg("ready")
	if svc.ready != nil {
		svc.ready(l.viewers.Addr(), l.admin.Addr())
	}
}

// restore takes over what state_dir keeps. What cannot be read is an alarm and
// no reason not to serve.
func (svc *service) restore(prepared error) {
	facts := svc.state.load(factsFile, func(r io.Reader) error {
		n, err := svc.core.board.Load(r)
		svc.log.Info().Int("contents", n).Msg("known contents restored")
		return err
	})
	overrides := svc.state.load(overridesFile, func(r io.Reader) error {
		return svc.core.engine.ReadOverrides(r, time.Now())
	})
	pathways := svc.state.load(pathwaysFile, func(r io.Reader) error {
		return svc.core.engine.ReadPathways(r, time.Now())
	})
	if err := errors.Join(prepared, facts, overrides, pathways); err != nil {
		svc.core.alarms.Raise(redirector.AlarmStateDir, err.Error())
	}
}

// saveEvery is how often facts are written to state_dir, at most.
const saveEvery = 5 * time.Second

// saveLoop writes the facts every saveEvery, or less often where writing takes
// long: a tenth of the time at most is spent on it.
func (svc *service) saveLoop(ctx context.Context) {
	if svc.state == "" {
		return
	}
	pause := saveEvery
	for sleep(ctx, pause) {
		start := time.Now()
		svc.saveFacts()
		pause = max(saveEvery, 10*time.Since(start))
	}
}

func (svc *service) saveFacts() {
	svc.noteState(svc.state.save(factsFile, svc.core.board.Save))
}

func (svc *service) saveOverrides(os farms.Overrides) error {
	return svc.state.save(overridesFile, func(w io.Writer) error { return redirector.WriteOverrides(w, os) })
}

func (svc *service) savePathways(os farms.PathwayOverrides) error {
	return svc.state.save(pathwaysFile, func(w io.Writer) error { return redirector.WritePathways(w, os) })
}

func (svc *service) noteState(err error) {
	if err != nil {
		svc.core.alarms.Raise(redirector.AlarmStateDir, err.Error())
	} else {
		svc.core.alarms.Clear(redirector.AlarmStateDir)
	}
}

func (svc *service) alarmLoop(ctx context.Context) {
	for sleep(ctx, time.Second) {
		now := time.Now()
		svc.core.engine.Watch(now)
		svc.core.alarms.Assess(redirector.AlarmConfigTooOld, svc.tooOld(now), now)
	}
}

// leftOutLoop tells every second what the log had no place for.
func (svc *service) leftOutLoop(ctx context.Context) {
	for sleep(ctx, time.Second) {
		svc.core.engine.TellLeftOut(time.Now())
	}
	svc.core.engine.TellLeftOut(time.Now())
}

// tooOld finds out whether the configuration in force was loaded too long ago.
func (svc *service) tooOld(now time.Time) []redirector.Finding {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	most := svc.doc.Alarms.ConfigMaxAge
	if most == 0 || now.Sub(svc.loaded) <= most {
		return nil
	}
	return []redirector.Finding{{Detail: fmt.Sprintf("the configuration in force was last loaded at %s, more than %v ago (alarms.config_max_age_sec)",
		svc.loaded.UTC().Format(time.RFC3339), most)}}
}

// hangupLoop reloads on every SIGHUP.
func (svc *service) hangupLoop(hangups <-chan os.Signal) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-hangups:
				_ = svc.reload(false) // it has been logged
			case <-ctx.Done():
				return
			}
		}
	}
}

// watchLoop reloads when the file changes, where that is asked for.
func (svc *service) watchLoop(ctx context.Context) {
	for sleep(ctx, time.Second) {
		svc.mu.Lock()
		changed := svc.doc.Core.WatchConfig && svc.fileStamp() != svc.stamp
		svc.mu.Unlock()
		if changed {
			_ = svc.reload(false) // it has been logged
		}
	}
}

// source says where the configuration comes from, as /status shows it.
func (svc *service) source() string {
	switch svc.path {
	case "":
		return "the binary itself"
	case "-":
		return "standard input"
	default:
		return filepath.Base(svc.path)
	}
}

// withoutFolder takes the folder of the configuration out of words about it: who
// may see /status need not know where things lie.
func (svc *service) withoutFolder(words string) string {
	if svc.path == "" || svc.path == "-" {
		return words
	}
	return strings.ReplaceAll(words, svc.path, svc.source())
}

func (svc *service) fileStamp() string {
	if svc.path == "" || svc.path == "-" {
		return ""
	}
	return stamp(svc.path)
}

// reload loads the configuration again, aside, and makes it the one in force.
// A bad one changes nothing but a log line, a gauge and an alarm.
func (svc *service) reload(force bool) error {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	svc.stamp = svc.fileStamp()
	err := svc.tryReload(force)
	svc.reopen()
	debug.FreeOSMemory() // what a large document leaves behind is more than all that runs
	svc.core.metrics.Reloaded(err == nil, svc.generation, time.Now())
	if err != nil {
		words := svc.withoutFolder(err.Error())
		svc.core.alarms.Raise(redirector.AlarmConfigRefused, words)
		svc.core.engine.ConfigRefused(words, time.Now())
		svc.log.Error().Err(err).Uint64("generation", svc.generation).Msg("configuration refused, the one before stays in force")
		return err
	}
	svc.core.alarms.Clear(redirector.AlarmConfigRefused)
	svc.core.engine.ConfigLoaded(svc.source(), time.Now())
	svc.log.Info().Uint64("generation", svc.generation).Msg("configuration loaded")
	return nil
}

// reopen opens log.decisions_file of the configuration in force anew, for whoever
// moved the one before away.
func (svc *service) reopen() {
	err := svc.decisions.open(svc.doc.Log.DecisionsFile)
	svc.core.metrics.Reopened(err == nil)
	if err != nil {
		svc.log.Error().Err(err).Msg("decisions go on to the file before")
	}
}

func (svc *service) tryReload(force bool) error {
	if svc.path == "" || svc.path == "-" {
		return errors.New("the configuration came from standard input and cannot be read again")
	}
	src, err := readConfig(svc.path, nil)
	if err != nil {
		return err
	}
	doc, findings := config.Parse(src)
	if doc == nil {
		return refusal(svc.path, findings)
	}
	if removed, had := removedServers(svc.core.engine.Table(), doc); 2*removed > had && !force {
		return fmt.Errorf("%s removes %d of %d servers; if that is meant: POST /admin/reload?force=1", svc.path, removed, had)
	}
	for _, key := range fixedKeys(svc.started, doc) {
		svc.log.Warn().Str("path", key).Msg("a changed key needs a restart to take effect")
	}
	if err := svc.core.swap(doc, svc.generation+1); err != nil {
		return err
	}
	svc.generation++
	svc.loaded = time.Now()
	svc.doc = withoutTable(doc)
	return nil
}

// withoutTable returns what is still needed of a document once its table is
// compiled. The subnets of a large operator are tens of megabytes, which would
// be there twice or three times.
func withoutTable(doc *config.Document) *config.Document {
	slim := *doc
	slim.Redirection.Farms, slim.Redirection.Locations = nil, nil
	return &slim
}

// refusal joins the first errors of a document into one.
func refusal(path string, findings []config.Finding) error {
	const most = 5
	var errs []error
	n := 0
	for _, f := range findings {
		if f.Severity != config.Error {
			continue
		}
		if n++; n <= most {
			errs = append(errs, errors.New(f.String()))
		}
	}
	return fmt.Errorf("%s has %d errors: %w", path, n, errors.Join(errs...))
}

func removedServers(t *farms.Table, doc *config.Document) (removed, had int) {
	next := map[string]bool{}
	for i := range doc.Redirection.Farms {
		for j := range doc.Redirection.Farms[i].Servers {
			next[doc.Redirection.Farms[i].Servers[j].Name] = true
		}
	}
	for _, s := range t.Servers {
		if !next[s.Name] {
			removed++
		}
	}
	return removed, len(t.Servers)
}

// fixedKeys lists the keys that a newer document changes against the one the
// process started with, and that are read only then.
func fixedKeys(started, newer *config.Document) []string {
	var out []string
	differ := func(key string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			out = append(out, key)
		}
	}
	// section compares every key of a section but those that a reload takes over.
	section := func(name string, a, b any, followed ...string) {
		x, y := reflect.ValueOf(a), reflect.ValueOf(b)
		for i := range x.NumField() {
			key := x.Type().Field(i).Tag.Get("json")
			if key != "-" && !slices.Contains(followed, key) {
				differ(name+"."+key, x.Field(i).Interface(), y.Field(i).Interface())
			}
		}
	}
	followed := []string{"hosts", "health_path", "watch_config", "drain_delay_sec"}
	if !started.Core.ProxyProtocol && !newer.Core.ProxyProtocol {
		followed = append(followed, "trusted_proxies", "client_ip_header")
	}
	section("core", started.Core, newer.Core, followed...)

	type secret struct {
		file  string
		token config.Secret
	}
	a, b := started.Admin, newer.Admin
	section("admin", a, b, "read_token_file", "act_token_file", "token_file")
	if a.TokenFile != "" || b.TokenFile != "" {
		differ("admin.token_file", secret{a.TokenFile, a.ReadToken}, secret{b.TokenFile, b.ReadToken})
	} else {
		differ("admin.read_token_file", secret{a.ReadTokenFile, a.ReadToken}, secret{b.ReadTokenFile, b.ReadToken})
		differ("admin.act_token_file", secret{a.ActTokenFile, a.ActToken}, secret{b.ActTokenFile, b.ActToken})
	}

	if newer.Redirection.DecisionTimeout > started.Redirection.DecisionTimeout {
		out = append(out, "redirection.decision_timeout_sec") // the listeners' deadlines are made for it
	}
	differ("probe.allow_networks", started.Probe.AllowNetworks, newer.Probe.AllowNetworks)
	differ("probe.user_agent", started.Probe.UserAgent, newer.Probe.UserAgent)
	differ("log.level", started.Log.Level, newer.Log.Level)
	return out
}

// sleep waits for d; it returns false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
