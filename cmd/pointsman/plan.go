package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/plan"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
)

const planText = `Says what each server carries, and what it would carry when a single server, a
farm or a site (tags.site) fails, by replaying viewers through the chooser that
answers them. Nobody is asked: every enabled server is taken to be up and to have
every channel.

The viewers are those of a decision log (-log; lines of door http that are GETs of
manifests), or made up: as many for each location as for any other, with addresses
from its prefixes, each prefix as often as any other; channels ch1, ch2…, the n-th
watched 1/n as much as the first; every viewer a session of his own. The same
viewers come every time. A log knows better: its viewers are where they are, watch
what they watch, and under first_response its shares stand for response times.

When one of the N servers of a farm fails, each of the others is to carry 1 +
1/(N-1) of its normal load. That is the room which each server is taken to have,
whatever fails; who would carry more (by 5 % of its load and by more than chance
explains) is flagged, and so is every failure that leaves viewers without a server.
What servers can bear is not known; nothing is expected of those that are idle now
or alone in their farm.

-against replays the same viewers through another configuration and says who
moves, and why. -json prints one JSON object instead of tables; -html also writes a
page that needs nothing else. The exit status is 0 whenever there is a report.`

// Bounds and defaults of the flags.
const (
	planViewers  = 1_000_000
	maxViewers   = 10_000_000
	planChannels = 200
	maxChannels  = 100_000
)

// planArgs are the flags of `plan`.
type planArgs struct {
	config, against, log, html string
	viewers, channels          int
	https, json                bool
}

func runPlan(args []string, s streams) int {
	fs := flags("plan", "-config FILE [-log FILE] [-against FILE] [-html FILE]", planText, s)
	var a planArgs
	fs.StringVar(&a.config, "config", "", "the configuration `FILE`, or - for standard input")
	fs.StringVar(&a.log, "log", "", "a `FILE` of decision log lines, or - for standard input; absent: viewers are made up")
	fs.StringVar(&a.against, "against", "", "another configuration `FILE`, to see who would move")
	fs.StringVar(&a.html, "html", "", "write the report to this `FILE`, too, as a page with plots")
	fs.IntVar(&a.viewers, "viewers", planViewers, "this many viewers; of a longer log an even sample is replayed")
	fs.IntVar(&a.channels, "channels", planChannels, "make up this many channels")
	fs.BoolVar(&a.https, "https", false, "viewers come by https (a log does not say)")
	fs.BoolVar(&a.json, "json", false, "print one JSON object for programs")
	if status, done := parse(fs, args, 0, s); done {
		return status
	}
	if err := a.check(); err != nil {
		fmt.Fprintln(s.err, "pointsman plan:", err)
		return exitUsage
	}
	if err := a.run(s); err != nil {
		fmt.Fprintln(s.err, "pointsman plan:", err)
		return exitError
	}
	return exitOK
}

func (a *planArgs) check() error {
	stdin := 0
	for _, file := range []string{a.config, a.log, a.against} {
		if file == "-" {
			stdin++
		}
	}
	switch {
	case a.config == "":
		return errors.New("-config FILE is needed")
	case stdin > 1:
		return errors.New("standard input can be only one of -config, -log and -against")
	case a.viewers < 1 || a.viewers > maxViewers:
		return fmt.Errorf("-viewers is %d, expected 1 to %d", a.viewers, maxViewers)
	case a.channels < 1 || a.channels > maxChannels:
		return fmt.Errorf("-channels is %d, expected 1 to %d", a.channels, maxChannels)
	}
	return nil
}

func (a *planArgs) run(s streams) error {
	now, err := newPlanSide(a.config, s)
	if err != nil {
		return err
	}
	defer now.core.client.Close()
	var against *plan.Side
	if a.against != "" {
		other, err := newPlanSide(a.against, s)
		if err != nil {
			return err
		}
		defer other.core.client.Close()
		against = &other.side
	}
	opt := plan.Options{Viewers: a.viewers, Workers: runtime.GOMAXPROCS(0), Now: time.Now()}
	r, err := a.replay(now, against, opt, s)
	if err != nil {
		return err
	}
	if r.Against != nil {
		r.Against.Name = a.against
	}
	if a.html != "" {
		if err := writePlanPage(a.html, r); err != nil {
			return err
		}
	}
	if a.json {
		enc := json.NewEncoder(s.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	return writePlanText(s.out, r)
}

// replay finds the viewers and replays them.
func (a *planArgs) replay(now *planSide, against *plan.Side, opt plan.Options, s streams) (*plan.Report, error) {
	if a.log == "" {
		population, notes := now.synthetic(a)
		r := plan.Run(now.side, against, population, opt)
		if r.Viewers == 0 {
			return nil, fmt.Errorf("%s: no viewers could be made up: %s", a.config, strings.Join(notes, "; "))
		}
		r.Source = fmt.Sprintf("made up: %d channels, locations of %s alike", a.channels, a.config)
		r.Warnings = append(notes, r.Warnings...)
		return r, nil
	}
	in, closeLog, err := openLog(a.log, s.in)
	if err != nil {
		return nil, err
	}
	defer closeLog()
	log := newPlanLog(in, a.https)
	r := plan.Run(now.side, against, log.viewers, opt)
	switch {
	case log.err != nil:
		return nil, fmt.Errorf("reading the log %s: %w", a.log, log.err)
	case r.Viewers == 0:
		return nil, fmt.Errorf("%s has no viewers: of %d lines %s; expected lines with \"msg\":\"decision\" and \"door\":\"http\"", a.log, log.lines, log.leftOut())
	}
	r.Source = "the decision log " + a.log
	r.Warnings = append(log.warnings(now.doc), r.Warnings...)
	return r, nil
}

// openLog opens a log file, or standard input for "-".
func openLog(path string, in io.Reader) (io.Reader, func(), error) {
	if path == "-" {
		return in, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the log: %w", err)
	}
	return f, func() { _ = f.Close() }, nil
}

// planSide is a configuration to plan with. Its core asks nobody: it reads
// requests.
type planSide struct {
	doc  *config.Document
	spec *farms.Spec
	core *core
	side plan.Side
}

func newPlanSide(path string, s streams) (*planSide, error) {
	src, err := readConfig(path, s.in)
	if err != nil {
		return nil, err
	}
	doc, findings := config.Parse(src)
	if doc == nil {
		printFindings(s.err, findings)
		return nil, fmt.Errorf("%s has errors", path)
	}
	c, err := newCore(doc, coreOptions{log: zerolog.Nop(), decisions: zerolog.Nop()})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &planSide{doc, tableSpec(doc), c, plan.Side{Table: c.engine.Table(), Place: c.placeOf}}, nil
}

// placeOf reads a viewer's request as the edge does.
func (c *core) placeOf(v *plan.Viewer) plan.Place {
	r := c.engine.Read(redirector.ReadRequest{
		Addr: v.Addr, HTTPS: v.Secure, Host: v.Host, RawTarget: v.Target, UserAgent: v.UserAgent, Now: v.Time,
	})
	return plan.Place{Location: r.Location, Reason: r.Reason, Channel: r.Channel, Session: r.Session, Reach: r.Reach}
}

// synthetic makes up viewers.
func (p *planSide) synthetic(a *planArgs) (iter.Seq[plan.Viewer], []string) {
	opt := plan.SyntheticOptions{
		Viewers: a.viewers, Channels: a.channels, Secure: a.https, URIPath: strings.TrimSuffix(p.doc.Redirection.URIPath, "/"),
	}
	if keys := p.doc.Redirection.SessionKey; len(keys) > 0 {
		opt.SessionKey = keys[0]
	}
	return plan.Synthetic(p.spec, p.side, opt)
}
