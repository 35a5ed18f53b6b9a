package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

// TestStaleReportsDrawNoHerd has all nodes at their limit by reports that are a second old and hardly differ. Whoever believed them would give every message to
// the node that was best; the picker's own counts must spread them.
func TestStaleReportsDrawNoHerd(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"skyring", "paper", "least-connections"} {
		nodes := []ring.Node{{ID: "a", Capacity: 1000}, {ID: "b", Capacity: 1000}, {ID: "c", Capacity: 1000}, {ID: "d", Capacity: 1000}}

		p, err := policy.New(name, nodes, policy.Options{Ring: ring.DefaultConfig(), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}

		loads := make([]policy.Load, len(nodes))

		for i := range nodes {
			loads[i] = policy.Load{InFlight: 20, Limit: 1024, HardCap: 2048}
			p.SetState(i, ring.AtLimit)
			p.SetLoad(i, loads[i])
			p.SetReport(i, policy.Report{CPU: 0.9, Pressure: 1.2 + 0.01*float64(i)})
		}

		for m := range 400 {
			c := p.Pick(policy.SessionQuery(uint64(m)))
			if c.How != ring.BestWeight {
				t.Fatalf("%s: picks %v where no node is open", name, c.How)
			}

			loads[c.Node].InFlight++
			p.SetLoad(c.Node, loads[c.Node])
		}

		for i := range nodes {
			if n := loads[i].InFlight - 20; n < 90 || n > 110 {
				t.Errorf("%s: node %s got %d of 400 messages, about 100 are right", name, nodes[i].ID, n)
			}
		}
	}
}
