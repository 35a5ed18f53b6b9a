package policy_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

// exactHash is floor(m * frac(k*A)) with integers of any size: floor(q*A) = floor((sqrt(5 q^2) - q)/2), q = k*m.
func exactHash(k uint32, m uint64) uint32 {
	q := new(big.Int).Mul(big.NewInt(int64(k)), new(big.Int).SetUint64(m))
	root := new(big.Int).Mul(q, q)
	root.Sqrt(root.Mul(root, big.NewInt(5)))
	root.Rsh(root.Sub(root, q), 1)

	return uint32(root.Mod(root, new(big.Int).SetUint64(m)).Uint64())
}

func TestFibonacciHashIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Uint32().Draw(t, "k")
		m := rapid.OneOf(rapid.SampledFrom([]uint64{1000, 1 << 32}), rapid.Uint64Range(1, 1<<32)).Draw(t, "m")

		if got, want := policy.FibonacciHash(k, m), exactHash(k, m); got != want {
			t.Fatalf("H(%d) = %d on %d positions, want %d", k, got, m, want)
		}
	})
}

// TestFibonacciHashIsExactWhereItIsHardest: multiples of A come closest to whole numbers at Fibonacci numbers.
func TestFibonacciHashIsExactWhereItIsHardest(t *testing.T) {
	for _, m := range []uint64{1, 2, 1000, 1 << 32} {
		for a, b := uint64(1), uint64(1); a <= math.MaxUint32; a, b = b, a+b {
			for _, k := range []uint64{a - 1, a, a + 1} {
				if got, want := policy.FibonacciHash(uint32(k), m), exactHash(uint32(k), m); got != want {
					t.Errorf("H(%d) = %d on %d positions, want %d", k, got, m, want)
				}
			}
		}
	}
}

// next is the chain's step on 1,000 positions.
func next(position uint32) uint32 { return policy.FibonacciHash(position, 1000) }

// chain is H of a number, H of that, and so on, without repeating.
func chain(from uint32) []uint32 {
	var out []uint32
	for x := next(from); !slices.Contains(out, x); x = next(x) {
		out = append(out, x)
	}

	return out
}

// TestPublishedHashHasTheKnownFaults pins what is known of H on 0..999.
func TestPublishedHashHasTheKnownFaults(t *testing.T) {
	reached := map[uint32]bool{}
	onCycle := map[uint32]bool{}
	cycles, toZero := 0, 0

	var lengths []int

	for start := range uint32(1000) {
		reached[next(start)] = true
		c := chain(start)
		lengths = append(lengths, len(c))

		last := c[len(c)-1]
		if next(last) == 0 && last == 0 {
			toZero++
		}

		first := slices.Index(c, next(last)) // from here on the chain is a cycle
		if !onCycle[last] {
			cycles++
		}

		for _, x := range c[first:] {
			onCycle[x] = true
		}
	}

	slices.Sort(lengths)

	ends := map[uint32]bool{}

	for id := range uint32(256) {
		x := id + 1
		for range 100 {
			x = next(x)
		}

		ends[x] = true
	}

	got := fmt.Sprintf("unreachable %d, cycles %d over %d, starts to 0 %d, chains %d..%d median %d, ids 1..256 end on %d",
		1000-len(reached), cycles, len(onCycle), toZero, lengths[0], lengths[999], lengths[500], len(ends))
	if want := "unreachable 109, cycles 11 over 78, starts to 0 232, chains 1..74 median 25, ids 1..256 end on 48"; got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

// positionShares is the largest part of the circle that a node owns over the mean, and how many own none.
func positionShares(p policy.Policy, positions uint64) (tilt float64, idle int) {
	owned := make([]uint64, p.Len())
	vs := policy.CircleOf(p)
	before := uint64(vs[len(vs)-1].At)

	for i, v := range vs {
		arc := uint64(v.At) - before
		if i == 0 {
			arc += positions
		}

		owned[v.Node] += arc
		before = uint64(v.At)
	}

	for _, n := range owned {
		if n == 0 {
			idle++
		}
	}

	return float64(slices.Max(owned)) * float64(p.Len()) / float64(positions), idle
}

// TestPaperSharesArePublishedOnes: the largest share over the mean, by nodes and virtual nodes.
func TestPaperSharesArePublishedOnes(t *testing.T) {
	for _, c := range []struct {
		name           string
		positions      uint64
		nodes, virtual int
		tilt           float64
		idle           int
	}{
		{"paper", 1000, 4, 1, 1.53, 0},
		{"paper", 1000, 4, 10, 1.43, 0},
		{"paper", 1000, 4, 50, 1.75, 0},
		{"paper", 1000, 16, 1, 1.44, 0},
		{"paper", 1000, 16, 10, 1.42, 0},
		{"paper", 1000, 16, 50, 2.80, 4},
		{"paper", 1000, 64, 1, 1.41, 0},
		{"paper", 1000, 64, 10, 2.94, 16},
		{"paper", 1000, 64, 50, 7.68, 39},
		{"paper", 1000, 256, 1, 1.54, 0},
		{"paper", 1000, 256, 10, 5.12, 104},
		{"paper", 1000, 256, 50, 16.1, 158},
		{"paper-32bit", 1 << 32, 16, 50, 1.23, 0},
		{"paper-32bit", 1 << 32, 64, 50, 1.36, 0},
		{"paper-32bit", 1 << 32, 256, 50, 1.50, 0},
		{"paper-32bit", 1 << 32, 16, 200, 1.12, 0},
		{"paper-32bit", 1 << 32, 64, 200, 1.16, 0},
		{"paper-32bit", 1 << 32, 256, 200, 1.26, 0},
	} {
		o := standard()
		o.VirtualNodes = c.virtual

		tilt, idle := positionShares(mustNew(t, c.name, processors(c.nodes), o), c.positions)

		digits := 2
		if c.tilt > 10 {
			digits = 1
		}

		if got, want := strconv.FormatFloat(tilt, 'f', digits, 64), strconv.FormatFloat(c.tilt, 'f', digits, 64); got != want || idle != c.idle {
			t.Errorf("%s, %d nodes of %d: %s, %d idle, want %s, %d", c.name, c.nodes, c.virtual, got, idle, want, c.idle)
		}
	}
}

// TestPaperGivesVirtualNodesByCapacity on the circle that has room for them.
func TestPaperGivesVirtualNodesByCapacity(t *testing.T) {
	o := standard()
	o.VirtualNodes = 30

	p := mustNew(t, "paper-32bit", processors(4, 1, 2, 4, 8), o)
	counts := make([]int, 4)

	for _, v := range policy.CircleOf(p) {
		counts[v.Node]++
	}

	if want := []int{8, 16, 32, 64}; !slices.Equal(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
}

func TestNodesAreNumberedAsThePaperDoes(t *testing.T) {
	hash := func(id string) uint32 { return uint32(xxh3.HashString(id)) }

	for _, c := range []struct {
		ids  []string
		want []uint32
	}{
		{[]string{"processor-1", "processor-0002", "3"}, []uint32{1, 2, 3}},
		{[]string{"A", "B"}, []uint32{hash("A"), hash("B")}},
		{[]string{"a-0", "a-4294967295", "a-4294967296"}, []uint32{hash("a-0"), 4294967295, hash("a-4294967296")}},
		{[]string{"east-1", "west-1"}, []uint32{1, hash("west-1")}},
	} {
		var nodes []ring.Node
		for _, id := range c.ids {
			nodes = append(nodes, ring.Node{ID: id, Capacity: 1})
		}

		if got := policy.Numbers(nodes); !slices.Equal(got, c.want) {
			t.Errorf("%v are numbered %v, want %v", c.ids, got, c.want)
		}
	}
}

// TestPaperWalksClockwise: against a walk over all positions one by one.
func TestPaperWalksClockwise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "nodes")

		p, err := policy.New("paper", processors(n), policy.Options{Ring: ring.DefaultConfig(), VirtualNodes: rapid.IntRange(1, 40).Draw(t, "virtual")})
		if err != nil {
			t.Fatal(err)
		}

		owners := map[uint32]int{}
		for _, v := range policy.CircleOf(p) {
			owners[v.At] = v.Node
		}

		open := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "open")
		for i, isOpen := range open {
			if !isOpen {
				saturate(p, i, ring.AtLimit)
			}
		}

		q := policy.Query{Number: uint64(rapid.Uint32().Draw(t, "number")), Avoid: ring.NoNode}
		want := ring.NoNode

		for step := range uint32(1000) {
			if owner, there := owners[(policy.FibonacciHash(uint32(q.Number), 1000)+step)%1000]; there && open[owner] {
				want = owner

				break
			}
		}

		if c := p.Pick(q); want != ring.NoNode && c.Node != want {
			t.Fatalf("%+v, want node %d", c, want)
		}
	})
}
