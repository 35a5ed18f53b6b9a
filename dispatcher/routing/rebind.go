package routing

import "skyring/ring"

// rebind makes bindings anew for another set of nodes. Moved are keys whose node is gone; keys whose home is another
// one now, off a node whose share became smaller to one whose share grew, up to its bound, so that a new node gets its share; and
// of nodes that have more than their bound, those in excess. All others stay where they are.
func (c *Core) rebind() {
	p, bounds := c.policy.(bounder)

	for _, n := range c.bindings.full {
		n.keyFull = false
	}

	clear(c.bindings.full)
	c.bindings.full = c.bindings.full[:0]

	grown := c.takeShares()

	if !bounds || p.Home(0) == ring.NoNode {
		for one := c.bindings.recent.front(); one != nil; one = c.bindings.recent.front() {
			c.bindings.unbind(one)
		}

		return
	}

	var homeless []*binding

	// Those used last have the first choice.
	for one := c.bindings.recent.back(); one != nil; one = one.recent.before() {
		home := c.byIndex[p.Home(one.hash)]

		switch {
		case one.node.index == ring.NoNode:
			homeless = append(homeless, one)
		case home != nil && home != one.home && home != one.node && grown[home] && !grown[one.node] && c.roomFor(p, home):
			one.move(home, home)
		case home != nil:
			one.home = home
		}
	}

	homeless = append(homeless, c.surplus(p)...)
	c.settleKeys(p, homeless)
}

// takeShares notes the nodes' shares of all capacity, and returns those whose share grew.
func (c *Core) takeShares() map[*node]bool {
	var total float64

	grown := make(map[*node]bool)

	for _, n := range c.byIndex {
		if n != nil {
			total += float64(n.capacity)
		}
	}

	for _, n := range c.nodes {
		var share float64
		if n.index != ring.NoNode {
			share = float64(c.policy.Node(n.index).Capacity) / total
		}

		grown[n] = share > n.share
		n.share = share
	}

	return grown
}

// roomFor tells that an open node has not its bound of keys.
func (c *Core) roomFor(p bounder, n *node) bool {
	return n.state == ring.Open && uint64(n.keys) < p.Bound(uint64(c.bindings.len()), n.index) //nolint:gosec // not negative
}

// surplus are the keys in excess of nodes that may be picked: first those that are not at home, those not used for longest first.
func (c *Core) surplus(p bounder) []*binding {
	var (
		over  []*binding
		taken = make(map[*node]uint64)
	)

	for _, athome := range []bool{false, true} {
		for one := c.bindings.recent.front(); one != nil; one = one.recent.after() {
			n := one.node
			if n.index == ring.NoNode || n.state == ring.Ineligible || (one.home == n) != athome {
				continue
			}

			if uint64(n.keys)-taken[n] > p.Bound(uint64(c.bindings.len()), n.index) { //nolint:gosec // not negative
				taken[n]++

				over = append(over, one)
			}
		}
	}

	return over
}

// settleKeys finds nodes for keys that have to leave theirs; one that finds none is bound again when it is used.
func (c *Core) settleKeys(p bounder, keys []*binding) {
	for _, one := range keys {
		choice, room := c.firstPick(p, one.hash, one.node.index, c.bindings.len())
		if !room {
			c.bindings.unbind(one)

			continue
		}

		one.move(c.byIndex[choice.Node], c.byIndex[p.Home(one.hash)])
	}
}
