package policy

import "skyring/ring"

// smallest is the frame of policies that take the usable node of the smallest value: they differ in the value alone.
// A pick looks at the root of a tree, and a change of state, load or report takes its node up the tree.
type smallest struct {
	members

	by    tournament
	value func(i int) rank // static
}

// start sets value and ranks all nodes; each of these policies calls it once.
func (s *smallest) start(nodes []ring.Node, o Options, value func(i int) rank) {
	s.members = newMembers(nodes, o)
	s.by = newTournament(len(nodes))
	s.value = value

	for i := range nodes {
		s.update(i)
	}
}

// update ranks a node anew.
func (s *smallest) update(i int) {
	if s.usable(i, ring.NoNode) {
		s.by.set(i, s.value(i))
	} else {
		s.by.set(i, absent())
	}
}

// SetState implements Policy.
func (s *smallest) SetState(i int, state ring.State) {
	s.members.SetState(i, state)
	s.update(i)
}

// SetLoad implements Policy.
func (s *smallest) SetLoad(i int, l Load) {
	s.members.SetLoad(i, l)
	s.update(i)
}

// SetReport implements Policy.
func (s *smallest) SetReport(i int, r Report) {
	s.members.SetReport(i, r)
	s.update(i)
}

// inFlight is what ties go by.
func (s *smallest) inFlight(i int) float64 { return float64(s.loads[i].InFlight) }

// Pick implements Policy.
func (s *smallest) Pick(q Query) ring.Choice {
	if i := s.by.least(q.Avoid); i != ring.NoNode {
		return ring.Choice{Node: i}
	}

	return s.resort(q.Avoid)
}
