package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

// allNames are the names of all policies.
func allNames() []string {
	var names []string
	for _, d := range policy.List() {
		names = append(names, d.Name)
	}

	return names
}

// stickyNames are those whose choice is a function of the query, the states and the loads.
func stickyNames() []string {
	return []string{
		"skyring", "paper", "paper-32bit", "modulo", "source-hash", "destination-hash", "plain-ring", "bounded-ring", "maglev", "jump",
		"weighted-rendezvous", "multi-probe",
	}
}

// processors are nodes numbered from 1, with capacities that repeat in order; without any all have 100.
func processors(n int, capacities ...uint32) []ring.Node {
	if len(capacities) == 0 {
		capacities = []uint32{100}
	}

	out := make([]ring.Node, n)
	for i := range out {
		out[i] = ring.Node{ID: fmt.Sprintf("processor-%04d", i+1), Capacity: capacities[i%len(capacities)]}
	}

	return out
}

// standard are the options of a dispatcher.
func standard() policy.Options { return policy.Options{Ring: ring.DefaultConfig(), Seed: 1} }

// mustNew fails the test where New fails.
func mustNew(tb testing.TB, name string, nodes []ring.Node, o policy.Options) policy.Policy { //nolint:ireturn // of any type
	tb.Helper()

	p, err := policy.New(name, nodes, o)
	if err != nil {
		tb.Fatal(err)
	}

	return p
}

// tilt is the largest share over what it should be by capacity.
func tilt(p policy.Policy, shares []float64) float64 {
	sum := 0.0
	for i := range p.Len() {
		sum += float64(p.Node(i).Capacity)
	}

	worst := 0.0
	for i, s := range shares {
		worst = max(worst, s*sum/float64(p.Node(i).Capacity))
	}

	return worst
}

// saturate brings a node to a state with the load that goes with it.
func saturate(p policy.Policy, i int, s ring.State) {
	used := uint32(0)
	if s == ring.AtLimit {
		used = 100
	}

	p.SetLoad(i, policy.Load{InFlight: used, Limit: 100, HardCap: math.MaxUint32})
	p.SetState(i, s)
}

// homes is where the sessions 1 .. keys go.
func homes(p policy.Policy, keys int) []string {
	out := make([]string, keys)
	for k := range out {
		out[k] = p.Node(p.Pick(policy.SessionQuery(uint64(k) + 1)).Node).ID
	}

	return out
}

// without is the nodes but for one.
func without(nodes []ring.Node, i int) []ring.Node { return slices.Delete(slices.Clone(nodes), i, i+1) }
