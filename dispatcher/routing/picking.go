package routing

import (
	"math"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

// policyTick is how often a policy is told the time.
const policyTick = time.Second

// placement is a policy that lays keys on slots which its nodes own.
type placement interface {
	Checksum() uint64
	Share(i int) int
	Slots() int
}

// PolicyWanted returns the members that the policy should know when they are not those of the present
// one. The caller makes a policy for them, without holding up the core, and brings it with SetPolicy.
func (c *Core) PolicyWanted() ([]ring.Node, bool) {
	if !c.stale {
		return nil, false
	}

	c.stale = false

	members := make([]ring.Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		if n.member() {
			members = append(members, ring.Node{ID: n.id, Capacity: n.capacity})
		}
	}

	return members, true
}

// SetPolicy makes picks go by a new policy, which is the core's from then on, and brings it states, loads and
// reports. Sessions that are bound stay so. A member that was forgotten since PolicyWanted is
// never picked.
func (c *Core) SetPolicy(now time.Duration, p policy.Policy) {
	c.at(now)

	for _, n := range c.nodes {
		n.index = ring.NoNode
	}

	c.policy, c.open = p, 0
	c.bounder, _ = p.(bounder)
	c.byIndex = c.byIndex[:0]

	for i := range p.Len() {
		n := c.byID[p.Node(i).ID]
		c.byIndex = append(c.byIndex, n)

		p.SetState(i, ring.Ineligible)

		if n == nil {
			c.stale = true

			continue
		}

		n.index, n.state = i, ring.Ineligible
		p.SetReport(i, n.report)
		n.refresh(c)
	}

	c.rebind()

	c.ticked = c.clock
	p.Tick(c.clock)
	c.unpark()
}

// tickPolicy tells the policy the time when it is due, and forgets bindings.
func (c *Core) tickPolicy() {
	if c.policy == nil || c.clock-c.ticked < policyTick {
		return
	}

	c.ticked = c.clock
	c.policy.Tick(c.clock)
	c.bindings.expire(c.clock)
}

// refresh tells the policy the node's state and load.
func (n *node) refresh(c *Core) {
	if n.index == ring.NoNode {
		return
	}

	if state := n.pickState(); state != n.state {
		c.enter(n, state)
	}

	c.policy.SetLoad(n.index, n.policyLoad())
}

// pickState is how the node may be picked.
func (n *node) pickState() ring.State {
	switch {
	case !n.eligible():
		return ring.Ineligible
	case n.full() || n.strain.Held():
		return ring.AtLimit
	default:
		return ring.Open
	}
}

// enter tells the policy a new state of a node, and counts it.
func (c *Core) enter(n *node, state ring.State) {
	if state == ring.Open {
		c.open++
	} else if n.state == ring.Open {
		c.open--
	}

	n.state = state
	c.policy.SetState(n.index, state)
	c.counts.Changes[n.reason()]++
}

// policyLoad is the node's load as policies know it. One that holds as many bytes as it may takes nothing, whatever the cap.
func (n *node) policyLoad() policy.Load {
	l := policy.Load{
		InFlight: uint32(n.inFlight),      //nolint:gosec // not negative, and bounded by the hard cap or by memory
		Limit:    uint32(n.limit.Value()), //nolint:gosec // validated by the owner of Config
		HardCap:  uint32(n.hardCap),       //nolint:gosec // validated by the owner of Config, math.MaxUint32 at most
	}
	if n.bytes >= n.maxBytes {
		l.HardCap = min(l.HardCap, l.InFlight)
	}

	return l
}

// noCap is the hard cap of nodes without one.
const noCap = math.MaxUint32

// takes tells that a node gets more of the sessions that are bound to it. One that is at its limit by its own report
// gets nothing while another node is open, like in a pick.
func (c *Core) takes(n *node) bool {
	return n.eligible() && !n.full() && (!n.strain.Held() || c.open == 0)
}

// pick binds a session to a node that the policy picks, false: there is none.
func (c *Core) pick(s *session, avoid *node) bool {
	if !c.connected || c.policy == nil {
		return false
	}

	q := policy.Query{Hash: s.hash, Number: s.number, Source: s.turns.front().epoch, Avoid: ring.NoNode}
	if avoid != nil {
		q.Avoid = avoid.index
	}

	choice, bound := ring.Choice{Node: ring.NoNode}, false
	if c.bounder != nil {
		choice, bound = c.pickBound(c.bounder, s.hash, q.Avoid)
	}

	if choice.Node == ring.NoNode {
		choice = c.policy.Pick(q)
	}

	switch {
	case choice.Node == ring.NoNode:
		return false
	case bound:
		c.counts.Bound++
	default:
		c.counts.Picks[choice.How]++
	}

	s.bind(c.byIndex[choice.Node])

	return true
}
