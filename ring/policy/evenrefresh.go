package policy

import (
	"slices"
	"time"

	"skyring/ring"
)

// Tick implements Policy: it moves boundaries once an interval.
func (p *evenRing) Tick(now time.Duration) {
	if now-p.refreshed < p.interval {
		return
	}

	p.refreshed = now
	p.refresh()
	clear(p.given)
}

// refresh moves the boundaries between virtual nodes by the load factors L of their nodes:
//
//	      x------arc------o               keys of an arc belong to the virtual node o at its end
//	L above median*(1+Threshold)          o goes anticlockwise: the end of its arc falls to the next clockwise
//	L below median*(1-Threshold)          the virtual node x before it goes anticlockwise, if its node has more
//
// The paper does not say how far. Here a node sheds or takes as much of its arcs as brings it to the threshold, and no arc loses more
// than half at a time. (Down to the median itself, a surplus finds no place to stay where all others are at the median already: it
// goes round the circle from refresh to refresh.) Nodes that are Ineligible neither shed nor take, and without a load nothing
// moves; where most have none, the median is 0, and the others shed half.
func (p *evenRing) refresh() {
	if len(p.circle) < 2 {
		return
	}

	factors, median := p.loadFactors()

	moves := make([]uint32, len(p.circle)) // how far each goes anticlockwise

	for i := range p.circle {
		p.shed(i, factors, median, moves)
		p.take(i, factors, median, moves)
	}

	for i := range p.circle {
		p.circle[i].at = back(p.circle[i].at, moves[i])
	}

	// Those that went below 0 are at the end now.
	p.circle = newCircle(p.circle)
}

// loadFactors is the messages given to each node, by its capacity, and their median (the higher one of two) over the nodes that are not Ineligible.
func (p *evenRing) loadFactors() ([]float64, float64) {
	factors := make([]float64, len(p.nodes))

	var counted []float64

	for i, n := range p.nodes {
		factors[i] = float64(p.given[i]) / float64(n.Capacity)

		if p.states[i] != ring.Ineligible {
			counted = append(counted, factors[i])
		}
	}

	if len(counted) == 0 {
		return factors, 0
	}

	slices.Sort(counted)

	return factors, counted[len(counted)/2]
}

// shed has an overloaded node's virtual node i go back by what its arc has too much.
func (p *evenRing) shed(i int, factors []float64, median float64, moves []uint32) {
	n := int(p.circle[i].owner)
	if p.states[n] == ring.Ineligible || factors[n] <= median*(1+p.threshold) {
		return
	}

	arc := p.arc(i)
	moves[i] = max(moves[i], min(uint32(float64(arc)*(factors[n]-median*(1+p.threshold))/factors[n]), arc/2))
}

// take has the virtual node before an underloaded node's virtual node i go back by what i's arc lacks.
func (p *evenRing) take(i int, factors []float64, median float64, moves []uint32) {
	n := int(p.circle[i].owner)
	if p.states[n] == ring.Ineligible || factors[n] >= median*(1-p.threshold) {
		return
	}

	before := p.before(i)

	giver := int(p.circle[before].owner)
	if p.states[giver] == ring.Ineligible || factors[giver] <= factors[n] {
		return
	}

	lacking := float64(evenPositions) // an idle node takes all it may
	if factors[n] > 0 {
		lacking = float64(p.arc(i)) * (median*(1-p.threshold) - factors[n]) / factors[n]
	}

	moves[before] = max(moves[before], uint32(min(lacking, float64(p.arc(before)/2))))
}

// before is the index of the virtual node anticlockwise of i.
func (p *evenRing) before(i int) int {
	if i == 0 {
		return len(p.circle) - 1
	}

	return i - 1
}

// arc is the number of positions that belong to virtual node i, where there are two at least.
func (p *evenRing) arc(i int) uint32 { return back(p.circle[i].at, p.circle[p.before(i)].at) }

// back is the position so many before another.
func back(at, by uint32) uint32 {
	if at >= by {
		return at - by
	}

	return at + (evenPositions - by)
}
