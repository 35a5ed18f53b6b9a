package policy

import "skyring/ring"

// roundRobin gives each node a turn, in the order of their ids. A node that may not be chosen loses its turn to the next one.
//
// Source: folklore; Linux Virtual Server manual (scheduler rr), Netflix Ribbon RoundRobinRule.
type roundRobin struct {
	roster

	at int // whose turn it is
}

func roundRobinEntry() entry {
	return entry{
		Description: Description{
			Name:    "round-robin",
			Summary: "each node in turn",
			Source:  "Linux Virtual Server manual, scheduler rr; Netflix Ribbon, RoundRobinRule",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			return &roundRobin{roster: newRoster(nodes, o)}, nil
		},
	}
}

// Pick implements Policy.
func (p *roundRobin) Pick(q Query) ring.Choice {
	var c ring.Choice
	c, p.at = p.turn(p.at, q.Avoid)

	return c
}
