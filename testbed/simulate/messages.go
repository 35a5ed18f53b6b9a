package simulate

import (
	"iter"
	"math/rand/v2"
	"time"
)

// Message is one that comes in a run.
type Message struct {
	At      time.Duration // from the start of the run
	Station uint64        // its sender's id
	Work    time.Duration // that it makes at speed 1
}

// Messages are those of a run of c by its Poisson process: the same stations at the same times with the same work, so that a real run can be given what was
// simulated. Bursts and users are left out: what comes by users depends on the answers. c has to be valid.
func Messages(c Config) iter.Seq[Message] {
	c = c.withDefaults()

	return func(yield func(Message) bool) {
		if c.Arrivals.Rate == 0 {
			return
		}

		g := newGenerators(c)
		stations, service := newCrowd(c.Stations, g.crowd), newSampler(c.Service)

		for now := exponential(g.arrivals, c.Arrivals.Rate); now <= int64(c.Duration); now += exponential(g.arrivals, c.Arrivals.Rate) {
			m := Message{
				At:      time.Duration(now),
				Station: stations.station(stations.popularity.draw(g.ranks) - 1),
				Work:    time.Duration(service.draw(g.work)),
			}
			if !yield(m) {
				return
			}
		}
	}
}

// generators are those of a run, each for one thing, so that what one policy asks for changes nothing for another.
type generators struct{ crowd, arrivals, ranks, work, beats *rand.Rand }

func newGenerators(c Config) generators {
	stream := func(n uint64) *rand.Rand {
		return rand.New(rand.NewPCG(c.Seed, n)) //nolint:gosec // a simulation, no secrets
	}

	return generators{crowd: stream(0), arrivals: stream(1), ranks: stream(2), work: stream(3), beats: stream(4)}
}
