package config

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Location is a group of viewers, found by subnet, path and host, with the
// farms that serve them in order.
type Location struct {
	// Names of the farms that serve these viewers, in order: the next is for when
	// nobody in the one before can. Required.
	Farms []string `json:"farms" limits:"1..100" smartmedia:"yes"`
	// Regular expression (RE2) that is searched in the path after `uri_path`, with its
	// leading slash. Empty and `.*` take every path and do not count as specific.
	URIRegex string `json:"uri_regex" limits:"0..1024" smartmedia:"yes"`
	// Networks of the viewers, IPv4 and IPv6, as CIDRs; an address alone is itself.
	// One string counts as an array of one. Absent, without `ip_mask_files` too: everybody.
	IPMask []netip.Prefix `json:"ip_mask" limits:"0..1000000" single:"yes" smartmedia:"yes"`
	// Files with more networks: one CIDR a line, `#` begins a comment; relative to
	// this file.
	IPMaskFiles []string `json:"ip_mask_files" limits:"0..1000"`
	// Unique name for logs and explain. Absent: the position in the array.
	Name string `json:"name"`
	// Host names, without port, whose requests this location takes. Absent: every host.
	Hosts []string `json:"hosts" limits:"0..1000"`
	// Where viewers go, with 302, when none of the farms can serve them; the path is
	// appended.
	FallbackURL string `json:"fallback_url" limits:"1..2048"`
	// Percent of the sessions that get a farm of this location first, such as
	// `{"north": 70, "south": 30}`; the same session always the same one. The others,
	// when it is less than 100 together, follow the order of `farms`.
	Split map[string]float64 `json:"split" limits:"0..100"`

	// Prefixes are the networks of IPMask and of the files, or everybody's.
	Prefixes []netip.Prefix `json:"-"`
}

const (
	// maxPrefixes bounds the networks of all locations together.
	maxPrefixes = 2_000_000
	// maxSpecificLocations bounds those with a uri_regex or hosts. Each of them that
	// holds an address is a candidate there, unlike those that take every path, of
	// which the best ends the list.
	maxSpecificLocations = 1000
	maxMaskFileBytes     = 64 << 20
)

func (l *loader) checkLocations(n *node, d *Document) {
	list := n.get("locations")
	if list.kind == kindAbsent && !n.failed {
		l.errorf(list, "is missing, expected an array of at least one location")
	}
	known := l.farmNames(n.get("farms"), d.Redirection.Farms)
	names := make(map[string]int, len(d.Redirection.Locations))
	specific, total := 0, 0
	entries := list.items()
	for i := range d.Redirection.Locations {
		n, loc := entries[i], &d.Redirection.Locations[i]
		if n.failed {
			continue
		}
		l.checkLocation(n, d, loc, known)
		l.checkLocationName(n, loc.Name, i, names)
		if loc.specific() {
			specific++
		}
		total += len(loc.Prefixes)
	}
	if specific > maxSpecificLocations {
		l.errorf(list, "has %d locations with uri_regex or hosts, expected at most %d", specific, maxSpecificLocations)
	}
	if total > maxPrefixes {
		l.errorf(list, "has %d networks in all, expected at most %d", total, maxPrefixes)
	}
}

// anyPath tells whether the location takes every path.
func (loc *Location) anyPath() bool { return loc.URIRegex == "" || loc.URIRegex == ".*" }

// specific tells whether the location leaves out some paths or hosts.
func (loc *Location) specific() bool { return !loc.anyPath() || len(loc.Hosts) > 0 }

func (l *loader) checkLocation(n *node, d *Document, loc *Location, known []string) {
	l.checkLocationFarms(n, loc.Farms, known)
	if at := n.get("uri_regex"); at.present() {
		if _, problem := compilePattern(loc.URIRegex); problem != "" {
			l.errorf(at, "%s", problem)
		}
	}
	l.checkHosts(n.get("hosts"), loc.Hosts)
	l.checkServerURL(n.get("fallback_url"), d, &loc.FallbackURL)
	l.checkSplit(n.get("split"), loc)
	l.collectPrefixes(n, loc)
}

// checkLocationName holds names apart, those of nameless locations, which are
// their positions, included.
func (l *loader) checkLocationName(n *node, name string, i int, names map[string]int) {
	at := n.get("name")
	if at.failed {
		return
	}
	if at.kind == kindAbsent {
		name = strconv.Itoa(i)
	} else if problem := checkName(name); problem != "" {
		l.errorf(at, "%s", problem)
		return
	}
	if first, twice := names[name]; twice {
		l.errorf(at, "is %s, as redirection.locations[%d] is named already", quote(name), first)
		return
	}
	names[name] = i
}

// farmNames returns the names of all farms, sorted, or nil when one of them
// could not be read, so that nobody can say which names dangle.
func (l *loader) farmNames(list *node, all []Farm) []string {
	if !list.present() {
		return nil
	}
	names := make([]string, 0, len(all))
	for i, n := range list.items() {
		if n.failed || !n.get("name").present() || i >= len(all) {
			return nil
		}
		names = append(names, all[i].Name)
	}
	slices.Sort(names)
	return names
}

func (l *loader) checkLocationFarms(n *node, names, known []string) {
	list := n.get("farms")
	if list.kind == kindAbsent {
		l.errorf(list, "is missing, expected an array of at least one farm name")
	}
	entries := list.items()
	for i, name := range names {
		at := entries[i]
		if at.failed {
			continue
		}
		if slices.Contains(names[:i], name) {
			l.errorf(at, "is %s, which is in the list already", quote(name))
			continue
		}
		if _, found := slices.BinarySearch(known, name); !found && known != nil {
			l.errorf(at, "is %s, and there is no farm of that name%s", quote(name), l.hint(name, known))
		}
	}
}

// hint names the farm that was probably meant, if one is close.
func (l *loader) hint(name string, known []string) string {
	if l.full(Error) {
		return ""
	}
	if near := closest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", quote(near))
	}
	return ""
}

func (l *loader) checkSplit(n *node, loc *Location) {
	var sum float64
	for _, farm := range slices.Sorted(maps.Keys(loc.Split)) {
		percent := loc.Split[farm]
		switch at := n.get(farm); {
		case at.failed:
		case !slices.Contains(loc.Farms, farm):
			l.errorf(at, "is a part for a farm that is not in this location's farms")
		case percent < 0 || percent > 100:
			l.errorf(at, "is %s, expected 0 to 100 (percent)", formatNumber(percent))
		default:
			sum += percent
		}
	}
	if sum > 100.0001 { // sums of decimal fractions are not exact
		l.errorf(n, "adds up to %s percent, expected at most 100", formatNumber(sum))
	}
}

// source is where a network was given.
type source struct {
	n    *node
	file string // and then
	line int    // in it
}

func (s source) String() string {
	if s.file == "" {
		return s.n.path()
	}
	return fmt.Sprintf("%s line %d", quotePath(s.file), s.line)
}

// collectPrefixes brings the networks of a location together.
func (l *loader) collectPrefixes(n *node, loc *Location) {
	mask, files := n.get("ip_mask"), n.get("ip_mask_files")
	if mask.kind == kindAbsent && files.kind == kindAbsent {
		loc.Prefixes = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
		l.warnf(mask, "is missing; the location takes every viewer, as with [\"0.0.0.0/0\", \"::/0\"]")
		return
	}
	if mask.kind == kindArray && mask.count == 0 && files.kind == kindAbsent {
		l.errorf(mask, "is empty, expected at least one network; leave the key out to take every viewer")
		return
	}
	loc.Prefixes = make([]netip.Prefix, 0, len(loc.IPMask))
	given := make(map[netip.Prefix]source, len(loc.IPMask))
	add := func(p netip.Prefix, at source) {
		if first, twice := given[p]; twice {
			where := ""
			if at.file != "" {
				where = at.String() + ": "
			}
			l.errorf(at.n, "%sis %s, which this location has already at %s", where, p, first)
			return
		}
		given[p] = at
		loc.Prefixes = append(loc.Prefixes, p)
	}
	at := mask.item(0)
	for _, p := range loc.IPMask {
		if p.IsValid() {
			add(p, source{n: at})
		}
		at = at.next
	}
	loc.IPMask = slices.DeleteFunc(loc.IPMask, func(p netip.Prefix) bool { return !p.IsValid() })
	entries := files.items()
	for i, name := range loc.IPMaskFiles {
		if !entries[i].failed {
			l.readPrefixes(entries[i], name, add)
			loc.IPMaskFiles[i] = l.resolve(name)
		}
	}
}

// readPrefixes reads a file of networks, one a line.
func (l *loader) readPrefixes(n *node, name string, add func(netip.Prefix, source)) {
	data, ok := l.readFile(n, name, maxMaskFileBytes)
	if !ok {
		return
	}
	at := source{n: n, file: l.resolve(name)}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors on Windows put it there
	for text := range strings.Lines(string(data)) {
		at.line++
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if at.line > maxPrefixes {
			l.errorf(n, "%s: the file has more than %d lines, expected fewer", at, maxPrefixes)
			return
		}
		if p := l.prefix(n, at.String()+": ", text); p.IsValid() {
			add(p, at)
		}
	}
}
