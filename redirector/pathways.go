package redirector

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// maxPathwayOverrides bounds the overrides of pathways in force.
const maxPathwayOverrides = 1000

// The refusals of an override.
var (
	errUnknownPathway   = errors.New("there is no pathway of this id")
	errUnknownLocation  = errors.New("there is no location of this name")
	errManyOverrides    = fmt.Errorf("%d overrides of pathways are in force already; take some back", maxPathwayOverrides)
	errNoOverride       = errors.New("no override of this pathway is in force for this location and channel")
	errOverrideHasEnded = errors.New("until: is over already")
)

// SetPathway makes o the operator's word about a pathway for the viewers in
// scope. There is one word for each pathway and scope, and one pin for each
// scope: the newest. It holds at once and, where overrides are saved, over
// restarts.
func (e *Engine) SetPathway(scope farms.PathwayScope, o farms.PathwayOverride, now time.Time) error {
	v := e.view.Load()
	switch {
	case !v.pathways[o.Pathway]:
		return errUnknownPathway
	case scope.Location != "" && !slices.ContainsFunc(v.table.Locations, func(l *farms.Location) bool { return l.Name == scope.Location }):
		return errUnknownLocation
	case o.Ended(now):
		return errOverrideHasEnded
	}
	return e.changePathways(now, func(next farms.PathwayOverrides) error {
		list := slices.DeleteFunc(slices.Clone(next[scope]), func(old farms.PathwayOverride) bool {
			return old.Pathway == o.Pathway || o.Action == farms.PathwayPin && old.Action == farms.PathwayPin
		})
		next[scope] = append(list, o)
		n := 0
		for _, list := range next {
			n += len(list)
		}
		if n > maxPathwayOverrides {
			return errManyOverrides
		}
		return nil
	})
}

// ClearPathway takes the word about a pathway back.
func (e *Engine) ClearPathway(scope farms.PathwayScope, pathway string, now time.Time) error {
	return e.changePathways(now, func(next farms.PathwayOverrides) error {
		list := slices.DeleteFunc(slices.Clone(next[scope]), func(o farms.PathwayOverride) bool { return o.Pathway == pathway })
		if len(list) == len(next[scope]) {
			return errNoOverride
		}
		next[scope] = list
		return nil
	})
}

// changePathways replaces the overrides by a copy that change has changed and
// that is rid of those that have ended.
func (e *Engine) changePathways(now time.Time, change func(farms.PathwayOverrides) error) error {
	e.overrideMu.Lock()
	defer e.overrideMu.Unlock()
	next := maps.Clone(*e.pathways.Load())
	if err := change(next); err != nil {
		return err
	}
	for scope, list := range next {
		list = slices.DeleteFunc(slices.Clone(list), func(o farms.PathwayOverride) bool { return o.Ended(now) })
		if next[scope] = list; len(list) == 0 {
			delete(next, scope)
		}
	}
	e.pathways.Store(&next)
	e.live.Nudge()
	if e.savePathways == nil {
		return nil
	}
	if err := e.savePathways(next); err != nil {
		return notSavedError{err}
	}
	return nil
}

// notSavedError says that an override holds until the next start only.
type notSavedError struct{ err error }

func (e notSavedError) Error() string { return "it is in force, but not saved: " + e.err.Error() }
func (e notSavedError) Unwrap() error { return e.err }

// PathwayWord is an override of a pathway as it is sent, saved and listed.
type PathwayWord struct {
	Pathway  string    `json:"pathway"`
	Action   string    `json:"action"`             // pin, exclude or drain
	Location string    `json:"location,omitempty"` // "" all
	Channel  string    `json:"channel,omitempty"`  // "" all
	Until    *unixTime `json:"until,omitempty"`    // absent: without end
}

// maxOverrideChannel bounds the channel's name of an override, in bytes.
const maxOverrideChannel = 1024

func (p *PathwayWord) override() (farms.PathwayScope, farms.PathwayOverride, error) {
	scope := farms.PathwayScope{Location: p.Location, Channel: p.Channel}
	o := farms.PathwayOverride{Pathway: p.Pathway}
	action, ok := farms.ParsePathwayAction(p.Action)
	switch {
	case !ok:
		return scope, o, fmt.Errorf("action: %q is none, expected pin, exclude or drain", clip(p.Action, 40))
	case len(p.Channel) > maxOverrideChannel:
		return scope, o, fmt.Errorf("channel: is longer than %d bytes", maxOverrideChannel)
	}
	if o.Action = action; p.Until != nil {
		o.Until = p.Until.Time
	}
	return scope, o, nil
}

// words lists overrides in a fixed order.
func words(os farms.PathwayOverrides, now time.Time) []PathwayWord {
	out := []PathwayWord{}
	for scope, list := range os {
		for _, o := range list {
			if o.Ended(now) {
				continue
			}
			w := PathwayWord{Pathway: o.Pathway, Action: o.Action.String(), Location: scope.Location, Channel: scope.Channel}
			if !o.Until.IsZero() {
				w.Until = &unixTime{o.Until.UTC()}
			}
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b PathwayWord) int {
		return strings.Compare(a.Location+"\x00"+a.Channel+"\x00"+a.Pathway, b.Location+"\x00"+b.Channel+"\x00"+b.Pathway)
	})
	return out
}

// WritePathways writes overrides of pathways for [Engine.ReadPathways].
func WritePathways(w io.Writer, os farms.PathwayOverrides) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(words(os, time.Time{}))
}

// ReadPathways takes over saved overrides of pathways. Those that have ended are
// left out.
func (e *Engine) ReadPathways(r io.Reader, now time.Time) error {
	var in []PathwayWord
	if err := json.NewDecoder(io.LimitReader(r, 4<<20)).Decode(&in); err != nil {
		return fmt.Errorf("reading saved overrides of pathways: %w", err)
	}
	if len(in) > maxPathwayOverrides {
		return fmt.Errorf("reading saved overrides of pathways: there are %d, expected at most %d", len(in), maxPathwayOverrides)
	}
	next := farms.PathwayOverrides{}
	for i := range in {
		scope, o, err := in[i].override()
		if err != nil {
			return fmt.Errorf("reading saved overrides of pathways: entry %d: %w", i, err)
		}
		if !o.Ended(now) {
			next[scope] = append(next[scope], o)
		}
	}
	e.overrideMu.Lock()
	defer e.overrideMu.Unlock()
	e.pathways.Store(&next)
	return nil
}

// servePathways lists the overrides of pathways in force.
func (e *Engine) servePathways(rw http.ResponseWriter, _ *http.Request) {
	writeValue(rw, http.StatusOK, words(*e.pathways.Load(), time.Now()))
}

// servePathway sets or takes back the operator's word about a pathway.
func (e *Engine) servePathway(rw http.ResponseWriter, r *http.Request) {
	id, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/admin/pathways/"))
	if err != nil {
		writeError(rw, http.StatusBadRequest, "the pathway's id has a bad escape")
		return
	}
	if e.Table() == nil {
		writeError(rw, http.StatusServiceUnavailable, noTable)
		return
	}
	now := time.Now()
	word := PathwayWord{Pathway: id}
	if r.Method == http.MethodDelete {
		word.Location, word.Channel = r.URL.Query().Get("location"), r.URL.Query().Get("channel")
		e.finishPathway(rw, r, word, "taken back", e.ClearPathway(farms.PathwayScope{Location: word.Location, Channel: word.Channel}, id, now))
		return
	}
	var in PathwayWord
	if err := decodeBody(rw, r, &in, `{"action":"pin","location":"","channel":"","until":"2026-01-31T18:00:00Z"}`); err != nil {
		writeError(rw, http.StatusBadRequest, err.Error())
		return
	}
	if in.Pathway != "" && in.Pathway != id {
		writeError(rw, http.StatusBadRequest, "pathway: is not the one in the URL")
		return
	}
	in.Pathway = id
	scope, o, err := in.override()
	if err != nil {
		writeError(rw, http.StatusBadRequest, err.Error())
		return
	}
	e.finishPathway(rw, r, in, in.Action, e.SetPathway(scope, o, now))
}

func (e *Engine) finishPathway(rw http.ResponseWriter, r *http.Request, word PathwayWord, action string, err error) {
	var unsaved notSavedError
	switch {
	case errors.Is(err, errUnknownPathway):
		writeError(rw, http.StatusNotFound, "no farm or clone is a pathway with the id "+clip(word.Pathway, 100))
	case errors.Is(err, errNoOverride):
		writeError(rw, http.StatusNotFound, err.Error())
	case errors.Is(err, errUnknownLocation):
		writeError(rw, http.StatusBadRequest, "location: there is none named "+clip(word.Location, 100))
	case errors.As(err, &unsaved):
		e.alarms.Raise(AlarmStateDir, err.Error())
		writeError(rw, http.StatusInternalServerError, err.Error())
	case err != nil:
		writeError(rw, http.StatusBadRequest, err.Error())
	default:
		line := e.log.Info().Str("pathway", clip(word.Pathway, 100)).Str("action", action).Str("by", r.RemoteAddr)
		if word.Location != "" {
			line.Str("location", clip(word.Location, 100))
		}
		if word.Channel != "" {
			line.Str("channel", clip(word.Channel, 100))
		}
		if word.Until != nil {
			line.Time("until", word.Until.UTC())
		}
		line.Msg("operator steered a pathway")
		writeValue(rw, http.StatusOK, words(*e.pathways.Load(), time.Now()))
	}
}
