package compare

import (
	"fmt"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
	"skyring/testbed/simulate"
)

// What the paper of the Z-curve gives: users and length of a run. It says neither how long a request takes nor how long users think: 20 ms and 1 s make
// two nodes full and twelve a third so.
const (
	zCurveUsers   = 200
	zCurveThink   = time.Second
	zCurveService = 20 * time.Millisecond
	zCurveRun     = time.Minute
)

// Variants: what happens when all nodes are past 75 % CPU or 90 % memory, and the bits of the code, which are not printed: the fewer, the more ties, which go
// to the fewest connections.
const (
	asPrinted  = "16 bits, none in state 1: shed"
	bestWeight = "16 bits, none in state 1: best weight"
	fresh      = "as before, code taken each second"
	fourBits   = "4 bits, none in state 1: best weight"
	twoBits    = "2 bits, none in state 1: best weight"
)

// zCurveVariants are all, with their options.
func zCurveVariants() []zCurveVariant {
	return []zCurveVariant{
		{asPrinted, policy.Options{Limits: policy.IgnoreLimits}},
		{bestWeight, policy.Options{}},
		{fresh, policy.Options{Interval: time.Second}},
		{fourBits, policy.Options{Bits: 4}},
		{twoBits, policy.Options{Bits: 2}},
	}
}

type zCurveVariant struct {
	name    string
	options policy.Options
}

func zCurvePolicies() []string {
	return []string{"z-curve", "dynamic-feedback", "dynamic-feedback-connections"}
}

func zCurveScenario() scenario {
	sizes := []int{2, 4, 6, 8, 10, 12}

	return scenario{
		Description: Description{
			Name:    "z-curve",
			Summary: "2 to 12 nodes of one worker, 200 users who think 1 s, service of 20 ms, one minute",
			Source:  "Z-curve over CPU and memory",
		},
		points: func() []point {
			var points []point

			for _, n := range sizes {
				c := base()
				c.Nodes = equal(n, 1)
				c.Service.Mean = zCurveService
				c.Stations = simulate.Stations{Count: zCurveUsers}
				c.Arrivals = simulate.Arrivals{Users: zCurveUsers, Think: zCurveThink}
				c.Duration, c.Warmup = zCurveRun, zCurveRun/12

				points = append(points, each(at{nodes: n}, c, zCurvePolicies()[1:]...)...)

				for _, v := range zCurveVariants() {
					c.Options = v.options
					c.Options.Ring = ring.DefaultConfig()
					points = append(points, each(at{nodes: n, variant: v.name}, c, "z-curve")...)
				}
			}

			return points
		},
		claims: func() []claim { return zCurveClaims(sizes) },
	}
}

// zCurveClaims go by throughput: with users who wait it says the same as the response, and counts what is shed too.
func zCurveClaims(sizes []int) []claim {
	var claims []claim

	for _, v := range zCurveVariants() {
		for _, rival := range zCurvePolicies()[1:] {
			for _, n := range sizes {
				a := at{nodes: n}.with("z-curve")
				b := a.with(rival)
				a.variant = v.name
				order, word := less, "weaker"

				if n >= 8 {
					order, word = more, "better"
				}

				claims = append(claims, claim{
					fmt.Sprintf("At %d nodes the Z-curve (%s) is %s than %s by throughput", n, v.name, word, rival),
					[]string{"z-curve", rival},
					order(throughput(), a, b, 1),
				})
			}
		}
	}

	return claims
}
