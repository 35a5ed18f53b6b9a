package compare

import (
	"fmt"
	"time"

	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// The paper runs 15 minutes at several concurrencies. Nodes: two each of speeds 1, 1.5 and 2, two workers each, of which a slow one is three times slower for
// three minutes; a request takes 50 ms, users think 0.5 s; an answer that takes over 2 s is a failure and is asked for again.
const (
	drfRun     = 15 * time.Minute
	drfService = 50 * time.Millisecond
	drfSooner  = 5 * time.Second
)

func drfConcurrencies() []int { return []int{25, 50, 100, 150} }
func drfOwn() []string        { return []string{"drf", "drf-half", "drf-12"} }
func drfRivals() []string {
	return []string{"round-robin", "response-time-weighted", "availability"}
}

func drfPoint(users int) at { return at{nodes: 6, variant: fmt.Sprintf("%d users", users)} }

// drfFresh is the point at which DRF ranks more often than printed.
func drfFresh(users int) at {
	return at{nodes: 6, variant: fmt.Sprintf("%d users, ranked each %v", users, drfSooner)}
}

func drfScenario() scenario {
	return scenario{
		Description: Description{
			Name:    "drf",
			Summary: "6 nodes of speeds 1, 1.5 and 2, 25 to 150 users, 15 minutes, one node slow for 3 of them",
			Source:  "Dominant-resource balancing",
		},
		points: func() []point {
			var points []point

			for _, users := range drfConcurrencies() {
				c := base()
				c.Service.Mean = drfService
				for _, speed := range []float64{1, 1, 1.5, 1.5, 2, 2} {
					c.Nodes = append(c.Nodes, simulate.Node{Capacity: 1, Workers: 2, Speed: speed})
				}

				c.Stations = simulate.Stations{Count: users}
				c.Arrivals = simulate.Arrivals{Users: users, Think: 500 * time.Millisecond}
				c.Failure = simulate.Failure{Deadline: 2 * time.Second, Attempts: 3}
				c.Options.Limits = policy.IgnoreLimits
				c.Duration, c.Warmup = drfRun, 10*time.Second
				c.Events = []simulate.Event{
					{At: 4 * time.Minute, Node: 0, Change: simulate.Slowed, Factor: 3},
					{At: 7 * time.Minute, Node: 0, Change: simulate.Slowed, Factor: 1},
				}
				points = append(points, each(drfPoint(users), c, append(drfOwn(), drfRivals()...)...)...)
				c.Options.Interval = drfSooner
				points = append(points, each(drfFresh(users), c, "drf")...)
			}

			return points
		},
		claims: drfClaims,
	}
}

func drfClaims() []claim {
	var claims []claim

	for _, users := range drfConcurrencies() {
		for _, rival := range drfRivals() {
			for _, own := range drfOwn() {
				a := drfPoint(users)
				claims = append(claims, claim{
					fmt.Sprintf("At %d users %s answers sooner than %s", users, own, rival),
					[]string{own, rival},
					less(meanResponse(), a.with(own), a.with(rival), 1),
				})
			}

			claims = append(claims, claim{
				fmt.Sprintf("At %d users drf answers sooner than %s if it ranks each %v instead of 5 min", users, rival, drfSooner),
				[]string{"drf", rival},
				less(meanResponse(), drfFresh(users).with("drf"), drfPoint(users).with(rival), 1),
			})
		}
	}

	return claims
}
