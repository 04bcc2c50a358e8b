package probe

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// promoted adds a content that is known.
func promoted(cs *contents, channel string, used time.Time) *content {
	c := cs.add(hls(channel))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used.Store(used.UnixNano())
	cs.promote(c)
	return c
}

// Strangers push out only strangers.
func TestStrangersPushOutStrangers(t *testing.T) {
	t.Parallel()
	cs := newContents()
	promoted(cs, "known", epoch())
	waiting := cs.add(hls("first"))
	changed := waiting.view.Load().Changed
	for i := range maxStrangers {
		cs.add(hls(fmt.Sprint("stranger", i)))
	}
	if cs.load(hls("known")) == nil {
		t.Error("a known content was pushed out by strangers")
	}
	if cs.load(hls("first")) != nil {
		t.Error("the oldest stranger is still there")
	}
	select {
	case <-changed:
	default:
		t.Error("whoever waits for the stranger that was pushed out was not woken")
	}
	if known, all := cs.sizes(); known != 1 || all != 1+maxStrangers {
		t.Errorf("%d known and %d in all, want 1 and %d", known, all, 1+maxStrangers)
	}
}

// Known content is bounded too: the least used goes first, strangers do not
// pay for it.
func TestKnownContentIsBounded(t *testing.T) {
	t.Parallel()
	cs := newContents()
	now := epoch()
	for i := range maxKnown {
		promoted(cs, fmt.Sprint("known", i), now)
		now = now.Add(time.Millisecond)
	}
	for i := range maxStrangers { // used longer ago than all known content
		cs.add(hls(fmt.Sprint("stranger", i)))
	}
	const more = 40
	for i := range more {
		c := cs.add(hls(fmt.Sprint("more", i)))
		c.mu.Lock()
		c.used.Store(now.UnixNano())
		c.known = true // what promote does, with the eviction in line
		cs.mu.Lock()
		cs.known_++
		cs.mu.Unlock()
		c.mu.Unlock()
		cs.evict(c)
	}
	if known, _ := cs.sizes(); known != maxKnown {
		t.Errorf("%d are known, want %d", known, maxKnown)
	}
	for i := range more {
		if cs.load(hls(fmt.Sprint("more", i))) == nil {
			t.Fatalf("the newest content %d was evicted for itself", i)
		}
	}
}

// An answer for a content that was dropped meanwhile must leave no trace.
func TestAnswerForADroppedContent(t *testing.T) {
	t.Parallel()
	bubble(t, "present", func(t *testing.T) {
		s := newScene(t, defaults())
		s.serve(delayed(time.Second, streaming(func(r *http.Request) string {
			if r.URL.Path == "/ch/index.m3u8" {
				return multivariant
			}
			return liveAt(time.Now())
		})))
		s.start()
		s.after(firstSweep)
		s.board.Ask(hls("ch"), s.table.Servers, false)
		s.after(0)
		s.board.contents.drop(s.board.contents.load(hls("ch")))
		s.after(3 * time.Second)
		child := farms.Content{Channel: "ch", Path: "/ch/low/1.ts", Protocol: farms.ProtocolHLS, Kind: farms.KindChild}
		if k := s.board.Content(child); k != nil {
			t.Errorf("the channel leads to a content that is gone: %+v", k)
		}
		if _, ok := s.board.Parent("/ch/low/index.m3u8"); ok {
			t.Error("a child leads to a content that is gone")
		}
		if known, all := s.board.Sizes(); known != 0 || all != 0 {
			t.Errorf("%d known and %d in all, want none", known, all)
		}
		s.ask("ch")
		s.after(3 * time.Second)
		if f := s.fact("ch", 0); f.Presence != farms.Present {
			t.Errorf("asked again, the fact is %+v", f)
		}
	})
}

// A view never changes; a newer one takes its place and wakes who waits.
func TestViewsAreImmutable(t *testing.T) {
	t.Parallel()
	cs := newContents()
	c := cs.add(hls("ch"))
	var views []*farms.Known
	for i, ep := range []farms.Endpoint{5, 1, 9, 5} {
		c.mu.Lock()
		views = append(views, c.view.Load())
		c.put(farms.Fact{Endpoint: ep, Presence: farms.Present, At: epoch().Add(time.Duration(i) * time.Second)})
		c.mu.Unlock()
	}
	for i, want := range []int{0, 1, 2, 3} {
		if got := len(views[i].Facts); got != want {
			t.Errorf("view %d has %d facts, want %d as when it was taken", i, got, want)
		}
		select {
		case <-views[i].Changed:
		default:
			t.Errorf("view %d was replaced and nobody woken", i)
		}
	}
	last := cs.known(hls("ch"))
	if len(last.Facts) != 3 || last.Of(5).At != epoch().Add(3*time.Second) || last.Of(1) == nil || last.Of(9) == nil || last.Of(2) != nil {
		t.Errorf("the facts are %+v, want one of each endpoint, the newest", last.Facts)
	}
}
