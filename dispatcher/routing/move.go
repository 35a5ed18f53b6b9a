package routing

// overdue handles a message whose deadline passed. It gets more time when its node has
// turned out to be slower than it was thought to be. A node that answered nothing
// since the message was written is stalled, and all that it holds moves; else only
// the message's key does, within the retry budget.
func (c *Core) overdue(e *entry) {
	s, n := e.session, e.node

	if due := e.at + c.deadline(n); due > c.clock {
		c.timers.arm(&e.deadline, due)

		return
	}

	if n.heard < e.event {
		n.stalled = true
		c.emit(Event{Kind: NodeStalled, Node: n.id, Moved: n.inFlight})
		n.refresh(c)
		c.evacuate(n, ByStall)

		return
	}

	n.fail(1)

	if !c.budget.take(c.clock, s.flying.len()) {
		c.counts.NoBudget++
		c.timers.arm(&e.deadline, c.clock+doubled(c.deadline(n), c.cfg.DeadlineMax, s.tries+1, c.random.Float64()))

		return
	}

	s.tries++

	c.resent(ByDeadline, s)
	c.recallAll(s)
	c.launch(s, n)
}

// evacuate moves all that a node holds to other nodes, key by key and each key's
// messages in order. The node is not eligible any more.
func (c *Core) evacuate(n *node, cause Cause) {
	n.fail(n.inFlight)

	for s := n.sessions.front(); s != nil; s = n.sessions.front() {
		if cause == ByStall {
			s.tries++
		}

		c.resent(cause, s)
		c.recallAll(s)
		c.launch(s, n)
	}
}

// die declares a node dead: it leaves the ring and all that it holds moves at once,
// whatever the retry budget.
func (c *Core) die(n *node, cause Cause) {
	c.emit(Event{Kind: NodeDead, Node: n.id, State: n.announced.String(), Cause: cause, Moved: n.inFlight})

	n.alive, n.suspect, n.stalled = false, false, false
	c.stale = true
	n.refresh(c)
	c.evacuate(n, cause)
}

func (c *Core) emit(e Event) { c.events = append(c.events, e) }
