package redirector

import (
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/pointsman-tv/pointsman/farms"
)

// A viewer who comes back for the same multivariant playlist is evidence that
// the server he was given does not play for him. The second request within
// returnSoon has the server checked; the third within returnThrice, where
// moving is configured, gets the next server for movedFor.
const (
	returnSoon   = 30 * time.Second
	returnThrice = time.Minute
	movedFor     = 5 * time.Minute
)

func hashString(s string) uint64 { return xxhash.Sum64String(s) }

// evidenceNote is what is remembered of one viewer and one playlist: the server
// he was given last and when he came the last two times; or, once moved, that
// the server is to be avoided and since when.
type evidenceNote struct {
	key    uint64 // 0: no note is taken
	server farms.ServerID
	count  uint64    // requests so far, at most twice; movedCount: moved away from server
	since  time.Time // of the request before the last one; once moved, when that was
	last   time.Time
}

const (
	twice      = 2
	movedCount = 1<<8 - 1 // marks a note as "avoid server"
)

// The second word of a note holds the count in its low byte and above it, as
// milliseconds from the engine's start, the time since.

func (e *Engine) noteOf(key uint64, now time.Time) evidenceNote {
	n := evidenceNote{key: key}
	id, word, at, ok := e.evidence.get(key)
	if !ok {
		return n
	}
	since := e.start.Add(time.Duration(word>>8) * time.Millisecond)
	if moved := word&0xff == movedCount; moved && now.Sub(since) > movedFor || !moved && now.Sub(at) > returnThrice {
		return n
	}
	n.server, n.count, n.since, n.last = farms.ServerID(id), word&0xff, since, at
	return n
}

// avoid returns the server this request should not get.
func (n *evidenceNote) avoid(mode ReturnEvidence, now time.Time) farms.ServerID {
	if mode != EvidenceMove {
		return 0
	}
	if n.count == movedCount || n.count == twice && now.Sub(n.since) <= returnThrice {
		return n.server
	}
	return 0
}

// takeEvidence notes this request and, on a quick return, has the server
// checked that the viewer was given before. Only a multivariant playlist is
// evidence: media playlists are reloaded all the time.
func (e *Engine) takeEvidence(w *work, v *view) {
	n := &w.evidence
	f := w.chosen.Chosen.Fact
	if n.key == 0 || f == nil || !f.Multivariant {
		return
	}
	d := &w.decision
	now := d.Time
	if n.count > 0 && now.Sub(n.last) <= returnSoon {
		given := n.server
		if n.count == movedCount {
			given = w.query.Prior // the note's server is the one he left
		}
		if s := v.table.Server(given); s != nil {
			e.prober.Check(d.Content, s)
		}
	}
	switch {
	case n.count == movedCount:
		e.putNote(n.key, n.server, movedCount, n.since, now)
	case w.query.Avoid != 0 && w.query.Avoid != d.Server.ID:
		e.putNote(n.key, w.query.Avoid, movedCount, now, now)
	case n.count == 0:
		e.putNote(n.key, d.Server.ID, 1, now, now)
	default:
		e.putNote(n.key, d.Server.ID, twice, n.last, now)
	}
}

func (e *Engine) putNote(key uint64, server farms.ServerID, count uint64, since, now time.Time) {
	e.evidence.put(key, uint64(server), uint64(since.Sub(e.start).Milliseconds())<<8|count, now)
}
