package main

import (
	"skyring/ring"
	"skyring/testbed/ringbench"
)

// peers are the modules that we are compared with.
func peers() []ringbench.Candidate {
	return []ringbench.Candidate{
		{Name: "go-jump", New: newJump},
		{Name: "go-rendezvous", New: newRendezvous},
		{Name: "stathat", New: newStathat},
		{Name: "groupcache", New: newGroupcache},
		{Name: "serialx", Weighted: true, New: newSerialx},
		{Name: "go-zero", Weighted: true, New: newGoZero},
		{Name: "authzed", New: newAuthzed},
		{Name: "kkdai-maglev", New: newMaglev},
	}
}

// ids of nodes, in their order.
func ids(nodes []ring.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.ID
	}

	return out
}

// equal says that all capacities are the same.
func equal(nodes []ring.Node) bool {
	for _, n := range nodes {
		if n.Capacity != nodes[0].Capacity {
			return false
		}
	}

	return true
}

// units returns how often the smallest capacity is in that of a node.
func units(nodes []ring.Node, i int) int {
	least := nodes[0].Capacity
	for _, n := range nodes {
		least = min(least, n.Capacity)
	}

	return int(nodes[i].Capacity / least)
}

// changing makes a Change of two operations that cannot fail.
func changing(remove, add func(id string)) func(leaves, joins *ring.Node) error {
	return func(leaves, joins *ring.Node) error {
		if leaves != nil {
			remove(leaves.ID)
		}

		if joins != nil {
			add(joins.ID)
		}

		return nil
	}
}
