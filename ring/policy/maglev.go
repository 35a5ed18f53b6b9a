package policy

import (
	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// maglevSize is the number of entries of the table, a prime: the small one of the paper, and Envoy's default. It exceeds ring.MaxNodes.
const maglevSize = 65537

// maglev is Maglev hashing: nodes take turns to claim the next entry of their own permutation of the table until it is full.
// Where an entry's node is not usable, the entries after it are looked at. Each node has one at
// least. Options.VirtualNodes is the entries of a node on average, up to the next prime of all.
//
// Source: D. E. Eisenbud and others, "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, section 3.4; weights as Envoy has them
// (source/common/upstream/maglev_lb.cc): a node of the largest weight claims in each turn, one of a third of it in each third. The
// permutations are made with xxh3, and weights are integers, so every machine builds the same table.
type maglev struct {
	members

	table []uint16 // empty without nodes
}

// claimant is a node while the table is filled.
type claimant struct {
	next, skip uint64 // the entry that it claims next, and how far it is from there to the one after
	target     uint64 // its turn has come when turn*capacity reaches it
}

func maglevEntry() entry {
	return entry{
		Description: Description{
			Name:    "maglev",
			Summary: "table of 65,537 entries filled in turns, weights as in Envoy",
			Source:  "Eisenbud and others, NSDI 2016",
		},
		build: checked(newMaglev),
	}
}

func newMaglev(nodes []ring.Node, o Options) (*maglev, error) {
	size := uint64(maglevSize)

	if o.VirtualNodes > 0 {
		if err := checkVirtualNodes(len(nodes), o.VirtualNodes); err != nil {
			return nil, err
		}

		size = nextPrime(uint64(len(nodes) * o.VirtualNodes))
	}

	return &maglev{members: newMembers(nodes, o), table: maglevTable(nodes, size)}, nil
}

// nextPrime is the least prime from n on, 3 at least.
func nextPrime(n uint64) uint64 {
	n = max(n|1, 3)
	for divisor := uint64(3); divisor*divisor <= n; divisor += 2 {
		if n%divisor == 0 {
			n += 2
			divisor = 1
		}
	}

	return n
}

func maglevTable(nodes []ring.Node, size uint64) []uint16 {
	if len(nodes) == 0 {
		return nil
	}

	claimants := make([]claimant, len(nodes))

	var largest uint64

	for i, n := range nodes {
		largest = max(largest, uint64(n.Capacity))
		claimants[i] = claimant{
			next: xxh3.HashString(n.ID) % size,
			skip: xxh3.HashStringSeed(n.ID, 1)%(size-1) + 1,
		}
	}

	table := make([]uint16, size)
	taken := make([]bool, size)
	left := size

	// Each turn fills an entry at least, so turn*capacity stays below 2^25 * 2^32.
	for turn := uint64(1); left > 0; turn++ {
		for i := 0; i < len(nodes) && left > 0; i++ {
			c := &claimants[i]
			if turn*uint64(nodes[i].Capacity) < c.target {
				continue
			}

			c.target += largest
			entry := c.claim(taken)
			table[entry] = uint16(i)
			left--
		}
	}

	return table
}

// claim takes the next free entry of the permutation.
func (c *claimant) claim(taken []bool) uint64 {
	entry, skip, size := c.next, c.skip, uint64(len(taken))
	for taken[entry] {
		if entry += skip; entry >= size {
			entry -= size
		}
	}

	taken[entry] = true
	c.next = entry // it is looked at once more, and found taken

	return entry
}

// Pick implements Policy.
func (p *maglev) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	entry := int(q.Hash % uint64(len(p.table)))

	for step := range p.table {
		if n := int(p.table[entry]); p.usable(n, q.Avoid) {
			return later(n, step)
		}

		if entry++; entry == len(p.table) {
			entry = 0
		}
	}

	return p.resort(q.Avoid) // unreachable: each node has an entry at least, that of the first turn
}
