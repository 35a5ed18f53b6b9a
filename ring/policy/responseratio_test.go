package policy_test

import (
	"testing"

	"skyring/ring/policy"
)

func TestResponseRatio(t *testing.T) {
	t.Parallel()

	b := newBench(t, "response-ratio", policy.Options{}, 1, 1, 1)
	b.inFlight(2, 1, 0)
	b.responses(0, 10, 100, 50)
	same(t, "one report each: fewest in flight", b.order(), "cba")

	b.responses(1, 30, 200, 75) // 3, 2, 1.5 times the shortest
	same(t, "in order", b.order(), "cba")

	b.responses(2, 6, 240, 150) // a's shortest becomes 6 ms: 1, 2.4, 3
	same(t, "a shorter one", b.order(), "abc")

	b.responses(3, 15, 240, 100) // 2.5, 2.4, 2
	same(t, "measured by the shorter one", b.order(), "cba")

	b.SetReport(1, policy.Report{})
	same(t, "no response in the report", b.picks(1), "b")
}
