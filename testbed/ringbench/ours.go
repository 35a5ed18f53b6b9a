package ringbench

import (
	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// ours is the ring with all its nodes in one state.
func ours(nodes []ring.Node, cfg ring.Config, state ring.State) (Table, error) {
	r, err := ring.Build(nodes, cfg)
	if err != nil {
		return Table{}, err
	}

	if state != ring.Open {
		for i := range r.Len() {
			r.SetState(i, state)
		}
	}

	return Table{
		Loop: func(keys []string) uint64 {
			sum := uint64(0)
			for _, key := range keys {
				sum += uint64(r.Pick(xxh3.HashString(key), ring.NoNode).Node)
			}

			return sum
		},
		Owner: func(key string) string { return r.Node(r.Home(xxh3.HashString(key))).ID },
		Slots: func() []string {
			owners := make([]string, r.Slots())
			for s := range owners {
				owners[s] = r.Node(r.Owner(s)).ID
			}

			return owners
		},
	}, nil
}
