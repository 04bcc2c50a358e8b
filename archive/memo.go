package archive

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
)

// The bounds of what is remembered: 4096 URLs (a power of two) of a kilobyte.
const (
	memoSize   = 4096
	maxMemoURL = 1024
)

// memo remembers what URLs ask for. Most viewers ask for the same few hundred
// playlists and programmes. What a URL says depends on its path, on those
// parameters of its query that dialects know (so a token makes no URL another
// one), and for a recording on the time: how, [remembered] says. A URL that falls
// on another's place takes it. It is safe for concurrent use.
type memo struct {
	places [memoSize]atomic.Pointer[remembered]
}

// remembered is a URL that was read, and how it reads at another time.
type remembered struct {
	path   string
	values []string // raw, of the parameters that count
	have   paramSet
	any    bool // the path says it all: no query makes it another

	raw     string         // the path as the viewer wrote it
	zone    *time.Location // in which it was read
	reading Reading

	made        int64 // Unix seconds, when it was read
	from, until int64 // the seconds at which it reads so, until not included
	moves       bool  // the start of its window moves with time
	grows       bool  // the end does
}

// place returns where a URL is remembered: have are the parameters that count.
func (m *memo) place(path string, q *query, have paramSet) *atomic.Pointer[remembered] {
	h := xxhash.Sum64String(path)
	for ; have != 0; have &= have - 1 {
		h = h*0x9e3779b97f4a7c15 ^ xxhash.Sum64String(q.rawValue(have.first()))
	}
	return &m.places[h&(memoSize-1)]
}

// get fills in what a URL says at a time, if that is remembered.
func (m *memo) get(out *Reading, raw, plain string, q *query, now time.Time, zone *time.Location) bool {
	r := m.place(plain, q, 0).Load()
	if r == nil || r.path != plain || r.have != 0 || !r.any && q.have != 0 {
		if q.have == 0 {
			return false
		}
		if r = m.place(plain, q, q.have).Load(); r == nil || !r.is(plain, q) {
			return false
		}
	}
	second := now.Unix()
	if second < r.from || second >= r.until || r.reading.Request.Local && r.zone != zone {
		return false
	}
	*out = r.reading
	if r.grows {
		delta := time.Duration(second-r.made) * time.Second
		out.Request.Window.move(delta, r.moves)
		out.Asked.move(delta, r.moves)
	}
	if raw != r.raw {
		out.Path, out.Query = r.reading.asked.Target(raw)
	}
	return true
}

// move lets time go by for a window that grows; its start moves too, or stays.
func (w *Window) move(delta time.Duration, start bool) {
	w.End = w.End.Add(delta)
	if start {
		w.Start = w.Start.Add(delta)
	}
}

// is reports whether r is what a URL says.
func (r *remembered) is(plain string, q *query) bool {
	if r.path != plain || r.have != q.have {
		return false
	}
	i := 0
	for have := q.have; have != 0; have &= have - 1 {
		if r.values[i] != q.rawValue(have.first()) {
			return false
		}
		i++
	}
	return true
}

// put remembers what a URL says, when it can be said at another time.
func (m *memo) put(reading *Reading, raw, plain string, q *query, now time.Time, zone *time.Location) {
	r := &remembered{path: plain, raw: raw, zone: zone, reading: *reading, made: now.Unix()}
	if !r.outlasts() {
		return
	}
	if r.any = !reading.Request.Window.IsZero() && sayAll(reading.Request.Dialect); !r.any {
		r.have = q.have
	}
	for have := r.have; have != 0; have &= have - 1 {
		r.values = append(r.values, q.rawValue(have.first()))
	}
	m.place(plain, q, r.have).Store(r)
}

// sayAll reports whether a built-in dialect reads a window from the path alone,
// and none that reads a query is tried before it.
func sayAll(name string) bool {
	for d := range dialectXtreamQuery {
		if dialects[d].name == name {
			return true
		}
	}
	return false
}

// outlasts finds out how a URL reads at other times. It is false when that is to
// be seen anew each time. Files are not remembered: most are segments, of which
// there is no end.
func (r *remembered) outlasts() bool {
	q := &r.reading.Request
	r.from, r.until = math.MinInt64, math.MaxInt64
	switch {
	case q.Bare:
		return false
	case q.Window.IsZero():
		return true
	case q.form == nil || q.form.endsAgo():
		return false
	}
	start, end := ceilSecond(q.Window.Start), ceilSecond(q.Window.End)
	ends := q.form.says(slotEnd) || q.form.says(slotLength)
	switch {
	case q.Kind == KindArchive && !q.Relative:
		// Its end on the grid is not moved beyond now, so it must be long past.
		r.from = end + int64(coarseStep/time.Second)
	case start >= r.made: // it begins now, or was moved to now within the slack
		return false
	case !ends:
		r.grows, r.moves = true, q.Relative
		if r.from = r.made; !q.Relative {
			r.until = start + int64(longest/time.Second)
		}
	case q.Kind == KindEvent && !q.Relative:
		r.from, r.until = start, end // then it is an archive
	default:
		return false
	}
	return r.from <= r.made && r.made < r.until
}

func ceilSecond(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
