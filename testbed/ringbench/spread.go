package ringbench

import (
	"fmt"

	"skyring/ring"
)

// spread measures evenness and movement. It may change the table.
func spread(c Candidate, table Table, sample func() []string, row *Row) error {
	nodes := equalNodes(row.Nodes + 1)
	nodes, joiner := nodes[:row.Nodes], nodes[row.Nodes]
	leaver := nodes[row.Nodes/2]

	before := table.owners(sample)
	row.MaxMean = largest(before, nodes)

	without, err := changed(c, table, nodes, &leaver, nil)
	if err != nil {
		return err
	}

	row.MovedRemove = movement(before, without.owners(sample), leaver.ID)

	if table.Change != nil { // and it is back
		if err := table.Change(nil, &leaver); err != nil {
			return fmt.Errorf("put %s back: %w", leaver.ID, err)
		}
	}

	with, err := changed(c, table, nodes, nil, &joiner)
	if err != nil {
		return err
	}

	row.MovedAdd = movement(before, with.owners(sample), joiner.ID)

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

// changed returns a table in which a node has left or joined.
func changed(c Candidate, table Table, nodes []ring.Node, leaves, joins *ring.Node) (Table, error) {
	if table.Change != nil {
		if err := table.Change(leaves, joins); err != nil {
			return Table{}, fmt.Errorf("change nodes: %w", err)
		}

		return table, nil
	}

	var others []ring.Node

	for _, n := range nodes {
		if leaves == nil || n.ID != leaves.ID {
			others = append(others, n)
		}
	}

	if joins != nil {
		others = append(others, *joins)
	}

	return c.New(others)
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

// largest returns the largest share of a node, as a multiple of what its capacity makes fair.
func largest(owners []string, nodes []ring.Node) float64 {
	total := 0.0
	for _, n := range nodes {
		total += float64(n.Capacity)
	}

	counts := map[string]int{}
	for _, id := range owners {
		counts[id]++
	}

	most := 0.0

	for _, n := range nodes {
		fair := float64(len(owners)) * float64(n.Capacity) / total
		most = max(most, float64(counts[n.ID])/fair)
	}

	return most
}

// movement returns how much moves when a node comes or goes, as a multiple of what it has in the table it is in, which has to move.
func movement(before, after []string, node string) float64 {
	moved, needed := 0, 0

	for i, id := range before {
		if after[i] != id {
			moved++
		}

		if id == node || after[i] == node {
			needed++
		}
	}

	if needed == 0 {
		return 0
	}

	return float64(moved) / float64(needed)
}
