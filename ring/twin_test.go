package ring_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
)

// naiveTable builds the table another way. Slots and nodes rank all pairs by the same
// time, so the one stable table is also found by taking the pairs in order of time, each
// where the slot is free and the node has quota left. Times are floating point here.
func naiveTable(nodes []ring.Node, cfg ring.Config) []int {
	type pair struct {
		time float64
		node int
		slot uint32
	}

	slots := 1 << cfg.Bits

	var pairs []pair

	for n, node := range nodes {
		for i := range slots {
			pairs = append(pairs, pair{
				-math.Log1p(-(float64(i)+0.5)/float64(slots)) / float64(node.Capacity), n, ring.Permute(node.ID, cfg.Bits, uint32(i)),
			})
		}
	}

	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.node, b.node)) })

	quota := naiveQuotas(nodes, slots, cfg.Epsilon)
	owners := slices.Repeat([]int{ring.NoNode}, slots)

	for _, p := range pairs {
		if owners[p.slot] == ring.NoNode && quota[p.node] > 0 {
			owners[p.slot] = p.node
			quota[p.node]--
		}
	}

	return owners
}

// naiveQuotas counts with exact fractions.
func naiveQuotas(nodes []ring.Node, slots int, epsilon float64) []int {
	total := new(big.Int)
	for _, n := range nodes {
		total.Add(total, big.NewInt(int64(n.Capacity)))
	}

	out := make([]int, len(nodes))
	remainders := make([]*big.Rat, len(nodes))
	left := slots

	for i, n := range nodes {
		share := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(slots)), big.NewInt(int64(n.Capacity))), total)

		switch {
		case epsilon < 0:
			out[i] = slots
		case epsilon > 0:
			share.Mul(share, big.NewRat(1_000_000+int64(math.Round(epsilon*1_000_000)), 1_000_000))
			out[i] = int(new(big.Int).Div(new(big.Int).Add(share.Num(), new(big.Int).Sub(share.Denom(), big.NewInt(1))), share.Denom()).Int64())
		default:
			whole := new(big.Int).Div(share.Num(), share.Denom())
			out[i] = int(whole.Int64())
			left -= out[i]
			remainders[i] = share.Sub(share, new(big.Rat).SetInt(whole))
		}
	}

	for epsilon == 0 && left > 0 {
		most := 0
		for i := range nodes {
			if remainders[i].Cmp(remainders[most]) > 0 {
				most = i
			}
		}

		out[most]++
		remainders[most] = big.NewRat(-1, 1)
		left--
	}

	return out
}

// drawNodes draws up to most nodes, ascending by id.
func drawNodes(t *rapid.T, least, most int) []ring.Node {
	ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), least, most, rapid.ID[string]).Draw(t, "ids")
	slices.Sort(ids)

	capacity := rapid.OneOf(
		rapid.Uint32Range(1, 4), rapid.Uint32Range(1, 1000), rapid.Uint32Range(1, math.MaxUint32), rapid.Just[uint32](7),
	)

	var nodes []ring.Node
	for _, id := range ids {
		nodes = append(nodes, ring.Node{ID: id, Capacity: capacity.Draw(t, "capacity")})
	}

	return nodes
}

func drawConfig(t *rapid.T) ring.Config {
	return ring.Config{
		Bits:    rapid.Uint8Range(ring.MinBits, 9).Draw(t, "bits"),
		Epsilon: rapid.SampledFrom([]float64{0, 0, -1, 0.000001, 0.01, 0.25, 1}).Draw(t, "epsilon"),
	}
}

// TestTableAgreesWithTwin also shuffles: the order of nodes does not matter.
func TestTableAgreesWithTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t, 1, 12)
		cfg := drawConfig(t)

		r, err := ring.Build(rapid.Permutation(nodes).Draw(t, "order"), cfg)
		if err != nil {
			t.Fatal(err)
		}

		for s, want := range naiveTable(nodes, cfg) {
			if got := r.Owner(s); got != want {
				t.Fatalf("slot %d of %v, %+v: owner %d, want %d", s, nodes, cfg, got, want)
			}
		}
	})
}

// situation is what a twin of Choose knows of the nodes.
type situation struct {
	states    []ring.State
	loads     [][3]uint32 // in flight, limit, hard cap
	pressures []float64
	full      []bool
}

// newSituation is that of a ring just built.
func newSituation(r *ring.Ring) situation {
	n := r.Len()
	s := situation{states: make([]ring.State, n), loads: make([][3]uint32, n), pressures: make([]float64, n), full: make([]bool, n)}

	for i := range n {
		s.loads[i] = [3]uint32{0, r.Node(i).Capacity, math.MaxUint32}
	}

	return s
}

// naivePick follows the documentation step by step.
func naivePick(r *ring.Ring, s situation, q ring.Query) ring.Choice {
	open := func(n int) bool {
		if q.Urgency == ring.Emergency {
			return n != q.Avoid && s.states[n] != ring.Ineligible
		}

		return n != q.Avoid && s.states[n] == ring.Open
	}

	if q.Occasion == ring.First {
		if choice := naiveSearch(r, s, func(n int) bool { return open(n) && !s.full[n] }, q.Hash); choice.How != ring.None {
			return choice
		}
	}

	if choice := naiveSearch(r, s, open, q.Hash); choice.How != ring.None {
		return choice
	}

	able := func(n int) bool {
		return s.states[n] != ring.Ineligible && (q.Urgency == ring.Emergency || s.loads[n][0] < s.loads[n][2])
	}
	best := ring.NoNode

	for n := range r.Len() {
		if n != q.Avoid && able(n) && (best == ring.NoNode || s.use(n) < s.use(best)) {
			best = n
		}
	}

	if best == ring.NoNode && q.Avoid >= 0 && able(q.Avoid) {
		best = q.Avoid
	}

	if best == ring.NoNode {
		return ring.Choice{Node: ring.NoNode, How: ring.None, Probes: 8}
	}

	return ring.Choice{Node: best, How: ring.BestWeight, Probes: 8}
}

// naiveSearch goes from the home on to any open node.
func naiveSearch(r *ring.Ring, s situation, open func(int) bool, hash uint64) ring.Choice {
	x := hash * ring.Golden
	owner := func() int { return r.Owner(int(x / (math.MaxUint64/uint64(r.Slots()) + 1))) }

	if r.Len() == 0 {
		return ring.Choice{Node: ring.NoNode, How: ring.None, Probes: 8}
	}

	if n := owner(); open(n) {
		return ring.Choice{Node: n, How: ring.Home}
	}

	var candidates []int

	probes := uint8(0)
	for probes < 8 && len(candidates) < 2 {
		x *= ring.Golden
		probes++

		if n := owner(); open(n) && !slices.Contains(candidates, n) {
			candidates = append(candidates, n)
		}
	}

	if len(candidates) > 0 { // MinFunc takes the first of equals
		best := slices.MinFunc(candidates, func(a, b int) int { return cmp.Compare(s.use(a), s.use(b)) })

		return ring.Choice{Node: best, How: ring.Chain, Probes: probes}
	}

	if n := naiveSpill(r, open, x); n != ring.NoNode {
		return ring.Choice{Node: n, How: ring.Spill, Probes: 8}
	}

	return ring.Choice{Node: ring.NoNode, How: ring.None, Probes: 8}
}

// use is 1 minus the weight. Quotients of the small numbers that tests draw are the same or differ in floating point as
// they do in truth.
func (s situation) use(n int) float64 { return max(s.pressures[n], naiveLoad(s.loads[n])) }

// weight is what people are shown.
func (s situation) weight(n int) float64 {
	if s.loads[n][1] == 0 {
		return -math.MaxFloat64
	}

	return 1 - s.use(n)
}

// naiveLoad is exact for the small numbers that tests draw.
func naiveLoad(l [3]uint32) float64 {
	if l[1] == 0 {
		return math.Inf(1)
	}

	return (float64(l[0]) + 1) / float64(l[1])
}

func naiveSpill(r *ring.Ring, open func(int) bool, x uint64) int {
	var tickets []int

	for n := range r.Len() {
		if open(n) {
			tickets = append(tickets, slices.Repeat([]int{n}, max(r.Share(n), 1))...)
		}
	}

	if len(tickets) == 0 {
		return ring.NoNode
	}

	rank, _ := bits.Mul64(ring.Scramble(x), uint64(len(tickets)))

	return tickets[rank]
}

// change draws a change of one node, and makes it in both.
func (s situation) change(t *rapid.T, r *ring.Ring, states []ring.State) {
	i := rapid.IntRange(0, r.Len()-1).Draw(t, "node")

	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		s.states[i] = rapid.SampledFrom(states).Draw(t, "state")
		r.SetState(i, s.states[i])
	case 1:
		s.loads[i] = [3]uint32{rapid.Uint32Range(0, 9).Draw(t, "in flight"), rapid.Uint32Range(0, 4).Draw(t, "limit"), rapid.Uint32Range(0, 12).Draw(t, "cap")}
		r.SetLoad(i, s.loads[i][0], s.loads[i][1], s.loads[i][2])
	case 2:
		s.pressures[i] = float64(rapid.IntRange(0, 40).Draw(t, "pressure")) / 8
		r.SetPressure(i, s.pressures[i])
	default:
		s.full[i] = rapid.Bool().Draw(t, "full")
		r.SetFull(i, occupancy(s.full[i]))
	}
}

func occupancy(full bool) ring.Occupancy {
	if full {
		return ring.Full
	}

	return ring.HasRoom
}

func drawQuery(t *rapid.T, nodes int) ring.Query {
	return ring.Query{
		Hash:     rapid.Uint64().Draw(t, "hash"),
		Avoid:    rapid.IntRange(ring.NoNode, nodes-1).Draw(t, "avoid"),
		Occasion: rapid.SampledFrom([]ring.Occasion{ring.Repeat, ring.First}).Draw(t, "occasion"),
		Urgency:  rapid.SampledFrom([]ring.Urgency{ring.Ordinary, ring.Ordinary, ring.Emergency}).Draw(t, "urgency"),
	}
}

// drawSituations builds a ring and changes it again and again, with check in between. Where open nodes are rare the later steps are met.
func drawSituations(t *rapid.T, check func(*ring.Ring, situation)) {
	nodes := drawNodes(t, 0, 20)

	r, err := ring.Build(nodes, ring.Config{Bits: 8, Epsilon: 0})
	if err != nil {
		t.Fatal(err)
	}

	s := newSituation(r)
	states := rapid.SampledFrom([][]ring.State{
		{ring.Open, ring.AtLimit, ring.Ineligible},
		{ring.AtLimit, ring.AtLimit, ring.Ineligible, ring.AtLimit, ring.Open},
		{ring.AtLimit, ring.Ineligible},
	}).Draw(t, "states")

	for range rapid.IntRange(1, 60).Draw(t, "changes") {
		if len(nodes) > 0 {
			s.change(t, r, states)
		}

		check(r, s)
	}
}

// TestPicksAgreeWithTwin changes states, loads, pressures and full marks at random and picks in between.
func TestPicksAgreeWithTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawSituations(t, func(r *ring.Ring, s situation) {
			q := drawQuery(t, r.Len())
			want := naivePick(r, s, q)

			if got := r.Choose(q); got != want {
				t.Fatalf("Choose(%+v) is %+v, want %+v with %v", q, got, want, s)
			}

			if got, want := r.Pick(q.Hash, q.Avoid), naivePick(r, s, ring.Query{Hash: q.Hash, Avoid: q.Avoid}); got != want {
				t.Fatalf("Pick(%#x, %d) is %+v, want %+v with %v", q.Hash, q.Avoid, got, want, s)
			}

			if got, want := r.PickNew(q.Hash, q.Avoid), naivePick(r, s, ring.Query{Hash: q.Hash, Avoid: q.Avoid, Occasion: ring.First}); got != want {
				t.Fatalf("PickNew(%#x, %d) is %+v, want %+v with %v", q.Hash, q.Avoid, got, want, s)
			}

			for i := range r.Len() {
				if r.State(i) != s.states[i] || r.Pressure(i) != s.pressures[i] || r.Occupancy(i) != occupancy(s.full[i]) {
					t.Fatalf("node %d is %v, %v, %v, want it as in %v", i, r.State(i), r.Pressure(i), r.Occupancy(i), s)
				}
			}
		})
	})
}

// TestEachStepIsMet makes sure that the twins have been compared on all of them.
func TestEachStepIsMet(t *testing.T) {
	r := build(t, members(16), ring.Config{Bits: 8})
	met := map[ring.How]int{}

	for open := range 17 {
		for i := range 16 {
			r.SetFull(i, occupancy(i%2 == 0)) // no pick but a first goes by it

			state := ring.AtLimit
			if i < open {
				state = ring.Open
			}

			r.SetState(i, state)
		}

		for hash := range uint64(500) {
			met[r.Pick(hash*0x9E3779B97F4A7C55, ring.NoNode).How]++
		}
	}

	for how := ring.Home; how <= ring.BestWeight; how++ {
		if met[how] == 0 {
			t.Errorf("no pick ended at %v: %v", how, met)
		}
	}

	if got := fmt.Sprint(ring.Home, ring.Chain, ring.Spill, ring.BestWeight, ring.None, ring.How(9)); got != "home chain spill best-weight none how 9" {
		t.Error(got)
	}

	if got := fmt.Sprint(ring.HasRoom, ring.Full, ring.Occupancy(9), ring.Repeat, ring.First, ring.Occasion(9), ring.Ordinary, ring.Emergency, ring.Urgency(9)); got != "has-room full occupancy 9 repeat first occasion 9 ordinary emergency urgency 9" {
		t.Error(got)
	}

	if got := fmt.Sprint(ring.Open, ring.AtLimit, ring.Ineligible, ring.State(9)); got != "open at-limit ineligible state 9" {
		t.Error(got)
	}
}

// TestTablesOfEitherWidth: rings of up to 256 nodes keep their owners in bytes, larger ones do not.
func TestTablesOfEitherWidth(t *testing.T) {
	for _, n := range []int{255, 256, 257, 300} {
		r := build(t, members(n, 1, 2, 3), ring.Config{Bits: 10})
		shares := make([]int, n)

		for slot := range r.Slots() {
			shares[r.Owner(slot)]++
		}

		for i, share := range shares {
			if share != r.Share(i) {
				t.Errorf("node %d of %d owns %d slots and has %d", i, n, share, r.Share(i))
			}
		}

		for round := range 3 {
			for i := range n {
				if round > 0 {
					stir(r, i, hashOf(n*round+i))
				}
			}

			s := known(r)
			for _, q := range queries(1000, n) {
				if got, want := r.Choose(q), naivePick(r, s, q); got != want {
					t.Fatalf("%+v of %d nodes: got %+v, want %+v", q, n, got, want)
				}
			}
		}
	}
}
