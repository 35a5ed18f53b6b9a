package policy

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/zeebo/xxh3"

	"skyring/ring"
)

// evenPositions is the size of the even ring's circle, and the modulus of its hash.
const evenPositions = 1<<32 - 1

// Defaults; of these the paper gives the interval alone. In the end (max-min)/mean is about twice the threshold, of which it claims 5 to 8 %.
const (
	evenFactor    = 10
	evenThreshold = 0.03
	evenInterval  = 30 * time.Second
	evenBKDRSeed  = 131
)

// evenReading is how to read two formulas of the paper.
type evenReading uint8

const (
	// asMeant gives nodes fuller than the mean no weight, and takes the utilisation off the others' weights.
	asMeant evenReading = iota
	// asPrinted gives no weight to nodes that are not fuller than the mean, and adds the utilisation.
	asPrinted
)

// evenRing is a ring with evenly spaced virtual nodes, whose boundaries move with the load.
//
//	virtual nodes of node i     n_i = a_i/a_min * k * ln N, rounded; a: capacity, N: number of nodes
//	its positions               P'_j = ((2^32-1)/(n_i+1)*j + P_i) mod (2^32-1), j = 0 .. n_i
//	a key's position            BKDR hash of the decimal digits of Query.Number: h = (h*seed + digit's ASCII) mod (2^32-1)
//	where its node is full      weighted round robin over the usable nodes, see weights
//	every 30 s                  see refresh
//
// Source: the paper of the even ring, of which the algorithm is known, but neither Threshold nor k. As meant and as printed differ in the weights alone. Read so, where
// it is silent: the logarithm is natural (another base is another k); P_i is the upper half of the id's
// xxh3; the ring makes the first choice, and the weighted round robin places what the ring's node may not take; the
// load factor of a refresh is the messages given to a node since the last one, by its capacity. The round robin is smooth (as nginx has it).
//
// BKDR hashes of numbers with few digits lie close together: with seed 131, up to four digits reach 1 % of the circle. With 16 nodes
// and sessions 1 to 100,000 the fullest has 10 times the mean at seed 131, and 6 times still after half an hour; at 1313, 4.3 times and then 1.02; eight
// digits do well with any seed. That is the paper's hash, and here on purpose.
type evenRing struct {
	members

	// Static after newEvenRing.
	reading   evenReading
	seed      uint64
	threshold float64
	interval  time.Duration

	circle    circle
	given     []uint64 // messages since the last refresh, per node
	refreshed time.Duration
	weights   []float64 // of the round robin: of this turn, per node
	credit    []float64 // of the round robin: what each node is owed
}

func evenRingEntry() entry {
	return entry{
		Description: Description{
			Name:    "even-ring",
			Summary: "evenly spaced virtual nodes, BKDR hash, boundaries that move with the load, as meant",
			Source:  "even virtual nodes and BKDR hash",
		},
		build: checked(func(nodes []ring.Node, o Options) (*evenRing, error) { return newEvenRing(nodes, o, asMeant) }),
	}
}

func evenRingPrintedEntry() entry {
	return entry{
		Description: Description{
			Name:    "even-ring-printed",
			Summary: "the same with its weights as printed",
			Source:  "even virtual nodes and BKDR hash",
		},
		build: checked(func(nodes []ring.Node, o Options) (*evenRing, error) { return newEvenRing(nodes, o, asPrinted) }),
	}
}

func newEvenRing(nodes []ring.Node, o Options, reading evenReading) (*evenRing, error) {
	counts, err := evenCounts(nodes, cmp.Or(o.VirtualNodes, evenFactor))
	if err != nil {
		return nil, err
	}

	var points []point

	for i, n := range nodes {
		first := xxh3.HashString(n.ID) >> 32 % evenPositions

		for j := range counts[i] + 1 {
			at := (evenPositions*uint64(j)/uint64(counts[i]+1) + first) % evenPositions
			points = append(points, point{at: uint32(at), owner: uint16(i)})
		}
	}

	return &evenRing{
		members:   newMembers(nodes, o),
		reading:   reading,
		seed:      cmp.Or(o.BKDRSeed, evenBKDRSeed),
		threshold: cmp.Or(o.Threshold, evenThreshold),
		interval:  cmp.Or(o.Interval, evenInterval),
		circle:    newCircle(points),
		given:     make([]uint64, len(nodes)),
		weights:   make([]float64, len(nodes)),
		credit:    make([]float64, len(nodes)),
	}, nil
}

// evenCounts is how many virtual nodes each node has besides its own place.
func evenCounts(nodes []ring.Node, k int) ([]int, error) {
	least := uint32(math.MaxUint32)
	for _, n := range nodes {
		least = min(least, n.Capacity)
	}

	counts := make([]int, len(nodes))
	all := 0.0

	for i, n := range nodes {
		count := math.Round(float64(n.Capacity) / float64(least) * float64(k) * math.Log(float64(len(nodes))))
		all += count + 1

		if all > maxVirtualNodes {
			return nil, fmt.Errorf("the even ring has more than %d virtual nodes, as the smallest of %d nodes has capacity %d and %q has %d: capacities closer to each other or fewer virtual nodes are needed",
				maxVirtualNodes, len(nodes), least, n.ID, n.Capacity)
		}

		counts[i] = int(count)
	}

	return counts, nil
}

// Pick implements Policy.
func (p *evenRing) Pick(q Query) ring.Choice {
	c := p.choose(q)
	if c.Node != ring.NoNode {
		p.given[c.Node]++
	}

	return c
}

func (p *evenRing) choose(q Query) ring.Choice {
	if p.exhausted(q.Avoid) {
		return p.resort(q.Avoid)
	}

	start := p.circle.first(bkdr(q.Number, p.seed))
	i := start

	for step := range p.circle {
		n := int(p.circle[i].owner)
		if p.usable(n, q.Avoid) {
			return later(n, step)
		}

		if n != q.Avoid && p.states[n] != ring.Ineligible {
			break
		}

		if i++; i == len(p.circle) {
			i = 0
		}
	}

	if n := p.turn(q.Avoid); n != ring.NoNode {
		return ring.Choice{Node: n, How: ring.Spill, Probes: 1}
	}

	return p.walk(p.circle, start, q.Avoid)
}

// bkdr is the BKDR hash (B. W. Kernighan, D. M. Ritchie, The C Programming Language) of a number's decimal digits.
func bkdr(number, seed uint64) uint32 {
	digits := 1
	power := uint64(1) // 10^(digits-1)

	for ; number/power >= 10; digits++ {
		power *= 10
	}

	var h uint64

	for range digits {
		high, low := bits.Mul64(h, seed)
		low, carry := bits.Add64(low, '0'+number/power%10, 0)
		_, h = bits.Div64(high+carry, low, evenPositions)
		power /= 10
	}

	return uint32(h)
}
