package ring_test

import (
	"math"
	"testing"

	"skyring/ring"
)

// TestLogarithmAgreesWithFloatingPoint compares the integer logarithm with math.Log1p.
func TestLogarithmAgreesWithFloatingPoint(t *testing.T) {
	for _, bits := range []uint8{ring.MinBits, 8, 16, 20, ring.MaxBits} {
		slots := 1 << bits
		values := ring.Logarithm(slots, slots)

		for i := 0; i < len(values); i += 1 + i/4096 + (slots>>16)*7 {
			got := math.Ldexp(float64(values[i]), -ring.LogarithmFraction)
			want := -math.Log1p(-(float64(i) + 0.5) / float64(slots))

			if math.Abs(got-want) > 1e-9*want {
				t.Fatalf("%d bits, i = %d: %.15g, want %.15g", bits, i, got, want)
			}
		}

		last := float64(values[slots-1])
		if want := math.Log(2*float64(slots)) * (1 << ring.LogarithmFraction); math.Abs(last-want) > 1e-9*want {
			t.Errorf("%d bits, last value: %g, want %g", bits, last, want)
		}
	}
}

// TestLogarithmGrows: a node's virtual nodes have different times, in order.
func TestLogarithmGrows(t *testing.T) {
	for _, bits := range []uint8{ring.MinBits, 16, ring.MaxBits} {
		values := ring.Logarithm(1<<bits, 1<<bits)
		for i := 1; i < len(values); i++ {
			if values[i] <= values[i-1] {
				t.Fatalf("%d bits: value %d is %d after %d", bits, i, values[i], values[i-1])
			}
		}
	}
}
