package archive

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Options configure a [Parser].
type Options struct {
	// Dialects names the built-in dialects to try; nil: all. They are tried in
	// the order of [Names], whatever the order here: that is what keeps a
	// generic one from taking what a specific one reads better.
	Dialects []string
	// Custom dialects are tried before the built-in ones, in their order.
	Custom []Custom
	// Zone is that of server times without a zone; nil: UTC.
	Zone *time.Location
	// ViewerZone is that of times which dialects write in the viewer device's
	// zone; nil: UTC.
	ViewerZone *time.Location
	// ClockSlack is how far ahead of now a start may be to count as now.
	ClockSlack time.Duration
}

// Parser reads viewers' URLs. It is safe for concurrent use.
type Parser struct {
	dialects []dialect
	paths    []dialect // those of dialects that match without a query
	custom   []custom
	zone     *time.Location
	viewer   *time.Location
	slack    time.Duration
	memo     *memo
}

// New compiles a parser. The error joins everything that is wrong with the
// options, each with its place in the configuration's section "archive".
func New(o Options) (*Parser, error) {
	p := &Parser{zone: o.Zone, viewer: o.ViewerZone, slack: o.ClockSlack, memo: new(memo)}
	if p.zone == nil {
		p.zone = utc
	}
	if p.viewer == nil {
		p.viewer = utc
	}
	var problems []error
	if o.ClockSlack < 0 {
		problems = append(problems, errors.New("clock_slack_sec is negative"))
	}

	names := Names()
	for i, name := range o.Dialects {
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Errorf("dialects[%d]: there is no dialect %q", i, name))
		}
	}
	for d := range dialectCount {
		if o.Dialects == nil || slices.Contains(o.Dialects, names[d]) {
			p.dialects = append(p.dialects, d)
			if dialects[d].need[0] == 0 {
				p.paths = append(p.paths, d)
			}
		}
	}

	for i, c := range o.Custom {
		compiled, errs := compileCustom(c)
		if slices.Contains(names, c.Name) {
			errs = append(errs, fmt.Errorf("name: there is a dialect %q already", c.Name))
		}
		names = append(names, c.Name)
		for _, err := range errs {
			problems = append(problems, fmt.Errorf("custom[%d].%w", i, err))
		}
		p.custom = append(p.custom, compiled)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

// Parse reads a URL. path is the path behind the configured uri_path, with its
// leading slash, percent-decoded once ("+" is a plus); query is the raw query.
// zone is that of server times without one; nil: the parser's.
//
// The request is good when the verdict's outcome is [OK]. A refused one still
// has what was read, so that it can be logged without its credentials. Reading a
// live URL that names its channel in the path allocates nothing.
func (p *Parser) Parse(path, query string, now time.Time, zone *time.Location) (Request, Verdict) {
	var in input
	if !isPath(path) {
		return Request{}, Verdict{}
	}
	in.query.index(query)
	return p.parse(&in, path, now, zone)
}

// isPath reports whether a plain path has anything to read in it.
func isPath(plain string) bool { return len(plain) > 1 && plain[0] == '/' }

// parse reads a URL whose query is indexed.
func (p *Parser) parse(in *input, path string, now time.Time, zone *time.Location) (Request, Verdict) {
	var (
		h hit
		r Request
	)
	in.setPath(path)
	r.secret = xtreamSecret(in)
	in.now, in.zone, in.viewer = wholeSecond(now), zone, p.viewer
	if zone == nil {
		in.zone = p.zone
	}

	r.Dialect = p.match(in, &h)
	if r.Dialect == "" {
		return p.unread(in, r)
	}
	v := h.read(in, &r, p.slack)
	if v.Outcome != OK {
		return r, v
	}

	// A recording that was read is a recording. All else must not look like one.
	switch {
	case r.Kind == KindLive:
		if h.offset.text == "" && h.window.text == "" && pathLooksRecorded(in, false) {
			return r, refuse(r.Dialect, "the path looks like an archive's and no dialect reads it")
		}
		if name, looks := queryLooksRecorded(in); looks {
			return r, refuseParam(r.Dialect, name)
		}
	case r.Bare:
		if pathLooksRecorded(in, true) {
			return r, refuse(r.Dialect, "the path looks like an archive's and no dialect reads it")
		}
		if name, looks := queryLooksRecorded(in); looks && mayBeLive(in) {
			return r, refuseParam(r.Dialect, name)
		}
	}
	return r, v
}

// match returns the name of the first dialect that reads a URL, or none.
func (p *Parser) match(in *input, h *hit) string {
	for i := range p.custom {
		if p.custom[i].match(in, h) {
			return p.custom[i].name
		}
	}
	tried := p.dialects
	if in.query.have == 0 {
		tried = p.paths // what most URLs need
	}
	for _, d := range tried {
		if d.match(in, h) {
			return dialects[d].name
		}
	}
	return ""
}

// unread judges a URL that no dialect reads.
func (p *Parser) unread(in *input, r Request) (Request, Verdict) {
	const nobody = "no dialect"
	if pathLooksRecorded(in, !mayBeLive(in)) {
		return r, refuse(nobody, "the path looks like an archive's and none reads it")
	}
	if name, looks := queryLooksRecorded(in); looks && mayBeLive(in) {
		return r, refuseParam(nobody, name)
	}
	return r, Verdict{}
}

func refuseParam(dialect, name string) Verdict {
	return refuse(dialect, "the query parameter "+name+" looks like an archive's and is not read here")
}
