package redirector

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// alarmQuiet is how long an alarm that decisions raise must not have been
// raised again before it is cleared.
const alarmQuiet = time.Minute

// The bounds of what is kept of alarms. Subjects are servers and farms of the
// table, so that a large operator who has lost everything stays below the first.
const (
	maxAlarms     = 4096
	maxAlarmNames = 5    // contents that one alarm names
	maxDetail     = 2000 // bytes
)

// AlarmTiming is the hysteresis of alarms about conditions that are looked at
// again and again.
type AlarmTiming struct {
	RaiseAfter time.Duration // a condition must hold so long
	ClearAfter time.Duration // and be gone so long
}

// Alarms are the alarms that are on. An alarm is one log line when it comes on,
// one when it goes, and a gauge for all subjects of its code.
type Alarms struct {
	log   zerolog.Logger
	gauge func(code string, on bool)

	signalled [alarmCount]atomic.Int64 // unix nanoseconds of the last signal of a decision

	mu     sync.Mutex
	timing AlarmTiming
	tell   func(AlarmOn) // may be nil
	states map[alarmKey]*alarmState
	on     [alarmCount]int // subjects
}

type alarmKey struct {
	code    Alarm
	subject string
}

type alarmState struct {
	AlarmOn
	on      bool      // else its condition has not held for long enough
	last    time.Time // when the condition was last seen
	passing bool      // clears by itself when it is not raised again
	names   []string  // of a signalled one: the contents it was signalled for
	more    bool      // and there were others
}

// NewAlarms makes a set with no alarm on. gauge is called with every change.
func NewAlarms(log zerolog.Logger, gauge func(code string, on bool)) *Alarms {
	for _, row := range alarmTable {
		gauge(row.code, false)
	}
	return &Alarms{log: log, gauge: gauge, states: map[alarmKey]*alarmState{}}
}

// Tell has f called with every alarm that comes on or goes, from now on. It must
// not wait and not call back.
func (a *Alarms) Tell(f func(AlarmOn)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell = f
}

// SetTiming sets the hysteresis.
func (a *Alarms) SetTiming(t AlarmTiming) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timing = t
}

// Raise switches an alarm without subject on until it is cleared. Raising it
// again changes only what it says.
func (a *Alarms) Raise(code Alarm, detail string) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state(alarmKey{code: code}, now)
	if s == nil {
		return
	}
	s.last, s.Detail = now, bounded(detail, maxDetail) // the newest word: another refused file has other errors
	a.switchOn(s)
}

// Clear switches an alarm without subject off.
func (a *Alarms) Clear(code Alarm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.states[alarmKey{code: code}]; s != nil {
		a.drop(s, time.Now())
	}
}

// Signal raises an alarm that goes by itself, a minute after the last signal
// (see [Alarms.Expire]). name is the content it is about, "" for none; the first
// few are kept.
func (a *Alarms) Signal(code Alarm, name, detail string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state(alarmKey{code: code}, now)
	if s == nil {
		return
	}
	s.last, s.passing = now, true
	if !s.on {
		s.Detail = bounded(detail, maxDetail)
	}
	switch {
	case name == "" || slices.Contains(s.names, name):
	case len(s.names) < maxAlarmNames:
		s.names = append(s.names, strings.Clone(name))
	default:
		s.more = true
	}
	a.switchOn(s)
}

// due tells whether a decision's signal is worth giving: a viewer does not wait
// for a lock that another one's signal has, nor write what was said this second.
func (a *Alarms) due(code Alarm, now time.Time) bool {
	last := &a.signalled[code]
	was := last.Load()
	return now.UnixNano()-was >= int64(time.Second) && last.CompareAndSwap(was, now.UnixNano())
}

// Expire clears the signalled alarms that were not signalled again.
func (a *Alarms) Expire(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sorted() {
		if s.passing && now.Sub(s.last) > alarmQuiet {
			a.drop(s, now)
		}
	}
}

// Finding is one subject that is in the condition of an alarm.
type Finding struct {
	Subject string
	Detail  string
	Config  string // of an advice
}

// Assess takes what was found, just now, to be in the condition of an alarm: these
// subjects and no other. A condition that has held for long enough raises the
// alarm, one that has been gone for long enough clears it.
func (a *Alarms) Assess(code Alarm, found []Finding, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range found {
		f := &found[i]
		s := a.state(alarmKey{code, f.Subject}, now)
		if s == nil {
			continue
		}
		s.last, s.Detail, s.Config = now, bounded(f.Detail, maxDetail), f.Config
		if now.Sub(s.Since) >= a.timing.RaiseAfter {
			a.switchOn(s)
		}
	}
	for _, s := range a.sorted() {
		switch {
		case s.alarm != code || s.last.Equal(now):
		case !s.on || now.Sub(s.last) >= a.timing.ClearAfter:
			a.drop(s, now)
		}
	}
}

// state returns the state of an alarm, made when there is none; nil when there
// are too many.
func (a *Alarms) state(k alarmKey, now time.Time) *alarmState {
	s := a.states[k]
	if s == nil && len(a.states) < maxAlarms {
		s = &alarmState{AlarmOn: AlarmOn{
			alarm: k.code, ID: fmt.Sprintf("%016x", rand.Uint64()), Code: k.code.String(), Subject: k.subject,
			Severity: k.code.Severity().String(), Since: now,
		}}
		a.states[k] = s
	}
	return s
}

func (a *Alarms) switchOn(s *alarmState) {
	if s.on {
		return
	}
	s.on = true
	if a.on[s.alarm]++; a.on[s.alarm] == 1 {
		a.gauge(s.Code, true)
	}
	s.line(a.log.WithLevel(s.level())).Str("detail", s.Detail).Msg("alarm on")
	if a.tell != nil {
		a.tell(s.AlarmOn)
	}
}

// drop forgets an alarm's state, and switches it off when it is on.
func (a *Alarms) drop(s *alarmState, now time.Time) {
	delete(a.states, alarmKey{s.alarm, s.Subject})
	if !s.on {
		return
	}
	if a.on[s.alarm]--; a.on[s.alarm] == 0 {
		a.gauge(s.Code, false)
	}
	s.line(a.log.Info()).Dur("lasted_ms", now.Sub(s.Since)).Msg("alarm off")
	if a.tell != nil {
		off := s.said()
		off.Until = now
		a.tell(off)
	}
}

// level is that of the line with which an alarm comes on.
func (s *alarmState) level() zerolog.Level {
	if s.alarm.Severity() == SeverityInfo {
		return zerolog.InfoLevel
	}
	return zerolog.WarnLevel
}

func (s *alarmState) line(ev *zerolog.Event) *zerolog.Event {
	ev.Str("alarm", s.Code).Str("severity", s.Severity)
	if s.Subject != "" {
		ev.Str("subject", s.Subject)
	}
	return ev
}

// said is the alarm with all that is known of it by now.
func (s *alarmState) said() AlarmOn {
	on := s.AlarmOn
	if len(s.names) > 1 {
		on.Detail += "; the same holds for " + strings.Join(s.names[1:], ", ")
		if s.more {
			on.Detail += " and others"
		}
	}
	return on
}

// AlarmOn is one alarm that is on, for /status.
type AlarmOn struct {
	Code     string    `json:"code"`
	Since    time.Time `json:"since"`
	Detail   string    `json:"detail"`
	Subject  string    `json:"subject"`          // a server's or farm's name, "" where the code says it all
	Severity string    `json:"severity"`         // info, warning, critical
	Config   string    `json:"config,omitempty"` // of an advice: what would mend it
	ID       string    `json:"id"`               // of this occurrence
	Until    time.Time `json:"-"`                // when it went: only where a change is told

	alarm Alarm
}

// Alarm returns what the alarm is.
func (a *AlarmOn) Alarm() Alarm { return a.alarm }

// On lists the alarms that are on, the worst first.
func (a *Alarms) On() []AlarmOn {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []AlarmOn{}
	for _, s := range a.sorted() {
		if s.on {
			out = append(out, s.said())
		}
	}
	return out
}

// isOn tells whether an alarm is on for any subject.
func (a *Alarms) isOn(code Alarm) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.on[code] > 0
}

// sorted lists the states, the worst first and in the same order every time.
func (a *Alarms) sorted() []*alarmState {
	out := make([]*alarmState, 0, len(a.states))
	for _, s := range a.states {
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y *alarmState) int {
		return cmp.Or(
			cmp.Compare(y.alarm.Severity(), x.alarm.Severity()),
			cmp.Compare(x.alarm, y.alarm), strings.Compare(x.Subject, y.Subject),
		)
	})
	return out
}
