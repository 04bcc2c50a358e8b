package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Clone is a pathway that players make of another: the same playlists under
// changed URLs. Support in players is poor; a pathway that is a farm reaches all.
type Clone struct {
	// Id of the pathway that is copied, or of a clone before this one. Required.
	Base string `json:"base"`
	// Id of the new pathway: 1 to 64 letters, digits and `._-`. Required.
	ID string `json:"id" limits:"1..64"`
	// Host that takes the place of the base's, without port: scheme and port stay as
	// they are. dash.js takes no clone without it.
	Host string `json:"host" limits:"1..253"`
	// Query parameters that are added to every URL, or take the place of those there,
	// names and values escaped as they are to stand in it. Some players escape them
	// once more: what needs no escape is safe.
	Params map[string]string `json:"params" limits:"0..16"`
	// HLS: whole URLs of variants, by STABLE-VARIANT-ID, which nothing else changes.
	PerVariantURIs map[string]string `json:"per_variant_uris" limits:"0..256"`
	// HLS: the same for renditions, by STABLE-RENDITION-ID.
	PerRenditionURIs map[string]string `json:"per_rendition_uris" limits:"0..256"`
	// Names of the locations in which the clone is offered; one without a name is
	// known by its position in the array. Required.
	Locations []string `json:"locations" limits:"1..10000"`
}

const (
	maxParamBytes    = 1024 // of a name or a value
	maxStableIDBytes = 256
	maxCloneURIBytes = 4096
)

// checkClones checks the clones against the pathways of the document, nil when
// those could not all be read.
func (l *loader) checkClones(n *node, d *Document, pathways map[string]bool) {
	list := n.get("clones")
	entries := list.items()
	ids := make(map[string]int, len(d.Steering.Clones)) // of clones, by position
	locations := l.locationNames(d)
	bases := maps.Clone(pathways) // and the clones so far
	for i := range d.Steering.Clones {
		at, c := entries[i], &d.Steering.Clones[i]
		if at.failed {
			bases = nil
			continue
		}
		base := at.get("base")
		switch {
		case base.kind == kindAbsent:
			l.errorf(base, "is missing, expected the id of the pathway that is copied")
		case base.present() && bases != nil && !bases[c.Base]:
			l.errorf(base, "is %s, which is neither a pathway nor a clone before this one%s", quote(c.Base), l.hint(c.Base, slices.Sorted(maps.Keys(bases))))
		}
		if l.checkCloneID(at.get("id"), c.ID, i, ids, pathways) {
			if bases != nil {
				bases[c.ID] = true
			}
		} else {
			bases = nil // nobody can say which bases dangle
		}
		l.checkReplacement(at, c)
		l.checkCloneLocations(at.get("locations"), c.Locations, locations)
		if j, ok := ids[c.Base]; ok && j < i && base.present() {
			l.checkChain(at, c, &d.Steering.Clones[j], entries[j])
		}
	}
}

func (l *loader) checkCloneID(n *node, id string, i int, ids map[string]int, pathways map[string]bool) bool {
	first, twice := ids[id]
	switch {
	case n.kind == kindAbsent:
		l.errorf(n, "is missing, expected an id for the new pathway")
	case n.failed:
	case !isPathwayID(id):
		l.errorf(n, "is %s, expected %s", quote(id), pathwayIDForm)
	case pathways[id]:
		l.errorf(n, "is %s, which is the id of a pathway already", quote(id))
	case twice:
		l.errorf(n, "is %s, which is the id of steering.clones[%d] already", quote(id), first)
	default:
		ids[id] = i
		return true
	}
	return false
}

// checkReplacement checks what the clone changes of its base's URLs.
func (l *loader) checkReplacement(n *node, c *Clone) {
	host, params, variants, renditions := n.get("host"), n.get("params"), n.get("per_variant_uris"), n.get("per_rendition_uris")
	changes := func(n *node) bool { return n.failed || n.kind == kindObject && n.count > 0 }
	if host.kind == kindAbsent && !changes(params) && !changes(variants) && !changes(renditions) {
		l.errorf(n, "changes nothing of its base, expected host, params, per_variant_uris or per_rendition_uris")
	}
	if host.present() {
		switch name, literal, problem := parseHost(c.Host); {
		case problem != "":
			l.errorf(host, "is %s, which %s; expected a host without scheme and port", quote(c.Host), problem)
		case literal.Is6():
			// Players differ about who writes the brackets.
			l.errorf(host, "is %s, an IPv6 address; expected a DNS name or an IPv4 address", quote(c.Host))
		default:
			c.Host = name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		// Without the value, in which a token may stand.
		if at := params.get(name); !at.failed && (name == "" || !isQueryPart(name, "=&") || !isQueryPart(c.Params[name], "&")) {
			l.errorf(at, "is no query parameter, expected a name and a value of at most %d bytes that can stand in a query, escaped where need be", maxParamBytes)
		}
	}
	l.checkCloneURIs(variants, c.PerVariantURIs)
	l.checkCloneURIs(renditions, c.PerRenditionURIs)
}

// isQueryPart tells whether s can stand in a query (RFC 3986 §3.4) as it is and
// without the bytes of except.
func isQueryPart(s, except string) bool {
	if len(s) > maxParamBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%':
			if i+2 >= len(s) {
				return false
			}
			if _, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err != nil {
				return false
			}
			i += 2
		case strings.IndexByte(except, c) >= 0, !isLetterOrDigit(c) && strings.IndexByte("-._~!$&'()*+,;=:@/?", c) < 0:
			return false
		}
	}
	return true
}

func (l *loader) checkCloneURIs(n *node, uris map[string]string) {
	for _, id := range slices.Sorted(maps.Keys(uris)) {
		at := n.get(id)
		if at.failed {
			continue
		}
		if !isStableID(id) {
			l.errorf(at, "is under the id %s, expected 1 to %d letters, digits and +/=._-", quote(id), maxStableIDBytes)
			continue
		}
		uri := uris[id]
		address, query, _ := strings.Cut(uri, "?")
		_, problem := parseWebAddress(address)
		switch {
		case len(uri) > maxCloneURIBytes:
			problem = fmt.Sprintf("has %d bytes, expected at most %d", len(uri), maxCloneURIBytes)
		case problem == "" && strings.ContainsFunc(query, func(c rune) bool { return c <= ' ' || c > '~' || c == '#' || c == '"' }):
			problem = "has a query with a quote, a fragment behind it or something other than visible ASCII characters"
		}
		if problem != "" {
			l.errorf(at, "%s", problem)
		}
	}
}

// isStableID holds to the characters of STABLE-VARIANT-ID (rfc8216bis §4.4.6.2).
func isStableID(s string) bool {
	for i := range len(s) {
		if !isLetterOrDigit(s[i]) && strings.IndexByte("+/=._-", s[i]) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= maxStableIDBytes
}

// locationNames returns the names by which locations are known, sorted, or nil
// when one could not be read.
func (l *loader) locationNames(d *Document) []string {
	list := l.root.get("redirection").get("locations")
	if !list.present() {
		return nil
	}
	names := make([]string, 0, len(d.Redirection.Locations))
	for i, n := range list.items() {
		at := n.get("name")
		if n.failed || at.failed || i >= len(d.Redirection.Locations) {
			return nil
		}
		names = append(names, d.Redirection.Locations[i].knownAs(i))
	}
	slices.Sort(names)
	return names
}

func (l *loader) checkCloneLocations(n *node, names, known []string) {
	if n.kind == kindAbsent {
		l.errorf(n, "is missing, expected an array of at least one location name")
	}
	entries := n.items()
	first := make(map[string]bool, len(names))
	for i, name := range names {
		at := entries[i]
		if at.failed {
			continue
		}
		if first[name] {
			l.errorf(at, "is %s, which is in the list already", quote(name))
			continue
		}
		first[name] = true
		if _, found := slices.BinarySearch(known, name); !found && known != nil {
			l.errorf(at, "is %s, and there is no location of that name%s", quote(name), l.hint(name, known))
		}
	}
}

// checkChain holds that the clone that another is made of is there wherever that
// is offered: a manifest whose BASE-ID dangles is refused whole by some players.
func (l *loader) checkChain(n *node, c, base *Clone, baseNode *node) {
	if n.get("locations").failed || baseNode.get("locations").failed {
		return
	}
	offered := make(map[string]bool, len(base.Locations))
	for _, name := range base.Locations {
		offered[name] = true
	}
	for _, name := range c.Locations {
		if !offered[name] {
			l.errorf(n.get("base"), "is the clone %s, which is not offered in location %s as this one is; expected the base in all locations of the clone", quote(base.ID), quote(name))
			return
		}
	}
}

// warnClones looks for clones of a pathway that their location does not use.
func (l *loader) warnClones(n *node, d *Document) {
	entries := n.items()
	byName := make(map[string]*Location, len(d.Redirection.Locations))
	for i := range d.Redirection.Locations {
		loc := &d.Redirection.Locations[i]
		byName[loc.knownAs(i)] = loc
	}
	for i := range d.Steering.Clones {
		c := &d.Steering.Clones[i]
		holders := d.farmsOf(c.Base)
		if len(holders) == 0 {
			continue // a clone's clone
		}
		for _, name := range c.Locations {
			if !slices.ContainsFunc(byName[name].Farms, func(farm string) bool { return holders[farm] }) {
				l.warnf(entries[i].get("base"), "is %s, which location %s does not use, so that its players may know no such pathway to copy", quote(c.Base), quote(name))
			}
		}
	}
}

// offersClones returns the names of the locations that are offered a clone.
func (s *Steering) offersClones() map[string]bool {
	out := map[string]bool{}
	for i := range s.Clones {
		for _, name := range s.Clones[i].Locations {
			out[name] = true
		}
	}
	return out
}
