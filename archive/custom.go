package archive

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Custom is an operator's own dialect. Its path expression and the expressions
// of its query bindings name what they find by groups:
//
//	channel    the channel (needed, here or in the query)
//	start end  times; without an end the window plays on
//	length     how long the window is; the text "now" is no end
//	offset     a point so long before now
//	window     the last so much up to now
//	ext        the file name extension that says the protocol; none: MPEG-TS
//	container  the packaging that the URL insists on
type Custom struct {
	Name string
	// Path is matched against the path with its leading slash, decoded.
	Path string
	// Need names query parameters without which it does not match.
	Need  []string
	Query []Binding
	// Units says how a group is read: of start and end "auto" (default), "s",
	// "ms", "us", "ns", "iso", "digits" (YYYYMMDDHHMMSS), "xtream", "wowza",
	// "mist"; of length, offset and window "s" (default), "ms", "us", "ns",
	// "min", "godur".
	Units map[string]string
	// Zone is that of times without one; nil: the server's, or with ViewerZone
	// the viewer device's.
	Zone       *time.Location
	ViewerZone bool
	// Kind is "live", "vod", "timeshift" or "window" where the URL's form alone
	// says it; empty: by its times.
	Kind string
	// Protocol is the protocol whatever the extension; empty: by that.
	Protocol string
}

// Binding reads a query parameter into a group.
type Binding struct {
	Params []string // the first that is there
	Group  string   // takes the whole value
	Regexp string   // or: its named groups take their parts
}

// The groups of a custom dialect.
const (
	groupChannel   = "channel"
	groupStart     = "start"
	groupEnd       = "end"
	groupLength    = "length"
	groupOffset    = "offset"
	groupWindow    = "window"
	groupExt       = "ext"
	groupContainer = "container"
)

// custom is a compiled [Custom].
type custom struct {
	name     string
	path     *regexp.Regexp
	need     []string
	query    []binding
	units    map[string]unit
	zone     *time.Location
	viewer   bool
	hint     hint
	protocol Protocol
	fixed    bool // protocol is given
}

type binding struct {
	params []string
	group  string
	regexp *regexp.Regexp
	times  bool // regexp has groups of the window
}

// maxBindings is how many query parameters a custom dialect may read.
const maxBindings = len(hit{}.params)

// compileCustom compiles a dialect. Errors begin with the key that is wrong.
func compileCustom(c Custom) (custom, []error) {
	out := custom{name: c.Name, need: c.Need, zone: c.Zone, viewer: c.ViewerZone, units: map[string]unit{}}
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	if c.Name == "" {
		wrong("name: a dialect needs a name")
	}
	found := map[string]bool{}
	groups := func(key string, re *regexp.Regexp) {
		for _, g := range re.SubexpNames() {
			if g == "" {
				continue
			}
			if !isGroup(g) {
				wrong("%s: there is no group %q", key, g)
			}
			found[g] = true
		}
	}
	if re, err := regexp.Compile(c.Path); err != nil {
		wrong("path: %w", err)
	} else if out.path = re; c.Path == "" {
		wrong("path: a dialect needs a regular expression of the paths that it reads")
	} else {
		groups("path", re)
	}

	if len(c.Query) > maxBindings {
		wrong("query: at most %d parameters can be read", maxBindings)
	}
	for i, q := range c.Query {
		b := binding{params: q.Params, group: q.Group}
		key := fmt.Sprintf("query[%d]", i)
		switch {
		case len(q.Params) == 0 || slices.Contains(q.Params, ""):
			wrong("%s.params: names of parameters are missing", key)
		case (q.Group == "") == (q.Regexp == ""):
			wrong("%s: needs either a group or a regex", key)
		case q.Regexp != "":
			re, err := regexp.Compile(q.Regexp)
			if err != nil {
				wrong("%s.regex: %w", key, err)
				break
			}
			b.regexp, b.times = re, slices.ContainsFunc(re.SubexpNames(), isTimeGroup)
			groups(key+".regex", re)
		case !isGroup(q.Group):
			wrong("%s.group: there is no group %q", key, q.Group)
		default:
			found[q.Group] = true
		}
		out.query = append(out.query, b)
	}
	if !found[groupChannel] {
		wrong("path: no group %q, here or in the query, names the channel", groupChannel)
	}
	if found[groupOffset] && found[groupWindow] {
		wrong("path: the groups %q and %q exclude each other", groupOffset, groupWindow)
	}

	for _, g := range [...]string{groupStart, groupEnd} {
		out.units[g] = unitAuto
	}
	for _, g := range [...]string{groupLength, groupOffset, groupWindow} {
		out.units[g] = unitSeconds
	}
	for g, name := range c.Units {
		u, err := unitNamed(g, name)
		if err != nil {
			wrong("units.%s: %w", g, err)
		}
		out.units[g] = u
	}

	hints := map[string]hint{"": hintNone, "live": hintLive, "vod": hintVoD, "timeshift": hintTimeshift, "window": hintWindow}
	var ok bool
	if out.hint, ok = hints[c.Kind]; !ok {
		wrong("kind: %q is none of live, vod, timeshift, window", c.Kind)
	}
	if c.Protocol != "" {
		out.fixed = true
		for p := ProtocolFile; ; p++ {
			if p.String() == "invalid" {
				wrong("protocol: %q is none of file, hls, dash, mss, mpegts, mp4, hds", c.Protocol)
				break
			}
			if p.String() == c.Protocol {
				out.protocol = p
				break
			}
		}
	}
	return out, problems
}

func isGroup(name string) bool {
	return oneOf(name, groupChannel, groupStart, groupEnd, groupLength, groupOffset, groupWindow, groupExt, groupContainer)
}

func isTimeGroup(name string) bool {
	return oneOf(name, groupStart, groupEnd, groupLength, groupOffset, groupWindow)
}

// unitNamed returns the unit that a configuration names for a group.
func unitNamed(group, name string) (unit, error) {
	times := map[string]unit{
		"auto": unitAuto, "s": unitSeconds, "ms": unitMillis, "us": unitMicros, "ns": unitNanos,
		"iso": unitISO, "digits": unitDigits, "xtream": unitXtream, "wowza": unitWowza, "mist": unitMist,
	}
	lengths := map[string]unit{
		"s": unitSeconds, "ms": unitMillis, "us": unitMicros, "ns": unitNanos, "min": unitMinutes, "godur": unitGoDuration,
	}
	switch group {
	case groupStart, groupEnd:
		if u, ok := times[name]; ok {
			return u, nil
		}
		return unitNone, fmt.Errorf("%q is none of auto, s, ms, us, ns, iso, digits, xtream, wowza, mist", name)
	case groupLength, groupOffset, groupWindow:
		if u, ok := lengths[name]; ok {
			return u, nil
		}
		return unitNone, fmt.Errorf("%q is none of s, ms, us, ns, min, godur", name)
	}
	return unitNone, errors.New("only start, end, length, offset and window have units")
}

// match is [dialect.match] for a custom dialect.
func (c *custom) match(in *input, h *hit) bool {
	for _, name := range c.need {
		if _, ok := in.query.named(name); !ok {
			return false
		}
	}
	path := in.whole
	m := c.path.FindStringSubmatchIndex(path)
	if m == nil {
		return false
	}
	got := hit{hint: c.hint, zone: c.zone}
	if c.viewer {
		got.zone = in.viewer
	}
	ext := ""
	take := func(group, text string, in, from int) {
		r := reading{text: text, unit: c.units[group], in: in, from: from}
		switch group {
		case groupChannel:
			got.channel = text
		case groupStart:
			got.start = r
		case groupEnd:
			got.end = r
		case groupLength:
			if got.length = r; text == "now" {
				got.length.unit = unitNow
			}
		case groupOffset:
			got.offset = r
		case groupWindow:
			got.window = r
		case groupExt:
			ext = text
		case groupContainer:
			got.container = text
		}
	}
	takeGroups := func(re *regexp.Regexp, text string, m []int, in int) {
		for i, group := range re.SubexpNames() {
			if group != "" && m[2*i] >= 0 && m[2*i] < m[2*i+1] {
				take(group, text[m[2*i]:m[2*i+1]], in, m[2*i])
			}
		}
	}
	takeGroups(c.path, path, m, 0)
	for _, b := range c.query {
		for _, name := range b.params {
			value, ok := in.query.named(name)
			if !ok {
				continue
			}
			if value == "" {
				break
			}
			at := got.keep(name, value)
			if b.regexp == nil {
				take(b.group, value, at, 0)
			} else if m := b.regexp.FindStringSubmatchIndex(value); m != nil {
				takeGroups(b.regexp, value, m, at)
			} else if b.times {
				got.start = reading{text: value, in: at} // without a unit it is no time, and refused
			}
			break
		}
	}
	if got.channel == "" {
		return false
	}
	got.protocol = protocolOf(strings.ToLower(ext))
	if c.fixed {
		got.protocol = c.protocol
	}
	*h = got
	return true
}

// named returns the value of the first parameter of a name, in any case.
func (q *query) named(name string) (value string, ok bool) {
	for i := 0; i < len(q.raw); {
		n, at, next := paramAt(q.raw, i)
		if strings.EqualFold(decode(n), name) {
			return valueAt(q.raw, at), true
		}
		i = next
	}
	return "", false
}
