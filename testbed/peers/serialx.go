package main

import (
	"github.com/serialx/hashring"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// newSerialx uses github.com/serialx/hashring: MD5, and as many virtual nodes as the weight, which is 1 by default.
func newSerialx(nodes []ring.Node) (ringbench.Table, error) {
	weights := map[string]int{}
	for i, n := range nodes {
		weights[n.ID] = units(nodes, i)
	}

	h := hashring.NewWithWeights(weights)

	return ringbench.Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)

			for _, key := range keys {
				id, _ := h.GetNode(key)
				sum += uint64(id[len(id)-1])
			}

			return sum
		},
		Owner: func(key string) string {
			id, _ := h.GetNode(key)

			return id
		},
	}, nil
}
