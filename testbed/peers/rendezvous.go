package main

import (
	"github.com/dgryski/go-rendezvous"
	"github.com/zeebo/xxh3"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// newRendezvous uses github.com/dgryski/go-rendezvous: highest random weight.
func newRendezvous(nodes []ring.Node) (ringbench.Table, error) {
	r := rendezvous.New(ids(nodes), xxh3.HashString)

	return ringbench.Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)
			for _, key := range keys {
				id := r.Lookup(key)
				sum += uint64(id[len(id)-1])
			}

			return sum
		},
		Owner: r.Lookup,
	}, nil
}
