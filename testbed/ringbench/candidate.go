package ringbench

import "skyring/ring"

// Candidate is an algorithm that can be measured.
type Candidate struct {
	Name string
	// Weighted says that it honours capacities. The others are given equal ones only.
	Weighted bool
	// New makes it for nodes with different ids, in the order in which they joined. It is what buildMs times.
	New func(nodes []ring.Node) (Table, error)
}

// Table is an algorithm ready for a set of nodes.
type Table struct {
	// Loop looks all keys up, in a loop of the candidate's own, so that nothing but the look-up is timed. It returns
	// something that depends on each result, so that none is optimised away.
	Loop func(keys []string) uint64
	// Owner returns the id of the node of a key.
	Owner func(key string) string
	// Slots returns the owner of each of the equal parts of the space of hashes; nil where the algorithm has no such parts: then keys are counted.
	Slots func() []string
	// Change takes a node out and puts one in, in place; either may be nil. Nil where the algorithm has no such operation, or it is not worth while: then
	// a table is made anew for the other nodes. Libraries that sort all virtual nodes for each node take minutes for that at a thousand.
	Change func(leaves, joins *ring.Node) error
}

// Ours are the candidates of this project:
//
//   - skyring: 2^16 slots, exact shares;
//   - skyring-1pct: 2^20 slots, shares exact to one percent, less movement of large rings;
//   - skyring-saturated: as skyring, with all nodes at their limit, so that each look-up goes on to the last resort. Its evenness
//     and movement are those of the table.
func Ours() []Candidate {
	onePercent := ring.Config{Bits: 20, Epsilon: 0.01}

	return []Candidate{
		{Name: "skyring", Weighted: true, New: func(nodes []ring.Node) (Table, error) { return ours(nodes, ring.DefaultConfig(), ring.Open) }},
		{Name: "skyring-1pct", Weighted: true, New: func(nodes []ring.Node) (Table, error) { return ours(nodes, onePercent, ring.Open) }},
		{Name: "skyring-saturated", Weighted: true, New: func(nodes []ring.Node) (Table, error) { return ours(nodes, ring.DefaultConfig(), ring.AtLimit) }},
	}
}
