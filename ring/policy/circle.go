package policy

import (
	"fmt"
	"math"
	"slices"

	"skyring/ring"
)

// point is a virtual node on a circle of up to 2^32 positions.
type point struct {
	at    uint32
	owner uint16 // index of its node
}

// circle is a set of virtual nodes, ascending by position, each position once. A key belongs to the first at or after its
// own position, clockwise.
type circle []point

// newCircle sorts the points. Where several have one position, the node of the lowest index keeps it.
func newCircle(points []point) circle {
	packed := make([]uint64, len(points)) // numbers sort several times as fast as structs
	for i, p := range points {
		packed[i] = uint64(p.at)<<16 | uint64(p.owner)
	}

	slices.Sort(packed)

	for i, p := range packed {
		points[i] = point{at: uint32(p >> 16), owner: uint16(p)}
	}

	return slices.CompactFunc(points, func(a, b point) bool { return a.at == b.at })
}

// first is the index of the first virtual node at or after a position.
func (c circle) first(at uint32) int {
	low, high := 0, len(c)
	for low < high {
		if middle := int(uint(low+high) >> 1); c[middle].at < at {
			low = middle + 1
		} else {
			high = middle
		}
	}

	if low == len(c) {
		return 0
	}

	return low
}

// walk goes clockwise from the virtual node of an index to the first whose node is usable; the last resort where none is.
func (m *members) walk(c circle, start, avoid int) ring.Choice {
	if m.exhausted(avoid) {
		return m.resort(avoid)
	}

	i := start

	for step := range c {
		if n := int(c[i].owner); m.usable(n, avoid) {
			return later(n, step)
		}

		if i++; i == len(c) {
			i = 0
		}
	}

	// A node without a virtual node of its own is left, as chains that merge make them.
	return m.anyUsable(avoid, uint8(math.MaxUint8))
}

// later is a choice after some others were looked at: home where there were none.
func later(node, looks int) ring.Choice {
	if looks == 0 {
		return ring.Choice{Node: node, How: ring.Home}
	}

	return ring.Choice{Node: node, How: ring.Chain, Probes: uint8(min(looks, math.MaxUint8))}
}

// anyUsable is the usable node of the lowest index, the last resort where there is none.
func (m *members) anyUsable(avoid int, looks uint8) ring.Choice {
	for n := range m.nodes {
		if m.usable(n, avoid) {
			return ring.Choice{Node: n, How: ring.Spill, Probes: looks}
		}
	}

	return m.resort(avoid)
}

// virtualNodes is how many each node gets, in proportion to its capacity, at least one: a node of mean capacity gets `each`.
func virtualNodes(nodes []ring.Node, each int) ([]int, error) {
	if err := checkVirtualNodes(len(nodes), each); err != nil {
		return nil, err
	}

	var sum uint64
	for _, n := range nodes {
		sum += uint64(n.Capacity)
	}

	counts := make([]int, len(nodes))
	for i, n := range nodes {
		// At most 2^32 * 2^24, doubled.
		counts[i] = max(1, int((2*uint64(n.Capacity)*uint64(each*len(nodes))+sum)/(2*sum)))
	}

	return counts, nil
}

// checkVirtualNodes says whether so many nodes of so many virtual nodes each are too many.
func checkVirtualNodes(nodes, each int) error {
	if all := nodes * each; all > maxVirtualNodes {
		return fmt.Errorf("%d nodes of %d virtual nodes are %d: at most %d fit", nodes, each, all, maxVirtualNodes)
	}

	return nil
}
