package redirector

import (
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// TestNeed: how much of a window a fact holds, and whether the recording goes on
// where the window does. Times are seconds before the clock, 100,000; the fact is
// twenty seconds old.
func TestNeed(t *testing.T) {
	t.Parallel()
	const now = 100_000
	clock := time.Now()
	closed := func(from, to int64) need {
		return need{window: farms.Range{From: (now - from) * 1000, To: (now - to) * 1000}, now: now * 1000, at: clock}
	}
	grows := func(from, to int64) need {
		n := closed(from, to)
		n.grows = true
		return n
	}
	point := func(from, to int64) need {
		n := grows(from, to)
		n.point = true
		return n
	}
	fact := func(source string, parts ...int64) farms.Fact {
		f := farms.Fact{Presence: farms.Present, At: clock.Add(-20 * time.Second), Source: source, Segment: 10 * time.Second}
		for i := 0; i < len(parts); i += 2 {
			f.Ranges = append(f.Ranges, farms.Range{From: (now - parts[i]) * 1000, To: (now - parts[i+1]) * 1000})
		}
		if n := len(f.Ranges); n > 0 {
			f.Until = f.Ranges[n-1].To
		}
		return f
	}
	const api, list = farms.SourceAPI, farms.SourcePlaylist
	contiguous, start := farms.ArchiveOptions{Contiguous: true}, farms.ArchiveOptions{MustCoverStart: true}
	for _, row := range []struct {
		name string
		need need
		fact farms.Fact
		edit func(*farms.Fact)
		opt  farms.ArchiveOptions
		held int64 // seconds
		goes bool
	}{
		{name: "closed_held", need: closed(7200, 3600), fact: fact(api, 9000, 0), held: 3600, goes: true},
		{name: "closed_half", need: closed(7200, 3600), fact: fact(api, 9000, 5400), held: 1800, goes: true},
		{name: "closed_and_it_ended_since", need: closed(7200, 3600), fact: fact(api, 9000, 3600), held: 3600, goes: true},
		{name: "closed_just_now", need: closed(3600, 20), fact: fact(api, 9000, 30), held: 3580, goes: true},
		{name: "closed_just_now_and_ended", need: closed(3600, 20), fact: fact(api, 9000, 120), held: 3480, goes: true},
		{name: "grows", need: grows(3600, 20), fact: fact(api, 9000, 30), held: 3580, goes: true},
		{name: "grows_and_it_ended", need: grows(3600, 20), fact: fact(api, 9000, 90), held: 3510},
		{name: "grows_and_the_stream_is_off", need: grows(3600, 20), fact: fact(api, 9000, 30), edit: func(f *farms.Fact) { f.Ended = true }, held: 3570},
		{name: "grows_from_a_moment_ago", need: grows(25, 20), fact: fact(api, 9000, 30), held: 5, goes: true},
		{name: "grows_from_a_moment_ago_contiguous", need: grows(25, 20), fact: fact(api, 9000, 30), opt: contiguous, held: 5, goes: true},
		{name: "grows_from_a_moment_ago_and_it_ended", need: grows(25, 20), fact: fact(api, 9000, 90), held: 0},
		{name: "grows_behind_a_hole_contiguous", need: grows(3600, 20), fact: fact(api, 9000, 1800, 1200, 30), opt: contiguous, held: 1800, goes: true},
		{name: "grows_behind_a_hole", need: grows(3600, 20), fact: fact(api, 9000, 1800, 1200, 30), held: 2980, goes: true},
		{name: "grows_and_its_start_is_missing", need: grows(3600, 20), fact: fact(api, 1800, 30), opt: start, held: 0, goes: true},
		{name: "grows_and_its_start_is_there", need: grows(3600, 20), fact: fact(api, 3600, 30), opt: start, held: 3580, goes: true},
		{name: "grows_without_dates", need: grows(3600, 20), fact: fact(list), edit: func(f *farms.Fact) { f.Unplaced = time.Hour }, held: 3580, goes: true},
		{name: "grows_without_dates_and_with_an_end", need: grows(3600, 20), fact: fact(list), edit: func(f *farms.Fact) { f.Unplaced, f.Ended = time.Hour, true }, held: 3580},
		{name: "point_shows_its_beginning", need: point(3600, 3540), fact: fact(list, 3600, 3540), held: 60, goes: true},
		{name: "point_shows_all_and_it_ended", need: point(3600, 3540), fact: fact(list, 3600, 3540), edit: func(f *farms.Fact) { f.Until = (now - 600) * 1000 }, held: 60},
		{name: "point_shows_all_and_it_goes_on", need: point(3600, 3540), fact: fact(list, 3600, 3540), edit: func(f *farms.Fact) { f.Until = (now - 30) * 1000 }, held: 60, goes: true},
		{name: "point_of_an_interface", need: point(3600, 20), fact: fact(api, 9000, 600), held: 3000},
		{name: "point_that_begins_later", need: point(3600, 3540), fact: fact(list, 3580, 3540), held: 40, goes: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if row.edit != nil {
				row.edit(&row.fact)
			}
			if got := row.need.Held(&row.fact, row.opt); got != time.Duration(row.held)*time.Second {
				t.Errorf("it holds %v, want %d s", got, row.held)
			}
			if got := row.need.GoesOn(&row.fact); got != row.goes {
				t.Errorf("it goes on: %t, want %t", got, row.goes)
			}
		})
	}
}
