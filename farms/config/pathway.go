package config

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
)

// maxPathwayBytes bounds the id of a pathway, which stands in every variant of a
// playlist and in every request of a player.
const maxPathwayBytes = 64

const pathwayIDForm = "a pathway id: 1 to 64 letters, digits and ._-, other than dots alone"

// isPathwayID holds to the characters of PATHWAY-ID
// (draft-pantos-content-steering). Ids of dots alone are those that players give
// to variants without one.
func isPathwayID(s string) bool {
	for i := range len(s) {
		if !isLetterOrDigit(s[i]) && strings.IndexByte("._-", s[i]) < 0 {
			return false
		}
	}
	return len(s) <= maxPathwayBytes && strings.Trim(s, ".") != ""
}

// checkPathway checks a farm's keys about steering, which may be there without
// the section, and fills in the id.
func (l *loader) checkPathway(n *node, d *Document, f *Farm) {
	at := n.get("pathway")
	if at.kind == kindAbsent {
		f.Pathway = f.Name
	} else if at.present() && !isPathwayID(f.Pathway) {
		l.errorf(at, "is %s, expected %s", quote(f.Pathway), pathwayIDForm)
	}
	l.checkServerURL(n.get("public_url"), d, &f.PublicURL)
}

// checkPathways checks what only steering needs of farms and servers. It returns
// the ids of all pathways, or nil when one could not be read.
func (l *loader) checkPathways(n *node, d *Document) map[string]bool {
	list := l.root.get("redirection").get("farms")
	if !list.present() || n.get("level").failed {
		return nil
	}
	ids := make(map[string]int)
	complete := true
	for i, farm := range list.items() {
		switch {
		case farm.failed:
			complete = false
		case d.Steering.Level == SteerServers:
			complete = l.checkServerPathways(farm, d.Redirection.Farms[i].Servers, ids) && complete
		default:
			complete = l.checkFarmPathway(farm, &d.Redirection.Farms[i], i, ids) && complete
		}
	}
	if !complete {
		return nil
	}
	known := make(map[string]bool, len(ids))
	for id := range ids {
		known[id] = true
	}
	return known
}

func (l *loader) checkFarmPathway(n *node, f *Farm, i int, ids map[string]int) bool {
	if at := n.get("public_url"); at.kind == kindAbsent && len(f.Servers) > 1 {
		l.errorf(at, "is missing, and steering sends players to one address a pathway while the farm has %d servers; expected the URL that stands for all of them, or steering.level \"server\"", len(f.Servers))
	}
	at, name := n.get("pathway"), n.get("name")
	if at.failed || at.kind == kindAbsent && !name.present() {
		return false
	}
	if at.kind == kindAbsent && !isPathwayID(f.Pathway) {
		l.errorf(at, "is missing, and the farm's name %s cannot take its place; expected %s", quote(f.Name), pathwayIDForm)
		return false
	}
	if first, twice := ids[f.Pathway]; twice {
		said := "is"
		if at.kind == kindAbsent {
			said = "is missing and is the farm's name"
		}
		l.errorf(at, "%s %s, as the pathway of redirection.farms[%d] is already", said, quote(f.Pathway), first)
		return false
	}
	ids[f.Pathway] = i
	return true
}

// checkServerPathways checks the names of a farm's servers as ids. They are
// unique already; a server of two farms is one pathway.
func (l *loader) checkServerPathways(farm *node, servers []Server, ids map[string]int) bool {
	list := farm.get("servers")
	complete, entries := list.present(), list.items()
	for j := range servers {
		s, at := &servers[j], entries[j].get("name")
		switch {
		case entries[j].failed || at.failed || s.Name == "":
			complete = false
		case isPathwayID(s.Name):
			ids[s.Name] = j
		case at.kind == kindAbsent:
			l.errorf(at, "is missing, and %s, which is then the name, cannot be an id under steering.level \"server\"; expected %s", quote(s.Name), pathwayIDForm)
			complete = false
		default:
			l.errorf(at, "is %s, which cannot be an id under steering.level \"server\"; expected %s", quote(s.Name), pathwayIDForm)
			complete = false
		}
	}
	return complete
}

// knownAs is the location's name, else its position.
func (loc *Location) knownAs(i int) string { return cmp.Or(loc.Name, strconv.Itoa(i)) }

// farmsOf returns the names of the farms that have the pathway.
func (d *Document) farmsOf(pathway string) map[string]bool {
	out := map[string]bool{}
	for i := range d.Redirection.Farms {
		f := &d.Redirection.Farms[i]
		if d.Steering.Level == SteerFarms {
			if f.Pathway == pathway {
				out[f.Name] = true
			}
			continue
		}
		for j := range f.Servers {
			if f.Servers[j].Name == pathway {
				out[f.Name] = true
			}
		}
	}
	return out
}

// warnPathways looks for locations with too few or too many pathways and for
// keys of farms that this level does not read.
func (l *loader) warnPathways(d *Document) {
	byName := make(map[string]*Farm, len(d.Redirection.Farms))
	for i := range d.Redirection.Farms {
		f := &d.Redirection.Farms[i]
		byName[f.Name] = f
		if d.Steering.Level == SteerServers {
			for _, key := range [...]string{"pathway", "public_url"} {
				if at := l.farm(i).get(key); at.kind != kindAbsent {
					l.warnf(at, "has no effect while steering.level is \"server\"")
				}
			}
		} else if d.Core.TLS != nil && strings.HasPrefix(f.PublicURL, "http:") && f.servesHTTPS() {
			l.warnf(l.farm(i).get("public_url"), "is http, so that https viewers, whom core.tls lets in, cannot use the pathway")
		}
	}
	locations := l.root.get("redirection").get("locations").items()
	offersClones := d.Steering.offersClones()
	for i := range d.Redirection.Locations {
		loc := &d.Redirection.Locations[i]
		switch n := d.pathwaysIn(loc, byName); {
		case n == 1 && !offersClones[loc.knownAs(i)]:
			l.warnf(locations[i], "has one pathway, so that there is nothing to steer; expected several farms, or steering.level \"server\" with several servers")
		case n > farms.MaxPathways:
			l.warnf(locations[i], "has more than %d pathways, of which a steering manifest lists the best %d", farms.MaxPathways, farms.MaxPathways)
		}
	}
}

// pathwaysIn counts the pathways of a location, no further than one beyond what
// a manifest lists.
func (d *Document) pathwaysIn(loc *Location, byName map[string]*Farm) int {
	if d.Steering.Level == SteerFarms {
		return min(len(loc.Farms), farms.MaxPathways+1)
	}
	seen := make(map[string]bool, farms.MaxPathways+1)
	for _, name := range loc.Farms {
		servers := byName[name].Servers
		for j := range servers {
			if seen[servers[j].Name] = true; len(seen) > farms.MaxPathways {
				return len(seen)
			}
		}
	}
	return len(seen)
}
