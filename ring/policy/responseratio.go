package policy

import (
	"time"

	"skyring/ring"
)

// responseRatio takes the node whose response time has grown least: the smallest quotient of its response time now and the
// shortest it ever reported, which stands for its service time without waiting.
//
// Source: named, without a formula, beside dynamic feedback in the paper of the Z-curve.
//
// Readings: the formula is ours, after the response ratio of scheduling, (waiting + service)/service. Response times are those of
// reports. A node that reported one or none has ratio 1; of equals the one with fewer in flight is taken. One report that
// was too short by chance is the node's measure from then on.
type responseRatio struct {
	smallest

	shortest []time.Duration // 0: none yet
}

func responseRatioEntry() entry {
	return entry{
		Description: Description{
			Name:    "response-ratio",
			Summary: "the node whose response time is the smallest multiple of the shortest it ever had",
			Source:  "paper of the Z-curve, named there; the formula is ours",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			p := &responseRatio{shortest: make([]time.Duration, len(nodes))}
			p.start(nodes, o, p.worth)

			return p, nil
		},
	}
}

func (p *responseRatio) worth(i int) rank {
	r := rank{score: 1, tie: p.inFlight(i)}
	if now := p.reports[i].Response; now > 0 && p.shortest[i] > 0 {
		r.score = float64(now) / float64(p.shortest[i])
	}

	return r
}

// SetReport implements Policy.
func (p *responseRatio) SetReport(i int, r Report) {
	if r.Response > 0 && (p.shortest[i] == 0 || r.Response < p.shortest[i]) {
		p.shortest[i] = r.Response
	}

	p.smallest.SetReport(i, r)
}
