package policy

import "skyring/ring"

// turn is the node of the next turn of the weighted round robin, ring.NoNode where no usable node has any weight: each usable node is owed its
// weight, and the one that is owed most takes the turn and pays for all.
func (p *evenRing) turn(avoid int) int {
	p.weigh()

	best, all := ring.NoNode, 0.0

	for i, w := range p.weights {
		if w <= 0 || !p.usable(i, avoid) {
			continue
		}

		all += w

		if p.credit[i] += w; best == ring.NoNode || p.credit[i] > p.credit[best] {
			best = i
		}
	}

	if best != ring.NoNode {
		p.credit[best] -= all
	}

	return best
}

// weigh gives each node its weight by its utilisation u, which is 1 minus the weight, a its capacity:
//
//	as meant     0 where u is above the mean, else a*(1-u)
//	as printed   0 where the mean is at or above u, else a*(1+u)
//
// The mean is over the nodes that are not Ineligible.
func (p *evenRing) weigh() {
	mean := p.meanUtilisation()

	for i, n := range p.nodes {
		u, a := p.pressure(i), float64(n.Capacity)

		switch {
		case p.reading == asMeant && u <= mean:
			p.weights[i] = a * (1 - u)
		case p.reading == asPrinted && u > mean:
			p.weights[i] = a * (1 + u)
		default:
			p.weights[i] = 0
		}
	}
}

func (p *evenRing) meanUtilisation() float64 {
	sum, count := 0.0, 0

	for i := range p.nodes {
		if p.states[i] != ring.Ineligible {
			sum += p.pressure(i)
			count++
		}
	}

	return sum / float64(max(count, 1))
}
