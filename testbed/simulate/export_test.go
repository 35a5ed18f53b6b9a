package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

// Zipf makes a sampler of ranks 1..n.
func Zipf(n int, s float64) func(*rand.Rand) int {
	z := newZipf(n, s)

	return z.draw
}

// Numbers returns the permutation of station numbers of a seed.
func Numbers(count int, seed uint64) func(rank int) uint64 {
	c := newCrowd(Stations{Count: count, Associations: 1}, rand.New(rand.NewPCG(seed, 0)))

	return c.number
}

// Draw returns a sampler of service times in nanoseconds.
func Draw(s Service) func(*rand.Rand) int64 {
	d := newSampler(s)

	return d.draw
}

// Future is the queue of events, by time alone.
type Future struct{ f future }

// Push adds an event.
func (f *Future) Push(at int64, subject int32) { f.f.push(event{at: at, subject: subject}) }

// Pop takes the earliest.
func (f *Future) Pop() (at int64, subject int32) {
	e := f.f.pop()

	return e.at, e.subject
}

// Len is how many there are.
func (f *Future) Len() int { return len(f.f.heap) }

// Held says after each report, which come a second apart, whether a dispatcher has its node at its limit by them.
func Held(l Limits, reports ...policy.Report) []bool {
	d := dispatcher{limits: l, index: []int{ring.NoNode}, views: make([]view, 1)}

	out := make([]bool, 0, len(reports))
	for i, r := range reports {
		d.hear(0, r, int64(i)*int64(time.Second))
		out = append(out, d.views[0].strain.Held())
	}

	return out
}

// Ordered runs a simulation and tells of a station whose messages were not in the order they came in, if there is one.
func Ordered(c Config) error {
	s, err := start(c.withDefaults())
	if err != nil {
		return err
	}

	for len(s.future.heap) > 0 && s.future.heap[0].at <= s.end {
		e := s.future.pop()
		s.now = e.at

		if err := s.handle(&e); err != nil {
			return err
		}

		for rank, one := range s.sessions.byRank {
			if !slices.IsSorted(s.positions(one)) {
				return fmt.Errorf("at %v: station of rank %d has %v", time.Duration(s.now), rank, s.positions(one))
			}
		}
	}

	return nil
}

// positions are those of a session's messages, in the order in which they are sent.
func (s *simulation) positions(one *session) []uint32 {
	var all []uint32
	for _, i := range one.flying {
		all = append(all, s.messages[i].position)
	}

	for k := range one.waiting.size {
		all = append(all, s.messages[one.waiting.ring[(one.waiting.head+k)&(len(one.waiting.ring)-1)]].position)
	}

	return all
}
