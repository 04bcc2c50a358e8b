package redirector

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Alarm is a code of the closed set of alarms.
type Alarm uint8

// The alarms. Their codes are an interface: append, never rename.
const (
	AlarmObserverIsolated Alarm = iota // all servers stopped answering at once: it may be us
	AlarmConfigRefused                 // the newest configuration was refused, the one before is in force
	AlarmOnlyGuarded                   // viewers are sent to servers that answer 401 or 403 to our probes
	AlarmOnlyFrozen                    // viewers are sent to playlists that no longer move
	AlarmStateDir                      // state_dir cannot be written or read
	alarmCount
)

var alarmCodes = [alarmCount]string{"observer_isolated", "config_refused", "only_guarded", "only_frozen", "state_dir"}

// String returns the alarm's code.
func (a Alarm) String() string { return alarmCodes[a] }

// alarmQuiet is how long an alarm that decisions raise must not have been
// raised again before it is cleared.
const alarmQuiet = time.Minute

// Alarms are the alarms that are on. An alarm is one log line when it comes on,
// one when it goes, and a gauge.
type Alarms struct {
	log   zerolog.Logger
	gauge func(code string, on bool)

	mu sync.Mutex
	on [alarmCount]alarmState
}

type alarmState struct {
	since, last time.Time
	detail      string
	passing     bool // clears by itself when it is not raised again
}

// NewAlarms makes a set with no alarm on. gauge is called with every change.
func NewAlarms(log zerolog.Logger, gauge func(code string, on bool)) *Alarms {
	for _, code := range alarmCodes {
		gauge(code, false)
	}
	return &Alarms{log: log, gauge: gauge}
}

// Raise switches an alarm on until it is cleared. Raising it again changes only
// what it says.
func (a *Alarms) Raise(code Alarm, detail string) { a.raise(code, detail, time.Now(), false) }

// Signal raises an alarm that goes by itself, a minute after the last signal
// (see [Alarms.Expire]).
func (a *Alarms) Signal(code Alarm, detail string, now time.Time) { a.raise(code, detail, now, true) }

func (a *Alarms) raise(code Alarm, detail string, now time.Time, passing bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &a.on[code]
	s.last = now
	if !s.since.IsZero() {
		if !passing {
			s.detail = detail // the newest word: another refused file has other errors
		}
		return
	}
	s.since, s.detail, s.passing = now, detail, passing
	a.gauge(code.String(), true)
	a.log.Warn().Str("alarm", code.String()).Str("detail", detail).Msg("alarm on")
}

// Clear switches an alarm off.
func (a *Alarms) Clear(code Alarm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clear(code, time.Now())
}

func (a *Alarms) clear(code Alarm, now time.Time) {
	s := &a.on[code]
	if s.since.IsZero() {
		return
	}
	a.gauge(code.String(), false)
	a.log.Info().Str("alarm", code.String()).Dur("lasted_ms", now.Sub(s.since)).Msg("alarm off")
	*s = alarmState{}
}

// Expire clears the signalled alarms that were not signalled again.
func (a *Alarms) Expire(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for code := range a.on {
		if s := &a.on[code]; s.passing && now.Sub(s.last) > alarmQuiet {
			a.clear(Alarm(code), now)
		}
	}
}

// AlarmOn is one alarm that is on, for /status.
type AlarmOn struct {
	Code   string    `json:"code"`
	Since  time.Time `json:"since"`
	Detail string    `json:"detail"`
}

// On lists the alarms that are on.
func (a *Alarms) On() []AlarmOn {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []AlarmOn{}
	for code := range a.on {
		if s := &a.on[code]; !s.since.IsZero() {
			out = append(out, AlarmOn{Alarm(code).String(), s.since, s.detail})
		}
	}
	return out
}
