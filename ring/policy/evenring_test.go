package policy_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

const evenPositions = 1<<32 - 1

func TestBKDRHashesDecimalDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64().Draw(t, "number") >> rapid.IntRange(0, 63).Draw(t, "shift")
		seed := rapid.OneOf(rapid.SampledFrom([]uint64{31, 131, 1313}), rapid.Uint64()).Draw(t, "seed")
		want := new(big.Int)

		for _, digit := range strconv.FormatUint(number, 10) {
			want.Mul(want, new(big.Int).SetUint64(seed))
			want.Add(want, big.NewInt(int64(digit)))
			want.Mod(want, big.NewInt(evenPositions))
		}

		if got := policy.BKDR(number, seed); uint64(got) != want.Uint64() {
			t.Fatalf("BKDR(%d) with seed %d is %d, want %v", number, seed, got, want)
		}
	})
}

// TestEvenRingSpacesVirtualNodes: as the paper's formulas say, for capacities 1:2:4.
func TestEvenRingSpacesVirtualNodes(t *testing.T) {
	o := standard()
	o.VirtualNodes = 7
	nodes := processors(3, 100, 200, 400)
	got := map[policy.VirtualNode]bool{}

	for _, v := range policy.CircleOf(mustNew(t, "even-ring", nodes, o)) {
		got[v] = true
	}

	all := 0

	for i, count := range []int{8, 15, 31} { // a/aMin * 7 * ln 3 = 7.69, 15.4, 30.8
		first := xxh3.HashString(nodes[i].ID) >> 32 % evenPositions

		for k := range uint64(count) + 1 {
			at := (first + k*evenPositions/uint64(count+1)) % evenPositions
			if all++; !got[policy.VirtualNode{At: uint32(at), Node: i}] {
				t.Errorf("node %d has no virtual node %d at %d", i, k, at)
			}
		}
	}

	if len(got) != all {
		t.Errorf("%d virtual nodes, want %d", len(got), all)
	}
}

// TestEvenRingBeforeAnyRefresh is as uneven as one virtual node each: every cell of the circle repeats the same order.
func TestEvenRingBeforeAnyRefresh(t *testing.T) {
	p := mustNew(t, "even-ring", processors(16), standard())

	few, _ := positionShares(p, evenPositions)

	o := standard()
	o.VirtualNodes = 200

	many, _ := positionShares(mustNew(t, "even-ring", processors(16), o), evenPositions)
	if few < 2 || many < 2 {
		t.Errorf("max/mean %v, with twenty times the virtual nodes %v: they are not in one order everywhere", few, many)
	}
}

// eightDigits is a session whose number has enough digits for BKDR to reach the whole circle.
func eightDigits(k uint64) policy.Query { return policy.SessionQuery(ring.Scramble(k) % 100_000_000) }

// spread is (max - min)/mean of the messages by capacity that nodes get of so many sessions.
func spread(p policy.Policy, keys uint64) float64 {
	counts := make([]float64, p.Len())
	for k := range keys {
		n := p.Pick(eightDigits(k)).Node
		counts[n] += 1 / float64(p.Node(n).Capacity)
	}

	least, most, sum := math.Inf(1), 0.0, 0.0
	for _, n := range counts {
		least, most, sum = min(least, n), max(most, n), sum+n
	}

	return (most - least) / (sum / float64(len(counts)))
}

// TestEvenRingRefreshesEvenOut: from refresh to refresh the nodes' load factors come together, for equal and unequal nodes.
func TestEvenRingRefreshesEvenOut(t *testing.T) {
	for name, nodes := range map[string][]ring.Node{"equal": processors(16), "unequal": processors(16, 1, 2, 4, 8), "two": processors(2)} {
		t.Run(name, func(t *testing.T) {
			p := mustNew(t, "even-ring", nodes, standard())
			first, last := spread(p, 10_000), 0.0

			for round := range 60 {
				p.Tick(time.Duration(round+1) * 30 * time.Second)
				last = spread(p, 10_000)
			}

			if first < 1 || last > 0.08 {
				t.Errorf("(max-min)/mean goes from %v to %v", first, last)
			}
		})
	}
}

// TestEvenRingRefreshesAtItsInterval and not before, and not without a load.
func TestEvenRingRefreshesAtItsInterval(t *testing.T) {
	o := standard()
	o.Interval = 10 * time.Second
	p := mustNew(t, "even-ring", processors(8), o)
	start := fmt.Sprint(policy.CircleOf(p))

	p.Tick(10 * time.Second)
	p.Tick(20 * time.Second)

	if fmt.Sprint(policy.CircleOf(p)) != start {
		t.Error("it moved without a load")
	}

	spread(p, 5000)
	p.Tick(30*time.Second - 1)

	if fmt.Sprint(policy.CircleOf(p)) != start {
		t.Error("it moved too early")
	}

	p.Tick(30 * time.Second)

	if fmt.Sprint(policy.CircleOf(p)) == start {
		t.Error("it did not move")
	}

	o.Threshold = 1000 // a node can have at most 8 times the median's load here, unless that is 0
	p = mustNew(t, "even-ring", processors(8), o)
	spread(p, 5000)
	p.Tick(time.Hour)

	if fmt.Sprint(policy.CircleOf(p)) != start {
		t.Error("it moved within its threshold")
	}
}

// TestEvenRingRefreshMovesOneBoundary shows both rules on three nodes without virtual nodes, by where the boundaries go.
func TestEvenRingRefreshMovesOneBoundary(t *testing.T) {
	for _, c := range []struct {
		called string
		given  [3]int // to the nodes in the order of the circle
		moved  [3]float64
	}{
		// The second has 200, and may have 103: it sheds the rest.
		{"overloaded", [3]int{100, 200, 100}, [3]float64{0, 97.0 / 200, 0}},
		// The second has 200, and should have 291 at least: its arc grows so much, but by half of the first's at most.
		{"underloaded", [3]int{300, 200, 300}, [3]float64{-91.0 / 200, 0, 0}},
		// The median is 0.
		{"alone", [3]int{0, 50, 0}, [3]float64{0, 0.5, 0}},
		{"within the threshold", [3]int{102, 100, 98}, [3]float64{0, 0, 0}},
	} {
		t.Run(c.called, func(t *testing.T) {
			o := standard()
			o.VirtualNodes = 1
			nodes := processors(3)
			p := mustNew(t, "even-ring", nodes, o)
			before := policy.CircleOf(p)

			if len(before) != 6 {
				t.Fatalf("%d virtual nodes", len(before))
			}

			order := before[:3] // the cell that repeats
			for i, v := range order {
				give(p, v.Node, c.given[i])
			}

			p.Tick(time.Minute)
			checkMoves(t, before, policy.CircleOf(p), c.moved)
		})
	}
}

// give has a node get so many messages, as the only open one.
func give(p policy.Policy, node, messages int) {
	for i := range p.Len() {
		saturate(p, i, map[bool]ring.State{true: ring.Open, false: ring.AtLimit}[i == node])
	}

	for k := range messages {
		p.Pick(policy.SessionQuery(uint64(k)))
	}

	for i := range p.Len() {
		saturate(p, i, ring.Open)
	}
}

// checkMoves compares circles before and after: moved is the part of its own arc that each boundary goes back by; where it is negative, the part of the
// arc after it, but at most half of its own.
func checkMoves(t *testing.T, before, after []policy.VirtualNode, moved [3]float64) {
	t.Helper()

	arc := func(i int) uint32 {
		a := before[i%6].At - before[(i+5)%6].At
		if before[i%6].At < before[(i+5)%6].At {
			a-- // the circle has 2^32 - 1 positions
		}

		return a
	}

	at := map[uint32]int{}
	for _, v := range after {
		at[v.At] = v.Node
	}

	for i, v := range before {
		by := uint32(float64(arc(i)) * moved[i%3])
		if moved[i%3] < 0 {
			by = min(uint32(float64(arc((i+1)%6))*-moved[i%3]), arc(i)/2)
		}

		found := false

		for near := range uint32(3) { // rounding
			for _, x := range []uint32{v.At - by - near, v.At - by + near} {
				node, there := at[x]
				found = found || there && node == v.Node
			}
		}

		if !found {
			t.Errorf("boundary %d of node %d at %d is not back by %d: %v", i, v.Node, v.At, by, after)
		}
	}
}

// TestEvenRingWeights: what a full node cannot take goes to nodes below the mean in turns by capacity and unused part, as meant;
// and as printed to those above it.
func TestEvenRingWeights(t *testing.T) {
	used := []uint32{100, 9, 29, 79, 59} // pressure 1.01, 0.10, 0.30, 0.80, 0.60: mean 0.562
	for name, want := range map[string][]float64{
		"even-ring":         {0, 0.9 / 1.6, 0.7 / 1.6, 0, 0},
		"even-ring-printed": {0, 0, 0, 1.8 / 3.4, 1.6 / 3.4},
	} {
		p := mustNew(t, name, processors(5), standard())
		for i, n := range used {
			p.SetLoad(i, policy.Load{InFlight: n, Limit: 100, HardCap: math.MaxUint32})
		}

		p.SetState(0, ring.AtLimit)

		got, spilled := make([]float64, 5), 0

		for k := uint64(0); spilled < 1600; k++ {
			if c := p.Pick(eightDigits(k)); c.How == ring.Spill {
				got[c.Node]++
				spilled++
			}
		}

		for i := range got {
			if math.Abs(got[i]/1600-want[i]) > 0.002 {
				t.Errorf("%s: %v of 1600, want parts %v", name, got, want)

				break
			}
		}
	}
}

// TestEvenRingWalksOnWhereNoNodeHasAnyWeight: with all nodes alike the printed weights are all 0.
func TestEvenRingWalksOnWhereNoNodeHasAnyWeight(t *testing.T) {
	p := mustNew(t, "even-ring-printed", processors(4), standard())
	for i := range 4 {
		p.SetLoad(i, policy.Load{InFlight: 9, Limit: 10, HardCap: math.MaxUint32})
	}

	home := p.Pick(eightDigits(3)).Node
	p.SetState(home, ring.AtLimit)

	if c := p.Pick(eightDigits(3)); c.Node == home || c.How != ring.Chain {
		t.Errorf("%+v, home is %d", c, home)
	}
}

// TestEvenRingPassesDeadNodesClockwise: the round robin is for full ones.
func TestEvenRingPassesDeadNodesClockwise(t *testing.T) {
	p := mustNew(t, "even-ring", processors(6), standard())
	vs := policy.CircleOf(p)

	for k := range uint64(200) {
		q := eightDigits(k)
		home := policy.First(vs, policy.BKDR(q.Number, 131))
		dead, heir := vs[home].Node, vs[(home+1)%len(vs)].Node

		p.SetState(dead, ring.Ineligible)

		if c := p.Pick(q); c.Node != heir || c.How != ring.Chain {
			t.Fatalf("%+v, want heir %d", c, heir)
		}

		p.SetState(dead, ring.Open)

		if c := p.Pick(q); c.Node != dead || c.How != ring.Home {
			t.Fatalf("%+v, want home %d", c, dead)
		}
	}
}

// TestEvenRingIsStillARingAfterRefreshes: no boundary passes another, and no node loses its last one, whatever the loads.
func TestEvenRingIsStillARingAfterRefreshes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := processors(rapid.IntRange(1, 6).Draw(t, "nodes"), 1, 3)

		p, err := policy.New("even-ring", nodes, policy.Options{Ring: ring.DefaultConfig(), VirtualNodes: rapid.IntRange(1, 5).Draw(t, "k")})
		if err != nil {
			t.Fatal(err)
		}

		order := owners(policy.CircleOf(p))

		for round := range rapid.IntRange(1, 12).Draw(t, "rounds") {
			for i := range nodes {
				p.SetState(i, rapid.SampledFrom([]ring.State{ring.Open, ring.Open, ring.Ineligible}).Draw(t, "state"))
			}

			for range rapid.IntRange(0, 40).Draw(t, "picks") {
				p.Pick(policy.Query{Number: rapid.Uint64().Draw(t, "number"), Avoid: ring.NoNode})
			}

			p.Tick(time.Duration(round+1) * time.Minute)

			vs := policy.CircleOf(p)
			if now := owners(vs); !sameCycle(order, now) {
				t.Fatalf("the order was %v and is %v", order, now)
			}

			if !slices.IsSortedFunc(vs, func(a, b policy.VirtualNode) int { return cmp.Compare(a.At, b.At) }) {
				t.Fatalf("not in order: %v", vs)
			}
		}
	})
}

// TestEvenRingBackWraps at the circle's end, which is one position short of 2^32.
func TestEvenRingBackWraps(t *testing.T) {
	for _, c := range [][3]uint32{{5, 3, 2}, {5, 5, 0}, {5, 6, evenPositions - 1}, {0, evenPositions - 1, 1}} {
		if got := policy.Back(c[0], c[1]); got != c[2] {
			t.Errorf("%d before %d is %d, want %d", c[1], c[0], got, c[2])
		}
	}
}

func owners(vs []policy.VirtualNode) []int {
	var out []int
	for _, v := range vs {
		out = append(out, v.Node)
	}

	return out
}

// sameCycle says that one is a rotation of the other.
func sameCycle(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}

	for turn := range a {
		same := true
		for i := range a {
			same = same && a[(i+turn)%len(a)] == b[i]
		}

		if same {
			return true
		}
	}

	return len(a) == 0
}
