package ring

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

// condition is what changes about the nodes of a ring while it is used. Picks read
// atomics; writers take turns, but for the loads of nodes that are not at their limit.
type condition struct {
	// Static after start.
	leaves   int      // the number of nodes rounded up to a power of two, at least 1
	share    []uint32 // weight per node: its slots, at least 1
	capacity []uint32 // per node

	writer sync.Mutex

	// Atomic.
	loads []load

	// Atomic; written under writer.
	pools  [everyPool]pool
	states []atomic.Uint32 // State per node
	full   []atomic.Uint32 // Occupancy per node
	total  atomic.Uint64   // capacity of the nodes that are not ineligible
	best   []atomic.Int32  // tree as in pool: the node below that the last resort prefers, or NoNode
}

// load is a node's load as chain and last resort see it.
type load struct {
	inFlight atomic.Uint32
	limit    atomic.Uint32
	hardCap  atomic.Uint32
	pressure atomic.Uint32 // in units of 1/onePressure
}

// start makes the condition in which all nodes are open and idle. Build calls it once.
func (c *condition) start(nodes []Node, slots []uint32) {
	leaves := 1
	if len(nodes) > 1 {
		leaves = 1 << bits.Len(uint(len(nodes)-1))
	}

	c.leaves = leaves
	c.states = make([]atomic.Uint32, len(nodes))
	c.full = make([]atomic.Uint32, len(nodes))
	c.loads = make([]load, len(nodes))
	c.best = make([]atomic.Int32, 2*leaves)
	c.share = make([]uint32, len(nodes))
	c.capacity = make([]uint32, len(nodes))

	for v := range c.best {
		c.best[v].Store(NoNode)
	}

	for i, n := range nodes {
		c.share[i] = max(slots[i], 1)
		c.capacity[i] = n.Capacity
		c.loads[i].limit.Store(n.Capacity)
		c.loads[i].hardCap.Store(math.MaxUint32)
		c.best[leaves+i].Store(int32(i))
	}

	for v := leaves - 1; v >= 1; v-- {
		c.best[v].Store(c.better(c.best[2*v].Load(), c.best[2*v+1].Load()))
	}

	c.total.Store(totalCapacity(nodes))

	for k := range c.pools {
		c.pools[k].start(c.share, leaves)
	}
}

// enrol puts a node into the pools it belongs to and takes it out of the others. The caller
// holds writer.
func (c *condition) enrol(i int) {
	state := State(c.states[i].Load())
	room := Occupancy(c.full[i].Load()) != Full
	open, eligible := state == Open, state != Ineligible

	for k, belongs := range [everyPool]bool{
		openPool: open, openRoomPool: open && room, eligiblePool: eligible, eligibleRoomPool: eligible && room,
	} {
		if belongs {
			c.pools[k].set(i, c.leaves, c.share[i])
		} else {
			c.pools[k].set(i, c.leaves, 0)
		}
	}
}
