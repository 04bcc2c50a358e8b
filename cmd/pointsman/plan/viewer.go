package plan

import (
	"net/netip"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Viewer is one viewer of a population: the request with which he comes.
type Viewer struct {
	Addr      netip.Addr // unmapped and without zone
	Host      string     // as sent, may be empty
	Target    string     // request target
	UserAgent string
	Secure    bool      // he comes by https
	Time      time.Time // by which archive windows are read, zero: now

	Channel string // what he watches, "": what the configuration reads in Target
	Server  string // the name of the server that the log says he was sent to, "" unknown
}

// Place is what a configuration makes of a viewer before a server is chosen.
type Place struct {
	Location *farms.Location // nil: he is refused
	Reason   farms.Reason    // why he is refused
	Channel  string
	Session  uint64
	Reach    farms.Reach
}

// Side is a configuration to plan with.
type Side struct {
	Table *farms.Table
	// Place reads a viewer's request as the edge does. It is called by several
	// goroutines at once.
	Place func(*Viewer) Place
}

// Options of [Run].
type Options struct {
	// Viewers bounds the viewers that are kept; of a longer population an evenly
	// drawn sample is. At least 1.
	Viewers int
	// Workers is how many goroutines compute. At least 1; the report does not
	// depend on it.
	Workers int
	// Now is when the viewers come: a drain may have ended by then.
	Now time.Time
}
