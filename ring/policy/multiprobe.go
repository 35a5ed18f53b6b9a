package policy

import (
	"math"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// probes is how many places of a key are looked at: 21 keep the fullest node within some 1.05 of the mean, says the paper.
const probes = 21

// multiProbe is multi-probe consistent hashing: each node has one place on the circle, each key 21, and the node takes the key
// whose place is the closest after one of them. It knows no capacities. Of nodes that are not usable the key goes to the closest usable one
// after a probe, and on clockwise from there. The paper finds a place in constant time; here it is a binary search.
//
// Source: B. Appleton, M. O'Reilly, "Multi-probe consistent hashing", arXiv:1505.00062, 2015.
type multiProbe struct {
	members

	circle circle
}

func multiProbeEntry() entry {
	return entry{
		Description: Description{
			Name:    "multi-probe",
			Summary: "one place a node, 21 probes a key, without capacities",
			Source:  "Appleton, O'Reilly, arXiv:1505.00062, 2015",
		},
		build: certain(newMultiProbe),
	}
}

func newMultiProbe(nodes []ring.Node, o Options) *multiProbe {
	var points []point
	for i, n := range nodes {
		points = append(points, point{at: uint32(xxh3.HashString(n.ID) >> 32), owner: uint16(i)})
	}

	return &multiProbe{members: newMembers(nodes, o), circle: newCircle(points)}
}

// Pick implements Policy.
func (p *multiProbe) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	home, usable := 0, ring.NoNode
	least, leastUsable := uint64(math.MaxUint64), uint64(math.MaxUint64)

	for probe := range uint64(probes) {
		at := uint32(ring.Scramble(q.Hash+probe*fibonacci64) >> 32)
		i := p.circle.first(at)
		distance := uint64(p.circle[i].at - at) // modulo 2^32

		if distance < least {
			home, least = i, distance
		}

		if distance < leastUsable && p.usable(int(p.circle[i].owner), q.Avoid) {
			usable, leastUsable = i, distance
		}
	}

	switch usable {
	case ring.NoNode:
		return p.walk(p.circle, home, q.Avoid)
	case home:
		return ring.Choice{Node: int(p.circle[home].owner), How: ring.Home}
	default:
		return ring.Choice{Node: int(p.circle[usable].owner), How: ring.Chain, Probes: 1}
	}
}
