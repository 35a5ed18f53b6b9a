package policy

import "skyring/ring"

// powerOfTwo draws two nodes at random and takes the one with fewer messages in flight, by the picker's own counts.
//
// Source: M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing".
//
// Readings: there the two are drawn independently and may be the same node; here they differ where two are usable, as the
// programs that took it up do. Of equals the first drawn is taken. Capacity does not count.
type powerOfTwo struct{ roster }

func powerOfTwoEntry() entry {
	return entry{
		Description: Description{
			Name:    "power-of-two",
			Summary: "of two nodes drawn at random the one with fewer messages in flight",
			Source:  "Mitzenmacher, The Power of Two Choices in Randomized Load Balancing",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			return &powerOfTwo{roster: newRoster(nodes, o)}, nil
		},
	}
}

// Pick implements Policy.
func (p *powerOfTwo) Pick(q Query) ring.Choice {
	hidden := p.able.hide(q.Avoid)
	i := p.draw()

	if hidden {
		p.able.put(q.Avoid, true)
	}

	if i == ring.NoNode {
		return p.resort(q.Avoid)
	}

	return ring.Choice{Node: i}
}

func (p *powerOfTwo) draw() int {
	switch n := p.able.count; n {
	case 0:
		return ring.NoNode
	case 1:
		return p.able.nth(0)
	default:
		x, y := p.random.IntN(n), p.random.IntN(n-1)
		if y >= x { // all but x, each as likely
			y++
		}

		a, b := p.able.nth(x), p.able.nth(y)
		if p.loads[b].InFlight < p.loads[a].InFlight {
			return b
		}

		return a
	}
}
