package policy_test

import (
	"testing"

	"github.com/zeebo/xxh3"

	"skyring/ring"
	"skyring/ring/policy"
)

// TestPlainRingPlacesByHash: its virtual nodes are where the doc comment says, and a key goes to the next one.
func TestPlainRingPlacesByHash(t *testing.T) {
	o := standard()
	o.VirtualNodes = 50
	nodes := processors(10, 1, 3)
	p := mustNew(t, "plain-ring", nodes, o)

	for k := range uint64(2000) {
		q := policy.SessionQuery(k)
		want, least := ring.NoNode, uint64(1)<<33

		for i, n := range nodes {
			for v := range 25 + 50*(i%2) { // 50 on the mean capacity of 2
				at := uint32(xxh3.HashStringSeed(n.ID, uint64(v)) >> 32)
				if d := uint64(at - uint32(q.Hash>>32)); d < least {
					want, least = i, d
				}
			}
		}

		if c := p.Pick(q); c.Node != want || c.How != ring.Home {
			t.Fatalf("key %d: %+v, want %d", k, c, want)
		}
	}
}

// TestRingsPourAFullNodeOnItsHeirs: with one virtual node each, all that a full node has goes to the node after it.
func TestRingsPourAFullNodeOnItsHeirs(t *testing.T) {
	o := standard()
	o.VirtualNodes = 1

	p := mustNew(t, "plain-ring", processors(8), o)
	before := policy.SharesOf(p, 20_000)
	full := policy.CircleOf(p)[0].Node
	heir := policy.CircleOf(p)[1].Node

	saturate(p, full, ring.AtLimit)

	after := policy.SharesOf(p, 20_000)
	if d := after[heir] - before[heir] - before[full]; d > 1e-9 || d < -1e-9 || after[full] != 0 {
		t.Errorf("the full node had %v, its heir %v and then %v", before[full], before[heir], after[heir])
	}
}
