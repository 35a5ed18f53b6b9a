package realrun

import (
	"fmt"
	"math"
	"slices"

	"skyring/testbed/compare"
	"skyring/testbed/simulate"
)

// tally makes the figures of a real run as those of a simulation are made: of messages that came after the warm-up; responses of those that were answered before the
// end. Each message has its outcome.
func (p *played) tally(load simulate.Config) compare.Figures {
	var (
		f              compare.Figures
		responses      []float64 // in mean service times
		repeated, same float64
		last           = map[uint64]int{} // node of a station's message before
		perNode        = make([]float64, len(load.Nodes))
	)

	for i, m := range p.messages {
		node := p.outcomes[i].answer.node
		before, met := last[m.Station]
		last[m.Station] = node

		if m.At < load.Warmup {
			continue
		}

		perNode[node]++

		if met {
			repeated++

			if before == node {
				same++
			}
		}

		if p.answered(i) <= load.Duration {
			responses = append(responses, float64(p.response(i))/float64(load.Service.Mean))
		}
	}

	served := float64(len(responses))
	for _, r := range responses {
		f.MeanResponse += r / served
	}

	f.P99 = percentile(responses, 0.99)
	f.Throughput = served / (load.Duration - load.Warmup).Seconds()
	f.SameNode = same / max(repeated, 1)
	f.MaxMean, f.Spread = evenness(load.Nodes, perNode)

	return f
}

// alone is the share of messages that were sent while their station had another one in the system, which stay with that one's node whatever the policy, and the share of the
// others that went to the node of their station's message before.
func (p *played) alone(load simulate.Config) (overlapping, sameNode float64) {
	var repeated, overlaps, free, same float64

	last := map[uint64]int{} // a station's message before

	for i, m := range p.messages {
		before, met := last[m.Station]
		last[m.Station] = i

		if !met || m.At < load.Warmup {
			continue
		}

		repeated++

		switch {
		case p.answered(before) > p.sent[i]:
			overlaps++
		case p.outcomes[before].answer.node == p.outcomes[i].answer.node:
			same++

			fallthrough
		default:
			free++
		}
	}

	return overlaps / max(repeated, 1), same / max(free, 1)
}

// percentile is the least value that a part of all do not exceed, 0 of none. It sorts them.
func percentile(values []float64, part float64) float64 {
	if len(values) == 0 {
		return 0
	}

	slices.Sort(values)

	return values[int(math.Ceil(part*float64(len(values))))-1]
}

// evenness is (largest/mean, (largest-smallest)/mean) of messages per capacity.
func evenness(nodes []simulate.Node, messages []float64) (maxMean, spread float64) {
	var sum, capacity float64

	least, most := math.Inf(1), 0.0

	for i, n := range messages {
		weight := float64(nodes[i].Capacity)
		sum += n
		capacity += weight
		least, most = min(least, n/weight), max(most, n/weight)
	}

	if sum == 0 {
		return 0, 0
	}

	mean := sum / capacity

	return most / mean, (most - least) / mean
}

// conserved checks that each message had its effect once, and those of a station in order: wherever they were worked on, the session counted them.
func (p *played) conserved(nodes int) error {
	count := map[uint64]uint64{}

	for i, m := range p.messages {
		count[m.Station]++

		if a := p.outcomes[i].answer; a.ordinal != count[m.Station] || a.node >= nodes {
			return fmt.Errorf("message %d is number %d of station %d, and was number %d to node %d: effects are lost, doubled or out of order",
				i+1, count[m.Station], m.Station, a.ordinal, a.node)
		}
	}

	return nil
}
