package compare

import (
	"fmt"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// serviceTime is the mean of most scenarios.
const serviceTime = 5 * time.Millisecond

// spacing makes ids of some eleven digits from numbers of a few: hashes of digits want such. It is a prime.
const spacing = 7_919_317

// scenarios are all of them.
func scenarios() []scenario {
	return []scenario{
		smallScenario(),
		paperScenario(),
		zCurveScenario(),
		evenRingEqual(),
		evenRingUnequal(),
		evenRingDynamic(),
		drfScenario(),
		roundRobinScenario(),
		overloadScenario(),
		nodeLostScenario(),
		nodeAddedScenario(),
		slowNodeScenario(),
		largeScenario(),
	}
}

// base is what most points have in common: exponential service of 5 ms, one dispatcher, heartbeats every second, 20 ms late.
func base() simulate.Config {
	return simulate.Config{
		Options:     policy.Options{Ring: ring.DefaultConfig()},
		Dispatchers: 1,
		Service:     simulate.Service{Law: simulate.Exponential, Mean: serviceTime},
		Stations:    simulate.Stations{Count: 10_000, Exponent: 0.8},
		Heartbeat:   simulate.Heartbeat{Every: time.Second, Jitter: 0.1, Delay: 20 * time.Millisecond},
	}
}

// equal are n nodes with so many workers each.
func equal(n, workers int) []simulate.Node {
	nodes := make([]simulate.Node, n)
	for i := range nodes {
		nodes[i] = simulate.Node{Capacity: 1, Workers: workers, Speed: 1}
	}

	return nodes
}

// unequal are n nodes of repeated capacities, each with so many workers per unit.
func unequal(n, workers int, capacities ...int) []simulate.Node {
	nodes := make([]simulate.Node, n)
	for i := range nodes {
		c := capacities[i%len(capacities)]
		nodes[i] = simulate.Node{Capacity: uint32(c), Workers: workers * c, Speed: 1}
	}

	return nodes
}

// poisson sets arrivals to a load and the run to so many messages after a warm-up of a fifth of them.
func poisson(c simulate.Config, load, messages float64) simulate.Config {
	c.Arrivals.Rate = load * c.Capacity()
	seconds := messages / c.Arrivals.Rate
	c.Warmup = time.Duration(0.2 * seconds * 1e9)
	c.Duration = time.Duration(1.2 * seconds * 1e9)

	return c
}

// each is a point for each of some policies.
func each(a at, c simulate.Config, policies ...string) []point {
	points := make([]point, 0, len(policies))
	for _, p := range policies {
		points = append(points, point{at: a.with(p), config: c})
	}

	return points
}

func scaled(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

func scaleEvents(c *simulate.Config, by float64) {
	events := make([]simulate.Event, len(c.Events))
	for i, e := range c.Events {
		e.At = scaled(e.At, by)
		events[i] = e
	}

	c.Events = events
}

// limitName says a limit per worker as one per node of paperWorkers.
func limitName(perWorker float64) string { return fmt.Sprintf("limit %v", perWorker*paperWorkers) }
