package realrun

import (
	"errors"
	"fmt"
	"time"

	"skyring/testbed/compare"
	"skyring/testbed/simulate"
)

// Most that a run may be.
const (
	maxSeeds    = 100
	maxMessages = 1_000_000
	maxService  = time.Second
)

// Config is which load is run, and how often.
type Config struct {
	Scenario string   // of package compare; with a window and one dispatcher, without limits, events, bursts and users
	Policies []string // of the scenario
	Seeds    int      // rounds of each policy, with seeds 1, 2, ...; two or more give intervals

	Service  time.Duration // mean of the work, to which all times are scaled; 0: as the scenario has it. Short ones drown in the machine's noise
	Messages int           // after a warm-up of a fifth of them; a round takes 1.2 times that over the arrival rate

	// MostUnanswered is how many messages may wait for their answers before the generator waits too; 0: any number. With a bound a slow machine has all the time it
	// needs: stations stay where they would, but responses say nothing, and the idle way is not measured.
	MostUnanswered int

	// Dir is where the private redis-servers keep their data, in a folder for each round.
	Dir string
}

// DefaultConfig lacks Dir alone. It takes some 5 minutes.
func DefaultConfig() Config {
	return Config{
		Scenario: "small",
		Policies: []string{"skyring", "round-robin", "least-connections"},
		Seeds:    3,
		Service:  50 * time.Millisecond,
		Messages: 2_500,
	}
}

// Validate reports every fault, each with its key.
func (c Config) Validate() error {
	var faults []error

	check := func(right bool, format string, args ...any) {
		if !right {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(c.Seeds >= 1 && c.Seeds <= maxSeeds, "seeds: %d is out of 1..%d", c.Seeds, maxSeeds)
	check(c.Messages >= 1 && c.Messages <= maxMessages, "messages: %d is out of 1..%d", c.Messages, maxMessages)
	check(c.Service == 0 || c.Service >= time.Millisecond && c.Service <= maxService, "service: %v is out of 1ms..%v", c.Service, maxService)
	check(c.MostUnanswered >= 0, "mostUnanswered: %d: want 1 or more, or 0 for any number", c.MostUnanswered)
	check(c.Dir != "", "dir: missing: a folder for the private redis-servers is right")
	check(len(c.Policies) > 0, "policies: none: want some of the scenario's")

	for _, p := range c.Policies {
		if _, err := c.load(p, 1); err != nil {
			faults = append(faults, err)
		}
	}

	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("real run: %w", err)
	}

	return nil
}

// load is what is simulated, and run, of a policy under a seed.
func (c Config) load(policy string, seed uint64) (simulate.Config, error) {
	s, err := compare.Config(c.Scenario, policy, seed)
	if err != nil {
		return s, err
	}

	if s.Dispatchers != 1 || len(s.Events) > 0 || s.Arrivals.Burst > 0 || s.Arrivals.Users > 0 || s.Limits != (simulate.Limits{}) {
		return s, fmt.Errorf("scenario %s: a real run has one dispatcher, a Poisson process, no limits and no events", c.Scenario)
	}

	if s.Window == 0 || s.Queues != simulate.QueuePerWorker {
		return s, fmt.Errorf("scenario %s: a dispatcher keeps a station's messages together, and processors do: a window, and a queue for each worker, are right", c.Scenario)
	}

	for _, n := range s.Nodes {
		if n.Speed != 1 || n.Absent {
			return s, fmt.Errorf("scenario %s: the nodes of a real run are there, and of speed 1", c.Scenario)
		}
	}

	if c.Service > 0 {
		s.Arrivals.Rate *= s.Service.Mean.Seconds() / c.Service.Seconds()
		s.Service.Mean = c.Service
	}

	seconds := float64(c.Messages) / s.Arrivals.Rate
	s.Warmup = time.Duration(0.2 * seconds * 1e9)
	s.Duration = time.Duration(1.2 * seconds * 1e9)

	return s, nil
}
