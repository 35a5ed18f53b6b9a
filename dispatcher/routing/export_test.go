package routing

import "fmt"

// Bindings are the nodes that keys are bound to, by hash.
func (c *Core) Bindings() map[uint64]string {
	all := make(map[uint64]string)
	for hash, one := range c.bindings.byHash {
		all[hash] = one.node.id
	}

	return all
}

// CheckBindings tells what is inconsistent about bindings and the counts of open nodes, if anything is.
func (c *Core) CheckBindings() error {
	keys := make(map[*node]int)

	listed := 0
	for one := c.bindings.recent.front(); one != nil; one = one.recent.after() {
		listed++

		if c.bindings.byHash[one.hash] != one {
			return fmt.Errorf("%x is listed and not found", one.hash)
		}

		keys[one.node]++
	}

	if listed != c.bindings.len() || listed > bindingsPerNode*max(len(c.nodes), 1) {
		return fmt.Errorf("%d keys are listed, %d found, of %d nodes", listed, c.bindings.len(), len(c.nodes))
	}

	open := 0

	for _, n := range c.nodes {
		if n.keys != keys[n] {
			return fmt.Errorf("%s counts %d keys, has %d", n.id, n.keys, keys[n])
		}

		if n.index >= 0 && n.state == 0 {
			open++
		}
	}

	if open != c.open {
		return fmt.Errorf("%d nodes count as open, %d are", c.open, open)
	}

	return nil
}
