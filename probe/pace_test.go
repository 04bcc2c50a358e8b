package probe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A schedule is when questions begin, by what was reserved.
type schedule struct{ all, strangers, known []time.Time }

func (s *schedule) add(at time.Time, stranger bool) {
	s.all = append(s.all, at)
	if stranger {
		s.strangers = append(s.strangers, at)
	} else {
		s.known = append(s.known, at)
	}
}

func (s *schedule) sort() {
	for _, starts := range [][]time.Time{s.all, s.strangers, s.known} {
		slices.SortFunc(starts, time.Time.Compare)
	}
}

// The rate is a promise to the operator: in no second do more questions begin,
// however they arrive, and of strangers at most half.
func TestPaceNeverExceedsItsRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.1, 0.5, 1, 1.5, 2, 2.5, 3, 7, 20, 200} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("rate_%v_seed_%d", rate, seed), func(t *testing.T) {
				t.Parallel()
				draw := rand.New(rand.NewPCG(seed, 1))
				p := newPace(rate, 8)
				var got schedule
				now := epoch()
				length := time.Duration(max(20, 40/rate) * float64(time.Second))
				for now.Sub(epoch()) < length {
					switch draw.IntN(4) {
					case 0: // all at once
					case 1:
						now = now.Add(time.Duration(draw.ExpFloat64() * float64(time.Second) / (2 * rate)))
					default:
						now = now.Add(time.Duration(draw.ExpFloat64() * float64(time.Second) / (20 * rate)))
					}
					stranger := draw.IntN(3) > 0
					maxWait := time.Duration(draw.Float64() * 3 * float64(time.Second))
					wait, ok := p.reserve(now, stranger, maxWait)
					if wait < 0 || ok != (wait <= maxWait) {
						t.Fatalf("waiting %v of at most %v is ok %v", wait, maxWait, ok)
					}
					if ok {
						got.add(now.Add(wait), stranger)
					}
				}
				got.sort()
				got.check(t, rate)
			})
		}
	}
}

// check holds a schedule against a rate a second.
func (s *schedule) check(t *testing.T, rate float64) {
	t.Helper()
	second := time.Duration(max(1, 1/rate) * float64(time.Second))
	if got, most := busiest(s.all, second), int(math.Ceil(rate)); got > most {
		t.Errorf("%d questions began within %v, want at most %d", got, second, most)
	}
	// Over ten such periods nothing is lost to rounding.
	if got, most := busiest(s.all, 10*second), int(math.Ceil(10*max(rate, 1)))+int(math.Ceil(rate)); got > most {
		t.Errorf("%d questions began within %v, want at most %d", got, 10*second, most)
	}
	half := rate / 2
	second = time.Duration(max(1, 1/half) * float64(time.Second))
	if got, most := busiest(s.strangers, second), int(math.Ceil(half)); got > most {
		t.Errorf("%d questions about strangers began within %v, want at most %d", got, second, most)
	}
}

// However many strangers wait for their places, known content gets its half,
// and gets it without waiting behind them.
func TestPaceFloodLeavesHalfToKnownContent(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{2, 2.5, 3, 7, 20} {
		t.Run(fmt.Sprintf("rate_%v", rate), func(t *testing.T) {
			t.Parallel()
			p := newPace(rate, 8)
			refresh := time.Duration(2 / rate * float64(time.Second))
			var next time.Duration
			for at := time.Duration(0); at < time.Minute; at += time.Millisecond {
				now := epoch().Add(at)
				p.reserve(now, true, 1500*time.Millisecond)
				if at < next {
					continue
				}
				next += refresh
				if wait, ok := p.reserve(now, false, 1500*time.Millisecond); !ok || wait > refresh {
					t.Fatalf("after %v of flood a refresh waits %v (ok %v), want at most %v", at, wait, ok, refresh)
				}
			}
		})
	}
}

// Strangers alone fill their half, known content alone the whole.
func TestPaceUsesItsRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.5, 1, 2.5, 3, 20} {
		for _, stranger := range []bool{false, true} {
			t.Run(fmt.Sprintf("rate_%v_strangers_%v", rate, stranger), func(t *testing.T) {
				t.Parallel()
				p := newPace(rate, 8)
				count := 0
				for at := time.Duration(0); at < 100*time.Second; at += 10 * time.Millisecond {
					if _, ok := p.reserve(epoch().Add(at), stranger, 0); ok {
						count++
					}
				}
				want := rate * 100
				if stranger {
					want /= 2
				}
				// A stranger's half is rounded down to whole places.
				if float64(count) < want*0.6 || float64(count) > want+rate+1 {
					t.Errorf("%d questions in 100 s, want about %v", count, want)
				}
			})
		}
	}
}

// A question that is not asked must not cost the next one its place.
func TestPaceRefusedTakesNoPlace(t *testing.T) {
	t.Parallel()
	for _, stranger := range []bool{false, true} {
		p := newPace(2, 8)
		now := epoch()
		for {
			if _, ok := p.reserve(now, stranger, 0); !ok {
				break
			}
		}
		first, _ := p.reserve(now, stranger, 0)
		for range 100 {
			if wait, ok := p.reserve(now, stranger, first-1); ok || wait != first {
				t.Fatalf("strangers %v: the next place is in %v (ok %v), want still in %v and refused", stranger, wait, ok, first)
			}
		}
		if wait, ok := p.reserve(now, stranger, first); !ok || wait != first {
			t.Errorf("strangers %v: waiting exactly as long as allowed is %v (ok %v), want %v", stranger, wait, ok, first)
		}
	}
}

func TestPaceInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(1000, 3)
		for range 3 {
			if err := p.begin(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.begin(short); err == nil {
			t.Fatal("a fourth question began, want at most 3 in flight")
		}
		begun := make(chan struct{})
		go func() {
			if p.begin(t.Context()) == nil {
				close(begun)
			}
		}()
		synctest.Wait()
		select {
		case <-begun:
			t.Fatal("a fourth question began before one ended")
		default:
		}
		p.end()
		<-begun
	})
}

func BenchmarkPaceReserve(b *testing.B) {
	p := newPace(200, 8)
	now := epoch()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		p.reserve(now, true, time.Second)
	}
}
