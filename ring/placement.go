package ring

import (
	"math"
	"math/bits"
)

// placement makes an owner table by deferred acceptance: nodes propose to the slots of
// their permutations in order of time, a slot keeps the earliest proposal it got, and
// who loses a slot proposes on.
//
// It goes by windows of time. At the end of a window each node has its quota or has made all its proposals up to then, so that what is owned is
// owned for good: all that comes is later. Most proposals meet such a slot, and are turned away by one bit.
type placement struct {
	nodes   []proposer
	weights []uint64 // the different ones
	times   *logarithm
	claims  claims
	settled []uint64 // bit per slot: its owner is final
	recent  []uint32 // slots that got their first claim in this window
	filled  int      // slots that have an owner
	lost    []uint16 // nodes that lost a slot and have to propose on
}

// proposer is a node while the table is being made.
type proposer struct {
	permutation

	class   int    // index of its weight
	next    uint32 // its next virtual node
	held    uint32 // slots it owns now
	quota   uint32 // slots it may own
	waiting bool   // it is in placement.lost
}

// place returns the owner of each slot. nodes are ascending by id: where two claims
// have the same time, the lower index has the slot.
func place(nodes []Node, cfg Config) []uint16 {
	owners := make([]uint16, 1<<cfg.Bits)

	if len(nodes) == 0 {
		return owners
	}

	p := newPlacement(nodes, cfg)
	p.run(nodes)

	for s, c := range p.claims.slots {
		owners[s] = c.node()
	}

	return owners
}

func newPlacement(nodes []Node, cfg Config) *placement {
	slots := 1 << cfg.Bits
	p := &placement{
		nodes:   make([]proposer, len(nodes)),
		times:   newLogarithm(slots),
		settled: make([]uint64, (slots+63)/64),
		lost:    make([]uint16, 0, len(nodes)),
	}

	quota := quotas(nodes, slots, cfg.Epsilon)
	classes := map[uint32]int{}

	for i, n := range nodes {
		class, known := classes[n.Capacity]
		if !known {
			class = len(p.weights)
			classes[n.Capacity] = class
			p.weights = append(p.weights, uint64(n.Capacity))
		}

		p.nodes[i] = proposer{permutation: newPermutation(n.ID, cfg.Bits), class: class, quota: quota[i]}
	}

	p.claims = newClaims(slots, p.times, p.nodes, p.weights)

	return p
}

// run goes from window to window until every slot has an owner.
func (p *placement) run(nodes []Node) {
	slots := len(p.claims.slots)
	horizons := make([]uint32, len(p.weights))
	active := make([]uint16, len(nodes))

	for i := range active {
		active[i] = uint16(i)
	}

	// The time in which as many proposals are made as there are slots.
	unit := (uint64(1) << logarithmFraction) / totalCapacity(nodes)
	if len(p.weights) == 1 {
		unit = uint64(slots / len(nodes)) // time is the virtual node
	}

	for time := uint64(0); p.filled < slots; {
		time += max(1, unit/4, time/8)
		p.horizons(time, horizons)

		for _, i := range active {
			p.propose(i, horizons)
			p.proposeOn(horizons)
		}

		active = p.settle(active)
	}
}

// horizons finds for each weight the first virtual node that is later than time, exactly.
func (p *placement) horizons(time uint64, horizons []uint32) {
	slots := uint64(len(p.claims.slots))

	if len(p.weights) == 1 {
		horizons[0] = uint32(min(time, slots))

		return
	}

	for class, weight := range p.weights {
		high, limit := bits.Mul64(time, weight)
		if high > 0 {
			limit = math.MaxUint64
		}

		horizons[class] = p.times.count(limit)
	}
}

// settle ends a window. It returns the nodes that have less than their quota, in the place of active.
func (p *placement) settle(active []uint16) []uint16 {
	for _, slot := range p.recent {
		p.settled[slot/64] |= 1 << (slot % 64)
	}

	p.recent = p.recent[:0]
	left := active[:0]

	for _, i := range active {
		if p.nodes[i].held < p.nodes[i].quota {
			left = append(left, i)
		}
	}

	return left
}

// proposeOn lets nodes that lost a slot propose on, until none has to.
func (p *placement) proposeOn(horizons []uint32) {
	for len(p.lost) > 0 {
		last := len(p.lost) - 1
		i := p.lost[last]
		p.lost = p.lost[:last]
		p.nodes[i].waiting = false
		p.propose(i, horizons)
	}
}

// propose lets a node propose until it holds its quota or reaches its horizon.
func (p *placement) propose(i uint16, horizons []uint32) {
	n := &p.nodes[i]
	order := n.permutation // a copy stays in registers
	settled := p.settled
	horizon := horizons[n.class]
	next, held := n.next, n.held

	for ; held < n.quota && next < horizon; next++ {
		slot := order.slot(next)
		if settled[slot/64]>>(slot%64)&1 != 0 {
			continue
		}

		loser, won := p.claims.put(slot, claim(next)<<indexBits|claim(i))

		switch {
		case !won:
			continue
		case loser == unclaimed:
			p.filled++
			p.recent = append(p.recent, slot)
		default:
			p.displace(loser.node())
		}

		held++
	}

	n.next, n.held = next, held
}

// displace takes a slot from its owner.
func (p *placement) displace(i uint16) {
	n := &p.nodes[i]
	n.held--

	if !n.waiting {
		n.waiting = true
		p.lost = append(p.lost, i)
	}
}
