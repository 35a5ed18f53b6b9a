package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"skyring/testbed/simulate"
)

// Pearson's statistic of the sampler against the exact probabilities stays under its 1 - 10^-6 quantile, for exponents under, at and over 1.
func TestZipfDrawsItsProbabilities(t *testing.T) {
	const draws = 100_000

	for _, n := range []int{1, 2, 3, 50, 1000} {
		for _, s := range []float64{0, 0.3, 0.8, 1, 1.2, 2.5} {
			t.Run(fmt.Sprintf("n=%d,s=%v", n, s), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), math.Float64bits(s)))
				draw := simulate.Zipf(n, s)
				seen := make([]float64, n+1)

				for range draws {
					seen[draw(r)]++
				}

				var sum float64
				for k := 1; k <= n; k++ {
					sum += math.Pow(float64(k), -s)
				}

				// Ranks in the tail are put together until at least 20 are expected.
				var statistic, expected, observed float64

				cells := 0

				for k := 1; k <= n; k++ {
					expected += draws * math.Pow(float64(k), -s) / sum
					observed += seen[k]

					if expected >= 20 || k == n {
						statistic += (observed - expected) * (observed - expected) / expected
						cells++
						expected, observed = 0, 0
					}
				}

				if cells == 1 {
					return
				}

				if most := (distuv.ChiSquared{K: float64(cells - 1)}).Quantile(1 - 1e-6); statistic > most {
					t.Errorf("chi squared %.1f over %d cells, want at most %.1f", statistic, cells, most)
				}
			})
		}
	}
}

// At ten million ranks no table helps: the share of the first rank and the median rank are as the harmonic numbers say.
func TestZipfOfTenMillion(t *testing.T) {
	const n, draws = 10_000_000, 100_000

	for _, s := range []float64{0.8, 1, 1.1} {
		// The sum of the first 1000 terms, and the rest by Euler and Maclaurin.
		var half float64
		for k := 1; k <= 1000; k++ {
			half += math.Pow(float64(k), -s)
		}

		rest := math.Log(n / 1000)
		if s != 1 {
			rest = (math.Pow(n, 1-s) - math.Pow(1000, 1-s)) / (1 - s)
		}

		sum := half + rest + (math.Pow(n, -s)-math.Pow(1000, -s))/2

		r := rand.New(rand.NewPCG(7, 7))
		draw := simulate.Zipf(n, s)
		within := 0

		for range draws {
			if draw(r) <= 1000 {
				within++
			}
		}

		p := half / sum
		if got, sd := float64(within)/draws, math.Sqrt(p*(1-p)/draws); math.Abs(got-p) > 5*sd {
			t.Errorf("s = %v: %.5f of the draws are of the first 1000 ranks, want %.5f +- %.5f", s, got, p, 5*sd)
		}
	}
}

// Station numbers are a permutation of 1..count, and another for another seed.
func TestNumbersArePermuted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 3000).Draw(t, "count")
		number := simulate.Numbers(count, rapid.Uint64().Draw(t, "seed"))
		seen := make([]bool, count+1)

		for rank := range count {
			n := number(rank)
			if n < 1 || n > uint64(count) || seen[n] {
				t.Fatalf("rank %d has number %d, which is out of 1..%d or was there", rank, n, count)
			}

			seen[n] = true
		}
	})

	a, b := simulate.Numbers(1000, 1), simulate.Numbers(1000, 2)
	same := 0

	for rank := range 1000 {
		if a(rank) == b(rank) {
			same++
		}
	}

	if same > 20 {
		t.Errorf("%d of 1000 ranks have the same number under two seeds", same)
	}
}

// Service times have the mean and the coefficient of variation that they are asked for.
func TestServiceTimes(t *testing.T) {
	const draws = 400_000

	for _, c := range []struct {
		service   simulate.Service
		variation float64
	}{
		{simulate.Service{Law: simulate.Exponential, Mean: 5 * time.Millisecond}, 1},
		{simulate.Service{Law: simulate.Deterministic, Mean: 5 * time.Millisecond}, 0},
		{simulate.Service{Law: simulate.Lognormal, Mean: 5 * time.Millisecond, Variation: 1.5}, 1.5},
	} {
		r := rand.New(rand.NewPCG(3, 5))
		draw := simulate.Draw(c.service)

		var sum, squares float64

		for range draws {
			x := float64(draw(r)) / float64(c.service.Mean)
			sum += x
			squares += x * x
		}

		mean := sum / draws
		variation := math.Sqrt(squares/draws-mean*mean) / mean

		if math.Abs(mean-1) > 0.015 || math.Abs(variation-c.variation) > 0.1*c.variation+1e-6 {
			t.Errorf("law %d: mean %.4f, variation %.4f, want 1, %v", c.service.Law, mean, variation, c.variation)
		}
	}
}

// The future hands out events by time, those of one time as they were made.
func TestFutureIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f simulate.Future

		type made struct {
			at      int64
			subject int32
		}

		var waiting []made

		steps := rapid.SliceOfN(rapid.Int64Range(-20, 20), 1, 300).Draw(t, "steps")
		for i, at := range steps {
			if at >= 0 {
				f.Push(at, int32(i))
				waiting = append(waiting, made{at, int32(i)})

				continue
			}

			if len(waiting) == 0 {
				continue
			}

			first := 0
			for j, m := range waiting {
				if m.at < waiting[first].at {
					first = j
				}
			}

			at, subject := f.Pop()
			if at != waiting[first].at || subject != waiting[first].subject {
				t.Fatalf("popped %d of time %d, want %d of time %d", subject, at, waiting[first].subject, waiting[first].at)
			}

			waiting = append(waiting[:first], waiting[first+1:]...)
		}

		if f.Len() != len(waiting) {
			t.Fatalf("%d are left, want %d", f.Len(), len(waiting))
		}
	})
}
