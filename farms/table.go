package farms

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// Rules are the settings of a table that choosing and answering need.
type Rules struct {
	StaleIfError time.Duration // how long a server that had the content serves while it cannot be asked
	OffAir       time.Duration // how long a content seen once is off air rather than missing
	SlowStart    time.Duration // over which a returned server takes its share again
	Sticky       time.Duration // first_response: how long a session keeps its server after its last request
	RefuseFrozen bool          // refuse rather than serve the freshest frozen playlist
	GoodEnough   float64       // the part of an archive window from which on no further farm is looked at
}

// Spec is what a table is compiled from: validated, with every default filled
// in and every name resolved to text that [Build] checks once more.
type Spec struct {
	Rules            Rules
	ArrayOrder       bool // location_match "order": the first location of the file wins
	PathwayPerServer bool // each server is a pathway of content steering, named as the server is; else each farm
	Servers          []ServerSpec
	Farms            []FarmSpec
	Locations        []LocationSpec
}

// ServerSpec is one server; the fields are those of [Server].
type ServerSpec struct {
	Name, URL, HTTPSURL string
	State               State
	DrainUntil          time.Time
	LastResort          bool
	Tags                map[string]string
	StatusPath          string
	ProbeHeaders        []Header
	ProbeQuery          string
	Type                string
	APIURL              string
	APIUser, APISecret  string
	Separate            bool
}

// MemberSpec names a server of a farm and its weight there.
type MemberSpec struct {
	Server string
	Weight float64 // 0 to [MaxWeight]
}

// FarmSpec is one farm.
type FarmSpec struct {
	Name        string
	Members     []MemberSpec
	Policy      Policy
	BoundedLoad float64
	Assume      bool
	Archive     ArchiveOptions
	Pathway     string // id for content steering; "" is the farm's name
	PublicURL   string
}

// SplitSpec sends a part of the sessions to one of the location's farms first.
type SplitSpec struct {
	Farm    string
	Percent float64
}

// LocationSpec is one location.
type LocationSpec struct {
	Name        string // empty: it is known by its index
	Farms       []string
	URIRegex    string // "" and ".*" match every path and are no sign of being specific
	Prefixes    []netip.Prefix
	Hosts       []string // lower case, without port; empty: every host
	FallbackURL string
	Split       []SplitSpec
}

// Location is a group of viewers with an ordered list of farms.
type Location struct {
	Name        string // the configured name, else the index in the file
	Index       int
	Farms       []*Farm
	FallbackURL string // a 302 of last resort, without trailing slash; "" is none
	PrefixCount int

	uri   *regexp.Regexp // nil: every path
	hosts []string
	split []splitShare
}

// splitShare is one farm's share of the sessions, in order: a session whose
// bucket is below upTo gets the farm first.
type splitShare struct {
	upTo uint64
	farm int // position in Location.Farms
}

// Table is the compiled, immutable map of farms and locations.
type Table struct {
	Generation uint64
	Rules      Rules
	Servers    []*Server
	Farms      []*Farm
	Locations  []*Location
	Pathways   []*Pathway // those of farms, or those of servers

	ranges  ranges
	servers map[ServerID]*Server
}

// Build compiles a table. A spec that came through the configuration's checks
// never fails; the errors name the part of the spec for everybody else.
func Build(spec *Spec, generation uint64) (*Table, error) {
	t := &Table{Generation: generation, Rules: spec.Rules, servers: make(map[ServerID]*Server, len(spec.Servers))}
	byName := make(map[string]*Server, len(spec.Servers))
	for i := range spec.Servers {
		s, err := buildServer(&spec.Servers[i], i)
		if err != nil {
			return nil, err
		}
		if byName[s.Name] != nil {
			return nil, fmt.Errorf("server %q: the name is not unique", s.Name)
		}
		if other := t.servers[s.ID]; other != nil {
			return nil, fmt.Errorf("servers %q and %q: their names have the same hash; rename one", s.Name, other.Name)
		}
		byName[s.Name], t.servers[s.ID] = s, s
		if spec.PathwayPerServer {
			s.Pathway = newPathway(s.Name, nil, s)
			t.Pathways = append(t.Pathways, s.Pathway)
		}
		t.Servers = append(t.Servers, s)
	}
	farmByName := make(map[string]*Farm, len(spec.Farms))
	for i := range spec.Farms {
		f, err := buildFarm(&spec.Farms[i], i, byName)
		if err != nil {
			return nil, err
		}
		if farmByName[f.Name] != nil {
			return nil, fmt.Errorf("farm %q: the name is not unique", f.Name)
		}
		farmByName[f.Name] = f
		if !spec.PathwayPerServer {
			t.Pathways = append(t.Pathways, f.Pathway)
		}
		t.Farms = append(t.Farms, f)
	}
	for i := range spec.Locations {
		l, err := buildLocation(&spec.Locations[i], i, farmByName)
		if err != nil {
			return nil, err
		}
		t.Locations = append(t.Locations, l)
	}
	t.ranges = compileRanges(spec.Locations, t.Locations, spec.ArrayOrder)
	return t, nil
}

// Server returns the server with this id, or nil.
func (t *Table) Server(id ServerID) *Server { return t.servers[id] }

func buildServer(spec *ServerSpec, index int) (*Server, error) {
	s := &Server{
		Name: spec.Name, URL: strings.TrimSuffix(spec.URL, "/"), HTTPSURL: strings.TrimSuffix(spec.HTTPSURL, "/"),
		State: spec.State, DrainUntil: spec.DrainUntil, LastResort: spec.LastResort, Tags: spec.Tags,
		StatusPath: spec.StatusPath, ProbeHeaders: spec.ProbeHeaders, ProbeQuery: spec.ProbeQuery,
		Type: spec.Type, APIURL: strings.TrimSuffix(spec.APIURL, "/"), APIUser: spec.APIUser, APISecret: spec.APISecret, Separate: spec.Separate,
		ID: serverID(spec.Name), Index: index,
	}
	if s.Name == "" {
		return nil, fmt.Errorf("server %d: it has no name", index)
	}
	if !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
		return nil, fmt.Errorf("server %q: url %q is not an http or https URL", s.Name, s.URL)
	}
	s.Endpoint = fingerprint(s)
	s.family, s.familyHTTPS = literalFamily(s.URL), literalFamily(s.HTTPSURL)
	return s, nil
}

func buildFarm(spec *FarmSpec, index int, servers map[string]*Server) (*Farm, error) {
	f := &Farm{Name: spec.Name, Policy: spec.Policy, BoundedLoad: spec.BoundedLoad, Assume: spec.Assume, Archive: spec.Archive, Index: index}
	seen := make(map[string]bool, len(spec.Members))
	for _, m := range spec.Members {
		s := servers[m.Server]
		switch {
		case s == nil:
			return nil, fmt.Errorf("farm %q: there is no server %q", f.Name, m.Server)
		case seen[m.Server]:
			return nil, fmt.Errorf("farm %q: server %q is in it twice", f.Name, m.Server)
		case !(m.Weight >= 0 && m.Weight <= MaxWeight):
			return nil, fmt.Errorf("farm %q: server %q has weight %v, expected 0 to %d", f.Name, m.Server, m.Weight, MaxWeight)
		}
		seen[m.Server] = true
		w := int64(m.Weight*WeightScale + 0.5)
		if m.Weight > 0 {
			w = max(w, 1)
		}
		f.Members = append(f.Members, Member{Server: s, Weight: w, LastResort: s.LastResort || w == 0})
		f.totalWeight += w
	}
	if len(f.Members) == 0 {
		return nil, fmt.Errorf("farm %q: it has no servers", f.Name)
	}
	f.PublicURL = strings.TrimSuffix(spec.PublicURL, "/")
	f.Pathway = newPathway(cmp.Or(spec.Pathway, f.Name), f, nil)
	return f, nil
}

func buildLocation(spec *LocationSpec, index int, farms map[string]*Farm) (*Location, error) {
	l := &Location{
		Name: spec.Name, Index: index, FallbackURL: strings.TrimSuffix(spec.FallbackURL, "/"),
		PrefixCount: len(spec.Prefixes), hosts: spec.Hosts,
	}
	if l.Name == "" {
		l.Name = fmt.Sprint(index)
	}
	position := make(map[string]int, len(spec.Farms))
	for _, name := range spec.Farms {
		f := farms[name]
		if f == nil {
			return nil, fmt.Errorf("location %s: there is no farm %q", l.Name, name)
		}
		if _, twice := position[name]; twice {
			return nil, fmt.Errorf("location %s: farm %q is listed twice", l.Name, name)
		}
		position[name] = len(l.Farms)
		l.Farms = append(l.Farms, f)
	}
	if len(l.Farms) == 0 {
		return nil, fmt.Errorf("location %s: it has no farms", l.Name)
	}
	for i, p := range spec.Prefixes {
		if !p.IsValid() {
			return nil, fmt.Errorf("location %s: ip_mask: prefix %d is not one", l.Name, i)
		}
	}
	if specificRegex(spec.URIRegex) {
		re, err := regexp.Compile(spec.URIRegex)
		if err != nil {
			return nil, fmt.Errorf("location %s: uri_regex: %w", l.Name, err)
		}
		l.uri = re
	}
	return l, l.buildSplit(spec, position)
}

// buildSplit turns percentages into cumulative bounds in the location's farm
// order, so that 70 becoming 60 moves one tenth of the sessions and no other.
func (l *Location) buildSplit(spec *LocationSpec, position map[string]int) error {
	percent := make([]float64, len(l.Farms))
	var total float64
	for _, s := range spec.Split {
		i, ok := position[s.Farm]
		if !ok {
			return fmt.Errorf("location %s: split names farm %q, which is not in its farms", l.Name, s.Farm)
		}
		if !(s.Percent >= 0 && s.Percent <= 100) {
			return fmt.Errorf("location %s: split gives farm %q %v percent, expected 0 to 100", l.Name, s.Farm, s.Percent)
		}
		percent[i] = s.Percent
		total += s.Percent
	}
	if total > 100.0001 {
		return fmt.Errorf("location %s: split adds up to %v percent, expected at most 100", l.Name, total)
	}
	var sum float64
	for i, p := range percent {
		if p == 0 {
			continue
		}
		sum += p
		l.split = append(l.split, splitShare{upTo: uint64(sum / 100 * splitBuckets), farm: i})
	}
	return nil
}

// specificRegex tells whether a uri_regex restricts paths at all.
func specificRegex(s string) bool { return s != "" && s != ".*" }
