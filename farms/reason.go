package farms

// Reason says why an answer is what it is. It is used as a metric label, a log
// field, the `reason` of a refusal and the word in `explain`; the strings are
// an interface: append, never rename.
type Reason uint8

// The reasons.
const (
	ReasonOK               Reason = iota // redirected to a server that has it
	ReasonBadRequest                     // the request itself is not acceptable
	ReasonURITooLong                     // path or query over its bound
	ReasonMethodNotAllowed               // not GET, HEAD or OPTIONS
	ReasonUnknownHost                    // core.hosts is set and Host is not among them
	ReasonUnknownPath                    // outside redirection.uri_path
	ReasonNoLocation                     // no location holds this viewer and path
	ReasonFarmDown                       // a server that might have it could not be asked
	ReasonBusy                           // the question budget was spent
	ReasonOffAir                         // seen lately, nobody has it now
	ReasonContentMissing                 // everybody asked said no
	ReasonPreflight                      // an OPTIONS request, answered as such
	ReasonBadWindow                      // the archive window is empty, inverted or unreadable
	ReasonArchiveFuture                  // the archive window begins in the future
	ReasonArchiveMissing                 // nobody holds any of the archive window
	ReasonRetired                        // steering for this channel is over for ever
)

var reasonNames = [...]string{
	"ok", "bad_request", "uri_too_long", "method_not_allowed", "unknown_host", "unknown_path",
	"no_location", "farm_down", "busy", "off_air", "content_missing", "preflight",
	"bad_window", "archive_future", "archive_missing", "retired",
}

// String returns the reason's word.
func (r Reason) String() string { return nameOf(reasonNames[:], uint8(r)) }

// Reasons lists every reason, for documentation and for resolving metric
// counters once.
func Reasons() []Reason {
	all := make([]Reason, len(reasonNames))
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// Why says why a candidate was or was not chosen. The strings are an interface:
// append, never rename.
type Why uint8

// The whys.
const (
	WhyChosen     Why = iota // the policy chose it
	WhyKept                  // the session was here before and stays
	WhyNotPicked             // as good, the policy preferred another
	WhyNotNeeded             // its farm comes after one that served, or it was not worth asking
	WhyDisabled              // switched off by the operator
	WhyDraining              // takes no new sessions
	WhyDown                  // its status probes fail
	WhyScheme                // an https viewer needs https, it has none
	WhyFamily                // not reachable in the viewer's address family
	WhyAbsent                // it said it does not have the content
	WhyEnded                 // its playlist or recording has ended, that of another server goes on
	WhyGuarded               // it answered 401 or 403: it may have the content
	WhyStale                 // it had the content and cannot be asked now
	WhyTrouble               // it was asked and did not give a usable answer
	WhyUnanswered            // it has not answered yet
	WhyFrozen                // its live playlist no longer moves
	WhyWarming               // came back lately, takes its share step by step
	WhyOverBound             // over its bounded load
	WhyLastResort            // only when nobody else is left
	WhyAvoided               // this viewer came back from it twice
	WhyHoldsLess             // another holds more of the archive window
	WhyExcluded              // its pathway was excluded by the operator
	WhySetAside              // another pathway was pinned by the operator, or its own is drained
	WhySlow                  // its pathway gave this session too little throughput
)

var whyNames = [...]string{
	"chosen", "kept", "not_picked", "not_needed", "disabled", "draining", "down", "scheme", "family",
	"absent", "ended", "guarded", "stale", "trouble", "unanswered", "frozen", "warming", "over_bound",
	"last_resort", "avoided", "holds_less", "excluded", "set_aside", "slow",
}

// String returns the why's word.
func (w Why) String() string { return nameOf(whyNames[:], uint8(w)) }

// Whys lists every why, for documentation.
func Whys() []Why {
	all := make([]Why, len(whyNames))
	for i := range all {
		all[i] = Why(i)
	}
	return all
}
