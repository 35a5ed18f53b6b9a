package policy

import "skyring/ring"

// weightedLeastConnections takes the node with the smallest C/W: messages in flight, by the picker's own counts, to capacity.
//
// Source: Linux Virtual Server manual, scheduler wlc.
//
// Readings: as printed the quotient takes C without the message that is to come, so that all idle nodes are equal whatever
// their weight, and the first one in the order of ids is taken ((C+1)/W is another scheduler there, sed).
type weightedLeastConnections struct{ smallest }

func weightedLeastConnectionsEntry() entry {
	return entry{
		Description: Description{
			Name:    "weighted-least-connections",
			Summary: "the node with the fewest messages in flight to its capacity",
			Source:  "Linux Virtual Server manual, scheduler wlc",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			p := &weightedLeastConnections{}
			p.start(nodes, o, func(i int) rank { return rank{score: p.inFlight(i) / float64(p.nodes[i].Capacity)} })

			return p, nil
		},
	}
}
