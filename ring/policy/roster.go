package policy

import (
	"math"

	"skyring/ring"
)

// roster is members that keep the set of usable nodes at hand, for policies that take turns or draw lots.
type roster struct {
	members

	able bitset // the usable nodes
}

func newRoster(nodes []ring.Node, o Options) roster {
	r := roster{members: newMembers(nodes, o), able: newBitset(len(nodes))}
	for i := range nodes {
		r.able.put(i, true)
	}

	return r
}

// SetState implements Policy.
func (r *roster) SetState(i int, s ring.State) {
	r.members.SetState(i, s)
	r.able.put(i, r.usable(i, ring.NoNode))
}

// SetLoad implements Policy.
func (r *roster) SetLoad(i int, l Load) {
	r.members.SetLoad(i, l)
	r.able.put(i, r.usable(i, ring.NoNode))
}

// turn is the choice of a policy that goes round: the first node of the set from one on, and the last resort where there is none.
// It returns where the next turn starts.
func (r *roster) turn(from, avoid int) (ring.Choice, int) {
	hidden := r.able.hide(avoid)
	i := r.able.next(from)

	if hidden {
		r.able.put(avoid, true)
	}

	if i == ring.NoNode {
		return r.resort(avoid), from
	}

	skipped := i - from
	if skipped < 0 {
		skipped += len(r.nodes)
	}

	return later(i, skipped), (i + 1) % len(r.nodes)
}

// unserved is the choice of a policy whose own rule refuses every node but perhaps avoid. As printed, such a policy names no node: so it does with IgnoreLimits.
// With RespectLimits a message is not lost while a node is open, the best weight of these takes it, and the last resort follows.
func (m *members) unserved(avoid int, own bool) ring.Choice {
	switch {
	case m.limits != IgnoreLimits && m.exhausted(avoid):
		return m.resort(avoid)
	case m.limits != IgnoreLimits:
		if i := m.lightest(avoid); i != ring.NoNode {
			return ring.Choice{Node: i, How: ring.Spill}
		}

		return m.resort(avoid)
	case own:
		return ring.Choice{Node: avoid, How: ring.BestWeight}
	default:
		return ring.Choice{Node: ring.NoNode, How: ring.None}
	}
}

// lightest is the usable node of the best weight, or ring.NoNode.
func (m *members) lightest(avoid int) int {
	best, least := ring.NoNode, math.Inf(1)

	for i := range m.nodes {
		if !m.usable(i, avoid) {
			continue
		}

		if p := m.pressure(i); p < least {
			best, least = i, p
		}
	}

	return best
}
