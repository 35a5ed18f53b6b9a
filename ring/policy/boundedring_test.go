package policy_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

// TestBoundedRingKeepsItsBound: however messages come and go and nodes with them, a pick never takes a node above ceil(1.25 * messages * share) while
// nodes have no limits of their own.
func TestBoundedRingKeepsItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := processors(rapid.IntRange(1, 10).Draw(t, "nodes"), 1, 2, 4)
		in := make([]uint32, len(nodes))
		gone := make([]bool, len(nodes))

		p, err := policy.New("bounded-ring", nodes, standard())
		if err != nil {
			t.Fatal(err)
		}

		load := func(i int) {
			p.SetLoad(i, policy.Load{InFlight: in[i], Limit: math.MaxUint32, HardCap: math.MaxUint32})
		}

		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")

			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				gone[i] = !gone[i]
				p.SetState(i, map[bool]ring.State{false: ring.Open, true: ring.Ineligible}[gone[i]])
			case 1:
				in[i] = 0
				load(i)
			default:
				c := p.Pick(policy.SessionQuery(rapid.Uint64().Draw(t, "number")))
				checkBound(t, nodes, in, gone, c)

				if c.Node != ring.NoNode {
					in[c.Node]++
					load(c.Node)
				}
			}
		}
	})
}

func checkBound(t *rapid.T, nodes []ring.Node, in []uint32, gone []bool, c ring.Choice) {
	messages, capacity := 1.0, 0.0

	for i := range nodes {
		if !gone[i] {
			messages += float64(in[i])
			capacity += float64(nodes[i].Capacity)
		}
	}

	switch {
	case capacity == 0 && c.How != ring.None:
		t.Fatalf("no node is eligible, yet %+v", c)
	case capacity == 0:
	case c.How > ring.Chain || gone[c.Node]:
		t.Fatalf("a node is always below the bound, yet %+v", c)
	default:
		if bound := math.Ceil(1.25 * messages * float64(nodes[c.Node].Capacity) / capacity); float64(in[c.Node]+1) > bound {
			t.Fatalf("node %d of capacity %d gets number %d of %v, its bound is %v", c.Node, nodes[c.Node].Capacity, in[c.Node]+1, messages, bound)
		}
	}
}

// TestBoundedRingPassesItsBoundWhereLimitsLeaveNoOther: the only open node takes all.
func TestBoundedRingPassesItsBoundWhereLimitsLeaveNoOther(t *testing.T) {
	p := mustNew(t, "bounded-ring", processors(4), standard())
	for i := range 3 {
		saturate(p, i, ring.AtLimit)
		p.SetLoad(i, policy.Load{InFlight: 1, Limit: 1, HardCap: math.MaxUint32})
	}

	p.SetLoad(3, policy.Load{InFlight: 50, Limit: 100, HardCap: math.MaxUint32})

	if c := p.Pick(policy.SessionQuery(1)); c.Node != 3 || c.How != ring.Spill {
		t.Errorf("%+v", c)
	}
}
