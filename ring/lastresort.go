package ring

// lastResort returns the node other than avoid of the largest weight, which is the least used,
// among those that are not ineligible and below their hard cap; else avoid itself where
// it may take messages; else NoNode.
func (c *condition) lastResort(avoid int) int {
	best := int(c.best[1].Load())
	if best != avoid || best == NoNode {
		return best
	}

	other := int32(NoNode)
	for v := c.leaves + avoid; v > 1; v /= 2 {
		other = c.better(other, c.best[v^1].Load())
	}

	if other != NoNode {
		return int(other)
	}

	return avoid
}

// better returns which of two nodes the last resort prefers: the less used, the lower
// index where they are equal. Either may be NoNode.
func (c *condition) better(a, b int32) int32 {
	if a == NoNode {
		return b
	}

	if b == NoNode {
		return a
	}

	// Fractions by cross multiplication: numerators are at most 2^32, denominators less.
	numerator, denominator := c.loads[a].use()
	otherNumerator, otherDenominator := c.loads[b].use()
	x, y := numerator*otherDenominator, otherNumerator*denominator

	if y < x || x == y && b < a {
		return b
	}

	return a
}

// climb takes a change of node i up the tree of the best. The caller holds writer.
func (c *condition) climb(i int) {
	winner := int32(i)
	if State(c.states[i].Load()) == Ineligible || c.loads[i].capped() {
		winner = NoNode
	}

	v := c.leaves + i
	c.best[v].Store(winner)

	for v > 1 {
		winner = c.better(winner, c.best[v^1].Load())
		v /= 2

		// Where another node wins, as before, nothing changes further up.
		if c.best[v].Load() == winner && winner != int32(i) {
			return
		}

		c.best[v].Store(winner)
	}
}
