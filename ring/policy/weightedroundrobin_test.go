package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"skyring/ring"
	"skyring/ring/policy"
)

func TestWeightedRoundRobin(t *testing.T) {
	t.Parallel()

	// The example of the study; the next two by hand: levels 4, 2 and 4, 3, 2, 1.
	same(t, "3:1:1:1", newBench(t, "weighted-round-robin", policy.Options{}, 3, 1, 1, 1).picks(12), "aaabcdaaabcd")
	same(t, "4:2", newBench(t, "weighted-round-robin", policy.Options{}, 4, 2).picks(6), "aabaab")
	same(t, "4:3:2", newBench(t, "weighted-round-robin", policy.Options{}, 4, 3, 2).picks(9), "aababcabc")

	b := newBench(t, "weighted-round-robin", policy.Options{}, 3, 1, 1, 1)
	b.SetState(0, ring.AtLimit)

	if c := b.pick(); c.Node != 1 || c.How != ring.Chain {
		t.Errorf("a at its limit: got %+v, want b after it", c)
	}

	same(t, "a at its limit", b.picks(5), "cdbcd")
	b.SetState(0, ring.Open)
	same(t, "a open again", b.picks(6), "aaabcd")
}

// A small node among large ones is found at once, though by the book it would take 4 thousand million rounds.
func TestWeightedRoundRobinLeaps(t *testing.T) {
	t.Parallel()

	b := newBench(t, "weighted-round-robin", policy.Options{}, 4_294_967_295, 1)
	b.SetState(0, ring.Ineligible)
	same(t, "b alone", b.picks(3), "bbb")
}

// Leaping picks as walking does, whatever becomes of the nodes meanwhile.
func TestWeightedRoundRobinWalk(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		capacities := rapid.SliceOfN(rapid.Uint32Range(1, 12), 1, 6).Draw(t, "capacities")

		nodes := make([]ring.Node, len(capacities))
		for i, c := range capacities {
			nodes[i] = ring.Node{ID: string(rune('a' + i)), Capacity: c}
		}

		p, err := policy.New("weighted-round-robin", nodes, policy.Options{Ring: ring.DefaultConfig()})
		if err != nil {
			t.Fatal(err)
		}

		w := walk{capacities: capacities, open: make([]bool, len(nodes)), i: -1}
		for i := range nodes {
			w.open[i] = true
		}

		for range 60 {
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
			w.open[i] = rapid.Bool().Draw(t, "open")

			if w.open[i] {
				p.SetState(i, ring.Open)
			} else {
				p.SetState(i, ring.Ineligible)
			}

			want := w.next()
			if got := p.Pick(policy.Query{Avoid: ring.NoNode}).Node; got != want {
				t.Fatalf("picked %d, want %d", got, want)
			}
		}
	})
}

// walk is the manual's loop as it stands there, but for nodes that are not open.
type walk struct {
	capacities []uint32
	open       []bool
	i, cw      int
}

func (w *walk) next() int {
	divisor, largest, any := 0, 0, false

	for i, c := range w.capacities {
		divisor, largest = gcd(divisor, int(c)), max(largest, int(c))
		any = any || w.open[i]
	}

	if !any {
		return ring.NoNode
	}

	for {
		w.i = (w.i + 1) % len(w.capacities)
		if w.i == 0 {
			w.cw -= divisor
			if w.cw <= 0 {
				w.cw = largest
			}
		}

		if w.open[w.i] && int(w.capacities[w.i]) >= w.cw {
			return w.i
		}
	}
}

func gcd(a, b int) int {
	if b == 0 {
		return a
	}

	return gcd(b, a%b)
}
