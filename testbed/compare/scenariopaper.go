package compare

import (
	"skyring/ring"
	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// In-flight limits in messages per worker. The loose one shows what the algorithms are worth without much help of limits; the tight one is what keeps the
// mean response near one service time.
const (
	paperWorkers = 8
	looseLimit   = 3
	tightLimit   = 1.375
	tightCap     = 2.75
)

func paperPolicies() []string {
	return []string{"skyring", "paper", "paper-32bit", "plain-ring", "bounded-ring", "power-of-two"}
}

// paperPoint is n nodes at a load under a limit.
func paperPoint(nodes []simulate.Node, load, limit, hardCap, messages float64) simulate.Config {
	c := base()
	c.Nodes = nodes
	c.Limits = simulate.Limits{PerWorker: limit, CapPerWorker: hardCap}

	return poisson(c, load, messages)
}

// The points of the paper's scenario.
func atLoose() at { return at{nodes: 16, load: 0.9, variant: limitName(looseLimit)} }
func atTight() at { return at{nodes: 16, load: 0.9, variant: limitName(tightLimit)} }
func atWide() at  { return at{nodes: 16, load: 0.9, variant: "16 workers, limit 20"} }
func atOver() at  { return at{nodes: 16, load: 1.05, variant: limitName(tightLimit)} }
func atUneven() at {
	return at{nodes: 16, load: 0.9, variant: "capacities 1:2:4:8"}
}
func at64() at  { return at{nodes: 64, load: 0.9, variant: limitName(looseLimit)} }
func at256() at { return at{nodes: 256, load: 0.9, variant: limitName(looseLimit)} }

func paperScenario() scenario {
	return scenario{
		Description: Description{
			Name:    "paper",
			Summary: "16, 64 and 256 nodes of 8 workers, 10,000 stations by Zipf 0.8, load 0.9 and 1.05, equal and 1:2:4:8",
			Source:  "Fibonacci-hash ring dispatch, of which no results reached us; figures of this project",
		},
		points: func() []point {
			uneven := unequal(16, 2, 1, 2, 4, 8)
			large := paperPoint(equal(256, paperWorkers), 0.9, looseLimit, 4*looseLimit, 250_000)

			return concat(
				each(atLoose(), paperPoint(equal(16, paperWorkers), 0.9, looseLimit, 4*looseLimit, 150_000), paperPolicies()...),
				each(atTight(), paperPoint(equal(16, paperWorkers), 0.9, tightLimit, tightCap, 150_000), paperPolicies()...),
				each(atWide(), paperPoint(equal(16, 16), 0.9, 1.25, 2.5, 150_000), paperPolicies()...),
				each(atOver(), paperPoint(equal(16, paperWorkers), 1.05, tightLimit, tightCap, 150_000), paperPolicies()...),
				each(atUneven(), paperPoint(uneven, 0.9, looseLimit, 4*looseLimit, 150_000), paperPolicies()...),
				each(at64(), paperPoint(equal(64, paperWorkers), 0.9, looseLimit, 4*looseLimit, 150_000), paperPolicies()...),
				each(at256(), large, paperPolicies()...),
			)
		},
		claims: paperClaims,
	}
}

func paperClaims() []claim {
	ours, paper, fixed, plain := "skyring", "paper", "paper-32bit", "plain-ring"

	return []claim{
		{
			"Fibonacci hashing with virtual nodes spreads the load more evenly than random placement on the ring (m = 1000)",
			[]string{paper, plain},
			every(less(meanResponse(), atLoose().with(paper), atLoose().with(plain), 1), less(meanResponse(), at64().with(paper), at64().with(plain), 1)),
		},
		{
			"The same with m = 2^32",
			[]string{fixed, plain},
			every(less(meanResponse(), atLoose().with(fixed), atLoose().with(plain), 1), less(meanResponse(), at64().with(fixed), at64().with(plain), 1)),
		},
		{
			"The slot ring answers sooner than the paper's at both m, with more messages on the same node",
			[]string{ours, paper, fixed},
			every(
				less(meanResponse(), atLoose().with(ours), atLoose().with(paper), 1), more(sameNode(), atLoose().with(ours), atLoose().with(paper), 1),
				less(meanResponse(), atLoose().with(ours), atLoose().with(fixed), 1), more(sameNode(), atLoose().with(ours), atLoose().with(fixed), 1),
			),
		},
		{
			"The slot ring answers sooner than the plain ring",
			[]string{ours, plain},
			every(less(meanResponse(), atLoose().with(ours), atLoose().with(plain), 1), less(meanResponse(), atUneven().with(ours), atUneven().with(plain), 1)),
		},
		{
			"16 nodes of 8 workers at load 0.9, limit 11: mean response at most 1.15 service times, same-node share at least 65 %",
			[]string{ours},
			every(atMost(meanResponse(), atTight().with(ours), 1.15), atLeast(sameNode(), atTight().with(ours), 0.65)),
		},
		{
			"The same with 16 workers a node, limit 20",
			[]string{ours},
			every(atMost(meanResponse(), atWide().with(ours), 1.15), atLeast(sameNode(), atWide().with(ours), 0.65)),
		},
		{
			"At load 1.05 the mean response is at most 3 service times, what is past the hard cap being shed",
			[]string{ours},
			atMost(meanResponse(), atOver().with(ours), 3),
		},
		{
			"Power of two answers sooner than any ring, but hardly ever on the same node (one in 16)",
			[]string{"power-of-two", ours},
			every(less(meanResponse(), atLoose().with("power-of-two"), atLoose().with(ours), 1), atMost(sameNode(), atLoose().with("power-of-two"), 0.08)),
		},
	}
}

func concat(parts ...[]point) []point {
	var all []point
	for _, p := range parts {
		all = append(all, p...)
	}

	return all
}

// dispatcherWindow is how many messages of a station a dispatcher has in flight by default.
const dispatcherWindow = 8

func smallScenario() scenario {
	where := at{nodes: 4, load: 0.4}

	return scenario{
		Description: Description{
			Name:    "small",
			Summary: "4 nodes of one worker, 200 stations by Zipf 0.5, exponential service of 5 ms, load 0.4, no limits, stations kept together: to be compared with a real run",
			Source:  "this project",
		},
		points: func() []point {
			c := base()
			c.Nodes = equal(4, 1)
			c.Stations = simulate.Stations{Count: 200, Exponent: 0.5}
			c.Window, c.Queues = dispatcherWindow, simulate.QueuePerWorker

			return each(where, poisson(c, 0.4, 100_000), "skyring", "paper", "plain-ring", "round-robin", "least-connections", "power-of-two")
		},
		claims: func() []claim {
			return []claim{{
				"With few stations and no limits, a policy that looks at the load answers sooner than one that looks at the station",
				[]string{"skyring", "least-connections"},
				less(meanResponse(), where.with("least-connections"), where.with("skyring"), 1),
			}}
		},
	}
}

func largeScenario() scenario {
	where := at{nodes: 1000, load: 0.9, variant: "10 M stations"}
	tuned := func(c simulate.Config) simulate.Config {
		c.Options = policy.Options{Ring: ring.Config{Bits: 20, Epsilon: 0.01}}

		return c
	}

	return scenario{
		Description: Description{
			Name:    "large",
			Summary: "1,000 nodes of 8 workers, 10 million stations by Zipf 0.8, load 0.9, 10 million messages a run: takes long",
			Source:  "this project",
		},
		points: func() []point {
			c := base()
			c.Nodes = equal(1000, paperWorkers)
			c.Stations.Count = 10_000_000
			c.Limits = simulate.Limits{PerWorker: looseLimit, CapPerWorker: 4 * looseLimit}

			return each(where, tuned(poisson(c, 0.9, 10e6/1.2)), "skyring", "plain-ring", "maglev", "power-of-two")
		},
		claims: func() []claim {
			return []claim{{
				"At 1,000 nodes the slot ring answers sooner than the plain ring",
				[]string{"skyring", "plain-ring"},
				less(meanResponse(), where.with("skyring"), where.with("plain-ring"), 1),
			}}
		},
	}
}
