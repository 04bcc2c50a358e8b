package main

import (
	"slices"
	"testing"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms/config"
)

// TestDialectNames: the configuration knows the dialects that there are, in their
// order. The two packages do not import each other.
func TestDialectNames(t *testing.T) {
	t.Parallel()
	if got, want := config.DialectNames(), archive.Names(); !slices.Equal(got, want) {
		t.Errorf("the configuration knows the dialects\n%v, want\n%v", got, want)
	}
}
