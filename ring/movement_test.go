package ring_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
)

// moved counts the slots whose owner is another node.
func moved(a, b *ring.Ring) int {
	count := 0

	for s := range a.Slots() {
		if a.Node(a.Owner(s)).ID != b.Node(b.Owner(s)).ID {
			count++
		}
	}

	return count
}

// movement returns how many slots move when one of nodes leaves and when one joins, as
// multiples of the slots which that node has.
func movement(t *testing.T, nodes []ring.Node, leaver int, joiner ring.Node, cfg ring.Config) (leave, join float64) {
	t.Helper()

	before := build(t, nodes, cfg)
	without := build(t, slices.Delete(slices.Clone(nodes), leaver, leaver+1), cfg)
	with := build(t, append(slices.Clone(nodes), joiner), cfg)

	left, _ := before.Index(nodes[leaver].ID)
	joined, _ := with.Index(joiner.ID)

	return float64(moved(before, without)) / float64(before.Share(left)),
		float64(moved(before, with)) / float64(with.Share(joined))
}

// movementCase is a figure of the design: the mean over several sets of ids.
type movementCase struct {
	nodes int
	cfg   ring.Config
	limit float64 // times ideal
	sets  int
}

func TestMovement(t *testing.T) {
	testMovement(t, []movementCase{
		{16, ring.Config{Bits: 16}, 1.05, 8},
		{64, ring.Config{Bits: 16}, 1.20, 4},
	})
}

func testMovement(t *testing.T, cases []movementCase) {
	t.Helper()

	for _, c := range cases {
		t.Run(fmt.Sprintf("%d nodes bits=%d epsilon=%v", c.nodes, c.cfg.Bits, c.cfg.Epsilon), func(t *testing.T) {
			leave, join := 0.0, 0.0

			for set := range c.sets {
				var nodes []ring.Node
				for i := range c.nodes {
					nodes = append(nodes, ring.Node{ID: fmt.Sprintf("%c%d-%d", 'a'+set, i, set), Capacity: 100})
				}

				l, j := movement(t, nodes, set*c.nodes/c.sets, ring.Node{ID: fmt.Sprint("new-", set), Capacity: 100}, c.cfg)
				leave += l / float64(c.sets)
				join += j / float64(c.sets)
			}

			t.Logf("leave %.3f, join %.3f times ideal", leave, join)

			if leave > c.limit || join > c.limit {
				t.Errorf("leave %.3f, join %.3f times ideal, want at most %v", leave, join, c.limit)
			}
		})
	}
}

// TestWithoutQuotasNothingElseMoves: with epsilon < 0 only slots that the changed node
// gains or loses move, whatever the capacities are.
func TestWithoutQuotasNothingElseMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t, 2, 12)
		cfg := ring.Config{Bits: 9, Epsilon: -1}
		i := rapid.IntRange(0, len(nodes)-1).Draw(t, "changed")
		id := nodes[i].ID

		less, more := slices.Clone(nodes), slices.Clone(nodes)
		low := rapid.Uint32Range(0, nodes[i].Capacity).Draw(t, "lower capacity")
		less[i].Capacity = low
		more[i].Capacity = nodes[i].Capacity

		if low == 0 { // leaves
			less = slices.Delete(less, i, i+1)
		}

		small, err := ring.Build(less, cfg)
		if err != nil {
			t.Fatal(err)
		}

		large, err := ring.Build(more, cfg)
		if err != nil {
			t.Fatal(err)
		}

		for s := range small.Slots() {
			before, after := small.Node(small.Owner(s)).ID, large.Node(large.Owner(s)).ID
			if before != after && after != id {
				t.Fatalf("slot %d moves from %s to %s when only %s grows", s, before, after, id)
			}
		}
	})
}
