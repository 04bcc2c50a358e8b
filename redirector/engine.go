package redirector

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/status"
	"github.com/pointsman-tv/pointsman/steering"
)

// The bounds of what is remembered of viewers: half a million sessions, and the
// comings and goings of 65,536 viewers of multivariant playlists.
const (
	sessionBits  = 19
	evidenceBits = 16
)

// sessionMemory is how long a session counts as being on a server that drains.
const sessionMemory = 4 * time.Hour

// maxWaiting bounds the decisions that wait for answers at one time.
const maxWaiting = 20_000

// Engine decides and answers. It is safe for concurrent use.
type Engine struct {
	prober    Prober
	log       zerolog.Logger // operation
	decisions zerolog.Logger // one line per decision
	metrics   *Metrics
	alarms    *Alarms

	view       atomic.Pointer[view]
	overrides  atomic.Pointer[farms.Overrides]
	pathways   atomic.Pointer[farms.PathwayOverrides]
	fetcher    Fetcher // nil: nothing is decorated
	fetches    singleflight.Group
	decorating atomic.Int64 // fetches under way
	sessions   *memory
	evidence   *memory
	sense      *sense
	waiting    atomic.Int64
	draining   atomic.Bool // readiness is off: we are going down
	start      time.Time
	clock      logClock
	floods     []flood // by reason
	works      sync.Pool

	recent   recent   // what /status shows of the last minute
	refusals refusals // and of viewers that were sent to no server
	config   atomic.Pointer[configState]
	live     *status.Live

	overrideMu    sync.Mutex // one change of the overrides at a time
	saveOverrides func(farms.Overrides) error
	savePathways  func(farms.PathwayOverrides) error
}

// view is what one request reads of the configuration: a table with its
// settings and what was resolved for both at load.
type view struct {
	table    *farms.Table
	set      *Settings
	channel  channelRule
	redact   secretNames
	sampled  string // see sampleText
	loads    map[farms.ServerID]*load
	counters *tableCounters
	served   []zerolog.Logger                // see servedLines
	steered  []zerolog.Logger                // the same for steering manifests, nil when there are none
	pathways map[string]bool                 // ids, those of clones included
	feedback *steering.Feedback              // nil: off
	sticky   time.Duration                   // how long after its last request a session keeps its server under first_response
	bounded  bool                            // some farm has a bounded load
	zone     *time.Location                  // of all farms, nil the dialects' default
	zones    map[*farms.Location][]zoneGroup // instead, when they are in different ones
}

// Options are what an [Engine] works with; all but the last three are needed.
type Options struct {
	Prober    Prober
	Log       zerolog.Logger
	Decisions zerolog.Logger
	Metrics   *Metrics
	Alarms    *Alarms
	// SaveOverrides keeps the operator's overrides over restarts; may be nil.
	SaveOverrides func(farms.Overrides) error
	// Fetcher fetches the manifests that steering.decorate needs; may be nil.
	Fetcher Fetcher
	// SavePathways does so for the overrides of pathways; may be nil.
	SavePathways func(farms.PathwayOverrides) error
}

// New makes an engine without a table: it answers nothing until [Engine.Swap].
func New(opt Options) *Engine {
	now := time.Now()
	e := &Engine{
		prober: opt.Prober, log: opt.Log, decisions: opt.Decisions, metrics: opt.Metrics, alarms: opt.Alarms,
		sessions: newMemory(sessionBits, now), evidence: newMemory(evidenceBits, now), sense: newSense(), start: now,
		saveOverrides: opt.SaveOverrides, savePathways: opt.SavePathways, fetcher: opt.Fetcher,
	}
	e.floods = make([]flood, len(statusOf))
	e.works.New = func() any { return new(work) }
	e.live = status.NewLive(e.Status)
	e.overrides.Store(&farms.Overrides{})
	e.pathways.Store(&farms.PathwayOverrides{})
	return e
}

// Swap makes t with set the configuration in force. Requests under way finish
// with the one they began with.
func (e *Engine) Swap(t *farms.Table, set *Settings) {
	old := e.view.Load()
	v := &view{
		table: t, set: set, channel: newChannelRule(set.ChannelRegex, set.ChannelGroup),
		redact: newSecretNames(set.Redact), sampled: sampleText(set.LogSample), loads: make(map[farms.ServerID]*load, len(t.Servers)),
	}
	for _, s := range t.Servers {
		l := &load{}
		if old != nil && old.loads[s.ID] != nil {
			l = old.loads[s.ID]
		}
		v.loads[s.ID] = l
	}
	for _, f := range t.Farms {
		v.bounded = v.bounded || f.BoundedLoad > 0
	}
	v.sticky = t.Rules.Sticky
	v.pathways = make(map[string]bool, len(t.Pathways))
	for _, p := range t.Pathways {
		v.pathways[p.ID] = true
	}
	if st := set.Steering; st != nil {
		for i := range st.Clones {
			v.pathways[st.Clones[i].ID] = true
		}
		if st.Feedback.LowBPS > 0 {
			if old != nil {
				v.feedback = old.feedback
			}
			if v.feedback == nil {
				v.feedback = steering.NewFeedback(1<<sessionBits, e.start)
			}
		}
		if v.sticky > 0 {
			// A session polls once a TTL: redirects and manifests name the same
			// server in between.
			v.sticky = max(v.sticky, 2*st.TTL.TTL)
		}
	}
	v.zone, v.zones = zonesOf(t, set.Zones)
	v.counters = e.metrics.resolve(t)
	v.served = servedLines(e.decisions, t, DoorHTTP, statusOf[farms.ReasonOK])
	if set.Steering != nil {
		v.steered = servedLines(e.decisions, t, DoorSteering, http.StatusOK)
	}
	e.view.Store(v)
	e.sense.follow(set)
	if old != nil {
		e.metrics.forget(old.table, t)
	}
}

// Table returns the table in force, nil before the first [Engine.Swap].
func (e *Engine) Table() *farms.Table {
	if v := e.view.Load(); v != nil {
		return v.table
	}
	return nil
}

// Ready tells whether viewers are answered well: a table is there, the first
// status sweep is done, and we are not going down.
func (e *Engine) Ready() bool {
	if e.view.Load() == nil || e.draining.Load() {
		return false
	}
	select {
	case <-e.prober.Ready():
		return true
	default:
		return false
	}
}

// Drain switches readiness off for good, before a shutdown.
func (e *Engine) Drain() { e.draining.Store(true) }

// now returns the tick of the loads' clock.
func (e *Engine) tick(now time.Time) uint32 { return uint32(now.Sub(e.start) / loadTick) }
