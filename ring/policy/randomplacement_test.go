package policy_test

import (
	"testing"

	"skyring/ring"
	"skyring/ring/policy"
)

// TestRandomPlacementIsByCapacity whether all nodes are open or not.
func TestRandomPlacementIsByCapacity(t *testing.T) {
	p := mustNew(t, "random-placement", processors(8, 1, 2, 4, 8), standard())
	if worst := tilt(p, policy.SharesOf(p, 200_000)); worst > 1.05 {
		t.Errorf("the fullest has %v of its share", worst)
	}

	for i := 4; i < 8; i++ {
		saturate(p, i, ring.AtLimit)
	}

	shares := policy.SharesOf(p, 200_000)
	if worst := tilt(p, shares) / 2; worst > 1.05 { // half of the capacity is left
		t.Errorf("%v: the fullest open one has %v of its share", shares, worst)
	}

	saturate(p, 0, ring.Ineligible)

	if c := p.Pick(policy.SessionQuery(1)); c.Node < 1 || c.Node > 3 || c.How > ring.Spill {
		t.Errorf("%+v", c)
	}
}
