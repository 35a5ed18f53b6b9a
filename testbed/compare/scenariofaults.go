package compare

import (
	"fmt"
	"time"

	"skyring/testbed/simulate"
)

// mainPolicies are those a dispatcher might well be run with.
func mainPolicies() []string {
	return []string{
		"skyring", "paper-32bit", "plain-ring", "bounded-ring", "maglev", "jump", "weighted-rendezvous", "multi-probe", "modulo",
		"round-robin", "least-connections", "power-of-two", "dynamic-feedback-connections",
	}
}

// faultConfig is 16 nodes of 8 workers at load 0.7 for 20 s, with deadlines as a dispatcher has them.
func faultConfig() simulate.Config {
	c := base()
	c.Nodes = equal(16, paperWorkers)
	c.Limits = simulate.Limits{PerWorker: tightLimit, CapPerWorker: tightCap}
	c.Failure = simulate.Failure{Detection: 4 * time.Second, Deadline: 400 * time.Millisecond}
	c.Arrivals.Rate = 0.7 * c.Capacity()
	c.Warmup, c.Duration = 2*time.Second, 12*time.Second

	return c
}

func faultPoint() at { return at{nodes: 16, load: 0.7} }

// faultScenario is one change at 5 s.
func faultScenario(name, summary string, change simulate.Event, absent bool, claims func() []claim) scenario {
	return scenario{
		Description: Description{Name: name, Summary: summary, Source: "this project's figures; the papers of the rings"},
		points: func() []point {
			c := faultConfig()
			c.Nodes[change.Node].Absent = absent
			change.At = 5 * time.Second
			c.Events = []simulate.Event{change}

			return each(faultPoint(), c, mainPolicies()...)
		},
		claims: claims,
	}
}

// movementClaims hold of a node that comes as of one that goes.
func movementClaims() []claim {
	a := faultPoint()

	return []claim{
		{"The slot ring moves at most 1.05 times the stations that have to move", []string{"skyring"}, atMost(moved(), a.with("skyring"), 1.05)},
		{
			"Consistent hashing and rendezvous move at most a twentieth more than have to",
			[]string{"plain-ring", "weighted-rendezvous"},
			every(atMost(moved(), a.with("plain-ring"), 1.05), atMost(moved(), a.with("weighted-rendezvous"), 1.05)),
		},
		{"Maglev moves more than the slot ring", []string{"maglev", "skyring"}, more(moved(), a.with("maglev"), a.with("skyring"), 1)},
		{"A hash table modulo the number of nodes moves most stations", []string{"modulo"}, atLeast(moved(), a.with("modulo"), 8)},
		{"Nothing is shed by the slot ring", []string{"skyring"}, atMost(shed(), a.with("skyring"), 1e-9)},
	}
}

func nodeLostScenario() scenario {
	return faultScenario("node-lost", "16 nodes of 8 workers, load 0.7; one in the middle dies, which is found out after 4 s; deadline 400 ms",
		simulate.Event{Node: 7, Change: simulate.Lost}, false, movementClaims)
}

func nodeAddedScenario() scenario {
	return faultScenario("node-added", "15 nodes of 8 workers, load 0.7 of them; a sixteenth comes in the middle",
		simulate.Event{Node: 7, Change: simulate.Added}, true, movementClaims)
}

func slowNodeScenario() scenario {
	return faultScenario("slow-node", "16 nodes of 8 workers, load 0.7; one becomes four times slower",
		simulate.Event{Node: 7, Change: simulate.Slowed, Factor: 4}, false, func() []claim {
			a := faultPoint()

			return []claim{
				{
					"In-flight limits keep a slow node from ruining the p99: the slot ring's is at most 3 times power of two's",
					[]string{"skyring", "power-of-two"},
					less(p99(), a.with("skyring"), a.with("power-of-two"), 3),
				},
				{
					"Counts in flight find a slow node out: least connections answers sooner than round robin",
					[]string{"least-connections", "round-robin"},
					less(meanResponse(), a.with("least-connections"), a.with("round-robin"), 1),
				},
			}
		})
}

func overloadPoint(load float64) at { return at{nodes: 16, load: load} }

func overloadScenario() scenario {
	loads := []float64{1.05, 1.2, 1.5}

	return scenario{
		Description: Description{
			Name:    "overload",
			Summary: "16 nodes of 8 workers at loads 1.05, 1.2 and 1.5, limit 11 and hard cap 22 messages in flight a node",
			Source:  "this project's figures",
		},
		points: func() []point {
			var points []point

			for _, load := range loads {
				c := faultConfig()
				c.Failure = simulate.Failure{}
				points = append(points, each(overloadPoint(load), poisson(c, load, 80_000), mainPolicies()...)...)
			}

			return points
		},
		claims: func() []claim {
			capacity := 16 * paperWorkers / serviceTime.Seconds()
			claims := make([]claim, 0, 2*len(loads))

			for _, load := range loads {
				a := overloadPoint(load).with("skyring")
				claims = append(claims,
					claim{fmt.Sprintf("At load %v the mean response is at most 3 service times", load), []string{"skyring"}, atMost(meanResponse(), a, 3)},
					claim{fmt.Sprintf("At load %v the nodes do at least 98 %% of what they can", load), []string{"skyring"}, atLeast(throughput(), a, 0.98*capacity)})
			}

			return claims
		},
	}
}
