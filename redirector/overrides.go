package redirector

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// errUnknownServer says that no farm has a server of this name.
var errUnknownServer = errors.New("there is no server of this name")

// SetOverride makes o the operator's word about a server, or takes it back when
// o is nil. It holds at once and, where overrides are saved, over restarts.
func (e *Engine) SetOverride(name string, o *farms.Override) error {
	t := e.Table()
	known := false
	for _, s := range t.Servers {
		known = known || s.Name == name
	}
	if !known {
		return errUnknownServer
	}
	e.overrideMu.Lock()
	defer e.overrideMu.Unlock()
	next := maps.Clone(*e.overrides.Load())
	if o == nil {
		delete(next, name)
	} else {
		next[name] = *o
	}
	e.overrides.Store(&next)
	e.live.Nudge()
	if e.saveOverrides == nil {
		return nil
	}
	if err := e.saveOverrides(next); err != nil {
		return notSavedError{err}
	}
	return nil
}

// savedOverride is an override as it is written and sent.
type savedOverride struct {
	State string    `json:"state"`
	Until *unixTime `json:"until,omitempty"`
}

// unixTime is a time that JSON gives as RFC 3339 or as unix seconds.
type unixTime struct{ time.Time }

// UnmarshalJSON reads either form.
func (t *unixTime) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.Time)
	}
	var sec float64
	if err := json.Unmarshal(b, &sec); err != nil || !(sec >= 0 && sec < 1e11) {
		return errors.New("until: expected a time like \"2026-01-31T18:00:00Z\" or unix seconds")
	}
	t.Time = time.UnixMilli(int64(sec * 1000))
	return nil
}

func (s savedOverride) override() (farms.Override, error) {
	state, ok := farms.ParseState(s.State)
	if !ok {
		return farms.Override{}, fmt.Errorf("state: %q is none, expected enabled, draining or disabled", clip(s.State, 40))
	}
	o := farms.Override{State: state}
	if s.Until != nil {
		o.Until = s.Until.Time
	}
	return o, nil
}

// WriteOverrides writes overrides for [Engine.ReadOverrides].
func WriteOverrides(w io.Writer, os farms.Overrides) error {
	out := make(map[string]savedOverride, len(os))
	for name, o := range os {
		s := savedOverride{State: o.State.String()}
		if !o.Until.IsZero() {
			s.Until = &unixTime{o.Until.UTC()}
		}
		out[name] = s
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// ReadOverrides takes over saved overrides. Those that have ended are left out.
func (e *Engine) ReadOverrides(r io.Reader, now time.Time) error {
	var in map[string]savedOverride
	if err := json.NewDecoder(io.LimitReader(r, 4<<20)).Decode(&in); err != nil {
		return fmt.Errorf("reading saved overrides: %w", err)
	}
	next := farms.Overrides{}
	for name, s := range in {
		o, err := s.override()
		if err != nil {
			return fmt.Errorf("reading saved overrides: server %q: %w", name, err)
		}
		if !o.Ended(now) {
			next[name] = o
		}
	}
	e.overrideMu.Lock()
	defer e.overrideMu.Unlock()
	e.overrides.Store(&next)
	return nil
}
