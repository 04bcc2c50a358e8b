package config

import (
	"fmt"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// ContentMode says how a farm's content is known.
type ContentMode string

// The modes.
const (
	ContentProbe  ContentMode = "probe"
	ContentAssume ContentMode = "assume"
)

// Preference says how much of a window a server counts as holding.
type Preference string

// The preferences.
const (
	PreferMost       Preference = "most"
	PreferContiguous Preference = "contiguous"
)

// FarmArchive is what the farm makes of servers that hold a part of an archive
// window.
type FarmArchive struct {
	// What counts as held. `most`: everything, gaps left out; `contiguous`: the
	// longest stretch from the start, for players that stop at a gap.
	Prefer Preference `json:"prefer" default:"most" enum:"most,contiguous"`
	// A server that lacks the window's start counts as holding nothing.
	MustCoverStart bool `json:"must_cover_start" default:"false"`
	// Least part of the window that is worth serving; who holds less holds nothing.
	MinCoverage float64 `json:"min_coverage" default:"0" limits:"0..1"`
}

// Farm is a group of servers with the same content.
type Farm struct {
	// Unique name of the farm. Required.
	Name string `json:"name" smartmedia:"yes"`
	// How the servers are ranked. `first_response`: the fastest of those that answer;
	// `content_id`: a channel has its own server; `weight`: the highest weight, equal
	// ones evenly; `share`: sessions in proportion to weight.
	Policy farms.Policy `json:"policy" default:"first_response" enum:"first_response,content_id,weight,share"`
	// Most load a server takes while another has less, as a multiple of the farm's
	// mean load, such as 1.25; 0 is off.
	BoundedLoad float64 `json:"bounded_load" default:"0" limits:"0..100"`
	// `probe`: servers are asked for the content; `assume`: they have everything and
	// nobody is asked, as with CDNs and edges that pull.
	Content ContentMode `json:"content" default:"probe" enum:"probe,assume"`
	// Time zone of times that a URL writes without one. Absent: `archive.timezone`.
	Timezone *time.Location `json:"timezone"`
	// Which servers hold enough of an archive window.
	Archive FarmArchive `json:"archive"`
	// Id of the farm as a pathway of content steering: 1 to 64 letters, digits and
	// `._-`. Absent: `name`.
	Pathway string `json:"pathway" limits:"1..64"`
	// Base URL that stands for the whole farm in playlists and MPDs: http or https, a
	// host, and if need be a port and a path. Absent: that of its one server.
	PublicURL string `json:"public_url" limits:"1..2048"`
	// Keys of `servers` that hold for all of them; what a server says itself wins.
	// `url` and `name` are not for here.
	Defaults Server `json:"defaults"`
	// The servers of the farm. Required.
	Servers []Server `json:"servers" limits:"1..1000" prototype:"Defaults" smartmedia:"yes"`
}

func (l *loader) checkFarms(n *node, d *Document) {
	list := n.get("farms")
	if list.kind == kindAbsent && !n.failed {
		l.errorf(list, "is missing, expected an array of at least one farm")
	}
	entries := list.items()
	names := make(map[string]int, len(d.Redirection.Farms))
	known := make(map[string]knownServer)
	for i := range d.Redirection.Farms {
		n, f := entries[i], &d.Redirection.Farms[i]
		l.checkFarmName(n, f.Name, i, names)
		if f.BoundedLoad > 0 && f.BoundedLoad <= 1 {
			l.errorf(n.get("bounded_load"), "is %s, expected 0 for off, or more than 1 and at most 100", formatNumber(f.BoundedLoad))
		}
		if f.Timezone == nil {
			f.Timezone = d.Archive.Timezone
		}
		l.checkPathway(n, d, f)
		l.checkServers(n, d, i, known)
	}
}

func (l *loader) checkFarmName(n *node, name string, i int, names map[string]int) {
	at := n.get("name")
	switch {
	case at.kind == kindAbsent && !n.failed:
		l.errorf(at, "is missing, expected a name for the farm")
	case !at.present():
	case checkName(name) != "":
		l.errorf(at, "%s", checkName(name))
	default:
		if first, twice := names[name]; twice {
			l.errorf(at, "is %s, as redirection.farms[%d] is named already", quote(name), first)
			return
		}
		names[name] = i
	}
}

// place names a server by its position.
func place(farm, server int) string {
	return fmt.Sprintf("redirection.farms[%d].servers[%d]", farm, server)
}
