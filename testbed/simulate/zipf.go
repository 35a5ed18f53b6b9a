package simulate

import (
	"math"
	"math/rand/v2"
)

// zipf draws ranks 1..n in proportion to rank^-s for any s >= 0, in constant time and without a table: rejection-inversion
// (Hörmann & Derflinger 1996). The area under x^-s over [k-1/2, k+1/2], which is at least k^-s, is inverted, and what is over is rejected:
// at most some one in ten draws, whatever n and s.
type zipf struct {
	n          float64
	s          float64
	low, high  float64 // area up to where rank 1 begins so that it is never rejected, and up to n + 1/2
	acceptance float64 // a rank whose x is at most this far below it needs no test
}

func newZipf(n int, s float64) zipf {
	z := zipf{n: float64(n), s: s}
	z.low = z.area(1.5) - 1
	z.high = z.area(z.n + 0.5)
	z.acceptance = 2 - z.inverse(z.area(2.5)-math.Pow(2, -s))

	return z
}

// draw returns a rank in 1..n.
func (z *zipf) draw(r *rand.Rand) int {
	for {
		u := z.high + r.Float64()*(z.low-z.high)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)

		if k-x <= z.acceptance || u >= z.area(k+0.5)-math.Pow(k, -z.s) {
			return int(k)
		}
	}
}

// area is the integral of t^-s from 1 to x: (x^(1-s)-1)/(1-s), log x at s = 1.
func (z *zipf) area(x float64) float64 {
	l := math.Log(x)

	return quotient(math.Expm1, (1-z.s)*l, 1) * l
}

// inverse is the x of an area.
func (z *zipf) inverse(a float64) float64 {
	return math.Exp(quotient(math.Log1p, max(a*(1-z.s), -1), -1) * a)
}

// quotient is f(t)/t for expm1 (sign 1) and log1p (sign -1), by the series where t is too small to divide by: both begin 1 + sign*t/2.
func quotient(f func(float64) float64, t, sign float64) float64 {
	if math.Abs(t) < 1e-8 {
		return 1 + sign*t/2
	}

	return f(t) / t
}
