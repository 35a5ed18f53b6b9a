package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestSmoothRoundRobin(t *testing.T) {
	t.Parallel()

	b := newBench(t, "smooth-weighted-round-robin", policy.Options{}, 5, 1, 1)
	same(t, "5:1:1, twice", b.picks(14), "aabacaaaabacaa")

	b.SetState(0, ring.AtLimit)
	same(t, "a at its limit", b.picks(4), "bcbc")

	b.SetState(0, ring.Open)
	same(t, "a open again", b.picks(7), "aabacaa")

	// By hand, credits before each win: 2 1, 1 2, 3 0.
	same(t, "2:1", newBench(t, "smooth-weighted-round-robin", policy.Options{}, 2, 1).picks(6), "abaaba")
}
