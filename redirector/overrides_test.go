package redirector

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

func TestOverrideHoldsAtOnce(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "weight a=10 b=5")
		s.knows("a", farms.Present, nil)
		s.knows("b", farms.Present, nil)
		set := func(o *farms.Override) {
			t.Helper()
			if err := s.e.SetOverride("a", o); err != nil {
				t.Fatal(err)
			}
		}
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
		set(&farms.Override{State: farms.StateDraining})
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)                  // he is there already
		s.wants(s.visits(visit{addr: "192.0.2.9"}), "b", farms.ReasonOK, 0) // he is new
		set(&farms.Override{State: farms.StateDisabled, Until: time.Now().Add(5 * time.Second)})
		s.wants(s.visits(visit{}), "b", farms.ReasonOK, 0)
		<-time.After(5 * time.Second)
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0) // it has ended
		set(&farms.Override{State: farms.StateDisabled})
		s.wants(s.visits(visit{}), "b", farms.ReasonOK, 0)
		set(nil)
		s.wants(s.visits(visit{}), "a", farms.ReasonOK, 0)
		if err := s.e.SetOverride("nobody", nil); !errors.Is(err, errUnknownServer) {
			t.Errorf("a server that no farm has: %v", err)
		}
	})
}

func TestOverrideIsSaved(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight a b")
	var saved farms.Overrides
	fail := false
	s.e.saveOverrides = func(os farms.Overrides) error {
		if fail {
			return errors.New("no space left")
		}
		saved = maps.Clone(os)
		return nil
	}
	o := farms.Override{State: farms.StateDisabled}
	if err := s.e.SetOverride("a", &o); err != nil || saved["a"] != o {
		t.Errorf("saved %v, %v", saved, err)
	}
	fail = true
	err := s.e.SetOverride("b", &o)
	if err == nil || !strings.Contains(err.Error(), "in force, but not saved: no space left") {
		t.Errorf("what cannot be saved: %v", err)
	}
	if (*s.e.overrides.Load())["b"] != o {
		t.Error("what cannot be saved is not in force either")
	}
}

func TestOverridesComeBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := farms.Overrides{
		"a":        {State: farms.StateDraining, Until: now.Add(time.Hour)},
		"b":        {State: farms.StateDisabled},
		"c/d é\"x": {State: farms.StateEnabled, Until: now.Add(time.Minute)},
		"drained":  {State: farms.StateDraining, Until: now.Add(-time.Hour)}, // stays out until the operator says else
	}
	over := maps.Clone(in)
	over["over"] = farms.Override{State: farms.StateDisabled, Until: now.Add(-time.Second)}
	var b bytes.Buffer
	if err := WriteOverrides(&b, over); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, "weight a")
	if err := s.e.ReadOverrides(&b, now); err != nil {
		t.Fatal(err)
	}
	if got := *s.e.overrides.Load(); !maps.EqualFunc(got, in, func(x, y farms.Override) bool { return x.State == y.State && x.Until.Equal(y.Until) }) {
		t.Errorf("came back as %v, want %v", got, in)
	}
}

func TestSavedOverridesOfAllForms(t *testing.T) {
	t.Parallel()
	s := newStage(t, "weight a")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct{ name, in, want, err string }{
		{"empty", `{}`, "", ""},
		{"rfc_3339", `{"a":{"state":"draining","until":"2026-03-01T14:00:00+02:00"}}`, "draining 2026-03-01T12:00:00Z", ""},
		{"unix_seconds", `{"a":{"state":"draining","until":1772366400.5}}`, "draining 2026-03-01T12:00:00.5Z", ""},
		{"null", `{"a":{"state":"disabled","until":null}}`, "disabled 0001-01-01T00:00:00Z", ""},
		{"word", `{"a":{"state":"draining","until":"soon"}}`, "", "soon"},
		{"negative", `{"a":{"state":"draining","until":-1}}`, "", "until: expected a time"},
		{"too_large", `{"a":{"state":"draining","until":1e300}}`, "", "until: expected a time"},
		{"milliseconds", `{"a":{"state":"draining","until":1772366400000}}`, "", "until: expected a time"},
		{"unknown_state", `{"a":{"state":"gone"}}`, "", `server "a": state: "gone" is none, expected enabled, draining or disabled`},
		{"no_state", `{"a":{}}`, "", "expected enabled, draining or disabled"},
		{"torn", `{"a":{"state":"dra`, "", "unexpected EOF"},
		{"nothing", ``, "", "EOF"},
		{"other_type", `[]`, "", "cannot unmarshal"},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := farms.Overrides{"a": {State: farms.StateEnabled}}
			s.e.overrides.Store(&before)
			err := s.e.ReadOverrides(strings.NewReader(row.in), now)
			got := *s.e.overrides.Load()
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) || !strings.HasPrefix(err.Error(), "reading saved overrides: ") {
					t.Errorf("error %v, want one with %q", err, row.err)
				}
				if !maps.Equal(got, before) {
					t.Errorf("a bad file left %v", got)
				}
				return
			}
			text := ""
			if o, ok := got["a"]; ok {
				text = o.State.String() + " " + o.Until.UTC().Format(time.RFC3339Nano)
			}
			if err != nil || text != row.want {
				t.Errorf("read %q, %v; want %q", text, err, row.want)
			}
		})
	}
}
