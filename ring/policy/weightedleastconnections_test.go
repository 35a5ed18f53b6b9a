package policy_test

import (
	"testing"

	"skyring/ring/policy"
)

func TestWeightedLeastConnections(t *testing.T) {
	t.Parallel()

	// By hand: 0/1 0/3 a, 1/1 0/3 b, 1/3 b, 2/3 b, 1/1 3/3 a, 2/1 3/3 b, ...
	b := newBench(t, "weighted-least-connections", policy.Options{}, 1, 3)
	same(t, "1:3 from idle", b.dispatches(9), "abbbabbba")

	// 5/2 = 2.5, 9/4 = 2.25, 7/3 = 2.33.
	b = newBench(t, "weighted-least-connections", policy.Options{}, 2, 4, 3)
	b.inFlight(5, 9, 7)
	same(t, "2:4:3 with 5, 9, 7 in flight", b.dispatches(3), "bca")
}
