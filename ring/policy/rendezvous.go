package policy

import (
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// weightedRendezvous is highest random weight hashing: each node has a score for the key, and the best one takes it. With u a hash of
// key and node in (0, 1), the least -ln(u)/capacity wins, which gives each node its exact share and moves no key
// but those of a node that comes or goes. It costs a look at every node. A node that is not usable leaves its keys to their second best.
//
// Source: D. G. Thaler, C. V. Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", IEEE/ACM Transactions on
// Networking 6, 1998; the logarithm method of weights: C. Schindelhauer, G. Schomaker, "Weighted Distributed Hash Tables", SPAA 2005.
// Logarithms are to base 2 and in integers, so every machine chooses the same.
type weightedRendezvous struct {
	members

	seeds     []uint64
	inverse   []float64 // 1/capacity
	logarithm []uint64
}

func weightedRendezvousEntry() entry {
	return entry{
		Description: Description{
			Name:    "weighted-rendezvous",
			Summary: "highest random weight, logarithm method",
			Source:  "Thaler, Ravishankar 1998; Schindelhauer, Schomaker, SPAA 2005",
		},
		build: certain(newWeightedRendezvous),
	}
}

func newWeightedRendezvous(nodes []ring.Node, o Options) *weightedRendezvous {
	p := &weightedRendezvous{members: newMembers(nodes, o), logarithm: logarithmTable()}
	for _, n := range nodes {
		p.seeds = append(p.seeds, xxh3.HashString(n.ID))
		p.inverse = append(p.inverse, 1/float64(n.Capacity))
	}

	return p
}

// Pick implements Policy.
func (p *weightedRendezvous) Pick(q Query) ring.Choice {
	home, usable := ring.NoNode, ring.NoNode
	least, leastUsable := math.Inf(1), math.Inf(1)

	for i, seed := range p.seeds {
		score := float64(p.negativeLog(ring.Scramble(q.Hash^seed))) * p.inverse[i]

		if score < least {
			home, least = i, score
		}

		if score < leastUsable && p.usable(i, q.Avoid) {
			usable, leastUsable = i, score
		}
	}

	switch usable {
	case ring.NoNode:
		return p.resort(q.Avoid)
	case home:
		return ring.Choice{Node: home, How: ring.Home}
	default:
		return ring.Choice{Node: usable, How: ring.Chain, Probes: 1}
	}
}

// Fixed point of logarithms: 2^-logarithmBits, at 2^logarithmIndex places between two powers of 2 and linear from
// one to the next, which is off by less than 2*10^-7.
const (
	logarithmBits  = 48
	logarithmIndex = 10
)

// negativeLog is -log2(x / 2^64) in fixed point; 0 counts as 1.
func (p *weightedRendezvous) negativeLog(x uint64) uint64 {
	zeros := bits.LeadingZeros64(x | 1)
	fraction := (x | 1) << zeros << 1 // of x / its largest power of 2, without the 1
	i := fraction >> (64 - logarithmIndex)
	low, high := p.logarithm[i&(1<<logarithmIndex-1)], p.logarithm[i+1]
	step, _ := bits.Mul64(high-low, fraction<<logarithmIndex)

	return uint64(zeros+1)<<logarithmBits - low - step
}

// logarithmTable is log2(1 + i/2^logarithmIndex), i = 0 .. 2^logarithmIndex, bit by bit: squaring doubles the logarithm.
func logarithmTable() []uint64 {
	out := make([]uint64, 1<<logarithmIndex+1)
	out[1<<logarithmIndex] = 1 << logarithmBits

	for i := range 1 << logarithmIndex {
		x := uint64(1)<<63 + uint64(i)<<(63-logarithmIndex) // in [1, 2) with 63 bits of fraction

		for bit := logarithmBits - 1; bit >= 0; bit-- {
			high, low := bits.Mul64(x, x) // in [1, 4) with 126 bits of fraction
			if high>>63 == 1 {
				out[i] |= 1 << bit
				x = high
			} else {
				x = high<<1 | low>>63
			}
		}
	}

	return out
}
