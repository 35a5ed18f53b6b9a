package routing

import (
	"math/rand/v2"
	"time"

	"skyring/ring/policy"
)

// maxGap is how much time at most passes for a Core between two calls. More means
// that the process did not run: no deadline and no heartbeat was missed then.
const maxGap = 250 * time.Millisecond

// Core routes messages to nodes and keeps each until it is answered. It decides and
// nothing else: its caller brings time, answers and heartbeats, takes envelopes
// from outboxes to the bus, and holds a lock around each call.
//
// Times are durations since one moment that its caller chooses; they never go back.
type Core struct {
	// static after New
	cfg Config

	random *rand.Rand
	now    time.Duration // of the last call
	clock  time.Duration // how long this process ran with NATS connected
	redis  time.Duration // Redis time minus the caller's
	events []Event
	event  uint64 // counts writes and answers: what came before what

	connected bool

	policy        policy.Policy
	bounder       bounder // the policy, nil: it does not bound the keys of a node
	bindings      bindings
	byIndex       []*node       // node of each of the policy's indexes
	ticked        time.Duration // when the policy was told the time
	stale         bool          // members differ from the policy's
	open          int           // nodes that the policy was told are open
	nodes         []*node
	byID          map[string]*node
	byIncarnation map[uint64]*node // the present and the previous one of each

	sessions map[string]*session
	idle     []*session

	strands     map[strandID]*strand
	idleStrands []*strand

	parked  parking
	entries pool
	mortal  list[entry] // unanswered ones that are given up at some time, the first one first
	timers  wheel
	key     []byte // scratch of write
	budget  budget

	forgotten []Node // since Forgotten

	ready  []*node    // whose outbox got its first message since Ready
	done   []Finished // since Done
	told   []Finished // what Done returned, to be used again
	counts Counts
}

// New makes a core without nodes that counts as connected. seed is for jitter.
func New(cfg Config, seed uint64) *Core {
	limit := max(cfg.RetryRate, float64(cfg.Window))

	return &Core{
		cfg:           cfg,
		random:        rand.New(rand.NewPCG(seed, seed^0x9E3779B97F4A7C15)), //nolint:gosec // jitter
		connected:     true,
		byID:          make(map[string]*node),
		byIncarnation: make(map[uint64]*node),
		bindings:      bindings{byHash: make(map[uint64]*binding)},
		sessions:      make(map[string]*session),
		strands:       make(map[strandID]*strand),
		parked:        parking{sources: make(map[uint64]*source)},
		timers:        wheel{left: -1},
		budget:        budget{share: cfg.RetryShare, rate: cfg.RetryRate, limit: limit, tokens: limit},
	}
}

// at takes note of the time. While NATS is away or the process does not run, the
// clock of deadlines and heartbeats stands.
func (c *Core) at(now time.Duration) {
	if c.connected {
		c.clock += min(now-c.now, maxGap)
	}

	c.now = now
}

// Submit takes a message. Those of one association must come in order of Sequence.
func (c *Core) Submit(now time.Duration, m *Message) {
	c.at(now)
	c.counts.Submitted++

	s := c.session(m)
	fresh := s.unanswered == 0

	e := c.entries.take()
	e.session = s
	e.message = *m
	e.message.Key = nil
	s.unanswered++

	if m.mortal() {
		c.mortal.pushBack(&e.inMortal)
	}

	st := c.strand(s, m.Epoch)
	st.add(e)
	c.changed(st)

	if fresh {
		c.launch(s, nil)
	} else {
		c.advance(s)
	}
}

// Tick fires what is due. It is called every few milliseconds.
func (c *Core) Tick(now time.Duration) {
	c.at(now)
	c.abandon()

	if !c.connected {
		return
	}

	for t := c.timers.due(c.clock); t != nil; t = c.timers.due(c.clock) {
		switch {
		case t.session != nil:
			t.session.waiting = false
			c.launch(t.session, nil)
		default:
			c.overdue(t.entry)
		}
	}

	c.watch()
	c.tickPolicy()
	c.unpark()
}

// SetClock says what Redis time minus the caller's is.
func (c *Core) SetClock(offset time.Duration) { c.redis = offset }

// Disconnected says that NATS is away. Nothing is written and no time passes until
// Reconnected.
func (c *Core) Disconnected(now time.Duration) {
	c.at(now)
	c.connected = false
}

// Reconnected says that NATS is back: whatever is in flight may be lost and goes
// again, a key's messages in order.
func (c *Core) Reconnected(now time.Duration) {
	c.at(now)
	c.connected = true

	var bound []*session

	for _, n := range c.nodes {
		for s := n.sessions.front(); s != nil; s = s.atNode.after() {
			bound = append(bound, s)
		}
	}

	for _, s := range bound {
		c.resent(ByReconnect, s)
		c.recallAll(s)
	}

	for _, s := range bound {
		c.launch(s, nil)
	}

	c.unpark()
}

// Unanswered is the number of messages taken and not told as done.
func (c *Core) Unanswered() int { return c.entries.len() }

// UnansweredOf is how many messages of each association are taken and not told as done,
// by its epoch.
func (c *Core) UnansweredOf() map[uint64]int {
	of := make(map[uint64]int)

	for _, e := range c.entries.all {
		if e.session != nil {
			of[e.message.Epoch]++
		}
	}

	return of
}

// Submitted is the number of messages taken since New.
func (c *Core) Submitted() uint64 { return c.counts.Submitted }

// Starved tells that messages wait and no node may be picked.
func (c *Core) Starved() bool {
	if c.parked.len() == 0 {
		return false
	}

	for _, n := range c.nodes {
		if n.eligible() {
			return false
		}
	}

	return true
}

// Node is a handle of a node, valid until Forgotten returns it.
type Node struct{ n *node }

// ID is the node's id.
func (n Node) ID() string { return n.n.id }

// Ready returns the nodes in whose empty outbox something was put since the last
// call; the slice is valid until the next one.
func (c *Core) Ready(dst []Node) []Node {
	for _, n := range c.ready {
		dst = append(dst, Node{n})
	}

	c.ready = c.ready[:0]

	return dst
}

// Nodes returns all known nodes from the given number on, in order of their first heartbeat.
func (c *Core) Nodes(from int) []Node {
	var all []Node
	for _, n := range c.nodes[from:] {
		all = append(all, Node{n})
	}

	return all
}

// Live returns the ids of the nodes that answer queries.
func (c *Core) Live() []string {
	var ids []string

	for _, n := range c.nodes {
		if n.alive && !n.suspect {
			ids = append(ids, n.id)
		}
	}

	return ids
}
