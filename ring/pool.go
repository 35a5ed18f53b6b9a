package ring

import (
	"math/bits"
	"sync/atomic"
)

// The pools, by what a pick asks for: a pick of an emergency may take nodes at their limit,
// and a key's first pick leaves out those that have their share of keys.
const (
	openPool = iota
	openRoomPool
	eligiblePool
	eligibleRoomPool
	everyPool
)

// pool is a set of nodes that some picks choose among. Its tree in array form (root at 1,
// children of v at 2v and 2v+1, node i at leaves+i) makes the choice by rank among a
// thousand nodes as quick as ten steps.
type pool struct {
	missing atomic.Int64                       // nodes that are not in, or 1 in a ring without nodes
	members [(MaxNodes + 1) / 64]atomic.Uint64 // bit i%64 of word i/64: node i is in; no index can be out of it
	weights []atomic.Uint64                    // tree: slots of the members below
}

// start puts all nodes in, each with its share as its weight.
func (p *pool) start(share []uint32, leaves int) {
	p.weights = make([]atomic.Uint64, 2*leaves)

	if len(share) == 0 {
		p.missing.Store(1)
	}

	for i, weight := range share {
		p.members[i/64].Or(1 << (i % 64))
		p.weights[leaves+i].Store(uint64(weight))
	}

	for v := leaves - 1; v >= 1; v-- {
		p.weights[v].Store(p.weights[2*v].Load() + p.weights[2*v+1].Load())
	}
}

// set gives node i a weight in the pool, 0 to take it out. One writer at a time.
func (p *pool) set(i, leaves int, weight uint32) {
	old := p.weights[leaves+i].Load()
	if old == uint64(weight) {
		return
	}

	for v := leaves + i; v >= 1; v /= 2 {
		p.weights[v].Add(uint64(weight) - old)
	}

	// The count is never less than what picks see of the bits.
	if weight != 0 {
		p.members[i/64].Or(1 << (i % 64))
		p.missing.Add(-1)
	} else {
		p.missing.Add(1)
		p.members[i/64].And(^uint64(1 << (i % 64)))
	}
}

// admits is has for an owner of a slot, quicker where all nodes are in.
func (p *pool) admits(owner uint16) bool { return p.missing.Load() == 0 || p.has(owner) }

// has is false past the last node, so that a ring without nodes, whose slots all
// say 0, needs no case of its own.
func (p *pool) has(n uint16) bool { return p.members[n/64].Load()>>(n%64)&1 != 0 }

// empty says that no node is in the pool.
func (p *pool) empty() bool { return p.weights[1].Load() == 0 }

// spill returns the member other than avoid at the rank that x gives among all of
// them, each as often as it has slots; NoNode where there is none.
func (p *pool) spill(x uint64, avoid int) int {
	// The descent races with writers: it may end at a node that was just taken out. Then the
	// weights have changed, and it is made again; writers that keep interfering are
	// left to the scan.
	for range 4 {
		rank, total := p.rank(x, avoid)
		if total == 0 {
			return NoNode
		}

		if n := p.descend(rank, avoid); n != avoid && p.has(uint16(n)) {
			return n
		}
	}

	return p.first(avoid)
}

// rank returns the rank of x and the number of ranks there are.
func (p *pool) rank(x uint64, avoid int) (rank, total uint64) {
	total = p.without(avoid)
	rank, _ = bits.Mul64(Scramble(x), total)

	return rank, total
}

// descend goes from the root of the weights to the leaf of a rank.
func (p *pool) descend(rank uint64, avoid int) int {
	leaves, left := len(p.weights)/2, p.leaf(avoid)
	v := 1

	for v < leaves {
		v *= 2
		if weight := p.below(v, left); rank >= weight {
			rank -= weight
			v++
		}
	}

	return v - leaves
}

// leaf returns the place of a node in the tree, 0 where avoid is no node.
func (p *pool) leaf(avoid int) int {
	leaves := len(p.weights) / 2
	if avoid < 0 || avoid >= leaves {
		return 0
	}

	return leaves + avoid
}

// without returns the weight of all members but avoid.
func (p *pool) without(avoid int) uint64 { return p.below(1, p.leaf(avoid)) }

// below returns the weight under v without that of the leaf avoided, 0 for none.
func (p *pool) below(v, avoided int) uint64 {
	weight := p.weights[v].Load()
	if avoided == 0 || avoided>>(bits.Len(uint(avoided))-bits.Len(uint(v))) != v {
		return weight
	}

	// Between the two loads the leaf may have changed; never below zero.
	return weight - min(weight, p.weights[avoided].Load())
}

// first returns the lowest member other than avoid, or NoNode.
func (p *pool) first(avoid int) int {
	for i := range len(p.weights) / 2 {
		if i != avoid && p.has(uint16(i)) {
			return i
		}
	}

	return NoNode
}

// Scramble spreads every bit of x over all others: a bijection (finalizer of MurmurHash3, A. Appleby). Here it makes the rank independent of
// the probes before, whose top bits a multiple of x would repeat.
func Scramble(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53

	return x ^ x>>33
}
