package redirector

import (
	"net/netip"
	"regexp"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// ReturnEvidence is what follows when a viewer comes back for the same
// multivariant playlist within seconds.
type ReturnEvidence uint8

// The ways.
const (
	EvidenceCheck ReturnEvidence = iota // the server he was given is probed
	EvidenceMove                        // and a third time within a minute he gets the next
	EvidenceOff
)

// Settings are the parts of the configuration that the edge needs. They go with
// a table and are replaced with it.
type Settings struct {
	URIPath         string // without trailing slash, "" for the root
	ChannelRegex    *regexp.Regexp
	ChannelGroup    int
	SessionKeys     []string
	Hosts           map[string]bool // lower case; empty: every Host is ours
	Clients         *clientip.Resolver
	TrustedProxies  []netip.Prefix            // those of Clients, for an advice
	Archive         *archive.Parser           // nil: no URL asks for a recording
	Zones           map[string]*time.Location // by farm, where a farm has a zone of its own
	HealthPath      string
	Steering        *SteeringSettings // nil: no steering
	DecisionTimeout time.Duration
	ReturnEvidence  ReturnEvidence
	LogDecisions    bool
	LogSample       float64  // part of the decisions that are logged, refusals apart; 1 all
	MaskAddresses   bool     // addresses of viewers are logged as their networks
	Redact          []string // query names whose values are not logged, lower case
}

// Overseer is what the operator's pages need of the probes. Nothing in it waits.
type Overseer interface {
	// Recent returns the response times of the last status probes of an endpoint,
	// the newest last, 0 for one without a good answer.
	Recent(farms.Endpoint) []time.Duration
	// Recorded lists channels that have recordings, at most limit.
	Recorded(limit int) []string
	// Recordings returns the facts with ranges of a channel.
	Recordings(channel string) []farms.Fact
	// Recheck asks a server anew, at most once a second, about its status and the
	// contents that are wanted; it returns about how many.
	Recheck(*farms.Server) (contents int, ok bool)
	// Forget forgets what is known of a channel and returns how many contents that was.
	Forget(channel string) int
}

// Prober is what the edge needs of the probes. Nothing in it waits.
type Prober interface {
	farms.Facts
	Overseer
	// Ask makes sure that servers are asked about a content.
	Ask(c farms.Content, servers []*farms.Server, force bool) farms.Asked
	// Check probes one server because a viewer came back from it, at most once a second.
	Check(c farms.Content, s *farms.Server) bool
	// Touch notes that a content is wanted.
	Touch(c farms.Content, now time.Time)
	// Parent returns the channel whose multivariant playlist lists the media playlist at path.
	Parent(path string) (channel string, ok bool)
	// Manifest returns the manifest of a channel that was last seen.
	Manifest(channel string) (farms.Content, bool)
	// Ready is closed after the first sweep of status probes.
	Ready() <-chan struct{}
	// Sizes returns how many contents are known and how many are remembered.
	Sizes() (known, all int)
}
