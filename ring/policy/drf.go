package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"skyring/ring"
)

// drf ranks nodes by five factors of which less is better, and draws from the better half, the better the likelier.
//
// At each refresh each factor becomes z = (x - mean)/sd over the nodes that are not ineligible, 0 where sd = 0. A node's dominant factor is
// the one of its largest share N_ij/TR_j; its score is the sum of weighted z, and nodes are ranked by ascending score. Of the better half,
// h nodes, rank r is drawn with probability 2(h-r+1)/(h(h+1)). Source: paper of dominant-resource balancing; refreshed every 5 min.
//
// Readings:
//   - The weight of the dominant factor is printed "12": a lost fraction bar, 1/2, or 12. As the text says that it amplifies, drf has 1/2 on the
//     dominant factor and 1/(2(n-1)) on each of the others; drf-half has 1/2 and 1, drf-12 has 12 and 1.
//   - N and TR come from experts (skyring/ring/policy/delphi, Options.Needs). Without them N_ij is the factor as measured at the
//     refresh, and TR_j its sum over the nodes. Of equal shares the first factor in the order of Factors dominates.
//   - Whether sd is that of the nodes or the estimate from a sample is not printed; it scales all scores alike and changes no rank.
//   - Half of an odd number is rounded up. It is half of the usable nodes: one at its limit makes room for the next in rank.
//   - Before the first refresh, which is when every node that is not ineligible has reported (or an interval has passed), all nodes are equally likely.
//   - Active requests are those of the report, like the other factors.
type drf struct {
	members

	// Static after newDRF.
	dominantWeight, otherWeight float64
	dominants                   []int // factor per node, by experts; nil: as measured

	schedule schedule
	heard    []bool
	ranked   bool

	order []int  // node by place: by rank, by index before the first refresh
	place []int  // place by node
	able  bitset // places whose node is usable

	values []factors
	scores []float64
}

// factorCount is n of the paper.
const factorCount = 5

// factors are a node's values in the order of Factors.
type factors [factorCount]float64

func drfEntry() entry {
	return drfVariant("drf", "1/2 on the dominant factor and 1/8 on each of the others", 0.5, 0.5/(factorCount-1))
}

func drfHalfEntry() entry {
	return drfVariant("drf-half", "1/2 on the dominant factor and 1 on the others", 0.5, 1)
}

func drfTwelveEntry() entry {
	return drfVariant("drf-12", "12 on the dominant factor and 1 on the others", 12, 1)
}

func drfVariant(name, weights string, dominant, other float64) entry {
	return entry{
		Description: Description{
			Name:    name,
			Summary: "the better half by z-scores of failures, requests and response, the better the likelier; " + weights,
			Source:  "paper of dominant-resource balancing",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) {
			p, err := newDRF(name, nodes, o)
			if err != nil {
				return nil, err
			}

			p.dominantWeight, p.otherWeight = dominant, other

			return p, nil
		},
	}
}

func newDRF(name string, nodes []ring.Node, o Options) (*drf, error) {
	dominants, err := o.Needs.dominants(nodes)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}

	p := &drf{
		members:   newMembers(nodes, o),
		dominants: dominants,
		schedule:  newSchedule(o, 5*time.Minute),
		heard:     make([]bool, len(nodes)),
		order:     make([]int, len(nodes)),
		place:     make([]int, len(nodes)),
		able:      newBitset(len(nodes)),
		values:    make([]factors, len(nodes)),
		scores:    make([]float64, len(nodes)),
	}

	for i := range nodes {
		p.order[i], p.place[i] = i, i
		p.note(i)
	}

	return p, nil
}

func (p *drf) note(i int) { p.able.put(p.place[i], p.usable(i, ring.NoNode)) }

// SetState implements Policy.
func (p *drf) SetState(i int, s ring.State) {
	p.members.SetState(i, s)
	p.note(i)
}

// SetLoad implements Policy.
func (p *drf) SetLoad(i int, l Load) {
	p.members.SetLoad(i, l)
	p.note(i)
}

// SetReport implements Policy.
func (p *drf) SetReport(i int, r Report) {
	p.members.SetReport(i, r)
	p.heard[i] = true
}

// Tick implements Policy.
func (p *drf) Tick(now time.Duration) {
	if p.schedule.due(now, p.ready()) {
		p.refresh()
	}
}

// ready says that every node that may be asked has reported.
func (p *drf) ready() bool {
	for i := range p.nodes {
		if p.states[i] != ring.Ineligible && !p.heard[i] {
			return false
		}
	}

	return true
}

// refresh ranks the nodes by their last reports.
func (p *drf) refresh() {
	for i, r := range p.reports {
		p.values[i] = factors{
			float64(r.Failures), float64(r.Active), float64(r.ConsecutiveFailures), r.ResponseDeviation.Seconds(), r.Response.Seconds(),
		}
	}

	sums, means, deviations := p.moments()

	for i, x := range p.values {
		dominant := p.dominant(i, sums)
		p.scores[i] = 0

		for j := range x {
			if deviations[j] == 0 {
				continue
			}

			weight := p.otherWeight
			if j == dominant {
				weight = p.dominantWeight
			}

			p.scores[i] += weight * (x[j] - means[j]) / deviations[j]
		}
	}

	p.rank()
}

// moments are sum, mean and standard deviation of each factor over the nodes that are not ineligible.
func (p *drf) moments() (sums, means, deviations factors) {
	for j := range factorCount {
		n, squares := 0.0, 0.0

		for i, x := range p.values {
			if p.states[i] != ring.Ineligible {
				n++
				sums[j] += x[j]
			}
		}

		means[j] = sums[j] / max(n, 1)

		for i, x := range p.values {
			if p.states[i] != ring.Ineligible {
				squares += (x[j] - means[j]) * (x[j] - means[j])
			}
		}

		deviations[j] = math.Sqrt(squares / max(n, 1))
	}

	return sums, means, deviations
}

// dominant is the factor of which the node has the largest share.
func (p *drf) dominant(i int, sums factors) int {
	if p.dominants != nil {
		return p.dominants[i]
	}

	return dominantOf(p.values[i], sums)
}

// dominantOf is the first factor of the largest share; a factor whose total is 0 has share 0.
func dominantOf(n, total factors) int {
	best, most := 0, 0.0

	for j := range n {
		if total[j] > 0 && n[j]/total[j] > most {
			best, most = j, n[j]/total[j]
		}
	}

	return best
}

// rank puts the nodes in the order of their scores, equals in the order of their ids.
func (p *drf) rank() {
	for i := range p.order {
		p.order[i] = i
	}

	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(p.scores[a], p.scores[b]) })

	for at, i := range p.order {
		p.place[i] = at
		p.note(i)
	}

	p.ranked = true
}

// Pick implements Policy.
func (p *drf) Pick(q Query) ring.Choice {
	hidden := q.Avoid != ring.NoNode && p.able.hide(p.place[q.Avoid])
	i := p.draw()

	if hidden {
		p.able.put(p.place[q.Avoid], true)
	}

	if i == ring.NoNode {
		return p.resort(q.Avoid)
	}

	return ring.Choice{Node: i}
}

// draw is one of the better half of the usable nodes.
func (p *drf) draw() int {
	switch {
	case p.able.count == 0:
		return ring.NoNode
	case !p.ranked:
		return p.order[p.able.nth(p.random.IntN(p.able.count))]
	}

	// Rank r has weight h-r+1. Laid end to end from the worst (1) to the best (h), the weights below w fill w(w-1)/2.
	h := (p.able.count + 1) / 2
	u := p.random.IntN(h * (h + 1) / 2)
	w := int((1 + math.Sqrt(float64(8*u+1))) / 2)

	return p.order[p.able.nth(h-w)]
}
