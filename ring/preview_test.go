package ring_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
)

// near allows for the rounding of sums.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestPreviewAgreesWithHomes: for rings of any nodes and sizes the shares are those of keys spread evenly over the circle.
func TestPreviewAgreesWithHomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rings := [2]*ring.Ring{}

		for i := range rings {
			var err error
			if rings[i], err = ring.Build(drawNodes(t, 0, 12), drawConfig(t)); err != nil {
				t.Fatal(err)
			}
		}

		got := ring.Preview(rings[0], rings[1])
		want := map[string]*ring.NodeMovement{}
		slots := 512 // the largest ring that is drawn
		one := 1 / float64(slots)
		moved, unhomed := 0.0, 0.0

		for s := range slots {
			// The key whose place is in the middle of that slot: places are hash*Golden.
			place := (uint64(s)<<1 | 1) << (64 - 10)
			hash := place * inverse(ring.Golden)

			var ids [2]string

			for i, r := range rings {
				if n := r.Home(hash); n != ring.NoNode {
					ids[i] = r.Node(n).ID
				}
			}

			for i, id := range ids {
				if want[id] == nil {
					want[id] = &ring.NodeMovement{ID: id}
				}

				other := ids[1-i]

				switch {
				case i == 0 && id != other:
					want[id].Lost += one
					moved += one
				case i == 1 && id != other:
					want[id].Gained += one
				}

				if i == 0 {
					want[id].Before += one
				} else {
					want[id].After += one
				}
			}

			if ids[1] == "" && ids[0] != "" {
				unhomed += one
			}
		}

		if !near(got.Moved, moved) {
			t.Fatalf("%v moves, want %v", got.Moved, moved)
		}

		ideal := unhomed

		for _, n := range got.Nodes {
			w := want[n.ID]
			if w == nil {
				w = &ring.NodeMovement{ID: n.ID}
			}

			if !near(n.Before, w.Before) || !near(n.After, w.After) || !near(n.Gained, w.Gained) || !near(n.Lost, w.Lost) {
				t.Fatalf("%+v, want %+v", n, *w)
			}

			ideal += max(n.After-n.Before, 0)
		}

		if !near(got.Ideal, ideal) || got.Moved < got.Ideal-1e-9 || ideal > 0 && !near(got.Ratio, moved/ideal) || ideal == 0 && got.Ratio != 0 {
			t.Fatalf("%+v, want ideal %v", got, ideal)
		}

		if !slices.IsSortedFunc(got.Nodes, func(a, b ring.NodeMovement) int {
			if a.ID < b.ID {
				return -1
			}

			return 1
		}) {
			t.Fatalf("not ascending by id: %+v", got.Nodes)
		}
	})
}

// inverse of an odd number modulo 2^64 (Newton).
func inverse(odd uint64) uint64 {
	x := odd
	for range 6 {
		x *= 2 - odd*x
	}

	return x
}

// TestPreviewOfAJoin: with exact shares a node that joins 16 others moves little more than it takes.
func TestPreviewOfAJoin(t *testing.T) {
	before := build(t, members(16), ring.DefaultConfig())
	after := build(t, members(17), ring.DefaultConfig())
	got := ring.Preview(before, after)

	if !near(math.Round(got.Ideal*17*100)/100, 1) || got.Ratio < 1 || got.Ratio > 1.1 || !near(got.Moved, float64(moved(before, after))/65536) {
		t.Errorf("%+v", got)
	}

	if again := ring.Preview(after, after); again.Moved != 0 || again.Ratio != 0 || len(again.Nodes) != 17 {
		t.Errorf("nothing changes, yet %+v", again)
	}

	// The same nodes on a finer ring: shares stay, but most keys have another home.
	finer := ring.Preview(before, build(t, members(16), ring.Config{Bits: 18}))
	if finer.Moved < 0.5 || finer.Ideal != 0 || finer.Ratio != 0 {
		t.Errorf("%v moves, ideal %v, ratio %v", finer.Moved, finer.Ideal, finer.Ratio)
	}
}
