package policy

import (
	"time"

	"skyring/ring"
)

// slotRing is the policy of this project, see package ring.
type slotRing struct {
	*ring.Ring

	reports []Report
	then    []uint32 // messages in flight when the report came
	loaded  []bool   // whether SetLoad was called
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

			return &slotRing{
				Ring: r, reports: make([]Report, len(nodes)), then: make([]uint32, len(nodes)), loaded: make([]bool, len(nodes)),
			}, nil
		},
	}}
}

// SetLoad implements Policy.
func (p *slotRing) SetLoad(i int, l Load) {
	p.Ring.SetLoad(i, l.InFlight, l.Limit, l.HardCap)

	// Whoever brings what is known of a node to a new policy brings the report first. It knew of these messages.
	if !p.loaded[i] {
		p.loaded[i], p.then[i] = true, l.InFlight
	}

	if r := &p.reports[i]; r.Pressure > 0 {
		p.SetPressure(i, r.now(p.then[i], l.InFlight))
	}
}

// SetReport implements Policy.
func (p *slotRing) SetReport(i int, r Report) {
	p.reports[i] = r
	p.then[i], _, _ = p.Load(i)
	p.SetPressure(i, r.Pressure)
}

// Tick implements Policy.
func (*slotRing) Tick(time.Duration) {}

// Pick implements Policy.
func (p *slotRing) Pick(q Query) ring.Choice { return p.Ring.Pick(q.Hash, q.Avoid) }
