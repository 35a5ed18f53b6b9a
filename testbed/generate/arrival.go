package generate

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// exponential draws a duration with the given mean: the time between the arrivals of a Poisson process, or a ring or hold
// time as ETSI TS 186 008 (IMS/NGN performance benchmark) sets them. It is -ln(u) times the mean in integer arithmetic, since
// floating point may round differently on another architecture.
func exponential(rng *rand.Rand, mean time.Duration) time.Duration {
	const ln2 = 2_977_044_472 // times 2^32
	high, low := bits.Mul64(negativeLog2(rng.Uint64()|1), ln2)
	high, low = bits.Mul64(high<<32|low>>32, uint64(mean))
	return time.Duration(high<<32 | low>>32)
}

// negativeLog2 is -log2(u/2^64), times 2^32, of a u over 0: bit by bit, by squaring.
func negativeLog2(u uint64) uint64 {
	zeros := bits.LeadingZeros64(u)
	mantissa := u << zeros // 1 to 2, times 2^63
	fraction := uint64(0)
	for range 32 {
		high, low := bits.Mul64(mantissa, mantissa)
		fraction <<= 1
		if high>>63 == 1 { // 2 or more
			fraction |= 1
			mantissa = high
		} else {
			mantissa = high<<1 | low>>63
		}
	}
	return uint64(zeros+1)<<32 - fraction
}

// between draws a duration from lo up to hi, evenly.
func between(rng *rand.Rand, lo, hi time.Duration) time.Duration {
	return lo + time.Duration(rng.Int64N(int64(hi-lo)))
}

// bytesOf draws n random bytes.
func bytesOf(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
