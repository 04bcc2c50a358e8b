package redirector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
)

// alarmBook notes what alarms do to the log and the gauges.
type alarmBook struct {
	*Alarms
	log    bytes.Buffer
	gauges map[string]bool
}

func newAlarmBook() *alarmBook {
	b := &alarmBook{gauges: map[string]bool{}}
	b.Alarms = NewAlarms(zerolog.New(&b.log), func(code string, on bool) { b.gauges[code] = on })
	return b
}

// lines takes the log's messages so far.
func (b *alarmBook) lines(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(b.log.String()), "\n") {
		if line == "" {
			continue
		}
		var f struct{ Message, Alarm, Detail string }
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(f.Message+" "+f.Alarm+" "+f.Detail))
	}
	b.log.Reset()
	return out
}

func TestAlarmsStartOff(t *testing.T) {
	t.Parallel()
	b := newAlarmBook()
	if len(b.gauges) != int(alarmCount) {
		t.Errorf("gauges of %v, want all %d", b.gauges, alarmCount)
	}
	for code, on := range b.gauges {
		if on || code == "" {
			t.Errorf("alarm %q is on at the start: %v", code, on)
		}
	}
	if on := b.On(); on == nil || len(on) > 0 {
		t.Errorf("%v are on, want an empty list (not null)", on)
	}
}

func TestAlarmRaiseAndClear(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		b := newAlarmBook()
		start := time.Now()
		b.Clear(AlarmStateDir)
		b.Raise(AlarmStateDir, "no space left")
		<-time.After(time.Second)
		b.Raise(AlarmStateDir, "no space left")
		wantList(t, "log", b.lines(t), "alarm on state_dir no space left")
		if on := b.On(); len(on) != 1 || on[0].Code != "state_dir" || !on[0].Since.Equal(start) || on[0].Detail != "no space left" || on[0].Severity != "warning" || !b.gauges["state_dir"] {
			t.Errorf("on: %v, gauge %v", on, b.gauges)
		}
		b.Expire(start.Add(time.Hour)) // it does not go by itself
		if len(b.On()) != 1 {
			t.Error("a raised alarm went by itself")
		}
		b.Clear(AlarmStateDir)
		b.Clear(AlarmStateDir)
		wantList(t, "log", b.lines(t), "alarm off state_dir")
		if len(b.On()) > 0 || b.gauges["state_dir"] {
			t.Error("a cleared alarm is on")
		}
	})
}

// TestSignalledAlarmGoesByItself: a minute after the last signal.
func TestSignalledAlarmGoesByItself(t *testing.T) {
	t.Parallel()
	b := newAlarmBook()
	start := time.Now()
	b.Signal(AlarmOnlyGuarded, "", "all say 403", start)
	b.Signal(AlarmOnlyGuarded, "", "all say 403", start.Add(50*time.Second))
	b.Expire(start.Add(110 * time.Second))
	if len(b.On()) != 1 {
		t.Error("it went a minute after the first signal, not after the last")
	}
	b.Expire(start.Add(111 * time.Second))
	if len(b.On()) > 0 {
		t.Error("it is on a minute after the last signal")
	}
	wantList(t, "log", b.lines(t), "alarm on only_guarded all say 403", "alarm off only_guarded")
	b.Signal(AlarmOnlyGuarded, "", "again", start.Add(200*time.Second))
	wantList(t, "log", b.lines(t), "alarm on only_guarded again")
}

// TestSignalledAlarmNamesItsContents: the first few, and that there are more.
func TestSignalledAlarmNamesItsContents(t *testing.T) {
	t.Parallel()
	b := newAlarmBook()
	start := time.Now()
	for i := range 10 {
		for range 2 {
			b.Signal(AlarmOnlyFrozen, fmt.Sprintf("/ch%d", i), fmt.Sprintf("/ch%d stands still", i), start)
		}
	}
	want := "/ch0 stands still; the same holds for /ch1, /ch2, /ch3, /ch4 and others"
	if on := b.On(); len(on) != 1 || on[0].Detail != want {
		t.Errorf("%+v, want %q", on, want)
	}
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {0, false}, {999 * time.Millisecond, false}, {time.Second, true}, {1500 * time.Millisecond, false}} {
		if got := b.due(AlarmOnlyFrozen, start.Add(step.after)); got != step.want {
			t.Errorf("a signal after %v is due: %v", step.after, got)
		}
	}
}

// TestAssess: an alarm comes when its condition has held for long enough and goes
// when that has been gone for long enough.
func TestAssess(t *testing.T) {
	t.Parallel()
	b := newAlarmBook()
	b.SetTiming(AlarmTiming{RaiseAfter: 5 * time.Second, ClearAfter: 30 * time.Second})
	var told []string
	b.Tell(func(a AlarmOn) { told = append(told, fmt.Sprint(a.Code, " ", a.Subject, " ", a.Until.IsZero())) })
	start := time.Now()
	at := func(sec int, subjects ...string) {
		var found []Finding
		for _, s := range subjects {
			found = append(found, Finding{Subject: s, Detail: "refused"})
		}
		b.Assess(AlarmServerDown, found, start.Add(time.Duration(sec)*time.Second))
		b.Assess(AlarmFarmDown, nil, start.Add(time.Duration(sec)*time.Second))
	}
	for sec := range 5 {
		at(sec, "a", "b")
	}
	at(5, "a") // b was down for four seconds only
	wantList(t, "log", b.lines(t), "alarm on server_down refused")
	if on := b.On(); len(on) != 1 || on[0].Subject != "a" || !on[0].Since.Equal(start) || !b.gauges["server_down"] {
		t.Errorf("on: %+v", on)
	}
	for sec := 6; sec < 60; sec++ {
		at(sec, "b") // and a is up
	}
	wantList(t, "log", b.lines(t), "alarm on server_down refused", "alarm off server_down")
	for sec := 60; sec < 70; sec++ {
		at(sec)
	}
	at(70, "b") // down again, before it was up for long enough
	if on := b.On(); len(on) != 1 || on[0].Subject != "b" || !on[0].Since.Equal(start.Add(6*time.Second)) {
		t.Errorf("on: %+v", on)
	}
	at(99)
	at(100)
	wantList(t, "log", b.lines(t), "alarm off server_down")
	wantList(t, "told", told, "server_down a true", "server_down b true", "server_down a false", "server_down b false")
	if b.gauges["server_down"] || len(b.On()) > 0 || len(b.states) > 0 {
		t.Error("something is left")
	}
}

// TestAlarmsAreBounded: whatever there is of subjects and words.
func TestAlarmsAreBounded(t *testing.T) {
	t.Parallel()
	b := newAlarmBook()
	var found []Finding
	for i := range 2 * maxAlarms {
		found = append(found, Finding{Subject: fmt.Sprint(i), Detail: strings.Repeat("x", 10*maxDetail)})
	}
	b.Assess(AlarmServerDown, found, time.Now())
	on := b.On()
	if len(on) != maxAlarms || len(on[0].Detail) > maxDetail+3 {
		t.Errorf("%d alarms with %d bytes of words", len(on), len(on[0].Detail))
	}
}

// TestAlarmOfDecisions: the two alarms that a viewer's decision raises, with his
// bytes bounded.
func TestAlarmOfDecisions(t *testing.T) {
	t.Parallel()
	frozen := func(f *farms.Fact) { f.Frozen = true }
	for _, row := range []struct {
		name   string
		edit   func(*farms.Fact)
		p      farms.Presence
		refuse bool
		want   string
	}{
		{"guarded", nil, farms.Guarded, false, "only_guarded"},
		{"frozen", frozen, farms.Present, false, "only_frozen"},
		{"frozen_and_refused", frozen, farms.Present, true, "only_frozen"},
		{"good", nil, farms.Present, false, ""},
		{"gone", func(f *farms.Fact) { f.HeldAt = time.Now() }, farms.Absent, true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				spec := stageSpec(t, "weight a")
				spec.Rules.RefuseFrozen = row.refuse
				s := newStageOf(t, spec, nil)
				s.knows("a", row.p, row.edit)
				s.visits(visit{})
				var codes []string
				for _, a := range s.e.alarms.On() {
					codes = append(codes, a.Code)
				}
				if got := strings.Join(codes, " "); got != row.want {
					t.Errorf("alarms %q, want %q", got, row.want)
				}
			})
		})
	}
	if got := bounded(strings.Repeat("x", 5000), maxWords); len(got) > 200 {
		t.Errorf("%d bytes of a viewer's path in an alarm", len(got))
	}
}

// TestAlarmCodes: they are an interface. Append, never rename.
func TestAlarmCodes(t *testing.T) {
	t.Parallel()
	want := []string{
		"observer_isolated", "config_refused", "only_guarded", "only_frozen", "state_dir", "server_down", "farm_degraded", "farm_down",
		"config_too_old", "advice_trusted_proxies", "advice_session_key", "advice_probe_credentials",
	}
	if codes := AlarmCodes(); !slices.Equal(codes[:min(len(want), len(codes))], want) {
		t.Errorf("the codes are %v; they begin with %v", codes, want)
	}
}
