package policy_test

import (
	"slices"
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestModulo(t *testing.T) {
	p := mustNew(t, "modulo", processors(5), standard())
	q := policy.Query{Hash: 5*1000 + 4, Avoid: ring.NoNode}

	if got, want := p.Pick(q), (ring.Choice{Node: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}

	saturate(p, 4, ring.AtLimit)
	saturate(p, 0, ring.Ineligible)

	if got, want := p.Pick(q), (ring.Choice{Node: 1, How: ring.Chain, Probes: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestModuloMovesNearlyAllKeys is what it is compared for: of N to N+1 nodes, only 1 key in N+1 stays.
func TestModuloMovesNearlyAllKeys(t *testing.T) {
	before, after := homes(mustNew(t, "modulo", processors(16), standard()), 20_000), homes(mustNew(t, "modulo", processors(17), standard()), 20_000)
	stay := 0

	for k := range before {
		if before[k] == after[k] {
			stay++
		}
	}

	if part := float64(stay) / 20_000; part < 0.05 || part > 0.07 {
		t.Errorf("%v stay, want 1/17", part)
	}

	if !slices.Contains(after, "processor-0017") {
		t.Error("the new node gets nothing")
	}
}
