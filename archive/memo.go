package archive

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// memoSize is how many live URLs are remembered; a power of two.
const memoSize = 2048

// memo remembers what live URLs ask for. Most viewers ask for the same few
// hundred playlists, and what a live path says depends on nothing else: not on
// the time, and on the query only where that has a parameter that dialects know.
// A path that falls on another's place takes it. It is safe for concurrent use.
type memo struct {
	places [memoSize]atomic.Pointer[remembered]
}

type remembered struct {
	path    string
	request Request
}

func (m *memo) place(path string) *atomic.Pointer[remembered] {
	return &m.places[xxhash.Sum64String(path)&(memoSize-1)]
}

func (m *memo) get(path string) (Request, bool) {
	if r := m.place(path).Load(); r != nil && r.path == path {
		return r.request, true
	}
	return Request{}, false
}

// put remembers r, when it is one that depends on nothing but its path.
func (m *memo) put(path string, r Request) {
	if r.Kind == KindLive && r.form == nil && r.Window.IsZero() && !r.Local && !r.Bare {
		m.place(path).Store(&remembered{path, r})
	}
}
