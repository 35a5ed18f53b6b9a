package compare

import (
	"skyring/ring/policy"
)

// The points of round robin.
func turnsEqual() at   { return at{nodes: 8, load: 0.8, variant: "equal"} }
func turnsUnequal() at { return at{nodes: 8, load: 0.8, variant: "capacities 1:2:4:8"} }

func roundRobinScenario() scenario {
	return scenario{
		Description: Description{
			Name:    "round-robin",
			Summary: "8 nodes, equal and 1:2:4:8, load 0.8: in turns, by weight or not",
			Source:  "Linux Virtual Server's round robin and weighted round robin; nginx' smooth one",
		},
		points: func() []point {
			policies := []string{"round-robin", "weighted-round-robin", "smooth-weighted-round-robin", "least-connections", "weighted-least-connections"}
			even, uneven := base(), base()
			even.Nodes, uneven.Nodes = equal(8, 2), unequal(8, 1, 1, 2, 4, 8)
			even.Options.Limits, uneven.Options.Limits = policy.IgnoreLimits, policy.IgnoreLimits

			return concat(each(turnsEqual(), poisson(even, 0.8, 100_000), policies...), each(turnsUnequal(), poisson(uneven, 0.8, 100_000), policies...))
		},
		claims: func() []claim {
			rr, wrr, smooth := "round-robin", "weighted-round-robin", "smooth-weighted-round-robin"

			return []claim{
				{"On equal nodes weighted round robin is round robin", []string{rr, wrr}, within(meanResponse(), turnsEqual().with(wrr), turnsEqual().with(rr), 0.02)},
				{"On unequal nodes weighted round robin answers sooner than round robin", []string{rr, wrr}, less(meanResponse(), turnsUnequal().with(wrr), turnsUnequal().with(rr), 1)},
				{"The smooth form answers sooner than the one in runs", []string{wrr, smooth}, less(meanResponse(), turnsUnequal().with(smooth), turnsUnequal().with(wrr), 1)},
				{
					"Weighted least connections answers sooner than weighted round robin",
					[]string{wrr, "weighted-least-connections"},
					less(meanResponse(), turnsUnequal().with("weighted-least-connections"), turnsUnequal().with(wrr), 1),
				},
			}
		},
	}
}
