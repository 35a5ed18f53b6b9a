package ringbench

import (
	"skyring/ring"
)

// spread measures evenness and movement.
func spread(c Candidate, table Table, sample func() []string, row *Row) error {
	nodes := equalNodes(row.Nodes)
	before := table.owners(sample)
	row.MaxMean = largest(before, nodes)

	middle := row.Nodes / 2
	fewer := append(equalNodes(middle), nodes[middle+1:]...)

	for _, change := range []struct {
		nodes []ring.Node
		moved *float64
	}{{fewer, &row.MovedRemove}, {equalNodes(row.Nodes + 1), &row.MovedAdd}} {
		after, err := c.New(change.nodes)
		if err != nil {
			return err
		}

		*change.moved = movement(before, after.owners(sample))
	}

	if !c.Weighted {
		return nil
	}

	for i := range nodes {
		nodes[i].Capacity = capacity << (i % 4)
	}

	weighted, err := c.New(nodes)
	if err != nil {
		return err
	}

	share := largest(weighted.owners(sample), nodes)
	row.Weighted1248 = &share

	return nil
}

// owners returns the owners of all slots, or of the keys of a sample, which is made when it is first needed.
func (t Table) owners(sample func() []string) []string {
	if t.Slots != nil {
		return t.Slots()
	}

	var out []string
	for _, key := range sample() {
		out = append(out, t.Owner(key))
	}

	return out
}

func count(owners []string) map[string]int {
	out := map[string]int{}
	for _, id := range owners {
		out[id]++
	}

	return out
}

// largest returns the largest share of a node, as a multiple of what its capacity makes fair.
func largest(owners []string, nodes []ring.Node) float64 {
	total := 0.0
	for _, n := range nodes {
		total += float64(n.Capacity)
	}

	counts := count(owners)
	most := 0.0

	for _, n := range nodes {
		fair := float64(len(owners)) * float64(n.Capacity) / total
		most = max(most, float64(counts[n.ID])/fair)
	}

	return most
}

// movement returns how much moves, as a multiple of what has to: what nodes gain in number.
func movement(before, after []string) float64 {
	moved := 0

	for i, id := range before {
		if after[i] != id {
			moved++
		}
	}

	counts := count(before)
	needed := 0

	for id, n := range count(after) {
		needed += max(n-counts[id], 0)
	}

	if needed == 0 {
		return 0
	}

	return float64(moved) / float64(needed)
}
