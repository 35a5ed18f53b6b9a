package policy

import (
	"time"

	"skyring/ring"
)

// slotRing is the policy of this project, see package ring.
type slotRing struct {
	*ring.Ring

	reported reported
}

func ownPolicies() []entry {
	return []entry{{
		Description: Description{
			Name:    Default,
			Summary: "slot ring: Fibonacci hashing to slots with exact quotas, best of two on the key's chain, weighted spill, capped best weight",
			Source:  "package ring",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			r, err := ring.Build(nodes, o.Ring)
			if err != nil {
				return nil, err
			}

			return &slotRing{Ring: r, reported: newReported(len(nodes))}, nil
		},
	}}
}

// SetLoad implements Policy.
func (p *slotRing) SetLoad(i int, l Load) {
	p.Ring.SetLoad(i, l.InFlight, l.Limit, l.HardCap)

	p.reported.load(i, l.InFlight)

	if p.reported.reports[i].Pressure > 0 {
		p.SetPressure(i, p.reported.pressureAt(i, l.InFlight))
	}
}

// SetReport implements Policy.
func (p *slotRing) SetReport(i int, r Report) {
	inFlight, _, _ := p.Load(i)
	p.reported.report(i, r, inFlight)
	p.SetPressure(i, r.Pressure)
}

// Tick implements Policy.
func (*slotRing) Tick(time.Duration) {}

// Pick implements Policy.
func (p *slotRing) Pick(q Query) ring.Choice { return p.Ring.Pick(q.Hash, q.Avoid) }
