package ring

import "math/bits"

// spill returns the open node other than avoid at the rank that x gives among all of
// them, each as often as it has slots; NoNode where there is none.
func (c *condition) spill(x uint64, avoid int) int {
	// The descent races with writers: it may end at a node that just closed. Then the
	// weights have changed, and it is made again; writers that keep interfering are
	// left to the scan.
	for range 4 {
		n, open := c.descend(scramble(x), avoid)
		if open {
			return n
		}

		if n == NoNode {
			return NoNode
		}
	}

	return c.firstOpen(avoid)
}

// descend goes from the root of the weights to the leaf of a rank. It returns NoNode
// where no weight is left, and whether the node it found is open still.
func (c *condition) descend(random uint64, avoid int) (int, bool) {
	left := c.leaves + avoid // leaf of avoid
	if avoid < 0 || avoid >= len(c.share) {
		left = 0
	}

	total := c.below(1, left)
	if total == 0 {
		return NoNode, false
	}

	rank, _ := bits.Mul64(random, total)
	v := 1

	for v < c.leaves {
		v *= 2
		if weight := c.below(v, left); rank >= weight {
			rank -= weight
			v++
		}
	}

	n := v - c.leaves

	return n, n < len(c.share) && n != avoid && c.isOpen(uint16(n))
}

// below returns the weight under v without that of the leaf avoided, 0 for none.
func (c *condition) below(v, avoided int) uint64 {
	weight := c.weights[v].Load()
	if avoided == 0 || avoided>>(bits.Len(uint(avoided))-bits.Len(uint(v))) != v {
		return weight
	}

	// Between the two loads the leaf may have opened; never below zero.
	return weight - min(weight, c.weights[avoided].Load())
}

// firstOpen returns the lowest open node other than avoid, or NoNode.
func (c *condition) firstOpen(avoid int) int {
	for i := range c.share {
		if i != avoid && c.isOpen(uint16(i)) {
			return i
		}
	}

	return NoNode
}

// scramble makes the rank independent of the probes before, whose top bits a multiple
// of x would repeat (finalizer of MurmurHash3, A. Appleby).
func scramble(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53

	return x ^ x>>33
}
