package probe

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// savedVersion is the version of the saved form.
const savedVersion = 1

// savedHead is the first line of the saved form; one savedContent a line
// follows.
type savedHead struct {
	Version int   `json:"pointsman_facts"`
	Saved   int64 `json:"saved"` // unix milliseconds
}

type savedContent struct {
	Channel  string      `json:"channel"`
	Path     string      `json:"path"`
	Protocol uint8       `json:"protocol"`
	Children []string    `json:"children,omitempty"` // paths of the media playlists that lead back to it
	Facts    []savedFact `json:"facts,omitempty"`

	// Of recordings, instead of a path and facts.
	Stream    string       `json:"stream,omitempty"`
	Container string       `json:"container,omitempty"`
	Recorded  *savedRanges `json:"recorded,omitempty"`
}

// savedRanges is all that a server's interface told of a channel's recordings:
// one line for each server, so that a line stays within its bound.
type savedRanges struct {
	Endpoint string     `json:"ep"`  // hexadecimal
	At       int64      `json:"at"`  // unix milliseconds
	Segment  int64      `json:"seg"` // milliseconds
	Ended    bool       `json:"ended,omitempty"`
	Ranges   [][2]int64 `json:"ranges"` // unix milliseconds
}

type savedFact struct {
	Endpoint     string `json:"ep"` // hexadecimal
	Presence     string `json:"is"`
	Kind         uint8  `json:"kind,omitempty"`
	Multivariant bool   `json:"mv,omitempty"`
	Held         int64  `json:"held,omitempty"`  // unix milliseconds
	Moved        int64  `json:"moved,omitempty"` // unix milliseconds
	Signature    string `json:"sig,omitempty"`   // hexadecimal
}

// Save writes the known contents and their facts, so that a restart begins
// with them.
func (b *Board) Save(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	err := enc.Encode(savedHead{savedVersion, time.Now().UnixMilli()})
	b.contents.byContent.Range(func(_ farms.Content, c *content) bool {
		if err != nil {
			return false
		}
		if isWide(c.key) {
			for _, s := range c.savedWide() {
				err = errors.Join(err, enc.Encode(s))
			}
		} else if s, ok := c.saved(); ok {
			err = enc.Encode(s)
		}
		return true
	})
	return errors.Join(err, out.Flush())
}

func (c *content) saved() (savedContent, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known || c.gone || c.key.Kind.Windowed() { // a window's playlist is soon asked again
		return savedContent{}, false
	}
	out := savedContent{Channel: c.key.Channel, Path: c.key.Path, Protocol: uint8(c.key.Protocol), Children: c.children}
	for _, f := range c.view.Load().Facts {
		if f.HeldAt.IsZero() && f.Presence != farms.Guarded {
			continue
		}
		s := savedFact{
			Endpoint: strconv.FormatUint(uint64(f.Endpoint), 16), Presence: f.Presence.String(),
			Kind: uint8(f.Kind), Multivariant: f.Multivariant, Held: milli(f.HeldAt), Moved: milli(f.MovedAt),
		}
		if i := slices.IndexFunc(c.motions, func(m endpointMotion) bool { return m.endpoint == f.Endpoint }); i >= 0 {
			s.Signature = strconv.FormatUint(c.motions[i].motion.signature, 16)
		}
		out.Facts = append(out.Facts, s)
	}
	return out, len(out.Facts) > 0
}

// maxSavedRanges bounds the ranges of one server that are saved. A recording in
// more pieces is asked for again after a restart: a part of them would be taken
// for all there is.
const maxSavedRanges = 1024

// maxSavedServers bounds the servers that a saved recording may be of, and
// maxSavedTotal the ranges of all: the file is read whole before anybody is
// served.
const (
	maxSavedServers = 1024
	maxSavedTotal   = 1 << 20
)

func (c *content) savedWide() []savedContent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known || c.gone {
		return nil
	}
	var out []savedContent
	for _, f := range c.view.Load().Facts {
		if f.Presence != farms.Present && f.Presence != farms.Trouble || len(f.Ranges) == 0 || len(f.Ranges) > maxSavedRanges {
			continue
		}
		s := savedRanges{
			Endpoint: strconv.FormatUint(uint64(f.Endpoint), 16), At: milli(f.HeldAt), Segment: f.Segment.Milliseconds(), Ended: f.Ended,
		}
		for _, r := range f.Ranges {
			s.Ranges = append(s.Ranges, [2]int64{r.From, r.To})
		}
		out = append(out, savedContent{Channel: c.key.Channel, Stream: c.key.Stream, Container: c.key.Container, Recorded: &s})
	}
	return out
}

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// maxSavedLine bounds one line of the saved form.
const maxSavedLine = 1 << 20

// Load takes over what [Board.Save] wrote. It must be called before
// [Board.Start]. Lines that make no sense are left out and counted in the
// error; the others are taken all the same.
func (b *Board) Load(r io.Reader) (contents int, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxSavedLine)
	var head savedHead
	if !in.Scan() || json.Unmarshal(in.Bytes(), &head) != nil || head.Version != savedVersion {
		return 0, fmt.Errorf("reading saved facts: line 1 is not the head of version %d", savedVersion)
	}
	now, set := time.Now(), b.settings.Load()
	bad, ranges := 0, 0
	for in.Scan() && contents < maxKnown {
		var s savedContent
		if json.Unmarshal(in.Bytes(), &s) != nil || !s.valid(now) {
			bad++
			continue
		}
		if s.Recorded != nil {
			if ranges += len(s.Recorded.Ranges); ranges > maxSavedTotal {
				continue
			}
		}
		if b.restore(s, now, set) {
			contents++
		}
	}
	if bad > 0 {
		err = fmt.Errorf("reading saved facts: %d lines make no sense", bad)
	}
	return contents, errors.Join(err, in.Err())
}

func (s *savedContent) valid(now time.Time) bool {
	if s.Recorded != nil {
		return s.Channel != "" && s.Path == "" && len(s.Facts) == 0 && s.Recorded.valid(now)
	}
	return s.Path != "" && s.Path[0] == '/' && farms.Protocol(s.Protocol) <= farms.ProtocolMPEGTS
}

// valid tells whether ranges make sense: they ascend, are apart, and none lies in
// the future.
func (f *savedRanges) valid(now time.Time) bool {
	if f.At <= 0 || f.Segment < 0 || f.Segment > maxSegment.Milliseconds() || len(f.Ranges) == 0 || len(f.Ranges) > maxSavedRanges {
		return false
	}
	end := int64(0)
	for i, r := range f.Ranges {
		if r[0] < 0 || r[0] >= r[1] || i > 0 && r[0] <= end {
			return false
		}
		end = r[1]
	}
	return end <= now.Add(maxAhead).UnixMilli()
}

// The bounds of what a saved recording may say.
const (
	maxSegment = time.Hour
	maxAhead   = 24 * time.Hour // a server's clock may be ahead
)

// restoreRanges takes over what a server's interface told. It serves for a moment
// while it is asked for again, and as the last word of a server that cannot be
// asked then.
func (b *Board) restoreRanges(s savedContent, now time.Time, set *Settings) bool {
	ep, err := strconv.ParseUint(s.Recorded.Endpoint, 16, 64)
	at := since(s.Recorded.At, now)
	if err != nil || now.Sub(at) > set.StaleIfError {
		return false
	}
	f := farms.Fact{
		Endpoint: farms.Endpoint(ep), Presence: farms.Present, Kind: farms.KindArchive, At: at, HeldAt: at, MovedAt: at,
		FreshUntil: now, ServeUntil: now.Add(2 * set.LiveAge), Detail: "known from before the restart",
		Segment: time.Duration(s.Recorded.Segment) * time.Millisecond, Source: farms.SourceAPI, Ended: s.Recorded.Ended,
		Ranges: make([]farms.Range, len(s.Recorded.Ranges)),
	}
	for i, r := range s.Recorded.Ranges {
		f.Ranges[i] = farms.Range{From: r[0], To: r[1]}
	}
	f.Until = f.Ranges[len(f.Ranges)-1].To
	e := b.contents.add(farms.Content{Channel: s.Channel, Stream: s.Stream, Container: s.Container, Kind: farms.KindArchive})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used.Store(now.UnixNano())
	if len(e.view.Load().Facts) >= maxSavedServers {
		return false
	}
	first := !e.known
	e.put(f)
	b.contents.promote(e)
	return first
}

// restore takes over one content. What a server had a short while ago it is
// taken to have still, but each server is asked again as soon as somebody wants
// the content, and within the server's rate.
func (b *Board) restore(s savedContent, now time.Time, set *Settings) bool {
	if s.Recorded != nil {
		return b.restoreRanges(s, now, set)
	}
	key := farms.Content{Channel: s.Channel, Path: s.Path, Protocol: farms.Protocol(s.Protocol)}
	var facts []farms.Fact
	var motions []endpointMotion
	horizon := max(set.StaleIfError, set.OffAir)
	for _, sf := range s.Facts {
		ep, err := strconv.ParseUint(sf.Endpoint, 16, 64)
		presence, ok := farms.ParsePresence(sf.Presence)
		if err != nil || !ok || presence == farms.Unasked || farms.Kind(sf.Kind) > farms.KindVoD {
			continue
		}
		f := farms.Fact{
			Endpoint: farms.Endpoint(ep), Presence: presence, Kind: farms.Kind(sf.Kind), Multivariant: sf.Multivariant,
			HeldAt: since(sf.Held, now), MovedAt: since(sf.Moved, now), FreshUntil: now, ServeUntil: now,
			Detail: "known from before the restart",
		}
		if presence != farms.Guarded && (f.HeldAt.IsZero() || now.Sub(f.HeldAt) > horizon) {
			continue
		}
		f.At = f.HeldAt
		if now.Sub(f.HeldAt) <= set.StaleIfError && presence == farms.Present {
			f.ServeUntil = now.Add(2 * set.LiveAge)
		}
		facts = append(facts, f)
		if sig, err := strconv.ParseUint(sf.Signature, 16, 64); err == nil {
			motions = append(motions, endpointMotion{f.Endpoint, motion{signature: sig, movedAt: f.MovedAt}})
		}
	}
	if len(facts) == 0 {
		return false
	}
	slices.SortStableFunc(facts, func(a, c farms.Fact) int { return cmp.Compare(a.Endpoint, c.Endpoint) })
	facts = slices.CompactFunc(facts, func(a, c farms.Fact) bool { return a.Endpoint == c.Endpoint })
	e := b.contents.add(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used.Store(now.UnixNano())
	e.motions = motions
	e.publish(facts)
	b.contents.promote(e)
	b.contents.byChannel.Store(key.Channel, e)
	// Without them every reload of a media playlist were a question about
	// something new, and soon there were too many.
	b.contents.setChildren(e, s.children())
	return true
}

// children returns the saved children that can be some, within their bound.
func (s *savedContent) children() []string {
	out := slices.DeleteFunc(s.Children, func(p string) bool { return p == "" || p[0] != '/' })
	return out[:min(len(out), maxChildren)]
}

// since turns saved unix milliseconds into a time with a monotonic reading, at
// most now: a clock that was set back must not make a fact younger than new.
func since(ms int64, now time.Time) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return now.Add(-max(now.Sub(time.UnixMilli(ms)), 0))
}
