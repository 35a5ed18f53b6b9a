package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

const (
	costRounds   = 15
	costMessages = 4_000 // per round
	costFilled   = 0.7   // part of the limit that is in flight meanwhile
)

// MeasurePick is how many nanoseconds a dispatcher of a Config is busy with its policy for one message on this machine: SetLoad and Pick when it
// comes and SetLoad when it is answered, and its part of a Tick, with all nodes of the Config there, heartbeats heard and some seven tenths of
// the limits in flight. It is the least of 15 rounds of 4,000 messages, as all that disturbs a round makes it longer. Errors: those of Run.
func MeasurePick(ctx context.Context, c Config) (float64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}

	c.Events, c.PickCost = nil, 0

	s, err := start(c.withDefaults())
	if err != nil {
		return 0, err
	}

	m := meter{d: &s.dispatchers[0], queries: make([]policy.Query, costMessages)}
	m.hearAll(s)

	for i := range m.queries {
		m.queries[i] = s.stations.query(s.stations.station(s.stations.popularity.draw(s.ranks) - 1))
		m.queries[i].Avoid = ring.NoNode
	}

	rounds := make([]float64, 0, costRounds)

	for r := range costRounds + 1 {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("measure the cost of a pick: %w", err)
		}

		taken := m.round(time.Duration(r) * time.Second)
		if r > 0 { // the first fills caches and nodes
			rounds = append(rounds, float64(taken)/costMessages)
		}
	}

	return slices.Min(rounds), nil
}

// meter is a dispatcher under measurement.
type meter struct {
	d       *dispatcher
	queries []policy.Query
	held    fifo[int32] // nodes of the messages in flight
	most    int         // so many
}

// hearAll gives every node a report, each a little different.
func (m *meter) hearAll(s *simulation) {
	var room float64

	for i := range s.nodes {
		n := &s.nodes[i]
		if !s.member[i] {
			continue
		}

		part := 0.5 + 0.2*s.beats.Float64()
		v := &m.d.views[i]
		v.response.Took(time.Duration((1 + part) * float64(s.cfg.Service.Mean)))
		v.response.Took(s.cfg.Service.Mean)
		m.d.hear(int32(i), policy.Report{CPU: part, Memory: part, Active: uint32(n.Workers), MessagesPerSecond: part * float64(n.Workers) / s.cfg.Service.Mean.Seconds()}, 0)
		room += min(float64(v.load.Limit), float64(4*n.Workers))
	}

	m.most = int(room * costFilled)
}

// round is the time that the messages take.
func (m *meter) round(now time.Duration) time.Duration {
	begin := time.Now()

	m.d.policy.Tick(now)

	for i := range m.queries {
		for m.held.size > m.most {
			m.change(m.held.pop(), -1)
		}

		if choice := m.d.policy.Pick(m.queries[i]); choice.Node != ring.NoNode {
			n := m.d.members[choice.Node]
			m.change(n, 1)
			m.held.push(n)
		}
	}

	return time.Since(begin)
}

func (m *meter) change(n int32, by int) {
	v := &m.d.views[n]
	v.load.InFlight = uint32(int(v.load.InFlight) + by)
	m.d.bring(n)
}
