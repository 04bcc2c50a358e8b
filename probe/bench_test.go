package probe

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// benchBoard is a board that knows 10,000 channels on each of 20 servers, and
// asks nobody.
func benchBoard(b *testing.B) (*Board, *farms.Table) {
	b.Helper()
	set := defaults()
	board := NewBoard(Options{}, set)
	s := scene{}
	table := build(b, s.spec(20))
	board.Update(table.Servers, set)
	board.ctx = context.Background() // questions may begin, were there any
	now := time.Now()
	for i := range 10_000 {
		c := promoted(board.contents, fmt.Sprint("ch", i), now)
		c.mu.Lock()
		for _, fs := range table.Servers {
			c.put(farms.Fact{Endpoint: fs.Endpoint, Presence: farms.Present, FreshUntil: now.Add(time.Hour)})
		}
		c.mu.Unlock()
	}
	return board, table
}

func BenchmarkContentHit(b *testing.B) {
	board, _ := benchBoard(b)
	c := hls("ch4711")
	b.ReportAllocs()
	for b.Loop() {
		if board.Content(c) == nil {
			b.Fatal("nothing is known")
		}
	}
}

func BenchmarkContentMiss(b *testing.B) {
	board, _ := benchBoard(b)
	c := hls("invented")
	b.ReportAllocs()
	for b.Loop() {
		if board.Content(c) != nil {
			b.Fatal("something is known")
		}
	}
}

func BenchmarkAskFresh(b *testing.B) {
	board, table := benchBoard(b)
	c := hls("ch4711")
	b.ReportAllocs()
	for b.Loop() {
		if board.Ask(c, table.Servers, false) != (farms.Asked{}) {
			b.Fatal("a fresh fact was asked for")
		}
	}
}

func BenchmarkHealth(b *testing.B) {
	board, table := benchBoard(b)
	ep := table.Servers[7].Endpoint
	b.ReportAllocs()
	for b.Loop() {
		if board.Health(ep) == nil {
			b.Fatal("nothing is known")
		}
	}
}

// What a decision reads costs no memory.
func TestReadingAllocatesNothing(t *testing.T) {
	set := defaults()
	board := NewBoard(Options{}, set)
	s := scene{}
	table := build(t, s.spec(2))
	board.Update(table.Servers, set)
	promoted(board.contents, "ch", time.Now())
	c, now := hls("ch"), time.Now()
	n := testing.AllocsPerRun(100, func() {
		board.Content(c)
		board.Health(table.Servers[0].Endpoint)
		board.Parent("/ch/low.m3u8")
		board.Touch(c, now)
	})
	if n != 0 {
		t.Errorf("reading takes %v allocations, want none", n)
	}
}
