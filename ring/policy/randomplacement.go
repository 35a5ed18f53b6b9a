package policy

import (
	"slices"

	"skyring/ring"
)

// randomPlacement puts each message on a random node, in proportion to capacity: what the even ring's paper places new objects
// by for comparison. A message is the object here, as the state of sessions is shared and any node may serve it. Where the node drawn is not
// usable, one of the usable ones is drawn.
//
// Source: a baseline of the paper of the even ring.
type randomPlacement struct {
	members

	upTo []uint64 // sum of the capacities of the nodes up to each
}

func randomPlacementEntry() entry {
	return entry{
		Description: Description{
			Name:    "random-placement",
			Summary: "a random node for each message, by capacity",
			Source:  "baseline of the even ring",
		},
		build: certain(newRandomPlacement),
	}
}

func newRandomPlacement(nodes []ring.Node, o Options) *randomPlacement {
	p := &randomPlacement{members: newMembers(nodes, o)}

	var sum uint64
	for _, n := range nodes {
		sum += uint64(n.Capacity)
		p.upTo = append(p.upTo, sum)
	}

	return p
}

// Pick implements Policy.
func (p *randomPlacement) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	drawn := p.random.Uint64N(p.upTo[len(p.upTo)-1])

	n, _ := slices.BinarySearch(p.upTo, drawn+1)
	if p.usable(n, q.Avoid) {
		return ring.Choice{Node: n, How: ring.Home}
	}

	return p.among(q.Avoid)
}

// among draws one of the usable nodes, of which there is one at least: each takes the place of those before with the probability of its capacity among
// all up to it.
func (p *randomPlacement) among(avoid int) ring.Choice {
	drawn, sum := ring.NoNode, uint64(0)

	for i, n := range p.nodes {
		if !p.usable(i, avoid) {
			continue
		}

		if sum += uint64(n.Capacity); p.random.Uint64N(sum) < uint64(n.Capacity) {
			drawn = i
		}
	}

	return ring.Choice{Node: drawn, How: ring.Spill, Probes: 1}
}
