package policy

import (
	"math"
	"math/rand/v2"
	"time"

	"skyring/ring"
)

// members is what policies other than ours know of their nodes; they embed it.
type members struct {
	// Static after newMembers.
	nodes  []ring.Node // ascending by id
	limits LimitRule
	random *rand.Rand // draws from lots

	lots   *rand.PCG
	states []ring.State
	open   int // nodes that are Open
	loads  []Load

	reported

	last lastResort
}

func newMembers(nodes []ring.Node, o Options) members {
	lots := rand.NewPCG(o.Seed, o.Seed^0x9E3779B97F4A7C15)
	m := members{
		nodes:    nodes,
		limits:   o.Limits,
		random:   rand.New(lots), //nolint:gosec // balancing, no secrets
		lots:     lots,
		states:   make([]ring.State, len(nodes)),
		open:     len(nodes),
		loads:    make([]Load, len(nodes)),
		reported: newReported(len(nodes)),
		last:     newLastResort(len(nodes)),
	}

	for i, n := range nodes {
		m.loads[i] = Load{Limit: n.Capacity, HardCap: math.MaxUint32}
	}

	return m
}

// Len implements Policy.
func (m *members) Len() int { return len(m.nodes) }

// Node implements Policy.
func (m *members) Node(i int) ring.Node { return m.nodes[i] }

// SetState implements Policy.
func (m *members) SetState(i int, s ring.State) {
	switch {
	case s == ring.Open && m.states[i] != ring.Open:
		m.open++
	case s != ring.Open && m.states[i] == ring.Open:
		m.open--
	}

	m.states[i] = s
	m.last.changed.put(i, true)
}

// SetLoad implements Policy.
func (m *members) SetLoad(i int, l Load) {
	m.loads[i] = l
	m.load(i, l.InFlight)
	m.last.changed.put(i, true)
}

// SetReport implements Policy.
func (m *members) SetReport(i int, r Report) {
	m.report(i, r, m.loads[i].InFlight)
	m.last.changed.put(i, true)
}

// Tick implements Policy, for those to which the time means nothing.
func (*members) Tick(time.Duration) {}

// usable says that an algorithm may choose the node by its own rule.
func (m *members) usable(i, avoid int) bool {
	switch {
	case i == avoid || m.states[i] == ring.Ineligible:
		return false
	case m.limits == IgnoreLimits:
		return m.loads[i].InFlight < m.loads[i].HardCap
	default:
		return m.states[i] == ring.Open
	}
}

// exhausted says that no node is usable, so that no walk need go all the way round to find that out.
func (m *members) exhausted(avoid int) bool {
	if m.limits == RespectLimits {
		return m.open == 0 || m.open == 1 && avoid != ring.NoNode && m.states[avoid] == ring.Open
	}

	for i := range m.nodes {
		if m.usable(i, avoid) {
			return false
		}
	}

	return true
}

// pressure is 1 minus the weight: the largest used/threshold of the report, as it has become since, and of the messages in flight.
func (m *members) pressure(i int) float64 {
	l := m.loads[i]

	return max(m.pressureAt(i, l.InFlight), (float64(l.InFlight)+1)/float64(max(l.Limit, 1)))
}
