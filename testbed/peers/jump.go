package main

import (
	"github.com/dgryski/go-jump"
	"github.com/zeebo/xxh3"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// newJump uses github.com/dgryski/go-jump (J. Lamping, E. Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014). Buckets have numbers, not
// names: where a node leaves, the numbers of those after it change.
func newJump(nodes []ring.Node) (ringbench.Table, error) {
	n := len(nodes)

	return ringbench.Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)
			for _, key := range keys {
				sum += uint64(jump.Hash(xxh3.HashString(key), n))
			}

			return sum
		},
		Owner: func(key string) string { return nodes[jump.Hash(xxh3.HashString(key), n)].ID },
	}, nil
}
