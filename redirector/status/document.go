package status

import (
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Version is the version of the JSON documents of this package. Within a version
// names are added, never renamed or removed.
const Version = 1

// Document is what /status says.
type Document struct {
	Version    int        `json:"version"`
	Generation uint64     `json:"generation"`
	Ready      bool       `json:"ready"`
	Time       time.Time  `json:"time"`
	Config     Config     `json:"config"`
	Alarms     []Alarm    `json:"alarms"`
	Advices    []Advice   `json:"advices"`
	Known      int        `json:"known_contents"`
	Farms      []Farm     `json:"farms"`
	Locations  []Location `json:"locations"`
	Steering   *Steering  `json:"steering,omitempty"` // absent without content steering
	Decisions  Decisions  `json:"decisions"`
	Refusals   Refusals   `json:"refusals"`
}

// Config says where the configuration in force comes from.
type Config struct {
	Source  string     `json:"source"`             // a file's name without its folder, or in words
	Loaded  time.Time  `json:"loaded"`             // when it was taken
	AgeSec  int64      `json:"age_sec"`            // since then
	Error   string     `json:"error,omitempty"`    // why a newer one was refused, while it is
	ErrorAt *time.Time `json:"error_at,omitempty"` // when
}

// Alarm is one alarm that is on.
type Alarm struct {
	Code     string    `json:"code"`
	Since    time.Time `json:"since"`
	Detail   string    `json:"detail"`
	Subject  string    `json:"subject"`          // a server's or farm's name, "" where the code says it all
	Severity string    `json:"severity"`         // info, warning, critical
	Config   string    `json:"config,omitempty"` // of an advice: what would mend it
	ID       string    `json:"id"`               // of this occurrence
}

// Advice is one of the alarms that a change of the configuration would mend.
type Advice struct {
	Code   string    `json:"code"`
	Since  time.Time `json:"since"`
	Detail string    `json:"detail"`
	Config string    `json:"config"` // that change
}

// Farm is one farm.
type Farm struct {
	Name    string   `json:"name"`
	Policy  string   `json:"policy"`
	Servers []Server `json:"servers"`
}

// Server is one server of a farm.
type Server struct {
	Name     string      `json:"name"`
	URL      string      `json:"url"`
	State    string      `json:"state"`  // up, down, warming, draining, disabled, unknown
	Since    time.Time   `json:"since"`  // when the status probes' word began
	Reason   string      `json:"reason"` // the last failure in words
	RTTMS    float64     `json:"rtt_ms"` // smoothed response time, 0 unknown
	Probed   time.Time   `json:"probed"` // when the last status probe ended
	Weight   float64     `json:"weight"`
	RTTs     []float64   `json:"rtts_ms"`            // of the last status probes, the newest last, 0 no good answer
	Given    uint64      `json:"decided_60s"`        // viewers it was given in the last minute
	Share    float64     `json:"share_60s"`          // of all viewers that were given a server, 0 to 1
	Sessions float64     `json:"sessions"`           // lately given, half of them forgotten a minute
	Override *OverrideOn `json:"override,omitempty"` // the operator's word, while it counts
}

// OverrideOn is the operator's word about a server.
type OverrideOn struct {
	State string     `json:"state"`
	Until *time.Time `json:"until,omitempty"` // absent: without end
}

// Location is one location.
type Location struct {
	Name     string    `json:"name"`
	Prefixes int       `json:"prefixes"`
	Farms    []string  `json:"farms"`
	Pathways []Pathway `json:"pathways,omitempty"` // of content steering, in the configured order
}

// Pathway is one pathway of a location.
type Pathway struct {
	ID        string            `json:"id"`
	Overrides []PathwayOverride `json:"overrides,omitempty"` // that hold for the location
}

// PathwayOverride is the operator's word about a pathway.
type PathwayOverride struct {
	Pathway  string     `json:"pathway"`
	Action   string     `json:"action"`
	Location string     `json:"location,omitempty"` // absent: all
	Channel  string     `json:"channel,omitempty"`  // absent: all
	Until    *time.Time `json:"until,omitempty"`    // absent: without end
}

// Steering is content steering's part.
type Steering struct {
	Path        string            `json:"path"`
	TTLSec      int               `json:"ttl_sec"`
	DegradedSec int               `json:"degraded_ttl_sec"`
	Overrides   []PathwayOverride `json:"overrides"`
}

// Decisions are those of the last minute, counted once a second.
type Decisions struct {
	Seconds int    `json:"seconds"` // how many seconds were counted, at most 60
	Total   uint64 `json:"total"`   // in them
	Rates   []Rate `json:"rates"`   // of the reasons that occurred, the most frequent first
}

// Rate is how often a reason was given.
type Rate struct {
	Reason    string   `json:"reason"`
	Total     uint64   `json:"total"`
	PerSecond []uint32 `json:"per_second"` // the newest last
}

// Refusals are the last decisions that sent a viewer to no server.
type Refusals struct {
	LeftOut uint64     `json:"left_out"` // that are not in the list though newer than its oldest: there were too many at once
	Last    []*Refusal `json:"last"`     // the newest first, at most 100
}

// Refusal is one decision that sent a viewer to no server. Addresses and target
// are as the log shows them. It never changes.
type Refusal struct {
	Time       time.Time    `json:"time"`
	Door       string       `json:"door"`
	Reason     string       `json:"reason"`
	Status     int          `json:"status"`
	Detail     string       `json:"detail"`
	Method     string       `json:"method"`
	Client     string       `json:"client"` // the viewer's address, as derived
	Peer       string       `json:"peer"`   // who connected
	Host       string       `json:"host"`
	Target     string       `json:"target"`
	UserAgent  string       `json:"ua"`
	Location   string       `json:"location,omitempty"`
	Channel    string       `json:"channel,omitempty"`
	Fallback   bool         `json:"fallback,omitempty"` // answered with the location's fallback_url
	WaitedMS   int64        `json:"waited_ms,omitempty"`
	Candidates []RefusedWhy `json:"candidates,omitempty"` // the first servers that were judged
}

// RefusedWhy is why one server did not serve.
type RefusedWhy struct {
	Server string `json:"server"`
	Why    string `json:"why"`
}

// Coverage is what is known of the recordings of a channel.
type Coverage struct {
	Version  int              `json:"version"`
	Channel  string           `json:"channel"`
	Channels []string         `json:"channels"` // that have recordings; with a channel asked for, those of a like name alone
	From     int64            `json:"from"`     // of all servers' recordings, unix milliseconds
	To       int64            `json:"to"`
	Servers  []CoverageServer `json:"servers"`
}

// CoverageServer is what one server told of a channel's recordings.
type CoverageServer struct {
	Name    string        `json:"name"`
	Source  string        `json:"source"` // api: all there is; playlist: of the windows that were asked for
	Told    time.Time     `json:"told"`
	AgeSec  float64       `json:"age_sec"`
	HeldSec int64         `json:"held_sec"`
	Ranges  []farms.Range `json:"ranges"`
	Gaps    []farms.Range `json:"gaps"`              // between From and To of all servers
	Dropped int           `json:"dropped,omitempty"` // ranges that are not listed: the oldest of too many
}
