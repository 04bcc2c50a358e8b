package main

import "testing"

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		live uint64
		want int
	}{
		{0, 400}, {1 << 20, 400}, {32 << 20, 400}, {64 << 20, 150}, {80 << 20, 100}, {160 << 20, 100}, {4 << 30, 100},
	} {
		if got := gcPercent(row.live); got != row.want {
			t.Errorf("live heap of %d MiB: %d, expected %d", row.live>>20, got, row.want)
		}
	}
}
