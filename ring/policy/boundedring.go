package policy

import (
	"cmp"
	"math/bits"

	"skyring/ring"
)

// boundNumerator / boundDenominator is c: how far above its share of the messages in flight a node may go.
const (
	boundNumerator   = 5
	boundDenominator = 4
)

// boundedRing is consistent hashing with bounded loads: a plain ring on whose clockwise walk nodes are passed that have
// reached their bound, ceil(c * (messages in flight, with this one) * share of the capacity), c = 1.25.
//
// Source: V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded Loads", SODA 2018, for equal nodes;
// shares by capacity are the plain extension. Sums are over nodes that are not Ineligible. Where limits leave no usable node under
// its bound, the first usable one is taken.
type boundedRing struct {
	members

	circle circle

	// Sums over the nodes that are not Ineligible.
	inFlight uint64
	capacity uint64
}

func boundedRingEntry() entry {
	return entry{
		Description: Description{
			Name:    "bounded-ring",
			Summary: "consistent hashing with bounded loads, c = 1.25 over the messages in flight",
			Source:  "Mirrokni, Thorup, Zadimoghaddam, SODA 2018",
		},
		build: checked(newBoundedRing),
	}
}

func newBoundedRing(nodes []ring.Node, o Options) (*boundedRing, error) {
	c, err := hashedCircle(nodes, cmp.Or(o.VirtualNodes, plainVirtualNodes))
	if err != nil {
		return nil, err
	}

	p := &boundedRing{members: newMembers(nodes, o), circle: c}
	for _, n := range nodes {
		p.capacity += uint64(n.Capacity)
	}

	return p, nil
}

// SetState implements Policy.
func (p *boundedRing) SetState(i int, s ring.State) {
	p.withdraw(i)
	p.members.SetState(i, s)
	p.enter(i)
}

// SetLoad implements Policy.
func (p *boundedRing) SetLoad(i int, l Load) {
	p.withdraw(i)
	p.members.SetLoad(i, l)
	p.enter(i)
}

// enter adds a node to the sums.
func (p *boundedRing) enter(i int) {
	if p.states[i] != ring.Ineligible {
		p.inFlight += uint64(p.loads[i].InFlight)
		p.capacity += uint64(p.nodes[i].Capacity)
	}
}

// withdraw takes it out of them.
func (p *boundedRing) withdraw(i int) {
	if p.states[i] != ring.Ineligible {
		p.inFlight -= uint64(p.loads[i].InFlight)
		p.capacity -= uint64(p.nodes[i].Capacity)
	}
}

// below says that a node has not reached its bound: inFlight < ceil(x) just when inFlight < x.
func (p *boundedRing) below(i int) bool {
	highUsed, lowUsed := bits.Mul64(uint64(p.loads[i].InFlight)*boundDenominator, p.capacity)
	highBound, lowBound := bits.Mul64((p.inFlight+1)*boundNumerator, uint64(p.nodes[i].Capacity))

	return highUsed < highBound || highUsed == highBound && lowUsed < lowBound
}

// Pick implements Policy.
func (p *boundedRing) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	start := p.circle.first(uint32(q.Hash >> 32))
	i := start

	for step := range p.circle {
		if n := int(p.circle[i].owner); p.usable(n, q.Avoid) && p.below(n) {
			return later(n, step)
		}

		if i++; i == len(p.circle) {
			i = 0
		}
	}

	c := p.walk(p.circle, start, q.Avoid)
	if c.How == ring.Home || c.How == ring.Chain {
		c.How = ring.Spill
	}

	return c
}
