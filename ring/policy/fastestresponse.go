package policy

import (
	"skyring/ring"
)

// fastestResponse takes the node with the shortest response time.
//
// Source: baseline of the paper of the published ring.
//
// Readings: the paper does not say which response time. Here it is the smoothed one of the last report, which is as old as the
// heartbeat, so that all messages of that time fall on the same node. A node that reported none yet counts as 0 and is
// tried first; of equals the one with fewer in flight is taken.
type fastestResponse struct{ smallest }

func fastestResponseEntry() entry {
	return entry{
		Description: Description{
			Name:    "fastest-response",
			Summary: "the node with the shortest response time in its last report",
			Source:  "paper of the published ring, baseline",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			p := &fastestResponse{}
			p.start(nodes, o, func(i int) rank { return rank{score: p.reports[i].Response.Seconds(), tie: p.inFlight(i)} })

			return p, nil
		},
	}
}
