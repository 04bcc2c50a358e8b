package redirector

import (
	"net/netip"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// Door is where a viewer knocked.
type Door uint8

// The doors.
const (
	DoorHTTP Door = iota
	DoorExplain
	DoorSteering
)

var doorNames = [...]string{"http", "explain", "steering"}

// String returns the door's word in log lines and metrics.
func (d Door) String() string { return doorNames[d] }

// Request is a viewer's request as the doors hand it over.
type Request struct {
	Door      Door
	Method    string
	RawTarget string // request target, byte for byte
	Host      string // Host header as sent
	UserAgent string
	Accept    []string // Accept headers as sent
	Viewer    clientip.Viewer
	Now       time.Time // the clock windows are read by, zero: the real one
	HasBody   bool      // a body is announced
	Expect    bool      // an Expect header is there
}

// Decision is the whole answer to a request, with all that explains it.
type Decision struct {
	Request    Request
	Time       time.Time
	Generation uint64
	Host       string // lower case, without port
	Location   *farms.Location
	Content    farms.Content
	Archive    archive.Request // what a dialect read in the URL
	Held       time.Duration   // of an archive window: how much the server holds
	Asked      time.Duration   // of how much
	Session    uint64

	Reason     farms.Reason
	Status     int
	Detail     string // a refusal in words
	RetryAfter int    // seconds, 0 none

	Farm      *farms.Farm
	Server    *farms.Server
	Why       farms.Why
	URL       string // the Location header
	Fallback  bool   // URL is the location's fallback_url
	Waited    time.Duration
	Pathways  []string // of a steering manifest: the ids in order; valid until the decision is logged
	TTL       int      // of a steering manifest, seconds
	Decorated bool     // answered with the server's manifest, decorated
}

// statusOf is the one table from reasons to HTTP status codes; retryOf to the
// seconds of Retry-After, where waiting helps.
var statusOf = [...]int{
	farms.ReasonOK:               302,
	farms.ReasonBadRequest:       400,
	farms.ReasonURITooLong:       414,
	farms.ReasonMethodNotAllowed: 405,
	farms.ReasonUnknownHost:      421,
	farms.ReasonUnknownPath:      404,
	farms.ReasonNoLocation:       403,
	farms.ReasonFarmDown:         503,
	farms.ReasonBusy:             503,
	farms.ReasonOffAir:           503,
	farms.ReasonContentMissing:   404,
	farms.ReasonPreflight:        204,
	farms.ReasonBadWindow:        400,
	farms.ReasonArchiveFuture:    404,
	farms.ReasonArchiveMissing:   404,
	farms.ReasonRetired:          410,
}

var retryOf = [...]int{
	farms.ReasonFarmDown:       5,
	farms.ReasonBusy:           2,
	farms.ReasonOffAir:         3,
	farms.ReasonPreflight:      0,
	farms.ReasonArchiveMissing: 0,
	farms.ReasonRetired:        0,
}

// details says each refusal in words; a decision may be more exact.
var details = [...]string{
	farms.ReasonMethodNotAllowed: "only GET, HEAD and OPTIONS are answered here",
	farms.ReasonUnknownHost:      "this host name is not served here",
	farms.ReasonUnknownPath:      "this path is not served here",
	farms.ReasonNoLocation:       "no location is configured for this address and path",
	farms.ReasonFarmDown:         "no server that may have this content answers now",
	farms.ReasonBusy:             "too many questions about new content at once",
	farms.ReasonOffAir:           "the channel is off air",
	farms.ReasonContentMissing:   "no server has this content",
	farms.ReasonPreflight:        "",
	farms.ReasonBadWindow:        "the archive window is not one",
	farms.ReasonArchiveFuture:    "the archive window begins in the future",
	farms.ReasonArchiveMissing:   "no server holds any of this archive window",
	farms.ReasonRetired:          "steering for this channel is over for ever",
}

func (d *Decision) refuse(r farms.Reason, detail string) {
	d.Reason, d.Status, d.RetryAfter = r, statusOf[r], retryOf[r]
	if detail == "" {
		detail = details[r]
	}
	d.Detail = detail
}

// reachOf is the address family of a viewer.
func reachOf(a netip.Addr) farms.Reach {
	if a.Is4() {
		return farms.ReachV4
	}
	return farms.ReachV6
}
