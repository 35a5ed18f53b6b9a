package ring_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
)

// binder gives keys to nodes by first picks, as a dispatcher does.
type binder struct {
	ring *ring.Ring
	keys []uint64 // per node
	all  uint64
}

// bind picks until the node chosen has room, and says which it is. Nodes found full are marked; the marks are taken back when the next
// key comes, as more keys raise the bound of all. exceeded says that none that is open had room.
func (b *binder) bind(hash uint64) (choice ring.Choice, exceeded bool) {
	for i, keys := range b.keys {
		if b.ring.Occupancy(i) == ring.Full && keys < b.ring.Bound(b.all+1, i) {
			b.ring.SetFull(i, ring.HasRoom)
		}
	}

	for {
		choice = b.ring.PickNew(hash, ring.NoNode)

		n := choice.Node
		if n == ring.NoNode {
			return choice, false
		}

		room := b.keys[n] < b.ring.Bound(b.all+1, n)
		if room || b.ring.Occupancy(n) == ring.Full { // full: there is no other
			b.keys[n]++
			b.all++

			return choice, !room
		}

		b.ring.SetFull(n, ring.Full)
	}
}

// TestBoundHolds: whatever stations come in whatever order, no node gets more keys than its bound, as long as an open node has room.
func TestBoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := members(16)
		if rapid.Bool().Draw(t, "unequal") {
			for i := range nodes {
				nodes[i].Capacity = rapid.SampledFrom([]uint32{1, 2, 3, 10, 1000}).Draw(t, "capacity")
			}
		}

		r, err := ring.Build(nodes, ring.Config{Bits: 10})
		if err != nil {
			t.Fatal(err)
		}

		states := rapid.SampledFrom([][]ring.State{{ring.Open}, {ring.Open, ring.Open, ring.Ineligible}, {ring.Open, ring.AtLimit, ring.Ineligible}}).Draw(t, "states")
		limited := false

		for i := range nodes {
			s := rapid.SampledFrom(states).Draw(t, "state")
			limited = limited || s == ring.AtLimit
			r.SetState(i, s)
		}

		b := binder{ring: r, keys: make([]uint64, len(nodes))}
		start := rapid.Uint64().Draw(t, "stations")

		for k := range uint64(100) {
			choice, exceeded := b.bind(hashOf(int(start%1_000_000 + k)))
			if choice.Node == ring.NoNode {
				return
			}

			if exceeded && !limited {
				t.Fatalf("key %d: node %d got its key %d, and %d is its bound of %d", k, choice.Node, b.keys[choice.Node], r.Bound(b.all, choice.Node), b.all)
			}

			if exceeded && choice.How < ring.BestWeight {
				for i := range nodes {
					if r.State(i) == ring.Open && r.Occupancy(i) == ring.HasRoom && b.keys[i] < r.Bound(b.all, i) {
						t.Fatalf("key %d went to node %d over its bound, though node %d has room", k, choice.Node, i)
					}
				}
			}
		}

		for i, keys := range b.keys {
			if bound := r.Bound(100, i); keys > bound && !limited {
				t.Fatalf("node %d has %d of 100 keys, more than %d", i, keys, bound)
			}
		}
	})
}

// TestHundredStationsOnSixteenNodes is the case of the design: means of 6.25 and so at most 7 each, where chance would give some 11 or more.
func TestHundredStationsOnSixteenNodes(t *testing.T) {
	most, free := uint64(0), uint64(0)

	for set := range 50 {
		r := build(t, members(16), ring.Config{Bits: 12})
		b := binder{ring: r, keys: make([]uint64, 16)}
		homes := make([]uint64, 16)

		for k := range 100 {
			hash := hashOf(1000*set + k)
			homes[r.Home(hash)]++

			if _, exceeded := b.bind(hash); exceeded {
				t.Fatal("all nodes are open, yet a bound was exceeded")
			}
		}

		for i := range 16 {
			most, free = max(most, b.keys[i]), max(free, homes[i])
		}
	}

	t.Logf("at most %d keys on a node, by homes alone %d", most, free)

	if most != 7 || free <= 7 {
		t.Errorf("at most %d keys on a node, want 7; by homes alone %d, want more", most, free)
	}
}

func TestBound(t *testing.T) {
	r := build(t, members(16), ring.DefaultConfig())

	for _, c := range []struct{ keys, want uint64 }{
		{0, 0}, {1, 1}, {16, 1}, {17, 2}, {100, 7}, {160, 12}, {1600, 125}, {math.MaxUint64, 0x1400000000000000 - 1},
	} {
		if got := r.Bound(c.keys, 3); got != c.want {
			t.Errorf("bound of %d keys is %d, want %d", c.keys, got, c.want)
		}
	}

	for i := range 8 {
		r.SetState(i, ring.Ineligible)
		r.SetState(i, ring.Ineligible) // once more changes nothing
	}

	r.SetState(8, ring.AtLimit) // counts

	if got := r.Bound(100, 9); got != 15 { // 1.25 * 12.5
		t.Errorf("with half of the nodes it is %d, want 15", got)
	}

	if got := r.Bound(100, 0); got != 0 {
		t.Errorf("of an ineligible node it is %d, want 0", got)
	}

	r.SetState(0, ring.Open)

	if got := r.Bound(90, 0); got != 12 {
		t.Errorf("with nine nodes it is %d, want 12", got)
	}

	for i := range 16 {
		r.SetState(i, ring.Ineligible)
	}

	if got := r.Bound(100, 5); got != 0 {
		t.Errorf("without nodes it is %d, want 0", got)
	}
}

// TestBoundIsExact compares with fractions, and holds that bounds add up to all keys or more.
func TestBoundIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t, 1, 12)

		r, err := ring.Build(nodes, ring.Config{Bits: 8})
		if err != nil {
			t.Fatal(err)
		}

		total := new(big.Int)

		for i, n := range nodes {
			s := rapid.SampledFrom([]ring.State{ring.Open, ring.AtLimit, ring.Ineligible}).Draw(t, "state")
			r.SetState(i, s)

			if s != ring.Ineligible {
				total.Add(total, big.NewInt(int64(n.Capacity)))
			}
		}

		keys := rapid.OneOf(rapid.Uint64Range(0, 200), rapid.Uint64Range(0, 1<<62)).Draw(t, "keys")
		sum := new(big.Int)

		for i, n := range nodes {
			want := new(big.Int)

			if r.State(i) != ring.Ineligible {
				product := new(big.Int).Mul(new(big.Int).SetUint64(keys), big.NewInt(int64(n.Capacity)))
				ceiling := new(big.Int).Div(new(big.Int).Add(product, new(big.Int).Sub(total, big.NewInt(1))), total)
				over := new(big.Int).Div(new(big.Int).Mul(product, big.NewInt(5)), new(big.Int).Mul(total, big.NewInt(4)))

				if want = ceiling; over.Cmp(ceiling) > 0 {
					want = over
				}
			}

			if got := new(big.Int).SetUint64(r.Bound(keys, i)); got.Cmp(want) != 0 {
				t.Fatalf("bound of %d keys on node %d of %v is %v, want %v", keys, i, nodes, got, want)
			}

			sum.Add(sum, want)
		}

		if total.Sign() > 0 && sum.Cmp(new(big.Int).SetUint64(keys)) < 0 {
			t.Fatalf("the bounds of %d keys add up to %v", keys, sum)
		}
	})
}

// TestOnlyFirstPicksGoByRoom also holds that a first pick stays at home as long as there is room.
func TestOnlyFirstPicksGoByRoom(t *testing.T) {
	r := build(t, members(16), ring.DefaultConfig())
	for i := range 15 {
		r.SetFull(i, ring.Full)
	}

	for k := range 1000 {
		hash := hashOf(k)

		if got, want := r.Pick(hash, ring.NoNode), (ring.Choice{Node: r.Home(hash), How: ring.Home}); got != want {
			t.Fatalf("a later pick: %+v, want %+v", got, want)
		}

		if got := r.PickNew(hash, ring.NoNode); got.Node != 15 || (got.How == ring.Home) != (r.Home(hash) == 15) || got.How > ring.Spill {
			t.Fatalf("only node 15 has room, yet %+v", got)
		}
	}

	r.SetFull(15, ring.Full)

	for k := range 1000 {
		if got, want := r.PickNew(hashOf(k), 3), r.Pick(hashOf(k), 3); got != want {
			t.Fatalf("all are full: %+v, want %+v", got, want)
		}
	}
}

// A dispatcher that binds keys to nodes counts them, and marks a node as full when a first pick chose it in vain.
func ExampleRing_PickNew() {
	nodes := []ring.Node{{ID: "alpha", Capacity: 1000}, {ID: "beta", Capacity: 1000}, {ID: "gamma", Capacity: 2000}}

	r, err := ring.Build(nodes, ring.DefaultConfig())
	if err != nil {
		fmt.Println(err)

		return
	}

	keys := make([]uint64, r.Len())

	for all := range uint64(20) {
		choice := r.PickNew(hashOf(int(all)), ring.NoNode)
		for keys[choice.Node] >= r.Bound(all+1, choice.Node) && r.Occupancy(choice.Node) != ring.Full {
			r.SetFull(choice.Node, ring.Full)
			choice = r.PickNew(hashOf(int(all)), ring.NoNode)
		}

		keys[choice.Node]++

		for i := range r.Len() { // the next key raises all bounds
			if r.Occupancy(i) == ring.Full && keys[i] < r.Bound(all+2, i) {
				r.SetFull(i, ring.HasRoom)
			}
		}
	}

	for i, n := range keys {
		fmt.Println(r.Node(i).ID, n <= r.Bound(20, i), r.Bound(20, i))
	}
	// Output:
	// alpha true 6
	// beta true 6
	// gamma true 12
}
