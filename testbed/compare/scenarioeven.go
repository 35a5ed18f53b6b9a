package compare

import (
	"fmt"
	"time"

	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// The paper's 10,000 operations over ten minutes, so that its 30 s come twenty times.
const (
	evenOperations = 10_000
	evenMinutes    = 10
	evenNodes      = 10
)

// consecutiveKeys is the variant whose ids are 1, 2, 3, ...
const (
	consecutiveKeys = "consecutive ids"
)

// evenConfig is ten nodes that are hardly used: what counts is where messages go. Keys are all alike.
func evenConfig(nodes []simulate.Node) simulate.Config {
	c := base()
	c.Nodes = nodes
	c.Stations = simulate.Stations{Count: evenOperations, Spacing: spacing}
	c.Options.Limits = policy.IgnoreLimits
	c.Duration = evenMinutes * time.Minute
	c.Arrivals.Rate = evenOperations / c.Duration.Seconds()

	return c
}

func evenPoints(c simulate.Config) []point {
	where := at{nodes: len(c.Nodes)}
	points := each(where, c, "even-ring", "even-ring-printed", "plain-ring", "random-placement", "skyring")

	for _, k := range []int{5, 40} {
		for _, threshold := range []float64{0.02, 0.1} {
			swept := c
			swept.Options.VirtualNodes, swept.Options.Threshold = k, threshold
			where.variant = fmt.Sprintf("k=%d, threshold=%v", k, threshold)
			points = append(points, each(where, swept, "even-ring")...)
		}
	}

	c.Stations.Spacing = 1
	where.variant = consecutiveKeys

	return append(points, each(where, c, "even-ring", "plain-ring")...)
}

func evenRingEqual() scenario {
	return scenario{
		Description: Description{
			Name:    "even-ring-equal",
			Summary: "10 equal nodes, 10,000 messages of 10,000 stations; k and threshold of the even ring swept",
			Source:  "Even virtual nodes and BKDR hash (seed 003)",
		},
		points: func() []point { return evenPoints(evenConfig(equal(evenNodes, 1))) },
		claims: func() []claim { return evenClaims(at{nodes: evenNodes}, 0.08, "5 to 8 % on equal nodes") },
	}
}

func evenRingUnequal() scenario {
	return scenario{
		Description: Description{
			Name:    "even-ring-unequal",
			Summary: "10 nodes of capacities 1:2:3:4:2, 10,000 messages of 10,000 stations; k and threshold swept",
			Source:  "Even virtual nodes and BKDR hash (seed 003)",
		},
		points: func() []point { return evenPoints(evenConfig(unequal(evenNodes, 1, 1, 2, 3, 4, 2))) },
		claims: func() []claim { return evenClaims(at{nodes: evenNodes}, 0.06, "about 6 % on unequal nodes") },
	}
}

// evenClaims are those on spread; both readings are held against each.
func evenClaims(where at, bound float64, words string) []claim {
	claims := make([]claim, 0, 5)

	for _, p := range []string{"even-ring", "even-ring-printed"} {
		claims = append(claims,
			claim{fmt.Sprintf("(max-min)/mean of %s is %s", p, words), []string{p}, atMost(spread(), where.with(p), bound)},
			claim{
				p + " spreads more evenly than the plain ring and random placement",
				[]string{p, "plain-ring", "random-placement"},
				every(less(spread(), where.with(p), where.with("plain-ring"), 1), less(spread(), where.with(p), where.with("random-placement"), 1)),
			})
	}

	return append(claims, claim{
		"(Ours) the slot ring spreads more evenly than the even ring",
		[]string{"skyring", "even-ring"},
		less(spread(), where.with("skyring"), where.with("even-ring"), 1),
	})
}

// evenRingDynamic has one of ten nodes leave and come back each minute, another each time.
func evenRingDynamic() scenario {
	where := at{nodes: evenNodes}

	return scenario{
		Description: Description{
			Name:    "even-ring-dynamic",
			Summary: "10 nodes of which one after the other leaves and comes back, 10,000 messages of 10,000 stations; k and threshold swept",
			Source:  "Even virtual nodes and BKDR hash (seed 003)",
		},
		points: func() []point {
			c := evenConfig(equal(evenNodes, 1))
			c.Failure.Detection = time.Second

			for i := range evenNodes - 1 {
				t := time.Duration(i+1) * time.Minute
				c.Events = append(c.Events,
					simulate.Event{At: t, Node: i, Change: simulate.Lost},
					simulate.Event{At: t + 30*time.Second, Node: i, Change: simulate.Added})
			}

			return evenPoints(c)
		},
		claims: func() []claim {
			claims := evenClaims(where, 0.10, "under 10 % after 10,000 operations with nodes that come and go")

			return append(claims,
				claim{"The plain ring has 23 % or more after them", []string{"plain-ring"}, atLeast(spread(), where.with("plain-ring"), 0.23)},
				claim{"No large swing when a node comes or goes: at most twice as many stations move as have to", []string{"even-ring"}, atMost(moved(), where.with("even-ring"), 2)})
		},
	}
}
