package ring

import (
	"math/bits"
)

// unclaimed marks a slot without an owner while the table is being made.
const unclaimed = ^uint32(0)

// proposer is a node while the table is being made.
type proposer struct {
	permutation

	weight  uint64
	next    uint32 // its next virtual node
	horizon uint32 // proposes virtual nodes below this one in the present round
	held    uint32 // slots it owns now
	quota   uint32 // slots it may own
	waiting bool   // it is in placement.lost
}

// placement makes an owner table by deferred acceptance: nodes propose to the slots of
// their permutations in order of time, a slot keeps the earliest proposal it got, and
// who loses a slot proposes on.
type placement struct {
	nodes  []proposer
	times  *logarithm
	owners []uint16
	claims []uint32 // the owner's virtual node, per slot; unclaimed where there is no owner
	filled int      // slots that have an owner
	lost   []uint16 // nodes that lost a slot and have to propose on
}

// place returns the owner of each slot. nodes are ascending by id: where two claims
// have the same time, the lower index has the slot.
func place(nodes []Node, cfg Config) []uint16 {
	slots := 1 << cfg.Bits
	p := &placement{
		nodes:  make([]proposer, len(nodes)),
		times:  newLogarithm(slots),
		owners: make([]uint16, slots),
		claims: make([]uint32, slots),
		lost:   make([]uint16, 0, len(nodes)),
	}

	if len(nodes) == 0 {
		return p.owners
	}

	for s := range p.claims {
		p.claims[s] = unclaimed
	}

	quota := quotas(nodes, slots, cfg.Epsilon)
	for i, n := range nodes {
		p.nodes[i] = proposer{
			permutation: newPermutation(n.ID, cfg.Bits),
			weight:      uint64(n.Capacity),
			quota:       quota[i],
		}
	}

	p.run(totalCapacity(nodes), cfg.Epsilon == 0)

	return p.owners
}

// run lets the nodes propose until every slot has an owner that no later proposal could
// displace. Without exact quotas some nodes would propose to all their slots in vain;
// they are held to a horizon of time which moves on as long as slots are free. The
// result is the same with any horizons: proposals past them are later than all claims.
func (p *placement) run(total uint64, exact bool) {
	// In units in which one proposal per slot is expected per unit of time.
	for horizon := uint64(6); p.filled < len(p.owners); horizon += (horizon + 1) / 2 {
		for i := range p.nodes {
			n := &p.nodes[i]

			n.horizon = uint32(len(p.owners))
			if !exact {
				n.horizon = p.horizon(n, horizon, total)
			}
		}

		for i := range p.nodes {
			p.propose(uint16(i))
			p.proposeOn()
		}
	}
}

// horizon returns the first virtual node of n that is later than a time, a multiple of
// 1/total.
func (p *placement) horizon(n *proposer, time, total uint64) uint32 {
	slots := uint32(len(p.owners))

	high, low := bits.Mul64(time<<(logarithmFraction-32), n.weight)
	if high >= total {
		return slots
	}

	limit, _ := bits.Div64(high, low, total)
	if limit >= 1<<(64-32) {
		return slots
	}

	limit <<= 32

	i := n.next
	for i < slots && p.times.at(i) <= limit {
		i++
	}

	return i
}

// proposeOn lets nodes that lost a slot propose on, until none has to.
func (p *placement) proposeOn() {
	for len(p.lost) > 0 {
		last := len(p.lost) - 1
		i := p.lost[last]
		p.lost = p.lost[:last]
		p.nodes[i].waiting = false
		p.propose(i)
	}
}

// propose lets a node propose until it holds its quota or reaches its horizon.
func (p *placement) propose(i uint16) {
	n := &p.nodes[i]

	for n.held < n.quota && n.next < n.horizon {
		claim := n.next
		slot := n.slot(claim)
		n.next++

		if p.claims[slot] == unclaimed {
			p.filled++
		} else {
			if !p.earlier(i, claim, slot) {
				continue
			}

			p.displace(p.owners[slot])
		}

		p.owners[slot] = i
		p.claims[slot] = claim
		n.held++
	}
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

// earlier tells whether the claim of node i comes before that of the slot's owner. Times
// are L(claim)/weight; the quotients are compared by cross multiplication, exactly.
func (p *placement) earlier(i uint16, claim, slot uint32) bool {
	owner := p.owners[slot]
	old := p.claims[slot]
	mine, theirs := p.nodes[i].weight, p.nodes[owner].weight

	if mine == theirs {
		return claim < old || claim == old && i < owner
	}

	high, low := bits.Mul64(p.times.at(claim), theirs)
	oldHigh, oldLow := bits.Mul64(p.times.at(old), mine)

	if high != oldHigh {
		return high < oldHigh
	}

	return low < oldLow || low == oldLow && i < owner
}
