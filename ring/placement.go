package ring

import (
	"math"
	"math/bits"
)

// claim is a node's claim to a slot: its virtual node times 2^16, plus its index. Of two
// claims of nodes of equal capacity the smaller is the earlier.
type claim uint64

const (
	unclaimed = claim(math.MaxUint64)
	indexBits = 16
	indexMask = 1<<indexBits - 1
)

func (c claim) node() uint16    { return uint16(c & indexMask) }
func (c claim) virtual() uint32 { return uint32(c >> indexBits) }

// proposer is a node while the table is being made.
type proposer struct {
	permutation

	weight  uint64
	inverse uint64 // (2^64-1)/weight, rounded down
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
	nodes   []proposer
	uniform bool // all nodes have the same weight
	times   *logarithm
	claims  []claim  // per slot
	moments []uint64 // per slot: about when its claim was; unused where uniform
	filled  int      // slots that have an owner
	lost    []uint16 // nodes that lost a slot and have to propose on
}

// place returns the owner of each slot. nodes are ascending by id: where two claims
// have the same time, the lower index has the slot.
func place(nodes []Node, cfg Config) []uint16 {
	slots := 1 << cfg.Bits
	owners := make([]uint16, slots)

	if len(nodes) == 0 {
		return owners
	}

	p := newPlacement(nodes, cfg)
	p.run(totalCapacity(nodes), cfg.Epsilon == 0)

	for s, c := range p.claims {
		owners[s] = c.node()
	}

	return owners
}

func newPlacement(nodes []Node, cfg Config) *placement {
	slots := 1 << cfg.Bits
	p := &placement{
		nodes:   make([]proposer, len(nodes)),
		uniform: true,
		times:   newLogarithm(slots),
		claims:  make([]claim, slots),
		lost:    make([]uint16, 0, len(nodes)),
	}

	for s := range p.claims {
		p.claims[s] = unclaimed
	}

	quota := quotas(nodes, slots, cfg.Epsilon)

	for i, n := range nodes {
		p.nodes[i] = proposer{
			permutation: newPermutation(n.ID, cfg.Bits),
			weight:      uint64(n.Capacity),
			inverse:     math.MaxUint64 / uint64(n.Capacity),
			quota:       quota[i],
		}
		p.uniform = p.uniform && n.Capacity == nodes[0].Capacity
	}

	if !p.uniform {
		p.moments = make([]uint64, slots)
	}

	return p
}

// run lets the nodes propose until every slot has an owner that no later proposal could
// displace. Without exact quotas some nodes would propose to all their slots in vain;
// they are held to a horizon of time which moves on as long as slots are free. The
// result is the same with any horizons: proposals past them are later than all claims.
func (p *placement) run(total uint64, exact bool) {
	// In units in which one proposal per slot is expected per unit of time.
	for horizon := uint64(8); p.filled < len(p.claims); horizon += horizon/8 + 1 {
		for i := range p.nodes {
			n := &p.nodes[i]

			n.horizon = uint32(len(p.claims))
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

// horizon returns the first virtual node of n that is later than time/total.
func (p *placement) horizon(n *proposer, time, total uint64) uint32 {
	slots := uint32(len(p.claims))

	// L(i) <= time*weight/total, which is rounded down to 32 bits of fraction.
	high, low := bits.Mul64(time<<32, n.weight)
	if high >= total {
		return slots
	}

	limit, _ := bits.Div64(high, low, total)
	if limit >= 1<<(64-logarithmFraction+32) {
		return slots
	}

	limit <<= logarithmFraction - 32

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
	order := n.permutation // a copy stays in registers
	next, held := n.next, n.held

	for held < n.quota && next < n.horizon {
		slot := order.slot(next)
		mine := claim(next)<<indexBits | claim(i)

		var moment uint64
		if !p.uniform {
			moment, _ = bits.Mul64(p.times.at(next), n.inverse)
		}

		next++

		if owner := p.claims[slot]; owner == unclaimed {
			p.filled++
		} else {
			if !p.earlier(mine, moment, slot) {
				continue
			}

			p.displace(owner.node())
		}

		p.claims[slot] = mine
		held++

		if !p.uniform {
			p.moments[slot] = moment
		}
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

// earlier tells whether a claim made at a moment comes before that of the slot's owner.
//
// A moment is the high word of L*inverse. With x = L/weight it is in (x-2, x], as L < 2^62
// and the inverse is less than 1 too small. So moments that differ by 2 or more tell
// the order of the times themselves, and the others are compared exactly.
func (p *placement) earlier(mine claim, moment uint64, slot uint32) bool {
	owner := p.claims[slot]
	if p.uniform {
		return mine < owner
	}

	other := p.moments[slot]

	switch {
	case moment+2 <= other:
		return true
	case other+2 <= moment:
		return false
	default:
		return p.exactly(mine, owner)
	}
}

// exactly tells whether claim a comes before b. Times are L(virtual node)/weight; the
// quotients are compared by cross multiplication.
func (p *placement) exactly(a, b claim) bool {
	x, y := p.nodes[a.node()].weight, p.nodes[b.node()].weight
	if x == y {
		return a < b
	}

	high, low := bits.Mul64(p.times.at(a.virtual()), y)
	otherHigh, otherLow := bits.Mul64(p.times.at(b.virtual()), x)

	if high != otherHigh {
		return high < otherHigh
	}

	return low < otherLow || low == otherLow && a.node() < b.node()
}
