package main

import (
	"stathat.com/c/consistent"

	"skyring/ring"
	"skyring/testbed/ringbench"
)

// newStathat uses stathat.com/c/consistent (github.com/stathat/consistent): 20 virtual nodes each, CRC-32.
func newStathat(nodes []ring.Node) (ringbench.Table, error) {
	c := consistent.New()
	c.Set(ids(nodes))

	return ringbench.Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)
			for _, key := range keys {
				id, err := c.Get(key)
				if err != nil {
					panic(err) // only an empty circle has one
				}

				sum += uint64(id[len(id)-1])
			}

			return sum
		},
		Owner: func(key string) string {
			id, err := c.Get(key)
			if err != nil {
				return ""
			}

			return id
		},
		Change: changing(c.Remove, c.Add),
	}, nil
}
