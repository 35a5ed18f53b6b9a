package policy

import "skyring/ring"

// lastResort ranks nodes by pressure. It is brought up to date when it is asked, by the nodes that changed since, so that while a node is
// open a change costs the others nothing, and where none is, no message looks at all of them.
type lastResort struct {
	by      tournament
	changed bitset
}

func newLastResort(n int) lastResort {
	l := lastResort{by: newTournament(n), changed: newBitset(n)}
	for i := range n {
		l.changed.put(i, true)
	}

	return l
}

// resort is the last resort where no node is usable: the best weight below the hard cap, avoid only where there is no other.
func (m *members) resort(avoid int) ring.Choice {
	for i := 0; m.last.changed.count > 0; {
		i = m.last.changed.next(i)
		m.last.changed.put(i, false)

		if m.mayTake(i) {
			m.last.by.set(i, rank{score: m.pressure(i)})
		} else {
			m.last.by.set(i, absent())
		}
	}

	if i := m.last.by.least(avoid); i != ring.NoNode {
		return ring.Choice{Node: i, How: ring.BestWeight}
	}

	if avoid != ring.NoNode && m.mayTake(avoid) {
		return ring.Choice{Node: avoid, How: ring.BestWeight}
	}

	return ring.Choice{Node: ring.NoNode, How: ring.None}
}

// mayTake says that a node may take a message at all.
func (m *members) mayTake(i int) bool {
	return m.states[i] != ring.Ineligible && m.loads[i].InFlight < m.loads[i].HardCap
}
