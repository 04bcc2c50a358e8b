package playlist

import (
	"hash/fnv"
	"math"
	"testing"
	"time"
)

func TestParseISODuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := []struct {
		text string
		want time.Duration
	}{
		{"PT0S", 0},
		{"PT2S", 2 * time.Second},
		{"PT1H2M3.5S", time.Hour + 2*time.Minute + 3500*time.Millisecond},
		{"P1DT12H", 36 * time.Hour},
		{"P1D", day},
		{"P0Y0M0DT0H3M30.000S", 210 * time.Second},
		{"P1Y2M", 425 * day},
		{"PT36000S", 10 * time.Hour},
		{"PT.5S", 500 * time.Millisecond},
		{"PT0.0000000019S", 1},
		{"PT9223372035.999999999S", 9223372035999999999},
	}
	for _, test := range tests {
		if got, ok := parseISODuration(test.text); !ok || got != test.want {
			t.Errorf("parseISODuration(%q) = %v %v, want %v", test.text, got, ok, test.want)
		}
	}
	for _, text := range []string{
		"", "P", "PT", "T1S", "P1", "P1S", "P1H", "PT1D", "PT1", "PTS", "P1DT", "PT1M1H", "PT1S1S", "PT1.5H", "-PT1S", "PT-1S", "PT+1S",
		"PTNaNS", "PTInfS", "PT1e3S", "PT1,5S", "pt1s", " PT1S", "PT1S ", "PT1ST", "PT1TS", "P1W", "PT9223372036S", "P999999Y",
		"P106751DT23H47M17S", "PT99999999999999999999S", "PT1.2.3S", "PT.S",
	} {
		if got, ok := parseISODuration(text); ok {
			t.Errorf("parseISODuration(%q) = %v, want it refused", text, got)
		}
	}
}

func TestParseSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "10": 10 * time.Second, "10.": 10 * time.Second, ".25": 250 * time.Millisecond, "9.009": 9009 * time.Millisecond,
		"0.1234567899": 123456789, "0004.5": 4500 * time.Millisecond,
	} {
		if got, ok := parseSeconds(text); !ok || got != want {
			t.Errorf("parseSeconds(%q) = %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".", "-1", "+1", "1e3", "0x1", "1_0", "NaN", "Inf", "1.2.3", " 1", "1.x", "9223372036", "99999999999999999999"} {
		if got, ok := parseSeconds(text); ok {
			t.Errorf("parseSeconds(%q) = %v, want it refused", text, got)
		}
	}
}

func TestUnitsToDuration(t *testing.T) {
	t.Parallel()
	tests := []struct {
		units, timescale uint64
		want             time.Duration
		ok               bool
	}{
		{90000, 90000, time.Second, true},
		{1, 3, 333333333, true},
		{17672256000000000, 10_000_000, 1767225600 * time.Second, true},
		{math.MaxUint64 - 1, math.MaxUint64, 999999999, true},
		{9223372035, 1, 9223372035 * time.Second, true},
		{9223372036, 1, 0, false},
		{1, 0, 0, false},
	}
	for _, test := range tests {
		if got, ok := unitsToDuration(test.units, test.timescale); got != test.want || ok != test.ok {
			t.Errorf("unitsToDuration(%d, %d) = %v %v, want %v %v", test.units, test.timescale, got, ok, test.want, test.ok)
		}
	}
}

func TestFingerprintIsFNV1a(t *testing.T) {
	t.Parallel()
	oracle := fnv.New64a()
	oracle.Write([]byte{5, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 'h', 'i'})
	if got, want := uint64(fingerprintStart.number(0x105).text([]byte("hi"))), oracle.Sum64(); got != want {
		t.Errorf("fingerprint = %#x, want %#x", got, want)
	}
}
