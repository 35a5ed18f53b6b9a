package ring

// lastResort returns, where no node is open but avoid, the node other than avoid of the largest weight, which is the least used,
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

	// The tree knows nothing of the load of a node that is open.
	if State(c.states[avoid].Load()) == Ineligible || c.loads[avoid].capped() {
		return NoNode
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

	x, y := c.standing(a), c.standing(b)
	if y.less(x) || b < a && !x.less(y) {
		return b
	}

	return a
}

// standing is how used the last resort takes a node to be. It is asked where no node is open but avoid: open ones come last, all
// alike, so that their loads may change, which they do at each message, without a climb. They stay in the tree for picks
// that saw no node open just before one was.
func (c *condition) standing(n int32) use {
	if State(c.states[n].Load()) == Open {
		return use{1, 0}
	}

	return c.loads[n].use()
}

// loaded takes a new load of node i to the last resort, where that goes by it.
func (c *condition) loaded(i int) {
	// A node that is at its limit only after this look is climbed by whoever set its state, and with this load.
	if State(c.states[i].Load()) != AtLimit {
		return
	}

	c.writer.Lock()
	defer c.writer.Unlock()

	c.climb(i)
}

// climb takes a change of node i up the tree of the best. The caller holds writer.
func (c *condition) climb(i int) {
	winner := int32(i)
	if s := State(c.states[i].Load()); s == Ineligible || s == AtLimit && c.loads[i].capped() {
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
