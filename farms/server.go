package farms

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Endpoint is the fingerprint of all that decides what a server answers to our
// probes. Health and facts are kept under it, outside the table, so that they
// outlive reloads and end when the server behind a name becomes another one.
type Endpoint uint64

// ServerID is a fixed hash of a server's unique name. Rendezvous hashing ranks
// it and session memory stores it, so it must be the same on every machine.
type ServerID uint64

// State is what the operator wants of a server.
type State uint8

// The states.
const (
	StateEnabled  State = iota
	StateDraining       // sessions stay, none arrives; from DrainUntil on as disabled
	StateDisabled       // takes nobody
)

var stateNames = [...]string{"enabled", "draining", "disabled"}

// String returns the state's word in the configuration and the admin API.
func (s State) String() string { return nameOf(stateNames[:], uint8(s)) }

// ParseState is the inverse of [State.String].
func ParseState(s string) (State, bool) {
	i := slices.Index(stateNames[:], s)
	return State(max(i, 0)), i >= 0
}

// Header is one request header sent with every probe.
type Header struct{ Name, Value string }

// Server is one host that streams. It is known by its unique name; the same
// server may be a member of several farms.
type Server struct {
	Name       string            // unique
	URL        string            // base URL without trailing slash, http or https
	HTTPSURL   string            // the same server for https viewers; empty when URL is https or there is none
	State      State             // from the configuration; the operator's override at run time wins
	DrainUntil time.Time         // zero: drains without end
	LastResort bool              // only when nobody else is left
	Tags       map[string]string // free, e.g. site

	Type         string // whose interface it speaks; "generic" none
	APIURL       string // base URL of the interface, without trailing slash
	APIUser      string // its credentials, empty when there are none
	APISecret    string
	Separate     bool     // it keeps a recording for each container
	StatusPath   string   // asked by the status probe, begins with a slash
	ProbeHeaders []Header // sent with every probe
	ProbeQuery   string   // raw query added to every probe, without "?"

	ID       ServerID // hash of Name
	Endpoint Endpoint // fingerprint of what probes see
	Index    int      // position in [Table.Servers]
	Pathway  *Pathway // the server's own, under [Spec].PathwayPerServer; else nil

	family, familyHTTPS family // what an address literal in URL and HTTPSURL says
}

// family tells which address families a URL's host is bound to.
type family uint8

const (
	familyAny family = iota // a name: DNS decides
	familyV4                // an IPv4 literal
	familyV6                // an IPv6 literal
)

func literalFamily(base string) family {
	u, err := url.Parse(base)
	if err != nil {
		return familyAny
	}
	a, err := netip.ParseAddr(u.Hostname())
	switch {
	case err != nil:
		return familyAny
	case a.Unmap().Is4():
		return familyV4
	default:
		return familyV6
	}
}

// Base returns the URL a viewer of the given scheme is sent to, or "" when the
// server cannot serve that scheme. An http viewer goes to http where there is
// one, an https viewer only to https.
func (s *Server) Base(secure bool) string {
	https := strings.HasPrefix(s.URL, "https:")
	switch {
	case !secure:
		return s.URL // https is fine for an http viewer when it is all there is
	case s.HTTPSURL != "":
		return s.HTTPSURL
	case https:
		return s.URL
	default:
		return ""
	}
}

// Policy is how a farm's servers are ranked.
type Policy uint8

// The policies.
const (
	FirstResponse Policy = iota // the faster of two random candidates
	ContentID                   // weighted rendezvous on the channel
	ByWeight                    // the highest weight; equal weights share evenly
	Share                       // sessions in proportion to weight
)

var policyNames = [...]string{"first_response", "content_id", "weight", "share"}

// String returns the policy's word in the configuration.
func (p Policy) String() string { return nameOf(policyNames[:], uint8(p)) }

// ParsePolicy is the inverse of [Policy.String].
func ParsePolicy(s string) (Policy, bool) {
	i := slices.Index(policyNames[:], s)
	return Policy(max(i, 0)), i >= 0
}

// PolicyNames lists the words a configuration may use.
func PolicyNames() []string { return slices.Clone(policyNames[:]) }

// WeightScale is the fixed-point scale of [Member.Weight]: a weight of 1 in the
// configuration is 1000 here, so that weights are integers and every machine
// compares them alike.
const WeightScale = 1000

// MaxWeight is the largest weight a configuration may give. It keeps the
// products of the rendezvous comparison inside 64 bits.
const MaxWeight = 10_000

// Member is a server's place in one farm.
type Member struct {
	Server     *Server
	Weight     int64 // in 1/[WeightScale]; 0 is as LastResort
	LastResort bool  // the server's flag, or weight 0
}

// ArchiveOptions say which coverage of an archive window a farm prefers.
type ArchiveOptions struct {
	Contiguous     bool    // the longest stretch from the start counts, not the sum
	MustCoverStart bool    // who lacks the start has nothing
	MinCoverage    float64 // the least part of the window worth serving, 0 to 1
}

// Farm is a group of servers with the same content.
type Farm struct {
	Name        string
	Members     []Member
	Policy      Policy
	BoundedLoad float64 // multiple of the farm's mean, 0 is off
	Assume      bool    // content is assumed, nobody is asked (CDNs, pull edges)
	Archive     ArchiveOptions
	Index       int      // position in [Table.Farms]
	PublicURL   string   // where viewers find the farm's content, without trailing slash; "" is its one server
	Pathway     *Pathway // the farm's, for content steering

	totalWeight int64
}

func serverID(name string) ServerID { return ServerID(xxhash.Sum64String("server\x00" + name)) }

// fingerprint hashes what a probe of s sees. Fields are length-prefixed, so
// that no two different servers write the same bytes.
func fingerprint(s *Server) Endpoint {
	var b []byte
	field := func(v string) {
		b = strconv.AppendInt(b, int64(len(v)), 10)
		b = append(b, ':')
		b = append(b, v...)
	}
	field(s.URL)
	field(s.StatusPath)
	field(s.ProbeQuery)
	if s.Type != "" && s.Type != "generic" {
		field(s.Type)
		field(s.APIURL)
		field(s.APIUser)
		field(s.APISecret)
	}
	for _, h := range s.ProbeHeaders {
		field(h.Name)
		field(h.Value)
	}
	return Endpoint(xxhash.Sum64(b))
}
