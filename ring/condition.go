package ring

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

// condition is what changes about the nodes of a ring while it is used. Picks read
// atomics; writers take turns. Two trees in array form (root at 1, children of v at 2v
// and 2v+1, node i at leaves+i) make the choice among a thousand nodes as quick as ten
// steps.
type condition struct {
	// Static after start.
	leaves int      // the number of nodes rounded up to a power of two, at least 1
	share  []uint32 // weight per node: its slots, at least 1

	writer sync.Mutex

	// Atomic; written under writer.
	open    [(MaxNodes + 1) / 64]atomic.Uint64 // bit i%64 of word i/64: node i is open; no index can be out of it
	states  []atomic.Uint32                    // State per node
	loads   []load
	weights []atomic.Uint64 // tree: slots of the open nodes below
	best    []atomic.Int32  // tree: the least loaded node below that the last resort may choose, or NoNode
}

// load is a node's load as the last resort sees it.
type load struct {
	inFlight atomic.Uint32
	limit    atomic.Uint32
	hardCap  atomic.Uint32
}

// start makes the condition in which all nodes are open and idle. Build calls it once.
func (c *condition) start(nodes []Node, slots []uint32) {
	leaves := 1
	if len(nodes) > 1 {
		leaves = 1 << bits.Len(uint(len(nodes)-1))
	}

	c.leaves = leaves
	c.states = make([]atomic.Uint32, len(nodes))
	c.loads = make([]load, len(nodes))
	c.weights = make([]atomic.Uint64, 2*leaves)
	c.best = make([]atomic.Int32, 2*leaves)
	c.share = make([]uint32, len(nodes))

	for v := range c.best {
		c.best[v].Store(NoNode)
	}

	for i, n := range nodes {
		c.share[i] = max(slots[i], 1)
		c.open[i/64].Or(1 << (i % 64))
		c.loads[i].limit.Store(n.Capacity)
		c.loads[i].hardCap.Store(math.MaxUint32)
		c.weights[leaves+i].Store(uint64(c.share[i]))
		c.best[leaves+i].Store(int32(i))
	}

	for v := leaves - 1; v >= 1; v-- {
		c.weights[v].Store(c.weights[2*v].Load() + c.weights[2*v+1].Load())
		c.best[v].Store(c.better(c.best[2*v].Load(), c.best[2*v+1].Load()))
	}
}

// isOpen is false past the last node, so that a ring without nodes, whose slots all
// say 0, needs no case of its own.
func (c *condition) isOpen(n uint16) bool { return c.open[n/64].Load()>>(n%64)&1 != 0 }
