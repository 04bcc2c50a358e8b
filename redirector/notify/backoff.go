package notify

import "time"

// The pauses between attempts: half a second to a second after the first, twice
// as long after each further one, up to a minute.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// backoff returns the pause after so many failures in a row. Half of it is by
// chance, so that many instances do not fall upon a receiver that comes back.
func backoff(failures int, random float64) time.Duration {
	d := maxPause
	if failures <= 6 {
		d = min(maxPause, firstPause<<(failures-1))
	}
	return d/2 + time.Duration(random*float64(d/2))
}
