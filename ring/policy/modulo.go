package policy

import "skyring/ring"

// modulo is the hash table that consistent hashing is compared with: node number hash mod N, whatever the capacities. A node
// that is not usable is passed to the next number. A change of N moves nearly all keys.
//
// Source: a baseline of the paper of the published ring; D. E. Knuth, The Art of Computer Programming 3, section 6.4 (division method, linear probing).
type modulo struct{ members }

func moduloEntry() entry {
	return entry{
		Description: Description{
			Name:    "modulo",
			Summary: "hash table: node hash mod N, the next where it is full",
			Source:  "baseline of the published ring; Knuth, The Art of Computer Programming 3, section 6.4",
		},
		build: certain(func(nodes []ring.Node, o Options) *modulo { return &modulo{newMembers(nodes, o)} }),
	}
}

// Pick implements Policy.
func (p *modulo) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	n := int(q.Hash % uint64(len(p.nodes)))

	for step := range p.nodes {
		if p.usable(n, q.Avoid) {
			return later(n, step)
		}

		if n++; n == len(p.nodes) {
			n = 0
		}
	}

	return p.resort(q.Avoid)
}
