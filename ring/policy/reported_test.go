package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

// TestEveryPolicyTakesOverReports: a new policy is brought a node's report first and its load then. The report knew of these messages, so that they
// alone make no node worse for the last resort.
func TestEveryPolicyTakesOverReports(t *testing.T) {
	t.Parallel()

	for _, name := range allNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p := mustNew(t, name, processors(2), standard())
			take := func(want int) {
				t.Helper()

				if got := p.Pick(policy.SessionQuery(7)); got.Node != want || got.How != ring.BestWeight {
					t.Errorf("%+v, want node %d by its weight", got, want)
				}
			}

			for i, inFlight := range []uint32{99, 9} {
				p.SetReport(i, policy.Report{Pressure: 0.5 + 0.1*float64(i)})
				p.SetLoad(i, policy.Load{InFlight: inFlight, Limit: 1000, HardCap: 2000})
				p.SetState(i, ring.AtLimit)
			}

			take(0) // 0.5 and 0.6

			p.SetLoad(0, policy.Load{InFlight: 129, Limit: 1000, HardCap: 2000})
			take(1) // 0.5 * 130/100 and 0.6
		})
	}
}
