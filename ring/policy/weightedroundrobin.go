package policy

import "skyring/ring"

// weightedRoundRobin goes round the nodes again and again, with a level that falls by the greatest common divisor of the weights each time
// round and starts again at the largest weight; a node gets a turn where its weight is at least the level. Weights 3:1:1:1 give A A A B C D.
// The weight is the node's capacity.
//
// Source: Linux Virtual Server manual, scheduler wrr: i = -1 and cw = 0 at first.
//
// Readings: the manual takes divisor and largest weight of all nodes; so it is here, also while some are not usable. Rounds
// at levels that no usable node reaches are leapt over, which picks the same nodes as walking them.
type weightedRoundRobin struct {
	members

	// Static after newWeightedRoundRobin.
	weights []int64
	divisor int64
	largest int64

	at    int // i
	level int64
}

func weightedRoundRobinEntry() entry {
	return entry{
		Description: Description{
			Name:    "weighted-round-robin",
			Summary: "each node in turn while its capacity is at least a level that falls by the greatest common divisor",
			Source:  "Linux Virtual Server manual, scheduler wrr",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) { return newWeightedRoundRobin(nodes, o), nil },
	}
}

func newWeightedRoundRobin(nodes []ring.Node, o Options) *weightedRoundRobin {
	p := &weightedRoundRobin{members: newMembers(nodes, o), weights: make([]int64, len(nodes)), at: -1}

	for i, n := range nodes {
		w := int64(n.Capacity)
		p.weights[i] = w
		p.largest = max(p.largest, w)

		for d := p.divisor; ; {
			if d == 0 {
				p.divisor = w

				break
			}

			w, d = d, w%d
		}
	}

	return p
}

// Pick implements Policy.
func (p *weightedRoundRobin) Pick(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	for skipped := 0; ; {
		p.at++
		if p.at == len(p.nodes) {
			p.at = 0
		}

		if p.at == 0 && p.fall(q.Avoid) {
			skipped++
		}

		switch {
		case p.weights[p.at] < p.level:
		case p.usable(p.at, q.Avoid):
			return later(p.at, skipped)
		default:
			skipped++
		}
	}
}

// fall begins a new round, and says whether levels were leapt over.
func (p *weightedRoundRobin) fall(avoid int) (leapt bool) {
	p.level -= p.divisor
	if p.level <= 0 {
		p.level = p.largest
	}

	highest := p.highest(avoid)
	leapt = p.level > highest
	p.level = min(p.level, highest)

	return leapt
}

// highest is the largest weight of the usable nodes, 0 where there is none.
func (p *weightedRoundRobin) highest(avoid int) int64 {
	var w int64

	for i := range p.nodes {
		if p.usable(i, avoid) {
			w = max(w, p.weights[i])
		}
	}

	return w
}
