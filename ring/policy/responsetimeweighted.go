package policy

import (
	"time"

	"skyring/ring"
)

// responseTimeWeighted draws a node with a weight of the sum of all response times less its own. While there are no weights, nodes take turns.
//
// Source: Netflix Ribbon, WeightedResponseTimeRule: weights are taken every 30 s.
//
// Readings: what Ribbon measures itself is here the smoothed response time of the last report, in whole microseconds. A node without one has the largest
// weight, as there. Ribbon draws again when it drew a server that is not alive, which is a draw among the others in
// proportion to their weights: so it is here for all nodes that are not usable. Weights start when every node that is
// not ineligible has reported, or an interval has passed; Ribbon goes by its clock alone.
type responseTimeWeighted struct {
	roster

	schedule schedule
	heard    []bool
	at       int      // whose turn it is while there are no weights
	weights  []uint64 // at the last refresh
	drawn    shares   // the weights of the usable nodes
}

func responseTimeWeightedEntry() entry {
	return entry{
		Description: Description{
			Name:    "response-time-weighted",
			Summary: "drawn with the sum of all response times less its own as the weight",
			Source:  "Netflix Ribbon, WeightedResponseTimeRule",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			return &responseTimeWeighted{
				roster:   newRoster(nodes, o),
				schedule: newSchedule(o, 30*time.Second),
				heard:    make([]bool, len(nodes)),
				weights:  make([]uint64, len(nodes)),
				drawn:    newShares(len(nodes)),
			}, nil
		},
	}
}

// SetState implements Policy.
func (p *responseTimeWeighted) SetState(i int, s ring.State) {
	p.roster.SetState(i, s)
	p.bring(i)
}

// SetLoad implements Policy.
func (p *responseTimeWeighted) SetLoad(i int, l Load) {
	p.roster.SetLoad(i, l)
	p.bring(i)
}

// SetReport implements Policy.
func (p *responseTimeWeighted) SetReport(i int, r Report) {
	p.roster.SetReport(i, r)
	p.heard[i] = true
}

// bring gives the draw a node's weight while it is usable.
func (p *responseTimeWeighted) bring(i int) {
	if p.able.has(i) {
		p.drawn.set(i, p.weights[i])
	} else {
		p.drawn.set(i, 0)
	}
}

// Tick implements Policy.
func (p *responseTimeWeighted) Tick(now time.Duration) {
	ready := true
	for i, heard := range p.heard {
		ready = ready && (heard || p.states[i] == ring.Ineligible)
	}

	if !p.schedule.due(now, ready) {
		return
	}

	var sum uint64
	for i := range p.nodes {
		sum += p.microseconds(i)
	}

	for i := range p.nodes {
		p.weights[i] = sum - p.microseconds(i)
		p.bring(i)
	}
}

// microseconds is a node's response time, an hour at most, so that the weights of the largest ring do not overflow.
func (p *responseTimeWeighted) microseconds(i int) uint64 {
	return uint64(min(max(p.reports[i].Response, 0), time.Hour).Microseconds()) //nolint:gosec // not negative by max
}

// Pick implements Policy.
func (p *responseTimeWeighted) Pick(q Query) ring.Choice {
	var avoided uint64

	if q.Avoid != ring.NoNode {
		avoided = p.drawn.weights[q.Avoid]
		p.drawn.set(q.Avoid, 0)
	}

	c, drawn := ring.Choice{}, p.drawn.total > 0
	if drawn {
		c.Node = p.drawn.at(p.random.Uint64N(p.drawn.total))
	}

	if q.Avoid != ring.NoNode {
		p.drawn.set(q.Avoid, avoided)
	}

	if !drawn {
		c, p.at = p.turn(p.at, q.Avoid)
	}

	return c
}
