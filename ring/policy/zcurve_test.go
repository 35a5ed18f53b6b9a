package policy_test

import (
	"math"
	"testing"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestZCurveCode(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		cpu, memory float64
		bits        int
		want        uint64
	}{
		{0, 0, 16, 0},
		{1, 1, 16, 0xFFFFFFFF},
		{1, 0, 16, 0xAAAAAAAA},
		{0, 1, 16, 0x55555555},
		{0.5, 0, 1, 0b10},             // the border belongs to the upper half
		{0.6, 0.3, 2, 0b1001},         // CPU 10, memory 01
		{0.3, 0.6, 2, 0b0110},         // CPU 01, memory 10
		{0.7, 0.2, 3, 0b100011},       // CPU 101, memory 001
		{0.4999, 0.75, 4, 0b01111010}, // CPU 0111, memory 1100
		{-1, 2, 4, 0b01010101},
		{math.NaN(), math.Inf(1), 4, 0b01010101},
		{1, 1, 26, 1<<52 - 1},
	} {
		if got := policy.ZCode(c.cpu, c.memory, c.bits); got != c.want {
			t.Errorf("CPU %v, memory %v in %d bits: code %b, want %b", c.cpu, c.memory, c.bits, got, c.want)
		}
	}
}

// usage reports CPU and memory of the first nodes.
func (b *bench) usage(at time.Duration, cpuMemory ...[2]float64) {
	for i, u := range cpuMemory {
		b.SetReport(i, policy.Report{At: at, CPU: u[0], Memory: u[1]})
	}
}

func TestZCurve(t *testing.T) {
	t.Parallel()

	// With 2 bits: codes 1001 = 9, 0110 = 6, 0011 = 3.
	b := newBench(t, "z-curve", policy.Options{Bits: 2}, 1, 1, 1)
	b.usage(0, [2]float64{0.6, 0.3}, [2]float64{0.3, 0.6}, [2]float64{0.4, 0.4})
	same(t, "in order", b.order(), "cba")
	same(t, "whatever is in flight", b.dispatches(4), "cccc")

	b.SetState(2, ring.AtLimit)
	same(t, "c at its limit", b.picks(1), "b")
}

func TestZCurveTies(t *testing.T) {
	t.Parallel()

	b := newBench(t, "z-curve", policy.Options{Bits: 1}, 1, 1, 1)
	b.usage(0, [2]float64{0.1, 0.1}, [2]float64{0.4, 0.4}, [2]float64{0.6, 0.1})
	b.inFlight(2, 0, 0)
	same(t, "a and b in the lower halves", b.dispatches(5), "bbaba")
}

func TestZCurveInterval(t *testing.T) {
	t.Parallel()

	b := newBench(t, "z-curve", policy.Options{}, 1, 1)
	b.Tick(0)
	b.usage(time.Second, [2]float64{0.1, 0.1}, [2]float64{0.2, 0.2})
	same(t, "first reports are taken at once", b.order(), "ab")

	b.usage(2*time.Second, [2]float64{0.3, 0.3}, [2]float64{0.2, 0.2})
	b.Tick(2 * time.Second)
	same(t, "later ones not within 3 s", b.order(), "ab")

	b.Tick(3 * time.Second)
	same(t, "but then", b.order(), "ba")

	b.usage(4*time.Second, [2]float64{0.1, 0.1}, [2]float64{0.2, 0.2})
	b.Tick(5900 * time.Millisecond)
	same(t, "and again not within 3 s", b.order(), "ba")

	b.Tick(6 * time.Second)
	same(t, "but then", b.order(), "ab")

	// A clock that was away for long does not make up for what it missed.
	b.Tick(100 * time.Second)
	b.usage(101*time.Second, [2]float64{0.3, 0.3}, [2]float64{0.2, 0.2})
	b.Tick(102 * time.Second)
	same(t, "after a gap, not within 3 s", b.order(), "ab")
	b.Tick(103 * time.Second)
	same(t, "but then", b.order(), "ba")
}

func TestZCurveState(t *testing.T) {
	t.Parallel()

	b := newBench(t, "z-curve", policy.Options{Interval: time.Second}, 1, 1, 1)
	b.Tick(0)
	b.usage(0, [2]float64{0.75, 0.9}, [2]float64{0.7501, 0}, [2]float64{0, 0.9001})

	if c := b.pick(); c != (ring.Choice{Node: 0, How: ring.Home}) {
		t.Errorf("a is on both borders, the others past one: got %+v, want a by its code", c)
	}

	// None in state 1: told so where limits are ignored, else the best weight of the open ones.
	tell := func(limits policy.LimitRule) *bench {
		b := newBench(t, "z-curve", policy.Options{Limits: limits}, 1, 1, 1)
		for i, pressure := range []float64{1.2, 1.1, 1.05} {
			b.SetReport(i, policy.Report{CPU: 0.8, Pressure: pressure})
		}

		b.SetState(2, ring.AtLimit)

		return b
	}

	if c := tell(policy.IgnoreLimits).pick(); c != (ring.Choice{Node: ring.NoNode, How: ring.None}) {
		t.Errorf("ignoring limits: got %+v, want none", c)
	}

	respect := tell(policy.RespectLimits)
	if c := respect.pick(); c != (ring.Choice{Node: 1, How: ring.Spill}) {
		t.Errorf("respecting limits: got %+v, want b, the better of the open ones", c)
	}

	respect.states(ring.AtLimit, ring.AtLimit)

	if c := respect.pick(); c != (ring.Choice{Node: 2, How: ring.BestWeight}) {
		t.Errorf("none open: got %+v, want c, the best weight", c)
	}
}
