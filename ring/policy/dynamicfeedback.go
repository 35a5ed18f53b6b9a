package policy

import (
	"math"

	"skyring/ring"
)

// dynamicFeedback takes the node with the smallest load L = 0.35 CPU + 0.25 memory + 0.2 disk + 0.2 network.
//
// Source: paper of the Z-curve, where it is what the Z-curve is compared with.
//
// Readings: L comes from the last report, which is as old as the heartbeat. Disk and network count as 0 where they are not measured, and the
// coefficients stay: where no node measures them, the order is that of 0.35 CPU + 0.25 memory and L ends at 0.6. A node that does not
// measure them looks emptier than one that does, so all should or none. Of equals the one with fewer in flight is taken.
type dynamicFeedback struct{ smallest }

func dynamicFeedbackEntry() entry {
	return entry{
		Description: Description{
			Name:    "dynamic-feedback",
			Summary: "the smallest load: 0.35 CPU + 0.25 memory + 0.2 disk + 0.2 network",
			Source:  "paper of the Z-curve, baseline",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			p := &dynamicFeedback{}
			p.start(nodes, o, func(i int) rank { return rank{score: p.reports[i].feedback(), tie: p.inFlight(i)} })

			return p, nil
		},
	}
}

// feedback is L.
func (r Report) feedback() float64 { return 0.35*r.CPU + 0.25*r.Memory + 0.2*r.Disk + 0.2*r.Network }

// feedbackConnections takes the node with the smallest C/(1-L): messages in flight, by the picker's own counts, to what of the node is free.
//
// Source: as dynamicFeedback.
//
// Readings: C counts without the message that is to come, so an idle node comes before all others however loaded it reports itself;
// of equals the smaller L is taken. With L = 1 or more nothing is free: such a node comes last.
type feedbackConnections struct{ smallest }

func feedbackConnectionsEntry() entry {
	return entry{
		Description: Description{
			Name:    "dynamic-feedback-connections",
			Summary: "the fewest messages in flight to what is free: C/(1-L), L as in dynamic-feedback",
			Source:  "paper of the Z-curve, baseline",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			p := &feedbackConnections{}
			p.start(nodes, o, p.worth)

			return p, nil
		},
	}
}

func (p *feedbackConnections) worth(i int) rank {
	l := p.reports[i].feedback()
	if l >= 1 {
		return rank{score: math.MaxFloat64, tie: l}
	}

	return rank{score: p.inFlight(i) / (1 - l), tie: l}
}
