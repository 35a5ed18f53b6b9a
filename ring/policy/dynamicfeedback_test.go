package policy_test

import (
	"testing"

	"skyring/ring/policy"
)

func TestDynamicFeedback(t *testing.T) {
	t.Parallel()

	b := newBench(t, "dynamic-feedback", policy.Options{}, 1, 1, 1)
	b.SetReport(0, policy.Report{CPU: 0.8, Memory: 0.2})                          // 0.28 + 0.05 = 0.33
	b.SetReport(1, policy.Report{CPU: 0.2, Memory: 0.8})                          // 0.07 + 0.20 = 0.27
	b.SetReport(2, policy.Report{CPU: 0.4, Memory: 0.4, Disk: 0.1, Network: 0.2}) // 0.14 + 0.10 + 0.02 + 0.04 = 0.30
	same(t, "in order", b.order(), "bca")
	same(t, "whatever is in flight", b.dispatches(5), "bbbbb")

	b.SetReport(1, policy.Report{Disk: 1, Network: 0.6}) // 0.32
	same(t, "disk and network count", b.order(), "cba")

	b.SetReport(1, policy.Report{Disk: 0.6, Network: 1}) // 0.32
	same(t, "as much as each other", b.order(), "cba")

	for i := range 3 {
		b.SetReport(i, policy.Report{CPU: 0.5})
	}

	b.inFlight(3, 1, 2)
	same(t, "equal loads: fewest in flight", b.dispatches(2), "bb")
}

func TestDynamicFeedbackConnections(t *testing.T) {
	t.Parallel()

	b := newBench(t, "dynamic-feedback-connections", policy.Options{}, 1, 1, 1)
	b.SetReport(0, policy.Report{CPU: 0.8, Memory: 0.2})               // L 0.33
	b.SetReport(1, policy.Report{CPU: 0.2, Memory: 0.8})               // L 0.27
	b.SetReport(2, policy.Report{CPU: 0.4, Memory: 0.4, Network: 0.4}) // L 0.32
	b.inFlight(4, 5, 4)                                                // 4/0.67 = 5.97, 5/0.73 = 6.85, 4/0.68 = 5.88
	same(t, "in order", b.order(), "cab")
	same(t, "dispatches", b.dispatches(3), "cab") // c 7.35, a 7.46, b 6.85: a goes before b by 5.97

	b.inFlight(0, 0, 0)
	same(t, "all idle: the smaller load", b.order(), "bca")

	full := policy.Report{CPU: 1, Memory: 1, Disk: 1, Network: 1}
	b.SetReport(1, full)
	b.inFlight(90, 0, 95)
	same(t, "nothing of b is free", b.order(), "acb") // 134.3, 139.7, last

	b.SetReport(1, policy.Report{CPU: 3})
	b.inFlight(90, 3, 95)
	same(t, "less than nothing of b is free", b.order(), "acb")
}
