package generate_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"skyring/testbed/generate"
)

// An exponential distribution has a standard deviation equal to its mean, and exceeds t with probability e^(-t/mean).
func TestExponentialHasItsMomentsAndTail(t *testing.T) {
	const draws, mean = 200_000, float64(time.Second)
	rng := rand.New(rand.NewPCG(1, 2))
	var sum, squares float64
	over := map[float64]int{0.1: 0, 1: 0, 3: 0}
	for range draws {
		x := float64(generate.Exponential(rng, time.Second)) / mean
		sum += x
		squares += x * x
		for limit := range over {
			if x > limit {
				over[limit]++
			}
		}
	}
	average := sum / draws
	deviation := math.Sqrt(squares/draws - average*average)
	if math.Abs(average-1) > 0.01 || math.Abs(deviation-1) > 0.02 {
		t.Errorf("mean %.4f, deviation %.4f, want 1, 1", average, deviation)
	}
	for limit, count := range over {
		if got, want := float64(count)/draws, math.Exp(-limit); math.Abs(got-want) > 0.004 {
			t.Errorf("share over %v means is %.4f, want %.4f", limit, got, want)
		}
	}
}
