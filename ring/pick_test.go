package ring_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/ring"
)

// hashOf is the hash of a session key.
func hashOf(i int) uint64 { return xxh3.HashString(fmt.Sprint("session ", i)) }

// TestPickKeepsItsPromises: while a node other than avoid is open, the node picked is
// open and not avoid; an ineligible node is never picked, nor one at its hard cap as the last
// resort; and there is a pick as long as a node may take it.
func TestPickKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t, 1, 30)

		r, err := ring.Build(nodes, ring.Config{Bits: 8})
		if err != nil {
			t.Fatal(err)
		}

		capped := make([]bool, len(nodes))
		states := rapid.SliceOfN(rapid.SampledFrom([]ring.State{ring.Open, ring.AtLimit, ring.AtLimit, ring.Ineligible}), len(nodes), len(nodes)).Draw(t, "states")
		avoid := rapid.IntRange(ring.NoNode, len(nodes)-1).Draw(t, "avoid")
		open, able := 0, 0

		for i, s := range states {
			capped[i] = rapid.Bool().Draw(t, "capped")
			r.SetState(i, s)

			if capped[i] {
				r.SetLoad(i, 10, 5, 10)
			} else {
				r.SetLoad(i, 9, 5, 10)
			}

			if s == ring.Open && i != avoid {
				open++
			}

			if s != ring.Ineligible && !capped[i] {
				able++
			}
		}

		hash := rapid.Uint64().Draw(t, "hash")
		choice := r.Pick(hash, avoid)

		switch {
		case open > 0 && (choice.Node == avoid || states[choice.Node] != ring.Open || choice.How > ring.Spill):
			t.Fatalf("%d nodes are open, yet %+v", open, choice)
		case open == 0 && able > 0 && (choice.How != ring.BestWeight || states[choice.Node] == ring.Ineligible || capped[choice.Node]):
			t.Fatalf("%d nodes may take it, yet %+v", able, choice)
		case open == 0 && able > 1 && choice.Node == avoid:
			t.Fatalf("%d nodes may take it, yet the one given up on is picked", able)
		case open == 0 && able == 0 && choice != ring.Choice{Node: ring.NoNode, How: ring.None, Probes: 8}:
			t.Fatalf("none may take it, yet %+v", choice)
		}

		eligible, others := 0, 0

		for i, s := range states {
			if s != ring.Ineligible {
				eligible++

				if i != avoid {
					others++
				}
			}
		}

		choice = r.Choose(ring.Query{Hash: hash, Avoid: avoid, Urgency: ring.Emergency})

		switch {
		case eligible == 0 && choice.How != ring.None:
			t.Fatalf("an emergency got the ineligible %+v", choice)
		case eligible > 0 && (choice.How == ring.None || states[choice.Node] == ring.Ineligible):
			t.Fatalf("%d nodes are eligible, yet an emergency got %+v", eligible, choice)
		case others > 0 && (choice.Node == avoid || choice.How > ring.Spill):
			t.Fatalf("%d other nodes are eligible, yet an emergency got %+v", others, choice)
		case states[r.Home(hash)] != ring.Ineligible && r.Home(hash) != avoid && choice.How != ring.Home:
			t.Fatalf("an emergency left its home for %+v", choice)
		}
	})
}

// TestBestOfTwo follows one key whose home is at its limit: of its two candidates the one with the larger weight is taken, the first one
// where they have the same, and a third node never is, however idle.
func TestBestOfTwo(t *testing.T) {
	r := build(t, members(16), ring.DefaultConfig())
	hash := hashOf(1)
	r.SetState(r.Home(hash), ring.AtLimit)

	first := r.Pick(hash, ring.NoNode).Node
	second := r.Pick(hash, first).Node

	for _, c := range []struct {
		inFlight  [2]uint32
		limits    [2]uint32
		pressures [2]float64
		want      int
	}{
		{[2]uint32{5, 5}, [2]uint32{10, 10}, [2]float64{0, 0}, first},
		{[2]uint32{5, 4}, [2]uint32{10, 10}, [2]float64{0, 0}, second},
		{[2]uint32{4, 5}, [2]uint32{10, 10}, [2]float64{0, 0}, first},
		{[2]uint32{5, 11}, [2]uint32{10, 20}, [2]float64{0, 0}, first},  // 6/10 and 12/20
		{[2]uint32{5, 10}, [2]uint32{10, 20}, [2]float64{0, 0}, second}, // 6/10 and 11/20
		{[2]uint32{0, 5}, [2]uint32{10, 10}, [2]float64{0.75, 0}, second},
		{[2]uint32{0, 5}, [2]uint32{10, 10}, [2]float64{0.75, 0.875}, first},
		{[2]uint32{5, 5}, [2]uint32{10, 10}, [2]float64{0.5, 0}, first}, // pressures below what is in flight
		{[2]uint32{20, 5}, [2]uint32{10, 0}, [2]float64{0, 0}, first},   // a limit of 0 is worse than any
	} {
		for i, n := range []int{first, second} {
			r.SetLoad(n, c.inFlight[i], c.limits[i], math.MaxUint32)
			r.SetPressure(n, c.pressures[i])
		}

		if got := r.Pick(hash, ring.NoNode); got.Node != c.want || got.How != ring.Chain || got.Probes < 2 {
			t.Errorf("%+v: got %+v with candidates %d and %d", c, got, first, second)
		}
	}
}

// TestBestOfTwoFillsEvenly: of nodes that are told of each message, those that are open get closer to alike than by their first candidates alone.
func TestBestOfTwoFillsEvenly(t *testing.T) {
	const keys = 8000

	r := build(t, members(16), ring.DefaultConfig())
	for i := range 8 {
		r.SetState(i, ring.AtLimit)
	}

	var firsts, got [16]uint32

	for k := range keys {
		if home := r.Home(hashOf(k)); home < 8 {
			for i := range 16 {
				r.SetLoad(i, 0, 1000, math.MaxUint32)
			}

			firsts[r.Pick(hashOf(k), ring.NoNode).Node]++

			for i := range 16 {
				r.SetLoad(i, got[i], 1000, math.MaxUint32)
			}

			got[r.Pick(hashOf(k), ring.NoNode).Node]++
		}
	}

	spread := func(counts []uint32) uint32 { return slices.Max(counts) - slices.Min(counts) }

	t.Logf("first candidates: %v; best of two: %v", firsts[8:], got[8:])

	if spread(got[8:]) > 8 || spread(firsts[8:]) < 16 {
		t.Errorf("best of two spreads by %d, first candidates by %d", spread(got[8:]), spread(firsts[8:]))
	}
}

// TestSpillIsFair: with equal weights the keys of saturated nodes spread over the open ones by their shares, within what
// a random draw of that many keys shows.
func TestSpillIsFair(t *testing.T) {
	const keys = 30_000

	for _, c := range []struct {
		nodes      int
		every      int // one in so many stays open
		capacities []uint32
	}{
		{16, 2, nil},
		{16, 8, nil},
		{16, 2, []uint32{1, 2, 4, 8, 8}},
		{100, 10, nil},
		{100, 100, nil},
		{1000, 2, nil},
		{1000, 10, nil},
		{1000, 100, nil},
		{1000, 100, []uint32{1, 2, 3}},
	} {
		t.Run(fmt.Sprintf("%d nodes, one in %d open, capacities %v", c.nodes, c.every, c.capacities), func(t *testing.T) {
			r := build(t, members(c.nodes, c.capacities...), ring.DefaultConfig())
			shares := 0

			for i := range c.nodes {
				r.SetLoad(i, 1, 4, math.MaxUint32)

				if i%c.every != 0 {
					r.SetState(i, ring.AtLimit)
				} else {
					shares += r.Share(i)
				}
			}

			got := make([]int, c.nodes)
			spilled := 0

			for i := range keys {
				if choice := r.Pick(hashOf(i), ring.NoNode); choice.How != ring.Home {
					got[choice.Node]++
					spilled++
				}
			}

			for i, n := range got {
				want := 0.0
				if i%c.every == 0 {
					want = float64(spilled) * float64(r.Share(i)) / float64(shares)
				}

				if math.Abs(float64(n)-want) > 5*math.Sqrt(want) {
					t.Errorf("node %d got %d of %d keys, want %.0f", i, n, spilled, want)
				}
			}
		})
	}
}

// TestSpillStays: a key whose node is saturated goes to the same other node each time, and
// most keys keep theirs when one more node saturates.
func TestSpillStays(t *testing.T) {
	r := build(t, members(16), ring.DefaultConfig())
	for i := range 8 {
		r.SetState(i, ring.AtLimit)
	}

	const keys = 20_000

	before := make([]int, keys)
	for i := range keys {
		before[i] = r.Pick(hashOf(i), ring.NoNode).Node
	}

	r.SetState(8, ring.AtLimit)

	for i := range keys {
		after := r.Pick(hashOf(i), ring.NoNode)
		if before[i] != 8 && after.Node != before[i] && after.How != ring.Spill {
			t.Fatalf("key %d moved from %d to %+v, though its node is open", i, before[i], after)
		}
	}
}

// TestLastResortSpreads: told of what it causes, the last resort fills nodes in proportion to their limits, up to
// the hard caps and no further.
func TestLastResortSpreads(t *testing.T) {
	r := build(t, members(4), ring.DefaultConfig())
	limits := []uint32{100, 200, 300, 400}
	load := make([]uint32, 4)

	for i := range 4 {
		r.SetState(i, ring.AtLimit)
		r.SetLoad(i, 0, limits[i], 2*limits[i])
	}

	picks := 0

	for ; ; picks++ {
		choice := r.Pick(hashOf(picks), ring.NoNode)
		if choice.How == ring.None {
			break
		}

		if choice.How != ring.BestWeight {
			t.Fatalf("pick %d: %+v", picks, choice)
		}

		load[choice.Node]++
		r.SetLoad(choice.Node, load[choice.Node], limits[choice.Node], 2*limits[choice.Node])

		if picks == 499 {
			for i, want := range []uint32{50, 100, 150, 200} {
				if load[i]+2 < want || load[i] > want+2 {
					t.Errorf("half full: node %d has %d, want about %d", i, load[i], want)
				}
			}
		}
	}

	if picks != 2000 {
		t.Errorf("%d picks until the hard caps, want 2000", picks)
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	r := build(t, members(64), ring.DefaultConfig())

	for open := 64; open >= 0; open -= 8 {
		for i := range 64 {
			if i >= open {
				r.SetState(i, ring.AtLimit)
			}
		}

		hash := uint64(1)

		allocations := testing.AllocsPerRun(1000, func() {
			hash *= 6364136223846793005
			r.Pick(hash, 3)
			r.PickNew(hash, 3)
			r.Choose(ring.Query{Hash: hash, Avoid: 3, Urgency: ring.Emergency})
			r.SetPressure(int(hash>>58), float64(hash>>60)/7)
			r.SetFull(int(hash>>58), ring.Occupancy(hash>>40&1))
			r.Bound(hash, 7)
			r.SetLoad(int(hash>>58), uint32(hash), 7, 9)
			r.SetState(63, ring.AtLimit)
		})
		if allocations != 0 {
			t.Errorf("%d open: %v allocations", open, allocations)
		}
	}
}
