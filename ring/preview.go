package ring

import (
	"slices"
	"strings"
)

// Movement is what a change of rings does to keys, as shares of all keys. Shares are of slots: those of many keys are
// the same but for chance.
type Movement struct {
	Moved float64 `json:"moved"` // share of the keys whose home is another node
	Ideal float64 `json:"ideal"` // share that has to move, whatever the algorithm: what nodes gain by the shares they are to have
	Ratio float64 `json:"ratio"` // Moved/Ideal; 0 where nothing has to move
	// Nodes of either ring, ascending by id.
	Nodes []NodeMovement `json:"nodes"`
}

// NodeMovement is what a change of rings does to one node.
type NodeMovement struct {
	ID     string  `json:"id"`
	Before float64 `json:"before"` // its share of the keys; 0 where it is not in the ring
	After  float64 `json:"after"`
	Gained float64 `json:"gained"` // share of the keys that come to it
	Lost   float64 `json:"lost"`   // share of the keys that leave it
}

// Preview tells what would move if a ring took the place of another, which may differ in nodes, capacities and size. It goes by homes alone: states are
// not looked at. In a ring without nodes no key has a home, and all of them move when there is one.
func Preview(from, to *Ring) Movement {
	ids := union(from, to)
	before, after := places(from, ids), places(to, ids)

	// Counts of slots of the finer ring. The last entry is for keys without a home.
	count := make([]struct{ before, after, gained, lost int }, len(ids)+1)
	slots := max(from.Slots(), to.Slots())
	moved := 0

	for s := range slots {
		a, b := len(ids), len(ids)
		if n := from.Owner(s / (slots / from.Slots())); n != NoNode {
			a = before[n]
		}

		if n := to.Owner(s / (slots / to.Slots())); n != NoNode {
			b = after[n]
		}

		count[a].before++
		count[b].after++

		if a != b {
			moved++
			count[a].lost++
			count[b].gained++
		}
	}

	m := Movement{Moved: float64(moved) / float64(slots), Nodes: make([]NodeMovement, len(ids))}
	needed := 0

	for i, c := range count {
		needed += max(c.after-c.before, 0)

		if i < len(ids) {
			of := float64(slots)
			m.Nodes[i] = NodeMovement{
				ID: ids[i], Before: float64(c.before) / of, After: float64(c.after) / of, Gained: float64(c.gained) / of, Lost: float64(c.lost) / of,
			}
		}
	}

	m.Ideal = float64(needed) / float64(slots)
	if needed > 0 {
		m.Ratio = float64(moved) / float64(needed)
	}

	return m
}

// union returns the ids of both rings, ascending.
func union(a, b *Ring) []string {
	var ids []string

	for _, n := range slices.Concat(a.nodes, b.nodes) {
		ids = append(ids, n.ID)
	}

	slices.Sort(ids)

	return slices.Compact(ids)
}

// places returns where the nodes of a ring are in ids, which are ascending.
func places(r *Ring, ids []string) []int {
	out := make([]int, len(r.nodes))
	for i, n := range r.nodes {
		out[i], _ = slices.BinarySearchFunc(ids, n.ID, strings.Compare)
	}

	return out
}
