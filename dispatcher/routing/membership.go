package routing

import (
	"time"

	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/gauge"
)

// NoResponders says that nobody listens on a node's subject: it is dead. Frames in
// flight to it are lost or may be.
func (c *Core) NoResponders(now time.Duration, id string) {
	c.at(now)

	if n := c.byID[id]; n != nil && n.alive {
		c.die(n, ByNoResponders)
		c.unpark()
	}
}

// Heartbeat takes what a node tells about itself. A new incarnation means that the
// old one died.
func (c *Core) Heartbeat(now time.Duration, h bus.Heartbeat) {
	c.at(now)

	n := c.byID[h.ID]
	if n == nil {
		if n = c.meet(h); n == nil {
			return
		}
	}

	if !c.accept(n, h) {
		return
	}

	ceiling := c.ceiling(n)
	n.beats, n.beatAt, n.reported = h.Sequence, c.clock, h

	if now := c.ceiling(n); now != ceiling {
		n.limit.SetCeiling(now)
		c.limited(n)
	}

	c.announce(n, h)
	c.observe(n, h)
	c.appraise(n)
	c.revive(n)
	n.refresh(c)
	c.unpark()
}

// meet makes a node that is heard of for the first time, nil: there are too many.
func (c *Core) meet(h bus.Heartbeat) *node {
	if len(c.nodes) >= c.cfg.MaxNodes && !c.makeRoom() {
		if c.counts.Dropped[DropNodes]++; c.counts.Dropped[DropNodes] == 1 {
			c.emit(Event{Kind: NodeRefused, Node: h.ID})
		}

		return nil
	}

	n := &node{
		id:          h.ID,
		incarnation: h.Incarnation,
		index:       ring.NoNode,
		maxBytes:    c.cfg.MaxBytesPerNode,
	}
	n.limit.SetCeiling(c.cfg.InFlightLimit)
	c.limited(n)
	c.nodes = append(c.nodes, n)
	c.byID[n.id] = n
	c.byIncarnation[n.incarnation] = n

	return n
}

// accept checks a heartbeat against the last ones of its node.
func (c *Core) accept(n *node, h bus.Heartbeat) bool {
	switch h.Incarnation {
	case n.incarnation:
		if h.Sequence <= n.beats {
			c.counts.Dropped[DropOldHeartbeat]++

			return false
		}
	case n.previous:
		c.counts.Dropped[DropTwin]++

		if !n.twin && h.Sequence > n.previousBeats+2 { // no straggler of a process that ended
			n.twin = true
			c.emit(Event{Kind: NodeTwin, Node: n.id})
		}

		return false
	default:
		if n.alive {
			c.die(n, ByRestart)
		}

		delete(c.byIncarnation, n.previous)
		n.previous, n.previousBeats, n.twin = n.incarnation, n.beats, false
		n.incarnation, n.heard, n.response = h.Incarnation, 0, gauge.Response{}
		n.failures, n.consecutive = 0, 0
		c.byIncarnation[n.incarnation] = n
	}

	return true
}

// announce takes over state and capacity; the ring is rebuilt when they change its
// members or weights.
func (c *Core) announce(n *node, h bus.Heartbeat) {
	member, capacity := n.member(), n.capacity
	was := n.announced

	n.announced, n.capacity = h.State, h.Capacity

	switch {
	case !n.alive && h.State == bus.Leaving:
		return // it said so before it was declared dead
	case !n.alive:
		n.alive = true
		c.emit(Event{Kind: NodeUp, Node: n.id, State: h.State.String()})
	case was != h.State:
		c.emit(Event{Kind: NodeAnnounced, Node: n.id, State: h.State.String()})
	}

	if member != n.member() || member && capacity != n.capacity {
		c.stale = true
	}
}

// revive ends suspicion and stall.
func (c *Core) revive(n *node) {
	if !n.suspect && !n.stalled {
		return
	}

	n.suspect, n.stalled = false, false
	c.emit(Event{Kind: NodeBack, Node: n.id})
	n.refresh(c)
}

// watch looks for heartbeats that are missing.
func (c *Core) watch() {
	c.forgetWhere(func(n *node) bool { return c.clock-n.beatAt > c.cfg.NodeMemory })

	for _, n := range c.nodes {
		if !n.alive {
			continue
		}

		c.considerProbe(n)
		c.adapt(n)

		switch silence := c.clock - n.beatAt; {
		case silence > 4*c.cfg.Heartbeat:
			c.die(n, BySilence)
		case silence > c.cfg.Heartbeat*5/2 && !n.suspect:
			n.suspect = true
			c.emit(Event{Kind: NodeSuspect, Node: n.id})
			n.refresh(c)
		}
	}
}
