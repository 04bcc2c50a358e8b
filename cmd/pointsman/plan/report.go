package plan

// Report is what [Run] found. Its JSON form is an interface for programs: append,
// never rename. Numbers of viewers are those of the replay.
type Report struct {
	Source     string         `json:"source"`     // where the viewers come from, in words; for the caller to fill in
	Population int            `json:"population"` // viewers there were
	Viewers    int            `json:"viewers"`    // viewers replayed: all, or an even sample
	Refused    map[string]int `json:"refused"`    // viewers refused while nothing fails, by reason
	Fallback   int            `json:"fallback"`   // of them sent to their location's fallback_url
	Farms      []Farm         `json:"farms"`
	Servers    []Server       `json:"servers"`
	Failures   []Failure      `json:"failures"`
	Against    *Against       `json:"against,omitempty"`
	Warnings   []string       `json:"warnings"`
}

// Farm is one farm while nothing fails.
type Farm struct {
	Name    string  `json:"name"`
	Policy  string  `json:"policy"`
	Regular int     `json:"regular"` // N: servers that take viewers when all is well
	Viewers int     `json:"viewers"`
	Share   float64 `json:"share"` // of all viewers, 0 to 1
}

// Server is one server while nothing fails.
type Server struct {
	Name    string   `json:"name"`
	Farms   []string `json:"farms"`
	Site    string   `json:"site"`  // tags.site, "" none
	State   string   `json:"state"` // of the configuration
	Viewers int      `json:"viewers"`
	Share   float64  `json:"share"` // of the viewers that a server was found for, 0 to 1
	Logged  *float64 `json:"logged,omitempty"`
	// Room is the multiple of its normal load that it is to have room for: 1 +
	// 1/(N−1) in a farm of N servers; 0: nothing is expected of it.
	Room float64 `json:"room"`
}

// The kinds of [Failure].
const (
	FailServer = "server"
	FailFarm   = "farm"
	FailSite   = "site"
)

// Failure is what happens when a server, a farm or a site fails.
type Failure struct {
	Kind      string   `json:"kind"`
	Name      string   `json:"name"`
	Servers   []string `json:"servers"`    // that fail; those behind the same address fail with them
	Hit       int      `json:"hit"`        // viewers who were on them
	OtherFarm int      `json:"other_farm"` // of those: found a place in another farm
	Refused   int      `json:"refused"`    // of those: nobody is left for them
	Fallback  int      `json:"fallback"`   // of the refused: sent to their location's fallback_url
	Survivors int      `json:"survivors"`  // servers that carry more than before
	Over      int      `json:"over"`       // of those: more than they are to have room for
	Gains     []Gain   `json:"gains"`      // the survivors, the hardest hit first, at most [MaxGains]
}

// MaxGains bounds [Failure.Gains].
const MaxGains = 50

// Gain is what a survivor carries.
type Gain struct {
	Server string  `json:"server"`
	Before int     `json:"before"`
	After  int     `json:"after"`
	Factor float64 `json:"factor"` // After/Before, 0 when it was idle
	Room   float64 `json:"room"`   // as of its [Server]
	Over   bool    `json:"over"`   // carries more than that
}

// Against is what another configuration does to the same viewers.
type Against struct {
	Name      string          `json:"name"` // of the other configuration; for the caller to fill in
	Moved     int             `json:"moved"`
	Share     float64         `json:"share"`  // of all viewers, 0 to 1
	Lost      int             `json:"lost"`   // of the moved: were served, are refused
	Gained    int             `json:"gained"` // of the moved: were refused, are served
	Why       []Cause         `json:"why"`    // the most frequent first
	Locations []LocationMove  `json:"locations"`
	Farms     []Move          `json:"farms"`   // from farm to farm, those within one included
	Moves     []Move          `json:"moves"`   // from server to server, the greatest first, at most [MaxMoves]
	Other     int             `json:"other"`   // viewers moved between servers not in Moves
	Servers   []ServerOutlook `json:"servers"` // of both configurations
	Warnings  []string        `json:"warnings"`
}

// MaxMoves bounds [Against.Moves] and [Against.Farms].
const MaxMoves = 200

// Cause is why viewers move.
type Cause struct {
	Why     string `json:"why"`
	Viewers int    `json:"viewers"`
}

// LocationMove is how many viewers of a location move.
type LocationMove struct {
	Location string  `json:"location"` // before; "" those who had none
	Viewers  int     `json:"viewers"`
	Moved    int     `json:"moved"`
	Share    float64 `json:"share"` // of them, 0 to 1
}

// Move is how many viewers move between two servers, or two farms. Nobody's name
// is empty: they were or are refused.
type Move struct {
	FromFarm   string `json:"from_farm"`
	FromServer string `json:"from_server,omitempty"`
	ToFarm     string `json:"to_farm"`
	ToServer   string `json:"to_server,omitempty"`
	Why        string `json:"why,omitempty"` // empty between farms
	Viewers    int    `json:"viewers"`
}

// ServerOutlook is one server's share before and after, as of viewers who all
// come anew.
type ServerOutlook struct {
	Server string  `json:"server"`
	Before float64 `json:"before"` // 0 to 1
	After  float64 `json:"after"`
}
