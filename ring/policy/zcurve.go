package policy

import (
	"cmp"
	"math"
	"time"

	"skyring/ring"
)

// zCurve takes the node with the smallest Z-curve code of CPU and memory among the nodes in state 1.
//
// CPU and memory are halved b times: bit by bit, 1 for the upper half; a value on the border belongs to the upper one. Memory
// goes to the even bits of the code and CPU to the odd ones. A node past 75 % CPU or 90 % memory is in state 0. Codes are taken from reports every T.
//
// Source: paper of the Z-curve: T = 3 s.
//
// Readings:
//   - b is not printed: 16 by default (Options.Bits). The finer the code, the rarer a tie, and the longer all
//     messages between two reports go to one node.
//   - Ties go to the fewest connections, one more at each dispatch: the picker's own count of messages in flight, which also
//     goes down with each answer (the paper does not say by what it goes down).
//   - A node's first report is taken at once, later ones at the next T. A node that has not reported has code 0.
//   - None in state 1: the paper tells the asker so. With IgnoreLimits the choice is none; with RespectLimits it is
//     the best weight of the open ones, then the last resort.
type zCurve struct {
	smallest

	bits     int // static
	schedule schedule
	codes    []uint64
	refused  []bool // state 0
	heard    []bool
}

// Limits of Options.Bits; a code of two coordinates has to fit the 53 bits of a float64.
const (
	defaultBits = 16
	maxBits     = 26
)

// What the paper takes as full.
const (
	fullCPU    = 0.75
	fullMemory = 0.90
)

func zCurveEntry() entry {
	return entry{
		Description: Description{
			Name:    "z-curve",
			Summary: "the smallest Z-curve code of CPU and memory, reported every 3 s",
			Source:  "paper of the Z-curve",
		},
		build: func(nodes []ring.Node, o Options) (Policy, error) { return newZCurve(nodes, o), nil },
	}
}

func newZCurve(nodes []ring.Node, o Options) *zCurve {
	p := &zCurve{
		bits:     cmp.Or(o.Bits, defaultBits),
		schedule: newSchedule(o, 3*time.Second),
		codes:    make([]uint64, len(nodes)),
		refused:  make([]bool, len(nodes)),
		heard:    make([]bool, len(nodes)),
	}
	p.start(nodes, o, p.worth)

	return p
}

func (p *zCurve) worth(i int) rank {
	if p.refused[i] {
		return absent()
	}

	return rank{score: float64(p.codes[i]), tie: p.inFlight(i)}
}

// SetReport implements Policy.
func (p *zCurve) SetReport(i int, r Report) {
	p.members.SetReport(i, r)

	if !p.heard[i] {
		p.heard[i] = true
		p.take(i)
	}
}

// Tick implements Policy.
func (p *zCurve) Tick(now time.Duration) {
	if !p.schedule.due(now, true) {
		return
	}

	for i := range p.nodes {
		p.take(i)
	}
}

// take brings a node's last report to its code and state.
func (p *zCurve) take(i int) {
	r := p.reports[i]
	p.codes[i] = interleave(halve(r.Memory, p.bits), halve(r.CPU, p.bits))
	p.refused[i] = r.CPU > fullCPU || r.Memory > fullMemory
	p.update(i)
}

// Pick implements Policy.
func (p *zCurve) Pick(q Query) ring.Choice {
	if i := p.by.least(q.Avoid); i != ring.NoNode {
		return ring.Choice{Node: i}
	}

	return p.unserved(q.Avoid, p.by.least(ring.NoNode) != ring.NoNode)
}

// halve is the number that halving [0,1] gives for x; what is outside counts as the end it is beyond, and what is no number as 0.
func halve(x float64, bits int) uint64 {
	if !(x > 0) { // also NaN
		return 0
	}

	last := uint64(1)<<bits - 1

	return min(uint64(math.Ldexp(min(x, 1), bits)), last)
}

// interleave puts the bits of even to the places 0, 2, 4, ... and those of odd to 1, 3, 5, ... Both are below 2^32.
func interleave(even, odd uint64) uint64 { return spread(even) | spread(odd)<<1 }

// spread puts a 0 above each bit of a number below 2^32.
func spread(x uint64) uint64 {
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & 0x0F0F0F0F0F0F0F0F
	x = (x | x<<2) & 0x3333333333333333
	x = (x | x<<1) & 0x5555555555555555

	return x
}
