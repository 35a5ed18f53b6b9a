package routing

import (
	"fmt"

	"skyring/ring"
	"skyring/ring/policy"
)

// Explanation is what would be done with the next message of a key, and why. Nodes are named by id.
type Explanation struct {
	Unanswered int       // messages of the key
	Node       string    // that has some of them in flight
	Binding    string    // node that the key is bound to
	Home       string    // node that the ring has for the key
	Skipped    []Skipped // in the order in which they were looked at
	Taken      string    // empty: none
	How        string    // Bound, or a ring.How
}

// Skipped is a node that a pick passed over.
type Skipped struct {
	Node   string
	Reason string
}

// Bound is how a node was found that is not its key's home, but that the key is bound to.
const Bound = "bound"

// explainer is a policy that can tell of each step of a pick: package ring has it.
type explainer interface {
	Explain(q ring.Query) ring.Explanation
}

// Explain tells which node the next message of a key would get, were nothing of the key in flight. Messages, bindings, turns and lots stay as they are.
func (c *Core) Explain(m *Message) Explanation {
	e := Explanation{How: ring.None.String()}

	if s := c.sessions[string(m.Key)]; s != nil {
		e.Unanswered = s.unanswered
		if s.node != nil {
			e.Node = s.node.id
		}
	}

	switch {
	case c.policy == nil || c.policy.Len() == 0:
	case c.bounder != nil:
		c.explainBound(&e, m)
	default:
		c.explainPick(&e, m, ring.Repeat)
	}

	return e
}

// explainBound explains the pick of a policy that bounds the keys of a node.
func (c *Core) explainBound(e *Explanation, m *Message) {
	home := c.byIndex[c.bounder.Home(m.Hash)]
	if home != nil {
		e.Home = home.id
	}

	one := c.bindings.byHash[m.Hash]
	if one == nil {
		occasion := ring.Repeat
		if c.bindings.len() < bindingsPerNode*len(c.byIndex) {
			if _, room := c.firstPick(c.bounder, m.Hash, ring.NoNode, c.bindings.len()+1); room {
				occasion = ring.First
			}
		}

		c.explainPick(e, m, occasion)

		return
	}

	e.Binding = one.node.id

	switch {
	case one.node.index == ring.NoNode || one.node.state != ring.Open:
		e.skip(one.node, c.words(one.node))
		c.explainPick(e, m, ring.Repeat)
	case one.node == home:
		e.Taken, e.How = e.Home, ring.Home.String()
	default:
		e.Taken, e.How = one.node.id, Bound

		if home == nil { // forgotten since the policy was wanted
			return
		}

		why := "it had its share of keys, or was not open, when the key came"
		if home.state != ring.Open {
			why = c.words(home)
		}

		e.skip(home, why)
	}
}

// explainPick explains a pick of the policy.
func (c *Core) explainPick(e *Explanation, m *Message, occasion ring.Occasion) {
	var choice ring.Choice

	if p, ok := c.policy.(explainer); ok {
		x := p.Explain(ring.Query{Hash: m.Hash, Avoid: ring.NoNode, Occasion: occasion})
		choice = x.Choice

		for _, probe := range x.Probes {
			if n := c.byIndex[probe.Node]; probe.Skip != ring.Taken && n != nil {
				e.skip(n, c.skipWords(n, probe.Skip))
			}
		}

		for _, candidate := range x.Candidates {
			if n := c.byIndex[candidate.Node]; candidate.Skip != ring.Taken && n != nil {
				e.skip(n, c.skipWords(n, candidate.Skip))
			}
		}
	} else {
		choice = policy.Peek(c.policy, policy.Query{Hash: m.Hash, Number: m.Number, Source: m.Epoch, Avoid: ring.NoNode})
	}

	e.How = choice.How.String()
	if choice.Node != ring.NoNode {
		e.Taken = c.byIndex[choice.Node].id
	}
}

// skip notes a node that was passed over, once for the same reason.
func (e *Explanation) skip(n *node, reason string) {
	for _, s := range e.Skipped {
		if s.Node == n.id && s.Reason == reason {
			return
		}
	}

	e.Skipped = append(e.Skipped, Skipped{Node: n.id, Reason: reason})
}

// skipWords are why a pick passed a node over, with numbers.
func (c *Core) skipWords(n *node, s ring.Skip) string {
	switch s {
	case ring.NotEligible, ring.Saturated:
		return c.words(n)
	case ring.FullOfKeys:
		return fmt.Sprintf("has its share of keys: %d of %d", n.keys, c.bindings.len())
	case ring.HardCapped:
		return fmt.Sprintf("%d messages in flight, at its hard cap", n.inFlight)
	case ring.LessWeight:
		text := fmt.Sprintf("weight %.3f, another has more", n.weight())
		if words := c.words(n); words != "" { // an open node needs none
			text += ": " + words
		}

		return text
	case ring.Avoided, ring.Taken:
		return s.String()
	default:
		return s.String()
	}
}
