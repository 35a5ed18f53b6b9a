package routing

import (
	"slices"

	"skyring/ring"
)

// forgettable nodes are gone, out of the ring and hold nothing.
func (n *node) forgettable() bool {
	return !n.alive && n.index == ring.NoNode && n.inFlight == 0 && n.sessions.len() == 0
}

// forgetWhere forgets nodes that may be forgotten and are old.
func (c *Core) forgetWhere(old func(*node) bool) {
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool {
		if !n.forgettable() || !old(n) {
			return false
		}

		c.forget(n)

		return true
	})
}

// makeRoom forgets the node that is gone for longest, false: there is none.
func (c *Core) makeRoom() bool {
	var oldest *node

	for _, n := range c.nodes {
		if n.forgettable() && (oldest == nil || n.beatAt < oldest.beatAt) {
			oldest = n
		}
	}

	if oldest == nil {
		return false
	}

	c.forgetWhere(func(n *node) bool { return n == oldest })

	return true
}

// forget drops what finds a node, but not the node from nodes.
func (c *Core) forget(n *node) {
	delete(c.byID, n.id)

	for _, incarnation := range []uint64{n.incarnation, n.previous} {
		if c.byIncarnation[incarnation] == n {
			delete(c.byIncarnation, incarnation)
		}
	}

	c.ready = slices.DeleteFunc(c.ready, func(r *node) bool { return r == n })
	c.forgotten = append(c.forgotten, Node{n})
	c.emit(Event{Kind: NodeForgotten, Node: n.id})
}

// Forgotten returns the nodes forgotten since the last call. They take nothing any more;
// one of the same id that is heard of is another node.
func (c *Core) Forgotten() []Node {
	f := c.forgotten
	c.forgotten = nil

	return f
}
