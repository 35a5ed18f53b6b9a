package main

import (
	"github.com/golang/groupcache/consistenthash"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// groupcacheReplicas is what groupcache itself uses (defaultReplicas of its http.go).
const groupcacheReplicas = 50

// newGroupcache uses github.com/golang/groupcache/consistenthash with its default hash, CRC-32.
func newGroupcache(nodes []ring.Node) (ringbench.Table, error) {
	m := consistenthash.New(groupcacheReplicas, nil)
	m.Add(ids(nodes)...)

	return ringbench.Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)
			for _, key := range keys {
				id := m.Get(key)
				sum += uint64(id[len(id)-1])
			}

			return sum
		},
		Owner: m.Get,
	}, nil
}
