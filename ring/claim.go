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

// claims are the earliest claims to all slots so far.
type claims struct {
	slots   []claim
	moments []uint64 // per slot: about when its claim was; none where all weights are the same
	times   *logarithm
	nodes   []pace // none where all weights are the same
}

// pace is how fast the time of a node's virtual nodes goes.
type pace struct {
	weight  uint64
	inverse uint64 // (2^64-1)/weight, rounded down
}

func newClaims(slots int, times *logarithm, nodes []proposer, weights []uint64) claims {
	c := claims{slots: make([]claim, slots), times: times}
	for s := range c.slots {
		c.slots[s] = unclaimed
	}

	if len(weights) > 1 {
		c.moments = make([]uint64, slots)
		c.nodes = make([]pace, len(nodes))

		for i := range nodes {
			weight := weights[nodes[i].class]
			c.nodes[i] = pace{weight: weight, inverse: math.MaxUint64 / weight}
		}
	}

	return c
}

// put gives a slot to a claim if it is earlier than the one that has it, which is returned.
func (c *claims) put(slot uint32, mine claim) (loser claim, won bool) {
	owner := c.slots[slot]

	if c.moments == nil {
		if mine > owner {
			return owner, false
		}

		c.slots[slot] = mine

		return owner, true
	}

	moment, _ := bits.Mul64(c.times.at(mine.virtual()), c.nodes[mine.node()].inverse)
	if owner != unclaimed && !c.earlier(mine, moment, slot) {
		return owner, false
	}

	c.slots[slot] = mine
	c.moments[slot] = moment

	return owner, true
}

// earlier tells whether a claim made at a moment comes before that of the slot's owner.
//
// A moment is the high word of L*inverse. With x = L/weight it is in (x-2, x], as L < 2^62
// and the inverse is less than 1 too small. So moments that differ by 2 or more tell
// the order of the times themselves, and the others are compared exactly.
func (c *claims) earlier(mine claim, moment uint64, slot uint32) bool {
	other := c.moments[slot]

	switch {
	case moment+2 <= other:
		return true
	case other+2 <= moment:
		return false
	default:
		return c.exactly(mine, c.slots[slot])
	}
}

// exactly tells whether claim a comes before b. Times are L(virtual node)/weight; the
// quotients are compared by cross multiplication.
func (c *claims) exactly(a, b claim) bool {
	x, y := c.nodes[a.node()].weight, c.nodes[b.node()].weight
	if x == y {
		return a < b
	}

	high, low := bits.Mul64(c.times.at(a.virtual()), y)
	otherHigh, otherLow := bits.Mul64(c.times.at(b.virtual()), x)

	if high != otherHigh {
		return high < otherHigh
	}

	return low < otherLow || low == otherLow && a.node() < b.node()
}
