package policy

import "skyring/ring"

// leastConnections takes the node with the fewest messages in flight, by the picker's own counts.
//
// Source: Linux Virtual Server manual, scheduler lc.
//
// Readings: of equals the first one in the order of ids is taken, as there; so while the load is low, the first nodes do all the work.
// What there is a connection, here is a message that is not answered yet: 256 times the active plus the
// inactive connections, as lc counts, comes to the active ones.
type leastConnections struct{ smallest }

func leastConnectionsEntry() entry {
	return entry{
		Description: Description{
			Name:    "least-connections",
			Summary: "the node with the fewest messages in flight",
			Source:  "Linux Virtual Server manual, scheduler lc",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			p := &leastConnections{}
			p.start(nodes, o, func(i int) rank { return rank{score: p.inFlight(i)} })

			return p, nil
		},
	}
}
