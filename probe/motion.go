package probe

import "time"

// frozenAfter is how many target durations a live playlist may stand still:
// RFC 8216 §6.2.1 demands a change within 1.5, players give up at 3.5.
const frozenAfter = 3.5

// motion remembers how a live playlist moved.
type motion struct {
	signature uint64
	movedAt   time.Time // when the signature was last seen to change, or first seen
	sure      bool      // it was seen to move or carried a fresh time
}

// observe takes a playlist's signature at now. fresh says that the playlist
// itself proves it is live (its last segment ends about now). It returns the
// new memory and whether the playlist is frozen. An old time in the playlist
// alone condemns nothing: encoders' clocks are wrong.
func (m motion) observe(signature uint64, fresh bool, target time.Duration, now time.Time) (motion, bool) {
	switch {
	case m.movedAt.IsZero():
		return motion{signature, now, fresh}, false
	case m.signature != signature:
		return motion{signature, now, true}, false
	case fresh:
		return motion{signature, m.movedAt, true}, false
	}
	return m, now.Sub(m.movedAt) > time.Duration(frozenAfter*float64(target))
}
