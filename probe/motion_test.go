package probe

import (
	"testing"
	"time"
)

func TestMotion(t *testing.T) {
	t.Parallel()
	const s = time.Second
	type look struct {
		at        time.Duration
		signature uint64
		fresh     bool
		frozen    bool
		sure      bool
		moved     time.Duration // when it moved last
	}
	tests := []struct {
		name   string
		target time.Duration
		looks  []look
	}{
		{"moves_and_moves", 4 * s, []look{
			{0, 1, false, false, false, 0}, {6 * s, 2, false, false, true, 6 * s}, {16 * s, 5, false, false, true, 16 * s},
		}},
		{"frozen_after_3_5_target_durations", 4 * s, []look{
			{0, 1, false, false, false, 0},
			{6 * s, 1, false, false, false, 0},
			{14 * s, 1, false, false, false, 0},
			{14*s + 1, 1, false, true, false, 0},
			{time.Hour, 1, false, true, false, 0},
		}},
		{"thaws_at_once", 2 * s, []look{
			{0, 1, false, false, false, 0},
			{8 * s, 1, false, true, false, 0},
			{9 * s, 2, false, false, true, 9 * s},
			{12 * s, 2, false, false, true, 9 * s},
			{17 * s, 2, false, true, true, 9 * s},
		}},
		{"an_encoder_that_starts_again_moves", 2 * s, []look{
			{0, 900, false, false, false, 0}, {9 * s, 1, false, false, true, 9 * s},
		}},
		{"fresh_time_proves_it_at_the_first_look", 2 * s, []look{
			{0, 7, true, false, true, 0}, {6 * s, 7, true, false, true, 0},
		}},
		{"frozen_as_soon_as_its_time_is_old", 2 * s, []look{
			{0, 7, true, false, true, 0}, {14 * s, 7, true, false, true, 0}, {16 * s, 7, false, true, true, 0},
		}},
		{"fresh_once_and_then_no_more", 2 * s, []look{
			{0, 7, true, false, true, 0}, {7 * s, 7, false, false, true, 0}, {8 * s, 7, false, true, true, 0},
		}},
		{"seen_after_a_long_pause", 2 * s, []look{
			{0, 1, false, false, false, 0}, {time.Hour, 2, false, false, true, time.Hour},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var m motion
			for i, l := range tt.looks {
				var frozen bool
				m, frozen = m.observe(l.signature, l.fresh, tt.target, epoch().Add(l.at))
				if frozen != l.frozen || m.sure != l.sure {
					t.Errorf("look %d: frozen %v, sure %v; want %v, %v", i, frozen, m.sure, l.frozen, l.sure)
				}
				if want := epoch().Add(l.moved); !m.movedAt.Equal(want) {
					t.Errorf("look %d: moved at %v, want %v", i, m.movedAt, want)
				}
			}
		})
	}
}
