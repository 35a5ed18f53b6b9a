package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

// loadNames are the policies of this file's tests.
func loadNames() []string {
	return []string{
		"fastest-response", "round-robin", "weighted-round-robin", "smooth-weighted-round-robin", "least-connections", "weighted-least-connections",
		"dynamic-feedback", "dynamic-feedback-connections", "response-ratio", "z-curve", "drf", "drf-half", "drf-12", "response-time-weighted",
		"availability", "power-of-two",
	}
}

// bench is a policy over nodes a, b, c, ... and what the test told it.
type bench struct {
	policy.Policy

	loads []policy.Load
}

// newBench makes a policy over nodes a, b, c, ... of the given capacities, none of them near its limit.
func newBench(tb testing.TB, name string, o policy.Options, capacities ...uint32) *bench {
	tb.Helper()

	nodes := make([]ring.Node, len(capacities))
	for i, c := range capacities {
		nodes[i] = ring.Node{ID: string(rune('a' + i)), Capacity: c}
	}

	return benchOf(tb, name, o, nodes)
}

func benchOf(tb testing.TB, name string, o policy.Options, nodes []ring.Node) *bench {
	tb.Helper()

	o.Ring = ring.DefaultConfig()

	p, err := policy.New(name, nodes, o)
	if err != nil {
		tb.Fatal(err)
	}

	b := &bench{Policy: p, loads: make([]policy.Load, len(nodes))}
	for i := range b.loads {
		b.loads[i] = policy.Load{Limit: 1000, HardCap: math.MaxUint32}
		b.SetLoad(i, b.loads[i])
	}

	return b
}

// equal makes n nodes of capacity 1.
func equal(n int) []ring.Node {
	nodes := make([]ring.Node, n)
	for i := range nodes {
		nodes[i] = ring.Node{ID: fmt.Sprintf("n%04d", i), Capacity: 1}
	}

	return nodes
}

// inFlight sets the messages in flight of the first nodes.
func (b *bench) inFlight(counts ...uint32) {
	for i, n := range counts {
		b.loads[i].InFlight = n
		b.SetLoad(i, b.loads[i])
	}
}

// hardCap sets a node's hard cap.
func (b *bench) hardCap(i int, n uint32) {
	b.loads[i].HardCap = n
	b.SetLoad(i, b.loads[i])
}

// states sets the states of the first nodes.
func (b *bench) states(states ...ring.State) {
	for i, s := range states {
		b.SetState(i, s)
	}
}

// responses reports response times, in ms, of the first nodes.
func (b *bench) responses(at time.Duration, ms ...int) {
	for i, n := range ms {
		b.SetReport(i, policy.Report{At: at, Response: time.Duration(n) * time.Millisecond})
	}
}

// pick picks, avoiding none.
func (b *bench) pick() ring.Choice { return b.Pick(policy.Query{Avoid: ring.NoNode}) }

// picks is the letters of n picks after which the load does not change, '-' for none.
func (b *bench) picks(n int) string {
	var s []byte
	for range n {
		s = append(s, letter(b.pick().Node))
	}

	return string(s)
}

// dispatches is the letters of n picks each of which adds to its node's messages in flight.
func (b *bench) dispatches(n int) string {
	var s []byte

	for range n {
		c := b.pick()
		s = append(s, letter(c.Node))
		b.loads[c.Node].InFlight++
		b.SetLoad(c.Node, b.loads[c.Node])
	}

	return string(s)
}

func letter(node int) byte {
	if node == ring.NoNode {
		return '-'
	}

	return byte('a' + node)
}

// order is the nodes in the order in which a policy prefers them, found by leaving two at a time open.
func (b *bench) order() string {
	wins := make([]int, b.Len())

	for x := range b.Len() {
		for y := range x {
			for i := range b.Len() {
				b.SetState(i, ring.Ineligible)
			}

			b.states2(x, y, ring.Open)
			wins[b.pick().Node]++
		}
	}

	for i := range b.Len() {
		b.SetState(i, ring.Open)
	}

	nodes := make([]int, b.Len())
	for i := range nodes {
		nodes[i] = i
	}

	slices.SortStableFunc(nodes, func(x, y int) int { return wins[y] - wins[x] })

	var s []byte
	for _, i := range nodes {
		s = append(s, letter(i))
	}

	return string(s)
}

func (b *bench) states2(x, y int, s ring.State) {
	b.SetState(x, s)
	b.SetState(y, s)
}

// same fails unless a golden sequence was picked.
func same(t *testing.T, what, got, want string) {
	t.Helper()

	if got != want {
		t.Errorf("%s: picked %s, want %s", what, got, want)
	}
}

// shareNear draws from a policy and compares the shares in percent; the seed is fixed, so a run repeats exactly.
func shareNear(t *testing.T, b *bench, want ...float64) {
	t.Helper()

	const draws = 100_000

	counts := make([]float64, b.Len())
	for range draws {
		counts[b.pick().Node]++
	}

	for i, w := range want {
		// Six standard deviations of a share of a half.
		if got := 100 * counts[i] / draws; math.Abs(got-w) > 0.95 || (w == 0) != (got == 0) {
			t.Errorf("node %c was drawn %.2f %%, want %.2f %%", letter(i), got, w)
		}
	}
}

// Nodes at their limit take nothing while one is open, and the best weight is the last resort of every policy.
func TestLoadingLimits(t *testing.T) {
	t.Parallel()

	for _, name := range loadNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			b := newBench(t, name, policy.Options{}, 1, 1, 1, 1)
			b.inFlight(0, 900, 700, 800)
			b.states(ring.AtLimit, ring.AtLimit, ring.Open, ring.Ineligible)
			same(t, "one open", b.picks(4), "cccc")

			c := b.Pick(policy.Query{Avoid: 2})
			if c.Node != 0 || c.How != ring.BestWeight {
				t.Errorf("the open one avoided: got %+v, want node 0 by the best weight", c)
			}

			b.states(ring.AtLimit, ring.AtLimit, ring.AtLimit, ring.Ineligible)
			b.inFlight(950, 900, 920, 0)

			if c := b.pick(); c.Node != 1 || c.How != ring.BestWeight {
				t.Errorf("all at their limit: got %+v, want node 1 by the best weight", c)
			}

			b.SetReport(1, policy.Report{Pressure: 1.1})

			if c := b.pick(); c.Node != 2 || c.How != ring.BestWeight {
				t.Errorf("a report of more pressure: got %+v, want node 2", c)
			}

			b.SetReport(1, policy.Report{Pressure: 0.901})

			b.hardCap(1, 900)

			if c := b.pick(); c.Node != 2 || c.How != ring.BestWeight {
				t.Errorf("the best at its hard cap: got %+v, want node 2", c)
			}

			b.states(ring.Ineligible, ring.Ineligible, ring.Ineligible)

			if c := b.pick(); c.Node != ring.NoNode || c.How != ring.None {
				t.Errorf("all ineligible: got %+v, want none", c)
			}
		})
	}
}

// As printed, algorithms know of no limit: only ineligible nodes and those at their hard cap are left out.
func TestLoadingIgnoresLimits(t *testing.T) {
	t.Parallel()

	for _, name := range loadNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			b := newBench(t, name, policy.Options{Limits: policy.IgnoreLimits}, 1, 1, 1)
			b.states(ring.AtLimit, ring.Open, ring.Ineligible)
			b.hardCap(1, 5)
			b.inFlight(2000, 5)

			if c := b.pick(); c.Node != 0 || c.How == ring.BestWeight {
				t.Errorf("got %+v, want node 0 by the policy's own rule", c)
			}

			b.inFlight(2000, 4)

			if c := b.Pick(policy.Query{Avoid: 0}); c.Node != 1 {
				t.Errorf("below its hard cap: got %+v, want node 1", c)
			}
		})
	}
}

// The node to avoid is taken where there is no other, and a policy without nodes picks none.
func TestLoadingAvoidAndEmpty(t *testing.T) {
	t.Parallel()

	for _, name := range loadNames() {
		for _, limits := range []policy.LimitRule{policy.RespectLimits, policy.IgnoreLimits} {
			b := newBench(t, name, policy.Options{Limits: limits}, 1)
			if c := b.Pick(policy.Query{Avoid: 0}); c.Node != 0 || c.How != ring.BestWeight {
				t.Errorf("%s: the only node avoided: got %+v, want it as the last resort", name, c)
			}

			if c := b.pick(); c.Node != 0 || c.How != ring.Home {
				t.Errorf("%s: the only node: got %+v, want it at once", name, c)
			}

			if c := newBench(t, name, policy.Options{Limits: limits}).pick(); c.Node != ring.NoNode || c.How != ring.None {
				t.Errorf("%s: no node: got %+v, want none", name, c)
			}
		}
	}
}

// No method but Tick allocates, whatever the number of nodes.
func TestLoadingAllocates(t *testing.T) {
	for _, name := range loadNames() {
		b := benchOf(t, name, policy.Options{}, equal(1000))
		turn := 0

		step := func() {
			c := b.Pick(policy.Query{Avoid: turn % 1000})
			b.SetLoad(c.Node, policy.Load{InFlight: uint32(turn % 7), Limit: 8, HardCap: 100})
			b.SetReport(c.Node, policy.Report{CPU: float64(turn%10) / 10, Response: time.Duration(turn), ConsecutiveFailures: uint32(turn % 5)})
			b.SetState(turn*37%1000, ring.State(turn%3))

			turn++
		}

		for now := range 400 {
			step()
			b.Tick(time.Duration(now) * time.Second)
		}

		if n := testing.AllocsPerRun(2000, step); n != 0 {
			t.Errorf("%s allocates %v times a pick", name, n)
		}
	}
}

// Against naive sums, whatever is set in whatever order.
func TestLoadingShares(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "nodes")
		s, naive := policy.NewLots(n), make([]uint64, n)

		for range rapid.IntRange(1, 100).Draw(t, "changes") {
			i, w := rapid.IntRange(0, n-1).Draw(t, "node"), rapid.Uint64Range(0, 20).Draw(t, "weight")
			s.Set(i, w)
			naive[i] = w
		}

		x := uint64(0)

		for i, w := range naive {
			for range w {
				if got := s.At(x); got != i {
					t.Fatalf("point %d of %v is node %d, want %d", x, naive, got, i)
				}

				x++
			}
		}

		if s.Total() != x {
			t.Fatalf("total %d, want %d", s.Total(), x)
		}
	})
}

// Against a naive set.
func TestLoadingBitset(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "size")
		b, naive := policy.NewBitset(n), make([]bool, n)

		for range rapid.IntRange(0, 100).Draw(t, "changes") {
			i, in := rapid.IntRange(0, n-1).Draw(t, "number"), rapid.Bool().Draw(t, "in")
			b.Put(i, in)
			naive[i] = in
		}

		var members []int

		for i, in := range naive {
			if in {
				members = append(members, i)
			}
		}

		if b.Count() != len(members) {
			t.Fatalf("count %d, want %d", b.Count(), len(members))
		}

		for k, i := range members {
			if got := b.Nth(k); got != i {
				t.Fatalf("member %d of %v is %d", k, members, got)
			}
		}

		from := rapid.IntRange(0, n-1).Draw(t, "from")

		want := ring.NoNode
		for step := n - 1; step >= 0; step-- {
			if i := (from + step) % n; naive[i] {
				want = i
			}
		}

		if got := b.Next(from); got != want {
			t.Fatalf("next from %d of %v is %d, want %d", from, members, got, want)
		}
	})
}

func BenchmarkLoading(b *testing.B) {
	for _, name := range loadNames() {
		for _, n := range []int{16, 1000} {
			for _, part := range []string{"pick", "dispatch", "full"} {
				b.Run(fmt.Sprintf("%s/%d/%s", name, n, part), func(b *testing.B) { benchmarkLoading(b, name, n, part) })
			}
		}
	}
}

// benchmarkLoading measures a pick, a pick with the two changes of load that a message brings, or the same where all nodes are at their limit.
func benchmarkLoading(b *testing.B, name string, n int, part string) {
	b.Helper()

	p := benchOf(b, name, policy.Options{}, equal(n))

	for i := range n {
		p.SetReport(i, policy.Report{CPU: float64(i%7) / 10, Memory: 0.3, Response: time.Duration(i%13+1) * time.Millisecond, Active: uint32(i % 5)})

		if part == "full" {
			p.SetState(i, ring.AtLimit)
		}
	}

	p.Tick(time.Second)
	b.ReportAllocs()

	for b.Loop() {
		c := p.pick()

		if part != "pick" {
			p.SetLoad(c.Node, policy.Load{InFlight: 1, Limit: 1000, HardCap: math.MaxUint32})
			p.SetLoad(c.Node, policy.Load{InFlight: 0, Limit: 1000, HardCap: math.MaxUint32})
		}
	}
}
