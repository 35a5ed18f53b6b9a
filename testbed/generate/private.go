package generate

import (
	"math/rand/v2"
	"time"

	"skyring/testbed/trace"
)

// ppidPrivate is none of IANA's: what a maker's own protocol looks like to a dispatcher that does not know it.
const ppidPrivate = 0x47454E31

// private is a protocol that nobody else knows: polls and reports of random bytes, every fourth of them unordered.
type private struct {
	rng *rand.Rand
}

func newPrivate(rng *rand.Rand, _ Config, _ int) signalling {
	p := &private{rng: rng}
	return signalling{opening: func() []step { return nil }, session: p.session}
}

func (p *private) session(number int) []step {
	var d dialogue
	stream := uint16(number % 6)
	unordered := number%4 == 3
	for i := range 1 + p.rng.IntN(3) {
		direction := trace.ToServer
		if i%2 == 1 {
			direction = trace.ToClient
		}
		size := 16 + p.rng.IntN(240)
		if p.rng.IntN(12) == 0 {
			size = 1300 + p.rng.IntN(3000)
		}
		d.send(between(p.rng, 200*time.Microsecond, 20*time.Millisecond), step{
			direction: direction, stream: stream, unordered: unordered, ppid: ppidPrivate, payload: bytesOf(p.rng, size),
		})
	}
	return d.steps
}
