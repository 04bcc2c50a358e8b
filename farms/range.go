package farms

import (
	"math"
	"time"
)

// Range is a stretch of recorded time, in unix milliseconds; To is not part of
// it. It is empty unless From is before To.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Empty reports whether nothing is in r.
func (r Range) Empty() bool { return r.From >= r.To }

// Length returns how long r is; at most what a time.Duration holds, 292 years.
func (r Range) Length() time.Duration {
	switch milli := r.To - r.From; {
	case r.Empty():
		return 0
	case milli > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64
	default:
		return time.Duration(milli) * time.Millisecond
	}
}
