package ring_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
)

// TestPressureIsKept in steps of 2^-20 from 0 to 4096.
func TestPressureIsKept(t *testing.T) {
	r := build(t, members(2), ring.Config{Bits: 8})

	for _, c := range []struct{ set, want float64 }{
		{0.5, 0.5},
		{1, 1},
		{1.75, 1.75},
		{1.0 / 3, 349525.0 / (1 << 20)},
		{0, 0},
		{-1, 0},
		{math.NaN(), 0},
		{math.Inf(-1), 0},
		{math.Inf(1), 4096 - 1.0/(1<<20)},
		{1e300, 4096 - 1.0/(1<<20)},
		{4095.5, 4095.5},
	} {
		r.SetPressure(1, 7) // so that each has to change something
		r.SetPressure(1, c.set)

		if got := r.Pressure(1); got != c.want {
			t.Errorf("pressure %v is kept as %v, want %v", c.set, got, c.want)
		}
	}
}

// TestLastResortGoesByTheDominantResource: the larger of pressure and in flight decides, and a weight may be negative.
func TestLastResortGoesByTheDominantResource(t *testing.T) {
	r := build(t, members(3), ring.Config{Bits: 8})

	for i := range 3 {
		r.SetState(i, ring.AtLimit)
		r.SetLoad(i, 49, 100, 1000) // (49+1)/100
	}

	for _, c := range []struct {
		pressures [3]float64
		inFlight  [3]uint32
		want      int
	}{
		{[3]float64{0, 0, 0}, [3]uint32{49, 49, 49}, 0},     // all the same: the lower index
		{[3]float64{0.6, 0.5, 0}, [3]uint32{49, 49, 49}, 1}, // 0.5 is no more than what is in flight
		{[3]float64{0.6, 0.500001, 0}, [3]uint32{49, 49, 49}, 2},
		{[3]float64{0.9, 0.8, 0.7}, [3]uint32{0, 0, 99}, 1},
		{[3]float64{1.5, 1.25, 3}, [3]uint32{0, 0, 0}, 1}, // all weights negative
		{[3]float64{1.5, 4000, 3}, [3]uint32{999, 0, 998}, 2},
		{[3]float64{1.5, 4000, 3}, [3]uint32{998, 0, 1000}, 0}, // 2 is at its hard cap: 0 has (998+1)/100
	} {
		for i := range 3 {
			r.SetPressure(i, c.pressures[i])
			r.SetLoad(i, c.inFlight[i], 100, 1000)
		}

		if got := r.Pick(1, ring.NoNode); got.Node != c.want || got.How != ring.BestWeight {
			t.Errorf("%v, %v: %+v, want node %d", c.pressures, c.inFlight, got, c.want)
		}
	}
}

// TestLoadsOfOpenNodesLeaveTheLastResortAlone: the one open node is avoided, so that the last resort chooses among the others, whatever the
// loads of the open one were meanwhile; and it knows that one's load of now when there is no other.
func TestLoadsOfOpenNodesLeaveTheLastResortAlone(t *testing.T) {
	r := build(t, members(4), ring.Config{Bits: 8})

	for i := 1; i < 4; i++ {
		r.SetState(i, ring.AtLimit)
	}

	r.SetState(3, ring.Ineligible)
	r.SetLoad(1, 49, 100, 200)
	r.SetLoad(0, 94, 100, 200)
	r.SetLoad(2, 89, 100, 200)

	if got, want := r.Pick(1, 0), (ring.Choice{Node: 1, How: ring.BestWeight, Probes: 8}); got != want {
		t.Errorf("got %+v, want %+v, which is less used than node 2", got, want)
	}

	for i := range 3 {
		r.SetState(i, ring.Ineligible)
	}

	for _, hardCap := range []uint32{9, 200, 9} { // first as the node opens
		r.SetLoad(0, 10, 5, hardCap)
		r.SetState(0, ring.Open)

		want := ring.Choice{Node: 0, How: ring.BestWeight, Probes: 8}
		if hardCap == 9 {
			want = ring.Choice{Node: ring.NoNode, How: ring.None, Probes: 8}
		}

		if got := r.Pick(1, 0); got != want {
			t.Errorf("hard cap %d: got %+v, want %+v", hardCap, got, want)
		}
	}
}

// TestLastResortIsExact compares with fractions at the largest numbers there are.
func TestLastResortIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, err := ring.Build(members(3), ring.Config{Bits: 4})
		if err != nil {
			t.Fatal(err)
		}

		number := rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(math.MaxUint32-2, math.MaxUint32), rapid.Uint32Range(0, 2))
		best := ring.NoNode

		var least *big.Rat // nil for a limit of 0

		for i := range 3 {
			inFlight, limit := number.Draw(t, "in flight"), number.Draw(t, "limit")
			pressure := float64(number.Draw(t, "pressure")) / (1 << 20)
			inFlight = min(inFlight, math.MaxUint32-1) // the hard cap

			r.SetState(i, ring.AtLimit)
			r.SetLoad(i, inFlight, limit, math.MaxUint32)
			r.SetPressure(i, pressure)

			var use *big.Rat

			if limit > 0 {
				use = big.NewRat(int64(inFlight)+1, int64(limit))
				if p := new(big.Rat).SetFloat64(pressure); p.Cmp(use) > 0 {
					use = p
				}
			}

			if best == ring.NoNode || use != nil && (least == nil || use.Cmp(least) < 0) {
				best, least = i, use
			}
		}

		if got := r.Pick(1, ring.NoNode); got.Node != best {
			t.Fatalf("%+v, want node %d, whose use is %v", got, best, least)
		}
	})
}
