//go:build !race

package ring_test

import (
	"testing"

	"skyring/ring"
)

// TestMovementOfLargeRings is left out under the race detector, which makes it take
// minutes: Build is of one goroutine.
func TestMovementOfLargeRings(t *testing.T) {
	testMovement(t, []movementCase{
		{1000, ring.Config{Bits: 16}, 4.5, 12},
		{16, ring.Config{Bits: 20, Epsilon: 0.01}, 1.02, 1},
		{64, ring.Config{Bits: 20, Epsilon: 0.01}, 1.03, 1},
		{1000, ring.Config{Bits: 20, Epsilon: 0.01}, 1.4, 1},
	})
}
