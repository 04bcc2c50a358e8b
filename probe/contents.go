package probe

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/pointsman-tv/pointsman/farms"
)

// The bounds of what is remembered. Content that some server has had is known;
// all other is a stranger. Both are bounded, and strangers push out only
// strangers.
const (
	maxKnown     = 1 << 16
	maxStrangers = 4096
)

// contents remembers what is known about each content. Reading takes no lock.
type contents struct {
	byContent *xsync.Map[farms.Content, *content]
	byChannel *xsync.Map[string, *content] // the manifest of a channel that was last seen
	children  *xsync.Map[string, *content] // media playlist path to its multivariant playlist

	mu        sync.Mutex
	known_    int
	strangers []*content // ring, by age
	next      int
}

// content is one content: the published view, and what the questions about it
// share.
type content struct {
	key  farms.Content
	view atomic.Pointer[farms.Known]
	used atomic.Int64 // unix nanoseconds of the last decision that read it

	mu       sync.Mutex
	asking   []farms.Endpoint
	waiters  []waiter // windows that wait for this channel's recordings
	motions  []endpointMotion
	known    bool      // some server has had it
	paid     time.Time // the bucket's token counts until then
	children []string
	gone     bool // no longer in the map
}

// waiter is a window's content that waits for the answer of one server to the
// question about all recordings of its channel.
type waiter struct {
	endpoint farms.Endpoint
	content  *content
}

// endpointMotion is the motion of one server's playlist.
type endpointMotion struct {
	endpoint farms.Endpoint
	motion   motion
}

func newContents() *contents {
	return &contents{
		byContent: xsync.NewMap[farms.Content, *content](),
		byChannel: xsync.NewMap[string, *content](),
		children:  xsync.NewMap[string, *content](),
		strangers: make([]*content, maxStrangers),
	}
}

// known returns the view of a content, nil when there is none.
func (cs *contents) known(key farms.Content) *farms.Known {
	var c *content
	if key.Kind == farms.KindChild {
		c, _ = cs.byChannel.Load(key.Channel)
	} else {
		c, _ = cs.byContent.Load(key)
	}
	if c == nil {
		return nil
	}
	return c.view.Load()
}

func (cs *contents) parent(path string) (string, bool) {
	c, ok := cs.children.Load(path)
	if !ok {
		return "", false
	}
	return c.key.Channel, true
}

// load returns the content's entry or nil.
func (cs *contents) load(key farms.Content) *content {
	c, _ := cs.byContent.Load(key)
	return c
}

// add returns the content's entry, made as a stranger when there is none.
func (cs *contents) add(key farms.Content) *content {
	fresh := &content{key: key}
	fresh.view.Store(&farms.Known{Changed: make(chan struct{})})
	c, loaded := cs.byContent.LoadOrStore(key, fresh)
	if loaded {
		return c
	}
	cs.mu.Lock()
	old := cs.strangers[cs.next]
	cs.strangers[cs.next] = c
	cs.next = (cs.next + 1) % len(cs.strangers)
	cs.mu.Unlock()
	if old != nil {
		cs.dropStranger(old)
	}
	return c
}

// dropStranger removes an entry that newer strangers push out, unless it has
// become known meanwhile.
func (cs *contents) dropStranger(c *content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known && !c.gone {
		c.gone = true
		cs.byContent.Delete(c.key)
		close(c.view.Load().Changed)
	}
}

// promote makes a stranger known. c.mu is held.
func (cs *contents) promote(c *content) {
	if c.known || c.gone {
		return
	}
	c.known = true
	cs.mu.Lock()
	cs.known_++
	full := cs.known_ > maxKnown
	cs.mu.Unlock()
	if full {
		go cs.evict(c)
	}
}

// evict removes the least recently used of a handful of known entries, never
// keep.
func (cs *contents) evict(keep *content) {
	const sample = 32
	var oldest *content
	skip := rand.IntN(maxKnown)
	seen := 0
	cs.byContent.Range(func(_ farms.Content, c *content) bool {
		if skip > 0 {
			skip--
			return true
		}
		if c == keep || !c.isKnown() {
			return true
		}
		seen++
		if oldest == nil || c.used.Load() < oldest.used.Load() {
			oldest = c
		}
		return seen < sample
	})
	if oldest != nil {
		cs.drop(oldest)
	}
}

func (c *content) isKnown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// drop removes an entry.
func (cs *contents) drop(c *content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	c.gone = true
	cs.byContent.Delete(c.key)
	cs.byChannel.Compute(c.key.Channel, func(old *content, _ bool) (*content, xsync.ComputeOp) {
		if old == c {
			return nil, xsync.DeleteOp
		}
		return old, xsync.CancelOp
	})
	cs.setChildren(c, nil)
	if c.known {
		cs.mu.Lock()
		cs.known_--
		cs.mu.Unlock()
	}
	close(c.view.Load().Changed)
}

// setChildren replaces the media playlists that lead back to c. c.mu is held.
func (cs *contents) setChildren(c *content, paths []string) {
	for _, p := range c.children {
		if slices.Contains(paths, p) {
			continue
		}
		cs.children.Compute(p, func(old *content, _ bool) (*content, xsync.ComputeOp) {
			if old == c {
				return nil, xsync.DeleteOp
			}
			return old, xsync.CancelOp
		})
	}
	for _, p := range paths {
		if p != c.key.Path {
			cs.children.Store(p, c)
		}
	}
	c.children = paths
}

// put publishes a view in which f is the newest word of its endpoint. c.mu is
// held.
func (c *content) put(f farms.Fact) {
	old := c.view.Load()
	i, found := slices.BinarySearchFunc(old.Facts, f.Endpoint, func(x farms.Fact, ep farms.Endpoint) int { return cmp.Compare(x.Endpoint, ep) })
	facts := make([]farms.Fact, 0, len(old.Facts)+1)
	facts = append(append(facts, old.Facts[:i]...), f)
	if found {
		i++
	}
	facts = append(facts, old.Facts[i:]...)
	c.publish(facts)
}

// publish replaces the view and wakes those who wait for a newer one. c.mu is
// held.
func (c *content) publish(facts []farms.Fact) {
	if c.gone {
		return // its Changed is closed: whoever waits looks again
	}
	old := c.view.Swap(&farms.Known{Facts: facts, Changed: make(chan struct{})})
	close(old.Changed)
}

// motionOf returns the memory of one server's playlist. c.mu is held.
func (c *content) motionOf(ep farms.Endpoint) *motion {
	for i := range c.motions {
		if c.motions[i].endpoint == ep {
			return &c.motions[i].motion
		}
	}
	c.motions = append(c.motions, endpointMotion{endpoint: ep})
	return &c.motions[len(c.motions)-1].motion
}

// sweep removes what nobody will miss: strangers and known content that was not
// asked for within idle, and the facts of endpoints that are gone.
func (cs *contents) sweep(now time.Time, idle time.Duration, alive func(farms.Endpoint) bool) {
	limit := now.Add(-idle).UnixNano()
	var dead []*content
	cs.byContent.Range(func(_ farms.Content, c *content) bool {
		if c.used.Load() < limit {
			dead = append(dead, c)
			return true
		}
		if facts := c.view.Load().Facts; slices.ContainsFunc(facts, func(f farms.Fact) bool { return !alive(f.Endpoint) }) {
			c.mu.Lock()
			c.publish(slices.DeleteFunc(slices.Clone(c.view.Load().Facts), func(f farms.Fact) bool { return !alive(f.Endpoint) }))
			c.motions = slices.DeleteFunc(c.motions, func(m endpointMotion) bool { return !alive(m.endpoint) })
			c.mu.Unlock()
		}
		return true
	})
	for _, c := range dead {
		cs.drop(c)
	}
	cs.mu.Lock()
	for i, c := range cs.strangers {
		if c != nil && c.used.Load() < limit {
			cs.strangers[i] = nil
		}
	}
	cs.mu.Unlock()
}

// sizes returns how many contents are known and how many there are in all.
func (cs *contents) sizes() (known, all int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.known_, cs.byContent.Size()
}
