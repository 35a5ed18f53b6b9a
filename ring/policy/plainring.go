package policy

import (
	"cmp"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// plainVirtualNodes is how many a node of mean capacity has on the plain ring.
const plainVirtualNodes = 100

// plainRing is consistent hashing with virtual nodes.
//
// Source: D. Karger, E. Lehman, T. Leighton, R. Panigrahy, M. Levine, D. Lewin, "Consistent Hashing and Random Trees:
// Distributed Caching Protocols for Relieving Hot Spots on the World Wide Web", STOC 1997. Virtual nodes in proportion to capacity; their positions
// are the upper halves of xxh3(id) seeded with 0, 1, 2, ...
type plainRing struct {
	members

	circle circle
}

func plainRingEntry() entry {
	return entry{
		Description: Description{
			Name:    "plain-ring",
			Summary: "consistent hashing with virtual nodes",
			Source:  "Karger and others, STOC 1997",
		},
		build: checked(newPlainRing),
	}
}

func newPlainRing(nodes []ring.Node, o Options) (*plainRing, error) {
	c, err := hashedCircle(nodes, cmp.Or(o.VirtualNodes, plainVirtualNodes))
	if err != nil {
		return nil, err
	}

	return &plainRing{members: newMembers(nodes, o), circle: c}, nil
}

// hashedCircle is a circle whose virtual nodes are anywhere.
func hashedCircle(nodes []ring.Node, each int) (circle, error) {
	counts, err := virtualNodes(nodes, each)
	if err != nil {
		return nil, err
	}

	var points []point

	for i, n := range nodes {
		for v := range counts[i] {
			points = append(points, point{at: uint32(xxh3.HashStringSeed(n.ID, uint64(v)) >> 32), owner: uint16(i)})
		}
	}

	return newCircle(points), nil
}

// Pick implements Policy.
func (p *plainRing) Pick(q Query) ring.Choice {
	return p.walk(p.circle, p.circle.first(uint32(q.Hash>>32)), q.Avoid)
}
