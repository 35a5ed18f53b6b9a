package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

// twoCandidates returns a slot ring of idle nodes and a key whose home is at its limit, and its two candidates.
func twoCandidates(t *testing.T) (p policy.Policy, q policy.Query, first, second int) { //nolint:ireturn // there is no other way to it
	t.Helper()

	var nodes []ring.Node
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		nodes = append(nodes, ring.Node{ID: id, Capacity: 1000})
	}

	p, err := policy.New(policy.Default, nodes, policy.Options{Ring: ring.DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}

	q = policy.SessionQuery(7)
	p.SetState(p.Pick(q).Node, ring.AtLimit)

	first = p.Pick(q).Node
	q.Avoid = first
	second = p.Pick(q).Node
	q.Avoid = ring.NoNode

	return p, q, first, second
}

func wantPick(t *testing.T, p policy.Policy, q policy.Query, want int) {
	t.Helper()

	if got := p.Pick(q); got.Node != want || got.How != ring.Chain {
		t.Fatalf("got %+v, want node %d by the chain", got, want)
	}
}

// TestSlotRingKnowsLoadsOfOpenNodes: each message counts for the next pick.
func TestSlotRingKnowsLoadsOfOpenNodes(t *testing.T) {
	t.Parallel()

	p, q, first, second := twoCandidates(t)

	for n := range uint32(50) {
		p.SetLoad(first, policy.Load{InFlight: n, Limit: 100, HardCap: 200})
		p.SetLoad(second, policy.Load{InFlight: n, Limit: 100, HardCap: 200})
		wantPick(t, p, q, first)

		p.SetLoad(first, policy.Load{InFlight: n + 1, Limit: 100, HardCap: 200})
		wantPick(t, p, q, second)
	}
}

// TestSlotRingGoesByPressureAsItBecame: between two reports a node's pressure follows the messages in flight.
func TestSlotRingGoesByPressureAsItBecame(t *testing.T) {
	t.Parallel()

	p, q, first, second := twoCandidates(t)

	for _, n := range []int{first, second} {
		p.SetLoad(n, policy.Load{InFlight: 9, Limit: 1000, HardCap: 2000})
	}

	p.SetReport(first, policy.Report{Pressure: 0.5})
	p.SetReport(second, policy.Report{Pressure: 0.6})
	wantPick(t, p, q, first)

	p.SetLoad(first, policy.Load{InFlight: 12, Limit: 1000, HardCap: 2000}) // 0.5 * 13/10
	wantPick(t, p, q, second)

	p.SetLoad(second, policy.Load{InFlight: 10, Limit: 1000, HardCap: 2000}) // 0.6 * 11/10
	wantPick(t, p, q, first)

	p.SetReport(first, policy.Report{Pressure: 0.7}) // which knows of the messages in flight now
	wantPick(t, p, q, second)

	p.SetLoad(second, policy.Load{InFlight: 12, Limit: 1000, HardCap: 2000}) // 0.6 * 13/10
	p.SetLoad(first, policy.Load{InFlight: 12, Limit: 1000, HardCap: 2000})  // 0.7 * 13/13
	wantPick(t, p, q, first)

	p.SetReport(first, policy.Report{})
	wantPick(t, p, q, first)
}

// TestSlotRingTakesOverReports: a new policy is brought a node's report first and its load then; the report knew of the messages in flight.
func TestSlotRingTakesOverReports(t *testing.T) {
	t.Parallel()

	p, q, first, second := twoCandidates(t)

	p.SetReport(first, policy.Report{Pressure: 0.5})
	p.SetReport(second, policy.Report{Pressure: 0.6})
	wantPick(t, p, q, first)

	p.SetLoad(first, policy.Load{InFlight: 99, Limit: 1000, HardCap: 2000})
	p.SetLoad(second, policy.Load{InFlight: 9, Limit: 1000, HardCap: 2000})
	wantPick(t, p, q, first)

	p.SetLoad(first, policy.Load{InFlight: 129, Limit: 1000, HardCap: 2000}) // 0.5 * 130/100
	wantPick(t, p, q, second)
}
