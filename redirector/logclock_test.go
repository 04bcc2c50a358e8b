package redirector

import (
	"testing"
	"time"
)

// TestLogClock holds that times are written as TimeFormat has them, whatever was
// written before.
func TestLogClock(t *testing.T) {
	t.Parallel()
	var c logClock
	start := time.Date(2026, 12, 31, 23, 59, 58, 997_999_999, time.FixedZone("", 3600))
	for i := range 4000 {
		at := start.Add(time.Duration(i) * 777 * time.Microsecond)
		if got, want := string(c.append(nil, at)), at.UTC().Format(TimeFormat); got != want {
			t.Fatalf("%s, expected %s", got, want)
		}
	}
}
