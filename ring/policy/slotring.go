package policy

import (
	"time"

	"skyring/ring"
)

// slotRing is the policy of this project, see package ring.
type slotRing struct {
	*ring.Ring

	loads   []Load
	reports []Report
	then    []uint32 // messages in flight when the report came
}

func ownPolicies() []entry {
	return []entry{{
		Description: Description{
			Name:    Default,
			Summary: "slot ring: Fibonacci hashing to slots with exact quotas, chain of the key, weighted spill, capped best weight",
			Source:  "package ring",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			r, err := ring.Build(nodes, o.Ring)
			if err != nil {
				return nil, err
			}

			return &slotRing{
				Ring: r, loads: make([]Load, len(nodes)), reports: make([]Report, len(nodes)), then: make([]uint32, len(nodes)),
			}, nil
		},
	}}
}

// SetState implements Policy. The ring looks at loads only where no node is open, so that they are brought up to date here.
func (p *slotRing) SetState(i int, s ring.State) {
	p.Ring.SetState(i, s)
	p.bring(i)
}

// SetLoad implements Policy.
func (p *slotRing) SetLoad(i int, l Load) {
	p.loads[i] = l
	if p.State(i) == ring.AtLimit {
		p.bring(i)
	}
}

// SetReport implements Policy.
func (p *slotRing) SetReport(i int, r Report) {
	p.reports[i], p.then[i] = r, p.loads[i].InFlight
	p.SetPressure(i, r.Pressure)
}

func (p *slotRing) bring(i int) {
	l := p.loads[i]
	if l == (Load{}) {
		return
	}

	p.Ring.SetLoad(i, l.InFlight, l.Limit, l.HardCap)

	if r := &p.reports[i]; r.Pressure > 0 {
		p.SetPressure(i, r.now(p.then[i], l.InFlight))
	}
}

// Tick implements Policy.
func (*slotRing) Tick(time.Duration) {}

// Pick implements Policy.
func (p *slotRing) Pick(q Query) ring.Choice { return p.Ring.Pick(q.Hash, q.Avoid) }
