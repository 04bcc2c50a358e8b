package steering

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

const (
	// FeedbackLife is how long a session that reports nothing is remembered: longer
	// than two polls at the longest TTL that is usual.
	FeedbackLife = 130 * time.Minute
	// feedbackWays is the number of places a session may have; of a full set the
	// one that reported longest ago goes.
	feedbackWays = 8
	// feedbackLocks is how many locks the sets share.
	feedbackLocks = 64
	// feedbackTick is the unit of the times kept: 32 bits of them are eight years.
	feedbackTick = time.Second / 16
	// maxBackoff bounds how often a demotion is doubled: 16 dwell times, 16 minutes
	// at the default.
	maxBackoff = 3
)

// FeedbackRules are when throughput reports set a pathway aside.
type FeedbackRules struct {
	LowBPS int64         // less is low, in bits per second; 0 switches feedback off
	Polls  int           // so many low reports in a row, 1 to 255
	Dwell  time.Duration // so long a session stays on a pathway it came to before we send it away again
}

// Feedback is what players' throughput reports taught: for each session the one
// pathway that should not be first for it now. It is bounded and safe for
// concurrent use.
//
// A pathway is set aside after a number of low reports in a row about it. A report
// equal to the last is no new one: players repeat their estimate while they load
// nothing, and hls.js while it flees a dead pathway. What the player reports
// counts, never the order it was given: its own penalties go before ours.
//
// A demotion ends by itself. Whether the pathway is then first again is decided as
// for every other, by our own probes: nobody is sent to try a dead one. When a
// viewer's own line is slow every pathway is; so one pathway is set aside at a
// time, each time for twice as long, and a good report takes one doubling back.
// The order that a session gets therefore changes at most once in Polls polls and,
// but for the first change, once in a dwell time.
//
// Unlike the redirector's session memory, what is kept is counted up from poll to
// poll, which writers that race would lose: sets of eight sessions share 64 locks.
type Feedback struct {
	start time.Time // times are kept as ticks since
	sets  []feedbackSet
	locks [feedbackLocks]paddedLock
}

// paddedLock fills a cache line, so that two locks do not share one.
type paddedLock struct {
	sync.Mutex
	_ [56]byte
}

// feedbackSet holds sessions that share a hash, the last reporter first.
type feedbackSet [feedbackWays]heard

// heard is what one session said and what follows from it, in 32 bytes.
type heard struct {
	demoted  uint64 // hash of the pathway set aside, 0 none
	key      uint32 // the session, folded; 0 nobody
	seen     uint32 // when it reported last
	since    uint32 // when it last changed its pathway or was told to
	reported uint32 // the pathway in use, folded
	sample   uint32 // the last throughput, folded; 0 none yet
	lows     uint8  // low reports in a row about the pathway in use
	rest     uint8  // polls before the demotion may end
	backoff  uint8  // a demotion lasts 2^(1+backoff) dwell times and as many Polls
	moved    bool   // since is known: a session that has never changed owes no dwell time
}

// NewFeedback makes a memory of 32 bytes for each of at most sessions, rounded up
// to a multiple of 8, and 4 KiB of locks. Sessions are spread over sets of eight by
// hash, so that a few are forgotten before the memory is full. The start is a time
// before the first report; times are measured from it, monotonic when it is.
func NewFeedback(sessions int, start time.Time) *Feedback {
	n := (max(sessions, 1) + feedbackWays - 1) / feedbackWays
	return &Feedback{start: start, sets: make([]feedbackSet, n)}
}

// Observe takes in one poll: the hash of the pathway that the player reports to
// be on (as farms.PathwayHash makes it; 0 none or an unknown one, which teaches
// nothing) and the throughput there in bits per second (0 unknown, which is no
// sample but a poll).
func (f *Feedback) Observe(session, pathway uint64, bps int64, now time.Time, rules FeedbackRules) {
	if pathway == 0 || rules.LowBPS <= 0 {
		return
	}
	at := f.ticks(now)
	set, lock, key := f.place(session)
	lock.Lock()
	defer lock.Unlock()
	set.claim(key, at).hear(pathway, bps, at, rules)
}

// Demoted returns the hash of the pathway that should not be first for a session
// now. The answer changes with polls only ([Feedback.Observe]), so that redirects
// and manifests between two polls agree. When it ends the pathway takes its place
// again among those that our probes find well, and stays behind them while it is
// not.
func (f *Feedback) Demoted(session uint64, now time.Time) (pathway uint64, ok bool) {
	at := f.ticks(now)
	set, lock, key := f.place(session)
	lock.Lock()
	defer lock.Unlock()
	if h := set.find(key, at); h != nil {
		pathway = h.demoted
	}
	return pathway, pathway != 0
}

// ticks returns t as ticks since the start.
func (f *Feedback) ticks(t time.Time) uint32 {
	return uint32(min(max(t.Sub(f.start)/feedbackTick, 0), math.MaxUint32))
}

// place returns where a session is kept. The set comes from the high bits of a
// mix of its hash and the key from all of them.
func (f *Feedback) place(session uint64) (set *feedbackSet, lock *paddedLock, key uint32) {
	h := session * 0x9e3779b97f4a7c15
	i, _ := bits.Mul64(h, uint64(len(f.sets)))
	return &f.sets[i], &f.locks[i%feedbackLocks], max(uint32(h^h>>32), 1)
}

// find returns a session that reported within [FeedbackLife], nil when there is
// none.
func (s *feedbackSet) find(key, at uint32) *heard {
	for i := range s {
		if h := &s[i]; h.key == key {
			if at > h.seen && time.Duration(at-h.seen)*feedbackTick > FeedbackLife {
				return nil
			}
			return h
		}
	}
	return nil
}

// claim puts a session at the front of its set, in the place of the last when it
// is new.
func (s *feedbackSet) claim(key, at uint32) *heard {
	i := 0
	for i < len(s)-1 && s[i].key != key {
		i++
	}
	h := heard{key: key}
	if known := s.find(key, at); known != nil {
		h = *known
	}
	copy(s[1:i+1], s[:i])
	s[0] = h
	return &s[0]
}

// hear takes in one poll and draws the conclusion.
func (h *heard) hear(pathway uint64, bps int64, at uint32, rules FeedbackRules) {
	at = max(at, h.seen) // two polls at once may come in the wrong order
	h.seen = at
	h.rest -= min(1, h.rest)
	if p := fold(pathway); p != h.reported {
		if h.reported != 0 {
			h.since, h.moved = at, true
		}
		h.reported, h.lows = p, 0
	}
	if s := fold(uint64(bps)); bps > 0 && s != h.sample {
		h.sample = s
		h.weigh(bps < rules.LowBPS)
	}
	polls := min(max(rules.Polls, 1), 255)
	stayed := time.Duration(at-h.since) * feedbackTick
	switch {
	case h.demoted == 0 && int(h.lows) >= polls && (!h.moved || stayed >= rules.Dwell):
		h.demoted = pathway
		h.since, h.moved, h.lows = at, true, 0
		h.rest = uint8(min(polls<<(1+h.backoff), 255))
	case h.demoted != 0 && h.rest == 0 && stayed>>(1+h.backoff) >= rules.Dwell:
		h.demoted = 0
		h.since, h.moved, h.lows = at, true, 0
		h.backoff = min(h.backoff+1, maxBackoff)
	}
}

// weigh counts a new sample.
func (h *heard) weigh(low bool) {
	switch {
	case low:
		h.lows += min(1, 255-h.lows)
	case h.demoted == 0:
		h.lows = 0
		h.backoff -= min(1, h.backoff)
	default:
		h.lows = 0
	}
}

// fold makes 32 bits of 64, never 0.
func fold(x uint64) uint32 { return max(uint32(x*0x9e3779b97f4a7c15>>32), 1) }
