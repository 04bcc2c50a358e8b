package archive

import (
	"testing"
	"time"
)

func TestLocalTimes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, zone, text, want string }{
		{"winter", "Europe/Berlin", "2026-01-15T12:00:00", "2026-01-15T11:00:00Z"},
		{"summer", "Europe/Berlin", "2026-07-15T12:00:00", "2026-07-15T10:00:00Z"},
		{"twice_is_the_earlier", "Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00Z"},
		{"before_twice", "Europe/Berlin", "2026-10-25T01:59:59", "2026-10-24T23:59:59Z"},
		{"first_of_twice", "Europe/Berlin", "2026-10-25T02:00:00", "2026-10-25T00:00:00Z"},
		{"last_of_twice", "Europe/Berlin", "2026-10-25T02:59:59", "2026-10-25T00:59:59Z"},
		{"after_twice", "Europe/Berlin", "2026-10-25T03:00:00", "2026-10-25T02:00:00Z"},
		{"never_by_the_offset_before", "Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T01:30:00Z"},
		{"first_of_never", "Europe/Berlin", "2026-03-29T02:00:00", "2026-03-29T01:00:00Z"},
		{"last_of_never", "Europe/Berlin", "2026-03-29T02:59:59", "2026-03-29T01:59:59Z"},
		{"after_never", "Europe/Berlin", "2026-03-29T03:00:00", "2026-03-29T01:00:00Z"},
		{"west_twice", "America/New_York", "2026-11-01T01:30:00", "2026-11-01T05:30:00Z"},
		{"west_never", "America/New_York", "2026-03-08T02:30:00", "2026-03-08T07:30:00Z"},
		{"half_hour_twice", "Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-04T14:45:00Z"},
		{"half_hour_never", "Australia/Lord_Howe", "2026-10-04T02:15:00", "2026-10-03T15:45:00Z"},
		{"day_that_never_was", "Pacific/Apia", "2011-12-30T12:00:00", "2011-12-30T22:00:00Z"},
		{"fixed", "UTC", "2026-03-29T02:30:00", "2026-03-29T02:30:00Z"},
		{"southern", "America/Sao_Paulo", "2026-03-29T02:30:00", "2026-03-29T05:30:00Z"},
	} {
		m, ok := readCalendar(row.text, zone(t, row.zone))
		if got := m.at.Format(time.RFC3339); !ok || got != row.want || !m.local {
			t.Errorf("%s: %s in %s is %s, want %s", row.name, row.text, row.zone, got, row.want)
		}
	}
}

// TestXtreamThroughTheYear asks across both changes of clocks as a viewer would.
func TestXtreamThroughTheYear(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-10-25:02-30": "2026-10-25T00:30:00Z",
		"2026-03-29:02-30": "2026-03-29T01:30:00Z",
	} {
		r, v := p.Parse("/timeshift/u/p/60/"+text+"/1.ts", "", now, zone(t, "Europe/Berlin"))
		if got := r.Window.Start.Format(time.RFC3339); v.Outcome != OK || got != want || r.Window.End.Sub(r.Window.Start) != time.Hour {
			t.Errorf("%s: %v %v, want %s", text, r.Window, v, want)
		}
	}
}

func TestCalendarForms(t *testing.T) {
	t.Parallel()
	moscow := zone(t, "Europe/Moscow")
	for text, want := range map[string]string{
		"2025-12-31T01:00:00":             "2025-12-30T22:00:00Z",
		"2025-12-31 01:00:00":             "2025-12-30T22:00:00Z",
		"2025-12-31T01:00":                "2025-12-30T22:00:00Z",
		"20251231T010000":                 "2025-12-30T22:00:00Z",
		"20251231010000":                  "2025-12-30T22:00:00Z",
		"20251230220000GMT":               "2025-12-30T22:00:00Z",
		"20251230T220000Z":                "2025-12-30T22:00:00Z",
		"2025-12-30T22:00:00Z":            "2025-12-30T22:00:00Z",
		"2025-12-30T22:00:00z":            "2025-12-30T22:00:00Z",
		"2025-12-31T03:30:00+05:30":       "2025-12-30T22:00:00Z",
		"2025-12-30T17:00:00-0500":        "2025-12-30T22:00:00Z",
		"2025-12-31T00:00:00+02":          "2025-12-30T22:00:00Z",
		"2025-12-31T00:00:00 02:00":       "2025-12-30T22:00:00Z", // a plus that a form decoder ate
		"2025-12-30T22:00:00.123456789Z":  "2025-12-30T22:00:00.123456789Z",
		"2025-12-30T22:00:00.1234567891Z": "2025-12-30T22:00:00.123456789Z",
		"2025-12-31:01-00":                "2025-12-30T22:00:00Z",
		"2025-12-31-01:00:00":             "2025-12-30T22:00:00Z",
		"":                                "",
		"2025":                            "",
		"2025-12":                         "",
		"2025-12-31":                      "",
		"2025-12-31T":                     "",
		"2025-12-31T01":                   "",
		"2025-13-01T00:00:00":             "",
		"2025-00-01T00:00:00":             "",
		"2025-02-29T00:00:00":             "",
		"2024-02-29T00:00:00Z":            "2024-02-29T00:00:00Z",
		"2025-12-31T24:00:00":             "",
		"2025-12-31T23:60:00":             "",
		"2025-12-31T23:59:60":             "",
		"2025-12-31T01:00:00.":            "",
		"2025-12-31T01:00:00X":            "",
		"2025-12-31T01:00:00+":            "",
		"2025-12-31T01:00:00+5":           "",
		"2025-12-31T01:00:00+16:00":       "",
		"2025-12-31T01:00:00+00:60":       "",
		"2025-12-31T01:0000":              "",
		"2025-1231T010000":                "",
		"1969-12-31T23:59:59Z":            "",
		"9999-12-31T23:59:59Z":            "9999-12-31T23:59:59Z",
	} {
		m, ok := readCalendar(text, moscow)
		got := ""
		if ok {
			got = m.at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if !ok {
			continue
		}
		again, ok := readCalendar(string(appendMoment(nil, m.at, m.spelling)), moscow)
		if !ok || !again.at.Equal(m.at) {
			t.Errorf("%q is written %q again", text, appendMoment(nil, m.at, m.spelling))
		}
	}
}
