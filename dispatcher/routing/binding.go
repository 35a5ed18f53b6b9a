package routing

import (
	"time"

	"skyring/ring"
)

const (
	// bindingLife is how long a key stays bound to a node without a message.
	bindingLife = 5 * time.Minute
	// bindingsPerNode is how many keys are bound for each node of the policy. From so many on chance evens them out: their number at a node
	// has a standard deviation of 1/sqrt(512), 4.4 %, and a bound of 25 % over the mean is 5.6 of these away. Further keys
	// go by the ring alone.
	bindingsPerNode = 512
	// bindingTouch is how old the note of a binding's last use may be.
	bindingTouch = time.Second
)

// bounder is a policy that can bound the keys of a node: package ring has it.
type bounder interface {
	Home(hash uint64) int
	PickNew(hash uint64, avoid int) ring.Choice
	SetFull(i int, o ring.Occupancy)
	Bound(keys uint64, i int) uint64
}

// binding is the node of a key, from its first pick on. It is a hint: where the node is not open the key's messages go elsewhere
// meanwhile, since what is known of it lies in the state store. Each dispatcher has its own.
type binding struct {
	hash uint64
	node *node
	home *node         // that the ring had for the key when it was bound
	used time.Duration // last, give or take bindingTouch, by the core's clock

	recent hook[binding]
}

// bindings are those of all keys that were used of late.
//
// A few stations make any hash uneven: of 100 keys on 16 nodes one node gets 13 where 6 would be fair. So a key's
// first pick passes nodes over that have their bound of keys, max(ceil(mean), floor(1.25 mean)), and goes on along the
// key's chain as if they were not open.
type bindings struct {
	byHash map[uint64]*binding
	recent list[binding] // the one that was used longest ago first
	idle   []*binding
	full   []*node // those that the policy was told have their share of keys
}

func (b *bindings) len() int { return len(b.byHash) }

func (b *bindings) bind(hash uint64, n, home *node, now time.Duration) {
	var one *binding
	if i := len(b.idle); i > 0 {
		one = b.idle[i-1]
		b.idle = b.idle[:i-1]
	} else {
		one = &binding{}
		one.recent.item = one
	}

	one.hash, one.node, one.home, one.used = hash, n, home, now
	b.byHash[hash] = one
	b.recent.pushBack(&one.recent)
	n.keys++
}

func (b *bindings) unbind(one *binding) {
	one.recent.remove()
	delete(b.byHash, one.hash)
	one.node.keys--
	one.node, one.home = nil, nil
	b.idle = append(b.idle, one)
}

// move binds a key to another node.
func (one *binding) move(to, home *node) {
	one.node.keys--
	to.keys++
	one.node, one.home = to, home
}

// touch notes that a binding is used.
func (b *bindings) touch(one *binding, now time.Duration) {
	if now-one.used >= bindingTouch {
		one.used = now
		one.recent.remove()
		b.recent.pushBack(&one.recent)
	}
}

// expire forgets bindings that were not used for long.
func (b *bindings) expire(now time.Duration) {
	for one := b.recent.front(); one != nil && now-one.used >= bindingLife; one = b.recent.front() {
		b.unbind(one)
	}
}

// pickBound picks for a key with a policy that bounds the keys of a node. Keys that come first are bound to
// what they get, if that node has not its share of keys.
func (c *Core) pickBound(p bounder, hash uint64, avoid int) (choice ring.Choice, bound bool) {
	one := c.bindings.byHash[hash]

	switch {
	case one != nil:
		c.bindings.touch(one, c.clock)

		if i := one.node.index; i != ring.NoNode && i != avoid && one.node.state == ring.Open {
			if i == p.Home(hash) {
				return ring.Choice{Node: i}, false
			}

			return ring.Choice{Node: i, How: ring.Chain}, true
		}
	case c.bindings.len() < bindingsPerNode*len(c.byIndex):
		if choice, room := c.firstPick(p, hash, avoid, c.bindings.len()+1); room {
			c.bindings.bind(hash, c.byIndex[choice.Node], c.byIndex[p.Home(hash)], c.clock)

			return choice, false
		}
	}

	return ring.Choice{Node: ring.NoNode, How: ring.None}, false
}

// firstPick is the first pick of one of so many keys. room says that an open node was found that has not its share of them.
func (c *Core) firstPick(p bounder, hash uint64, avoid, keys int) (choice ring.Choice, room bool) {
	c.makeKeyRoom(p, keys)

	for {
		choice = p.PickNew(hash, avoid)
		if choice.How == ring.BestWeight || choice.How == ring.None {
			return choice, false
		}

		n := c.byIndex[choice.Node]

		switch {
		case n.keyFull: // all are that are open
			return choice, false
		case uint64(n.keys) < p.Bound(uint64(keys), choice.Node): //nolint:gosec // not negative
			return choice, true
		}

		n.keyFull = true
		c.bindings.full = append(c.bindings.full, n)
		p.SetFull(choice.Node, ring.Full)
	}
}

// makeKeyRoom tells the policy which nodes have room for keys again, of so many.
func (c *Core) makeKeyRoom(p bounder, keys int) {
	still := c.bindings.full[:0]

	for _, n := range c.bindings.full {
		if uint64(n.keys) >= p.Bound(uint64(keys), n.index) { //nolint:gosec // not negative
			still = append(still, n)

			continue
		}

		n.keyFull = false
		p.SetFull(n.index, ring.HasRoom)
	}

	clear(c.bindings.full[len(still):])
	c.bindings.full = still
}
