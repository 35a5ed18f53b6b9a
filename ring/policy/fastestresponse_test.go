package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestFastestResponse(t *testing.T) {
	t.Parallel()

	b := newBench(t, "fastest-response", policy.Options{}, 1, 1, 1)
	same(t, "no report: fewest in flight", b.dispatches(3), "abc")

	b.responses(0, 5, 3, 4)
	same(t, "5, 3, 4 ms", b.dispatches(3), "bbb")
	same(t, "in order", b.order(), "bca")

	b.responses(0, 5, 5, 5)
	b.inFlight(2, 2, 1)
	same(t, "all alike: fewest in flight", b.dispatches(3), "cab")

	b.responses(0, 5, 3, 4)
	b.SetState(1, ring.AtLimit)
	same(t, "b at its limit", b.picks(1), "c")

	b.SetReport(0, policy.Report{})
	same(t, "a never answered", b.picks(1), "a")
}
