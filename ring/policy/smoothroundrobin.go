package policy

import (
	"math"

	"skyring/ring"
)

// smoothRoundRobin is weighted round robin without runs: at each pick every usable node's credit grows by its weight, the largest
// credit wins, and the winner pays the sum of the weights. Weights 5:1:1 give a a b a c a a. The weight is the node's capacity.
//
// Source: nginx, upstream module, "smooth weighted round-robin balancing".
//
// Readings: nginx also lowers a node's effective weight when a request to it fails, and raises it again; here a node that fails is taken
// out by its state, so the weight stays. A node that is not usable keeps its credit, as there.
type smoothRoundRobin struct {
	members

	credit []int64
}

func smoothRoundRobinEntry() entry {
	return entry{
		Description: Description{
			Name:    "smooth-weighted-round-robin",
			Summary: "weighted round robin whose turns of one node are spread out",
			Source:  "nginx, upstream module",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			return &smoothRoundRobin{members: newMembers(nodes, o), credit: make([]int64, len(nodes))}, nil
		},
	}
}

// Pick implements Policy.
func (p *smoothRoundRobin) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	var sum int64

	best, most := ring.NoNode, int64(math.MinInt64)

	for i, n := range p.nodes {
		if !p.usable(i, q.Avoid) {
			continue
		}

		sum += int64(n.Capacity)
		p.credit[i] += int64(n.Capacity)

		if p.credit[i] > most {
			best, most = i, p.credit[i]
		}
	}

	p.credit[best] -= sum

	return ring.Choice{Node: best}
}
