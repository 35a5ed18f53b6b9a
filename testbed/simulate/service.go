package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Law is how service times are distributed.
type Law uint8

const (
	// Exponential has a coefficient of variation of 1.
	Exponential Law = iota
	// Deterministic is always the mean.
	Deterministic
	// Lognormal has the coefficient of variation of Service.Variation.
	Lognormal
)

// Service is how long a worker of speed 1 takes for a message.
type Service struct {
	Law       Law
	Mean      time.Duration // over 0
	Variation float64       // of Lognormal: standard deviation over mean, over 0
}

func (s Service) validate() error {
	switch {
	case s.Law > Lognormal:
		return fmt.Errorf("service.law: %d is out of 0..%d", s.Law, Lognormal)
	case s.Mean < time.Microsecond || s.Mean > time.Hour:
		return fmt.Errorf("service.mean: %v is out of 1us..1h", s.Mean)
	case s.Law == Lognormal && !positive(s.Variation):
		return fmt.Errorf("service.variation: %v: want more than 0", s.Variation)
	default:
		return nil
	}
}

// sampler draws service times in nanoseconds.
type sampler struct {
	law       Law
	mean      float64
	mu, sigma float64 // of the logarithm
}

func newSampler(s Service) sampler {
	v := math.Log1p(s.Variation * s.Variation)
	mean := float64(s.Mean)

	return sampler{law: s.Law, mean: mean, mu: math.Log(mean) - v/2, sigma: math.Sqrt(v)}
}

func (s *sampler) draw(r *rand.Rand) int64 {
	switch s.law {
	case Exponential:
		return int64(r.ExpFloat64() * s.mean)
	case Lognormal:
		return int64(math.Exp(s.mu + s.sigma*r.NormFloat64()))
	case Deterministic:
		return int64(s.mean)
	default:
		panic("simulate: a law that Validate refuses")
	}
}
