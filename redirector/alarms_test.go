package redirector

import (
	"bytes"
	"encoding/json"
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
		if on := b.On(); len(on) != 1 || on[0] != (AlarmOn{"state_dir", start, "no space left"}) || !b.gauges["state_dir"] {
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
	b.Signal(AlarmOnlyGuarded, "all say 403", start)
	b.Signal(AlarmOnlyGuarded, "all say 403", start.Add(50*time.Second))
	b.Expire(start.Add(110 * time.Second))
	if len(b.On()) != 1 {
		t.Error("it went a minute after the first signal, not after the last")
	}
	b.Expire(start.Add(111 * time.Second))
	if len(b.On()) > 0 {
		t.Error("it is on a minute after the last signal")
	}
	wantList(t, "log", b.lines(t), "alarm on only_guarded all say 403", "alarm off only_guarded")
	b.Signal(AlarmOnlyGuarded, "again", start.Add(200*time.Second))
	wantList(t, "log", b.lines(t), "alarm on only_guarded again")
}

// TestAlarmOfDecisions: the two alarms that a viewer's decision raises, with his
// bytes bounded.
func TestAlarmOfDecisions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		edit func(*farms.Fact)
		p    farms.Presence
		want string
	}{
		{"guarded", nil, farms.Guarded, "only_guarded"},
		{"frozen", func(f *farms.Fact) { f.Frozen = true }, farms.Present, "only_frozen"},
		{"good", nil, farms.Present, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := newStage(t, "weight a")
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
	if got := bounded(strings.Repeat("x", 5000)); len(got) > 200 {
		t.Errorf("%d bytes of a viewer's path in an alarm", len(got))
	}
}

// TestAlarmCodes: they are an interface. Append, never rename.
func TestAlarmCodes(t *testing.T) {
	t.Parallel()
	want := []string{"observer_isolated", "config_refused", "only_guarded", "only_frozen", "state_dir"}
	if !slices.Equal(alarmCodes[:len(want)], want) {
		t.Errorf("the codes are %v; they begin with %v", alarmCodes, want)
	}
}
