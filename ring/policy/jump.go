package policy

import "skyring/ring"

// jumpTries is how many other hashes of a key are tried where its node is not usable.
const jumpTries = 8

// jump is jump consistent hash: no table at all, and a new node at the end takes just its share from all others. It knows no
// capacities, and a node that goes anywhere but at the end moves many keys. Where the node is not usable, the key is hashed again, eight
// times, and then the usable nodes after it are taken in order; the paper has no such case.
//
// Source: J. Lamping, E. Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", arXiv:1406.2294, 2014.
type jump struct{ members }

func jumpEntry() entry {
	return entry{
		Description: Description{
			Name:    "jump",
			Summary: "jump consistent hash, without capacities",
			Source:  "Lamping, Veach, arXiv:1406.2294, 2014",
		},
		build: certain(func(nodes []ring.Node, o Options) *jump { return &jump{newMembers(nodes, o)} }),
	}
}

// Pick implements Policy.
func (p *jump) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	key, n := q.Hash, 0

	for try := range jumpTries + 1 {
		if n = jumpHash(key, len(p.nodes)); p.usable(n, q.Avoid) {
			return later(n, try)
		}

		key = ring.Scramble(key + fibonacci64)
	}

	for range p.nodes {
		if n++; n >= len(p.nodes) {
			n = 0
		}

		if p.usable(n, q.Avoid) {
			return ring.Choice{Node: n, How: ring.Spill, Probes: jumpTries}
		}
	}

	return p.resort(q.Avoid)
}

// jumpHash is the paper's function: the last of the key's jumps that stays below n.
func jumpHash(key uint64, n int) int {
	bucket, next := int64(-1), int64(0)

	for next < int64(n) {
		bucket = next
		key = key*2862933555777941757 + 1
		next = int64(float64(bucket+1) * (float64(1<<31) / float64(key>>33+1)))
	}

	return int(bucket)
}
