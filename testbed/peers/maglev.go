package main

import (
	"fmt"

	"github.com/kkdai/maglev"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// maglevSize is the prime next to our number of slots, and the table of Maglev's paper.
const maglevSize = 65537

// newMaglev uses github.com/kkdai/maglev (D. Eisenbud and others, "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016). While it is
// used it keeps the whole permutation of each node, half a megabyte.
func newMaglev(nodes []ring.Node) (ringbench.Table, error) {
	m, err := maglev.NewMaglev(ids(nodes), maglevSize)
	if err != nil {
		return ringbench.Table{}, fmt.Errorf("make kkdai's Maglev table: %w", err)
	}

	owner := func(key string) string {
		id, err := m.Get(key)
		if err != nil {
			panic(err) // only an empty table has one
		}

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
		Owner: owner,
	}, nil
}
