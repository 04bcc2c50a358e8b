package config

import (
	"maps"
	"slices"
	"time"
)

// CustomDialect is an archive URL of your own making. Named groups say what its
// regular expressions find: `channel` (needed); `start` and `end` (times; without
// an end the window plays on); `length` of the window, of which the text `now` is
// no end; `offset`, a point so long before now; `window`, the last so much up to
// now; `ext`, the file name extension that says the protocol; `container`, the
// packaging that the URL insists on.
type CustomDialect struct {
	// Unique name for logs and explain, and none of a built-in dialect. Required.
	Name string `json:"name"`
	// Regular expression (RE2) that is searched in the path after `uri_path`, decoded,
	// with its leading slash; its groups as above, as in
	// `^/(?P<channel>[^/]+)/rec-(?P<start>\d+)\.m3u8$`. Required.
	Path string `json:"path" limits:"1..1024"`
	// Query parameters without which the dialect does not match.
	Need []string `json:"need" limits:"0..16"`
	// Query parameters in which a part of the window, or the channel, stands.
	Query []QueryGroup `json:"query" limits:"0..4"`
	// How a group is read. Of `start` and `end`: `auto` (their default), `s`, `ms`,
	// `us`, `ns` (Unix time), `iso`, `digits` (YYYYMMDDHHMMSS), `xtream`, `wowza`,
	// `mist`. Of `length`, `offset` and `window`: `s` (their default), `ms`, `us`,
	// `ns`, `min`, `godur` (as `1m30s`).
	Units map[string]string `json:"units" limits:"0..5"`
	// Time zone of times that are written without one: a name such as
	// `Europe/Berlin`; `UTC`; `server`, that of the farm; or `viewer`, that of
	// `viewer_timezone`.
	Zone string `json:"zone" default:"server" limits:"1..64"`
	// What the URL asks for whatever it says about times. Absent: by its times.
	Kind string `json:"kind" enum:"live,vod,timeshift,window"`
	// Protocol whatever the extension. Absent: by that, and without one `mpegts`.
	Protocol string `json:"protocol" enum:"file,hls,dash,mss,mpegts,mp4,hds"`

	// Location is the zone that Zone names; nil for `server` and `viewer`.
	Location *time.Location `json:"-"`
	// ViewerZone says that Zone is `viewer`.
	ViewerZone bool `json:"-"`
}

// QueryGroup is a query parameter that is read: as one group, or by a regular
// expression with groups of its own.
type QueryGroup struct {
	// Names of the parameter; the first that a request has counts, upper and lower
	// case alike. Required.
	Params []string `json:"params" limits:"1..8"`
	// Group that is the whole value. Either this or `regex`.
	Group string `json:"group"`
	// Regular expression (RE2) that is searched in the value, decoded; its groups are
	// as those of `path`.
	Regex string `json:"regex" limits:"1..1024"`
}

const (
	groupChannel = "channel"
	groupStart   = "start"
	groupEnd     = "end"
	groupLength  = "length"
	groupOffset  = "offset"
	groupWindow  = "window"
)

// groupNames returns every group that a dialect can have.
func groupNames() []string {
	return []string{groupChannel, groupStart, groupEnd, groupLength, groupOffset, groupWindow, "ext", "container"}
}

// unitsOf returns the units in which a group can be read; none for one that is
// no time and no length.
func unitsOf(group string) []string {
	switch group {
	case groupStart, groupEnd:
		return []string{"auto", "s", "ms", "us", "ns", "iso", "digits", "xtream", "wowza", "mist"}
	case groupLength, groupOffset, groupWindow:
		return []string{"s", "ms", "us", "ns", "min", "godur"}
	default:
		return nil
	}
}

// groupSet collects the groups of a dialect.
type groupSet struct {
	names    map[string]bool
	complete bool // every expression could be read, so that what is missing is missing
}

func (l *loader) checkCustomDialect(n *node, c *CustomDialect) {
	found := &groupSet{names: map[string]bool{}, complete: true}
	path := n.get("path")
	if path.kind == kindAbsent {
		l.errorf(path, "is missing, expected a regular expression of the paths that the dialect reads")
	}
	l.collectGroups(path, c.Path, found)
	l.checkParameters(n.get("need"), c.Need)

	query := n.get("query")
	found.complete = found.complete && !query.failed
	entries := query.items()
	for i := range c.Query {
		l.checkQueryGroup(entries[i], &c.Query[i], found)
	}
	if found.complete {
		if !found.names[groupChannel] {
			l.errorf(path, "has no group %q and neither has query, expected one that names the channel", groupChannel)
		}
		if found.names[groupOffset] && found.names[groupWindow] {
			l.errorf(path, "has, with query, the groups %q and %q, which exclude each other; expected one of them", groupOffset, groupWindow)
		}
	}
	l.checkUnits(n.get("units"), c.Units, found)
	l.checkDialectZone(n.get("zone"), c)
}

// collectGroups reads a regular expression and adds its groups.
func (l *loader) collectGroups(n *node, pattern string, found *groupSet) {
	if !n.present() {
		found.complete = false
		return
	}
	re, problem := compilePattern(pattern)
	if problem != "" {
		l.errorf(n, "%s", problem)
		found.complete = false
		return
	}
	for _, group := range re.SubexpNames() {
		if group != "" {
			l.addGroup(n, group, found)
		}
	}
}

// addGroup adds a group. One that is there already is no error: an expression
// may find a time in the path or, when it is not there, in the query.
func (l *loader) addGroup(n *node, group string, found *groupSet) {
	if known := groupNames(); !slices.Contains(known, group) {
		l.errorf(n, "has the group %s, expected %s%s", quote(group), alternatives(known), l.hint(group, known))
		found.complete = false
		return
	}
	found.names[group] = true
}

func (l *loader) checkQueryGroup(n *node, q *QueryGroup, found *groupSet) {
	if n.failed {
		found.complete = false
		return
	}
	params := n.get("params")
	if params.kind == kindAbsent {
		l.errorf(params, "is missing, expected at least one query parameter name")
	}
	l.checkParameters(params, q.Params)
	group, regex := n.get("group"), n.get("regex")
	switch {
	case group.kind == kindAbsent && regex.kind == kindAbsent:
		l.errorf(group, "is missing, expected a group for the value, or regex")
		found.complete = false
	case group.kind != kindAbsent && regex.kind != kindAbsent:
		l.errorf(regex, "excludes group, expected one of them")
		found.complete = false
	case regex.kind != kindAbsent:
		l.collectGroups(regex, q.Regex, found)
	case group.failed:
		found.complete = false
	default:
		l.addGroup(group, q.Group, found)
	}
}

func (l *loader) checkUnits(n *node, units map[string]string, found *groupSet) {
	for _, group := range slices.Sorted(maps.Keys(units)) {
		at, known := n.get(group), unitsOf(group)
		switch {
		case at.failed:
		case known == nil:
			l.errorf(at, "is the unit of what has none, expected that of start, end, length, offset or window")
		case !slices.Contains(known, units[group]):
			l.errorf(at, "is %s, expected %s", quote(units[group]), alternatives(known))
		case found.complete && !found.names[group]:
			l.errorf(at, "is the unit of a group that neither path nor query has")
		}
	}
}

func (l *loader) checkDialectZone(n *node, c *CustomDialect) {
	switch {
	case !n.present() || c.Zone == "server":
	case c.Zone == "viewer":
		c.ViewerZone = true
	default:
		if c.Location = l.zone(c.Zone); c.Location == nil {
			l.errorf(n, "is %s, which names no time zone; expected one such as Europe/Berlin, or UTC, server or viewer", quote(c.Zone))
		}
	}
}
