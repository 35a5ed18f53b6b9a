package compare

import (
	"fmt"
	"time"

	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// The paper's 10,000 operations over ten minutes, so that its 30 s come twenty times, after five in which boundaries settle.
const (
	evenOperations = 10_000
	evenMinutes    = 10
	evenSettling   = 5
)

// Variants of the rings.
const (
	consecutiveKeys = "consecutive ids"
	unmoved         = "boundaries stand still"
	fullNodes       = "load 0.8, limit of 2 in flight a worker"
)

// evenFull is the load of the variant whose nodes are full.
const evenFull = 0.8

// evenSizes are the numbers of nodes, which the paper's results do not come with.
func evenSizes() []int { return []int{5, 10} }

// evenConfig is nodes that are hardly used: what counts is where messages go. Keys are all alike.
func evenConfig(nodes []simulate.Node) simulate.Config {
	c := base()
	c.Nodes = nodes
	c.Stations = simulate.Stations{Count: evenOperations, Spacing: spacing}
	c.Options.Limits = policy.IgnoreLimits
	c.Warmup = evenSettling * time.Minute
	c.Duration = (evenSettling + evenMinutes) * time.Minute
	c.Arrivals.Rate = evenOperations / (evenMinutes * time.Minute).Seconds()

	return c
}

func evenPoints(c simulate.Config) []point {
	where := at{nodes: len(c.Nodes)}
	points := each(where, c, "even-ring", "even-ring-printed", "plain-ring", "random-placement", "skyring")

	for _, k := range []int{5, 40} {
		for _, threshold := range []float64{0.02, 0.1, 0.3} {
			swept := c
			swept.Options.VirtualNodes, swept.Options.Threshold = k, threshold
			where.variant = fmt.Sprintf("k=%d, threshold=%v", k, threshold)
			points = append(points, each(where, swept, "even-ring")...)
		}
	}

	still := c
	still.Options.Interval = time.Hour
	where.variant = unmoved
	points = append(points, each(where, still, "even-ring")...)

	c.Stations.Spacing = 1
	where.variant = consecutiveKeys
	points = append(points, each(where, c, "even-ring", "plain-ring")...)

	// Readings of the paper differ where nodes are full.
	c.Stations.Spacing = spacing
	c.Options.Limits = policy.RespectLimits
	c.Limits = simulate.Limits{PerWorker: 2, CapPerWorker: 8}
	c.Service.Mean = time.Duration(evenFull * c.Service.Mean.Seconds() * c.Capacity() / c.Arrivals.Rate * 1e9)
	where.variant = fullNodes

	return append(points, each(where, c, "even-ring", "even-ring-printed", "plain-ring", "skyring")...)
}

// evenStatic is a scenario in which no node comes or goes.
func evenStatic(name, summary string, nodes func(n int) []simulate.Node, bound float64, words string) scenario {
	return scenario{
		Description: Description{
			Name:    name,
			Summary: summary + ", 10,000 messages of 10,000 stations; k and threshold of the even ring swept",
			Source:  "Even virtual nodes and BKDR hash",
		},
		points: func() []point {
			var points []point
			for _, n := range evenSizes() {
				points = append(points, evenPoints(evenConfig(nodes(n)))...)
			}

			return points
		},
		claims: func() []claim {
			var claims []claim
			for _, n := range evenSizes() {
				claims = append(claims, evenClaims(at{nodes: n}, bound, words)...)
			}

			return claims
		},
	}
}

func evenRingEqual() scenario {
	return evenStatic("even-ring-equal", "5 and 10 equal nodes",
		func(n int) []simulate.Node { return equal(n, 1) }, 0.08, "5 to 8 % on equal nodes")
}

func evenRingUnequal() scenario {
	return evenStatic("even-ring-unequal", "5 and 10 nodes of capacities 1:2:3:4:2",
		func(n int) []simulate.Node { return unequal(n, 1, 1, 2, 3, 4, 2) }, 0.06, "about 6 % on unequal nodes")
}

// evenClaims are those on spread; both readings are held against each.
func evenClaims(where at, bound float64, words string) []claim {
	even, printed, plain, random := "even-ring", "even-ring-printed", "plain-ring", "random-placement"
	best := at{policy: even, nodes: where.nodes, variant: "k=40, threshold=0.3"}
	full := at{nodes: where.nodes, variant: fullNodes}
	claims := make([]claim, 0, 8)

	for _, p := range []string{even, printed} {
		claims = append(claims,
			claim{fmt.Sprintf("(max-min)/mean of %s is %s, %d nodes", p, words, where.nodes), []string{p}, atMost(spread(), where.with(p), bound)},
			claim{fmt.Sprintf("%s spreads more evenly than the plain ring, %d nodes", p, where.nodes), []string{p, plain}, less(spread(), where.with(p), where.with(plain), 1)},
			claim{fmt.Sprintf("%s spreads more evenly than random placement, %d nodes", p, where.nodes), []string{p, random}, less(spread(), where.with(p), where.with(random), 1)})
	}

	return append(claims,
		claim{fmt.Sprintf("The same of even-ring with k = 40 and a threshold of 30 %%, %d nodes", where.nodes), []string{even}, atMost(spread(), best, bound)},
		claim{
			fmt.Sprintf("Its moving boundaries spread more evenly than they would standing still, %d nodes", where.nodes),
			[]string{even},
			less(spread(), where.with(even), at{even, where.nodes, 0, unmoved}, 1),
		},
		claim{
			fmt.Sprintf("Where nodes are full, the formula as meant answers sooner than as printed, %d nodes", where.nodes),
			[]string{even, printed},
			less(meanResponse(), full.with(even), full.with(printed), 1),
		},
		claim{
			fmt.Sprintf("(Ours) the slot ring spreads more evenly than the even ring, %d nodes", where.nodes),
			[]string{"skyring", even},
			less(spread(), where.with("skyring"), where.with(even), 1),
		})
}

// evenRingDynamic has one of ten nodes leave and come back each minute, another each time.
func evenRingDynamic() scenario {
	const nodes = 10

	where := at{nodes: nodes}

	return scenario{
		Description: Description{
			Name:    "even-ring-dynamic",
			Summary: "10 nodes of which one after the other leaves and comes back, 10,000 messages of 10,000 stations; k and threshold swept",
			Source:  "Even virtual nodes and BKDR hash",
		},
		points: func() []point {
			c := evenConfig(equal(nodes, 1))
			c.Failure.Detection = time.Second

			for i := range nodes - 1 {
				t := time.Duration(evenSettling+i+1) * time.Minute
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
