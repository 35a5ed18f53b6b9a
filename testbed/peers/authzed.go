package main

import (
	"fmt"

	"github.com/authzed/consistent/hashring"
	"github.com/zeebo/xxh3"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// authzedReplication is consistent.DefaultReplicationFactor; its package brings gRPC along.
const authzedReplication = 100

// member is a node of authzed's ring.
type member string

// Key implements hashring.Member.
func (m member) Key() string { return string(m) }

// newAuthzed uses github.com/authzed/consistent/hashring.
func newAuthzed(nodes []ring.Node) (ringbench.Table, error) {
	r, err := hashring.New(xxh3.Hash, authzedReplication)
	if err != nil {
		return ringbench.Table{}, fmt.Errorf("make authzed's ring: %w", err)
	}

	for _, n := range nodes {
		if err := r.Add(member(n.ID)); err != nil {
			return ringbench.Table{}, fmt.Errorf("add %s to authzed's ring: %w", n.ID, err)
		}
	}

	owner := func(key []byte) string {
		found, err := r.FindN(key, 1)
		if err != nil {
			panic(err) // only a ring of no members has one
		}

		return found[0].Key()
	}

	return ringbench.Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)

			var buffer [64]byte // a caller that has bytes converts nothing

			for _, key := range keys {
				id := owner(buffer[:copy(buffer[:], key)])
				sum += uint64(id[len(id)-1])
			}

			return sum
		},
		Owner: func(key string) string { return owner([]byte(key)) },
		Change: func(leaves, joins *ring.Node) error {
			if leaves != nil {
				if err := r.Remove(member(leaves.ID)); err != nil {
					return fmt.Errorf("remove %s from authzed's ring: %w", leaves.ID, err)
				}
			}

			if joins != nil {
				if err := r.Add(member(joins.ID)); err != nil {
					return fmt.Errorf("add %s to authzed's ring: %w", joins.ID, err)
				}
			}

			return nil
		},
	}, nil
}
