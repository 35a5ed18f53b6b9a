package main

import (
	"github.com/zeromicro/go-zero/core/hash"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// newGoZero uses github.com/zeromicro/go-zero/core/hash: 100 virtual nodes, Murmur3; weights are a percentage of them.
func newGoZero(nodes []ring.Node) (ringbench.Table, error) {
	h := hash.NewConsistentHash()

	most := 1
	for i := range nodes {
		most = max(most, units(nodes, i))
	}

	for i, n := range nodes {
		if equal(nodes) {
			h.Add(n.ID)
		} else {
			h.AddWithWeight(n.ID, hash.TopWeight*units(nodes, i)/most)
		}
	}

	owner := func(key string) string {
		node, _ := h.Get(key)
		id, _ := node.(string)

		return id
	}

	return ringbench.Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)
			for _, key := range keys {
				id := owner(key)
				sum += uint64(id[len(id)-1])
			}

			return sum
		},
		Owner:  owner,
		Change: changing(func(id string) { h.Remove(id) }, func(id string) { h.Add(id) }),
	}, nil
}
