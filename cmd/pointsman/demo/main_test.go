package demo

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the run when a stopped server leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
